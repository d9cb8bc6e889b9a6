/* Job files (see submission.h). */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/yaml.h"
#include "cli/listing.h"
#include "cli/submission.h"
#include "model/spec.h"

json_t *submission_read_file(const char *path, GError **error)
{
        bool is_stdin = strcmp(path, "-") == 0;
        g_autofree char *text = NULL;
        json_t *value;
        g_autoptr(GError) cause = NULL;
        gsize len = 0;

        if (!file_read(is_stdin ? "/dev/stdin" : path, SPEC_BODY_MAX, &text, &len, &cause)) {
                err_set(error, ERR_USAGE, "--file: %s", cause->message);
                return NULL;
        }
        value = yaml_parse(text, len, is_stdin ? "standard input" : path, error);
        if (value && !json_is_object(value)) {
                err_set(error, ERR_USAGE, "'%s' is not a list of 'field: value' lines", path);
                g_clear_pointer(&value, json_decref);
        }
        return value;
}

/* ---- the directory's job file ---- */

char *submission_own_file(const Submission *submission)
{
        static const char *const names[] = { "paddle.yaml", "paddle.yml" };
        const char *dir = submission->package_path;

        for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *path = dir ? g_build_filename(dir, names[i], NULL) : g_strdup(names[i]);

                if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
                        return g_steal_pointer(&path);
        }
        return NULL;
}

bool submission_trusts_file(const char *path)
{
        struct stat st;

        return stat(path, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0);
}

/* Options are merged into lists and objects, and replace text and numbers. */
static bool is_taken(const char *name, const json_t *value, const json_t *spec)
{
        const json_t *now = json_object_get(spec, name);

        if (strcmp(name, "command") == 0 || strcmp(name, "entry_point") == 0 || json_is_null(value))
                return false;
        return !now || json_is_object(value) || json_is_array(value) || json_equal(now, value);
}

char *submission_taken(const char *path, const json_t *file, const json_t *spec)
{
        g_autoptr(GString) names = g_string_new(NULL);
        bool has_command = is_set(file, "command") || is_set(file, "entry_point");
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)file, name, value) {
                if (is_taken(name, value, spec))
                        g_string_append_printf(names, "%s%s", names->len ? ", " : "", name);
        }
        if (!names->len)
                return g_strdup_printf("note: '%s' is not used: it has only a command", path);
        return g_strdup_printf("note: from '%s': %s%s", path, names->str,
                               has_command ? "; its command is replaced" : "");
}

/* ---- position of an error ---- */

/* The field at the start of a message: "replicas" of "roles[0].replicas: ...", "setup" of "setup must be a
 * string", "nmae" of "'nmae' is not a known field"; the caller's, or NULL. */
static char *member_of(const char *message)
{
        gsize len = strcspn(message, ": ");
        g_autofree char *path = g_strndup(message, len);
        const char *last = strrchr(path, '.');
        char *name;

        if (message[len] != ':' && !g_str_has_prefix(message + len, " must be ") &&
            !strstr(message, "is not a known field"))
                return NULL;
        name = g_strdup(last ? last + 1 : path);
        if (name[0] == '\'' && g_str_has_suffix(name, "'")) {
                memmove(name, name + 1, strlen(name));
                name[strlen(name) - 1] = '\0';
        }
        name[strcspn(name, "[")] = '\0';
        if (*name)
                return name;
        g_free(name);
        return NULL;
}

/* The number of the only line with this key; 0: none, or several. */
static guint line_of(const char *text, const char *key)
{
        g_autofree char *escaped = g_regex_escape_string(key, -1);
        g_autofree char *pattern =
                g_strdup_printf("(?m)(^|[{,])[ \\t]*(- +)*[\"']?%s[\"']?[ \\t]*:", escaped);
        g_autoptr(GRegex) regex = g_regex_new(pattern, 0, 0, NULL);
        g_autoptr(GMatchInfo) match = NULL;
        guint line = 1;
        int at = 0;

        if (!regex || !g_regex_match(regex, text, 0, &match) || !g_match_info_fetch_pos(match, 0, NULL, &at))
                return 0;
        for (int i = 0; i < at; i++)
                line += text[i] == '\n';
        return g_match_info_next(match, NULL) ? 0 : line;
}

void submission_place_fault(const char *path, GError **error)
{
        g_autofree char *key = error && *error ? member_of((*error)->message) : NULL, *text = NULL;
        guint line;

        if (!key || strcmp(path, "-") == 0 || !file_read(path, SPEC_BODY_MAX, &text, NULL, NULL) ||
            !strstr(text, key))
                return;
        line = line_of(text, key);
        if (line > 0)
                err_prefix(error, "%s, line %u: ", path, line);
        else
                err_prefix(error, "%s: ", path);
}
