/* Search paths for other users (see search-path.h). A directory in root's home is useless to them, and
 * reveals where it is. If another user can write to a directory, that user could choose the programs that
 * members run. */
#include "runtime/local/search-path.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool may_all_enter(const char *path)
{
        struct stat found;

        return stat(path, &found) == 0 && S_ISDIR(found.st_mode) && (found.st_mode & S_IXOTH);
}

static bool is_for_all(const char *directory)
{
        g_autofree char *real = realpath(directory, NULL), *at = g_strdup(real);
        struct stat found;

        if (!real || stat(real, &found) < 0 || (found.st_mode & (S_IWGRP | S_IWOTH)) ||
            (found.st_uid != 0 && found.st_uid != geteuid()))
                return false;
        while (may_all_enter(at)) {
                char *slash = strrchr(at, '/');

                if (slash == at)
                        return true;
                *slash = '\0';
        }
        return false;
}

static char *narrow(const char *list)
{
        g_auto(GStrv) parts = g_strsplit(list, ":", -1);
        g_autoptr(GString) kept = g_string_new(NULL);

        for (char **part = parts; *part; part++)
                if (g_path_is_absolute(*part) && is_for_all(*part))
                        g_string_append_printf(kept, "%s%s", kept->len ? ":" : "", *part);
        return g_string_free(g_steal_pointer(&kept), FALSE);
}

char **search_path_for_others(char *const *variables)
{
        static const struct {
                const char *name, *instead; /* NULL: left out */
        } lists[] = { { "PATH=", "PATH=/usr/local/bin:/usr/bin:/bin" }, { "LD_LIBRARY_PATH=", NULL } };
        g_autoptr(GStrvBuilder) made = g_strv_builder_new();

        for (; *variables; variables++) {
                gsize i = 0;

                while (i < G_N_ELEMENTS(lists) && !g_str_has_prefix(*variables, lists[i].name))
                        i++;
                if (i == G_N_ELEMENTS(lists)) {
                        g_strv_builder_add(made, *variables);
                        continue;
                }
                g_autofree char *kept = narrow(*variables + strlen(lists[i].name));
                g_autofree char *entry =
                        *kept ? g_strconcat(lists[i].name, kept, NULL) : g_strdup(lists[i].instead);

                if (entry)
                        g_strv_builder_add(made, entry);
        }
        return g_strv_builder_end(made);
}
