/* Owners of homes as files (see homes.h). */
#include "runtime/kubernetes/homes.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/number.h"

enum { NUMBER_MAX_BYTES = 32 }; /* of a file: a number and a line's end */

static char *path_of(const char *state_dir, const char *user)
{
        g_autofree char *name = g_uri_escape_string(user, NULL, false);

        return g_strdup_printf("%s/homes/%s.owner", state_dir, name);
}

static bool take(const char *path, gint64 seq, GError **error)
{
        g_autofree char *dir = g_path_get_dirname(path);
        g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT "\n", seq);

        return file_mkdirs(dir, 0700, error) && file_replace(path, text, strlen(text), 0600, true, error);
}

/* *ret 0: it has no owner. */
static bool read_owner(const char *path, gint64 *ret, GError **error)
{
        g_autofree char *text = NULL;
        gsize len;

        *ret = 0;
        if (!g_file_test(path, G_FILE_TEST_EXISTS))
                return true;
        return file_read(path, NUMBER_MAX_BYTES, &text, &len, error) &&
               number_parse("its owner", g_strstrip(text), 1, G_MAXINT64, ret, error);
}

char *homes_problem(const char *state_dir, const char *user, gint64 seq)
{
        g_autofree char *path = path_of(state_dir, user);
        g_autoptr(GError) error = NULL;
        gint64 owner;

        if (!seq)
                return NULL;
        if (!read_owner(path, &owner, &error) || (!owner && !take(path, seq, &error)))
                return g_strdup_printf("whose the home of '%s' is cannot be told: '%s': %s", user, path,
                                       error->message);
        if (!owner || owner == seq)
                return NULL;
        return g_strdup_printf("the home of '%s' is that of a former user of this name\n"
                               "An administrator moves it away on the cluster, or means to give it over, and "
                               "then removes '%s'.",
                               user, path);
}
