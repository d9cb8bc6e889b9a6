/* Time zones by name (see zone.h). */
#include "schedule/zone.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/word.h"

enum { NAME_MAX_BYTES = 64 };

static const char file_mark[] = "TZif"; /* RFC 8536; the directory has other files, too */

static char *path_of(const char *name)
{
        const char *directory = g_getenv("TZDIR");

        return g_build_filename(directory ? directory : "/usr/share/zoneinfo", name, NULL);
}

/* The name is a path below the directory of zones: it must not lead out of there. */
static bool is_name(const char *name)
{
        return *name && strlen(name) <= NAME_MAX_BYTES && g_ascii_isalnum(*name) && !strstr(name, "..") &&
               strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/.") ==
                       strlen(name);
}

static bool is_zone(const char *name)
{
        g_autofree char *path = path_of(name);
        char mark[sizeof file_mark - 1] = { 0 };
        FILE *file = g_file_test(path, G_FILE_TEST_IS_REGULAR) ? fopen(path, "re") : NULL;
        bool found = file && fread(mark, sizeof mark, 1, file) == 1;

        if (file)
                fclose(file);
        return found && memcmp(mark, file_mark, sizeof mark) == 0;
}

/* ---- near names ---- */

static GPtrArray *entries_of(const char *name)
{
        g_autofree char *path = path_of(name);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        GPtrArray *entries = g_ptr_array_new_with_free_func(g_free);
        const char *entry;

        while (dir && (entry = g_dir_read_name(dir)))
                g_ptr_array_add(entries, g_strdup(entry));
        g_ptr_array_add(entries, NULL);
        return entries;
}

static const char *same_in_capitals(const char *word, const GPtrArray *entries)
{
        for (guint i = 0; entries->pdata[i]; i++)
                if (g_ascii_strcasecmp(entries->pdata[i], word) == 0)
                        return entries->pdata[i];
        return NULL;
}

/* The zone with the nearest name, folder by folder; `typed`: letters may be wrong, too. The caller's; or NULL. */
static char *nearest(const char *name, bool typed)
{
        g_auto(GStrv) words = g_strsplit(name, "/", -1);
        g_autoptr(GString) found = g_string_new(NULL);

        for (char **word = words; *word; word++) {
                g_autoptr(GPtrArray) entries = entries_of(found->str);
                const char *entry = same_in_capitals(*word, entries);

                if (!entry && typed)
                        entry = word_nearest(*word, (const char *const *)entries->pdata);
                if (!entry)
                        return NULL;
                g_string_append_printf(found, "%s%s", found->len > 0 ? "/" : "", entry);
        }
        return is_zone(found->str) ? g_strdup(found->str) : NULL;
}

/* ---- public ---- */

char *zone_find(const char *name)
{
        return is_name(name) ? nearest(name, false) : NULL;
}

GTimeZone *zone_new(const char *name, GError **error)
{
        g_autofree char *near = NULL;

        if (is_name(name) && is_zone(name))
                return g_time_zone_new_identifier(name);
        if (is_name(name) && strpbrk(name, "+-") && !strchr(name, '/')) {
                err_set(error, ERR_INVALID,
                        "'%.64s' is not a time zone: name a place instead of an offset, such as Europe/Berlin",
                        name);
                return NULL;
        }
        near = is_name(name) ? nearest(name, true) : NULL;
        if (near)
                err_set(error, ERR_INVALID,
                        "'%.64s' is not a time zone that the server knows: did you mean '%s'?", name, near);
        else
                err_set(error, ERR_INVALID,
                        "'%.64s' is not a time zone that the server knows, such as Europe/Berlin or UTC",
                        name);
        return NULL;
}
