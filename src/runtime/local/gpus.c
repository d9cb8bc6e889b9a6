/* /dev/nvidiaN (see gpus.h). */
#include "runtime/local/gpus.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static int by_minor(const void *a, const void *b)
{
        return (int)*(const guint8 *)a - (int)*(const guint8 *)b;
}

/* All have one major number; devices with another are not NVIDIA's. */
static void add_device(GpuDevices *devices, dev_t number)
{
        if (devices->n == GPU_DEVICES_MAX || minor(number) >= GPU_DEVICES_MAX ||
            (devices->n > 0 && major(number) != devices->major))
                return;
        devices->major = major(number);
        devices->minors[devices->n++] = (guint8)minor(number);
}

void gpus_find(const char *root, GpuDevices *ret)
{
        g_autofree char *path = g_build_filename(root, "dev", NULL);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);

        *ret = (GpuDevices){ 0 };
        for (const char *name; dir && (name = g_dir_read_name(dir));) {
                g_autofree char *device = g_build_filename(path, name, NULL);
                struct stat status;

                if (g_str_has_prefix(name, "nvidia") && g_ascii_isdigit(name[strlen("nvidia")]) &&
                    stat(device, &status) == 0 && S_ISCHR(status.st_mode))
                        add_device(ret, status.st_rdev);
        }
        qsort(ret->minors, ret->n, sizeof *ret->minors, by_minor);
}

static bool is_given(const char *given, guint gpu)
{
        for (const char *at = given; at && *at; at += strcspn(at, ","), at += *at == ',')
                if (g_ascii_strtoull(at, NULL, 10) == gpu)
                        return true;
        return false;
}

guint64 gpus_denied(const GpuDevices *devices, const char *given)
{
        guint64 denied = 0;

        for (guint i = 0; i < devices->n; i++)
                if (!is_given(given, i))
                        denied |= (guint64)1 << devices->minors[i];
        return denied;
}

char *gpus_renumbered(const char *given)
{
        GString *text = g_string_new("0");

        for (guint i = 1; (given = strchr(given, ',')); i++, given++)
                g_string_append_printf(text, ",%u", i);
        return g_string_free(text, FALSE);
}
