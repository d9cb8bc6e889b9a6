/* The text of a requirements file (see requirements.h). pip and uv join lines that end in a backslash, so a
 * word is checked wherever it is. Only listed forms are allowed. */
#include "runtime/environment/requirements.h"

#include <string.h>

#include "base/err.h"

/* It is asked for each job of an array, also on the engine's thread. */
bool environment_is_needed(const char *requirements)
{
        for (const char *at = requirements; at; at = strchr(at, '\n')) {
                at += strspn(at, " \f\n\r\t");
                if (*at != '#')
                        return *at != '\0';
        }
        return false;
}

static bool begins_with(const char *word, const char *const *beginnings)
{
        for (; *beginnings; beginnings++)
                if (g_str_has_prefix(word, *beginnings))
                        return true;
        return false;
}

/* True if the line refers to another file or directory. A line may have several options. */
static bool is_outside(const char *line)
{
        static const char *const options[] = { "-r", "--requirement", "-c", "--constraint",
                                               "-e", "--editable",    NULL };
        static const char *const paths[] = { "./", "../", NULL };
        g_auto(GStrv) words = g_strsplit_set(line, " \t", -1);

        if (*line != '-')
                return begins_with(line, paths);
        for (char **word = words; *word; word++)
                if (begins_with(*word, options))
                        return true;
        return false;
}

/* Options that name no source of packages. */
static bool is_harmless_option(const char *word)
{
        static const char *const options[] = { "--hash",          "--no-index",      "--no-binary",
                                               "--only-binary",   "--prefer-binary", "--pre",
                                               "--require-hashes" };
        size_t len = strcspn(word, "=");

        for (size_t i = 0; i < G_N_ELEMENTS(options); i++)
                if (strlen(options[i]) == len && strncmp(options[i], word, len) == 0)
                        return true;
        return false;
}

/* "pkg@http://...", "git+https:", "/a/path", "${INDEX}", "file.whl". */
static bool is_place(const char *word)
{
        static const char *const files[] = { ".whl", ".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", NULL };
        g_autofree char *lower = g_ascii_strdown(word, -1);
        const char *backslash = strchr(word, '\\');

        if (strpbrk(word, "/@$") || (backslash && backslash[1]))
                return true;
        for (const char *const *file = files; *file; file++)
                if (g_str_has_suffix(lower, *file))
                        return true;
        return false;
}

static bool names_place(const char *line)
{
        g_auto(GStrv) words = g_strsplit_set(line, " \t\r\v\f", -1);

        for (char **word = words; *word; word++)
                if (**word &&
                    (**word == '-' ? !is_harmless_option(*word) || is_place(*word) : is_place(*word)))
                        return true;
        return false;
}

/* pip also ends lines at these characters, so the rest would be an unchecked line. */
static bool has_control(const char *line)
{
        for (; *line; line = g_utf8_next_char(line))
                if (*line != '\t' && unichar_is_control(g_utf8_get_char(line)))
                        return true;
        return false;
}

static bool check(const char *line, guint number, bool urls, GError **error)
{
        if (!g_utf8_validate(line, -1, NULL) || has_control(line))
                return err_set(error, ERR_INVALID,
                               "requirements, line %u has a control character\nRemove it: a line ends with a "
                               "newline, and holds printable text.",
                               number);
        if (is_outside(line))
                return err_set(error, ERR_INVALID,
                               "requirements, line %u: '%s' refers to another file\n"
                               "List the packages themselves. The job's own package is on PYTHONPATH anyway.",
                               number, line);
        if (!urls && names_place(line))
                return err_set(
                        error, ERR_INVALID,
                        "requirements, line %u: '%s' says where a package comes from, and this server "
                        "takes packages only from its own index\n"
                        "Name the package and its version. Set an index in the server's pip settings (pip.conf); `paddled --requirement-urls` allows such lines.",
                        number, line);
        return true;
}

/* Drops comments, empty lines, and blanks around lines; keeps the order of lines, which decides between index
 * options. */
char *environment_normal(const char *requirements, bool urls, GError **error)
{
        g_auto(GStrv) lines = g_strsplit(requirements, "\n", -1);
        g_autoptr(GString) text = g_string_new(NULL);

        for (guint n = 0; lines[n]; n++) {
                char *comment = lines[n][0] == '#' ? lines[n] : strstr(lines[n], " #");

                if (comment)
                        *comment = '\0';
                g_strstrip(lines[n]);
                if (!check(lines[n], n + 1, urls, error))
                        return NULL;
                if (*lines[n])
                        g_string_append_printf(text, "%s\n", lines[n]);
        }
        return g_string_free(g_steal_pointer(&text), FALSE);
}
