/* The requirements of a directory (see requirements.h).
 *
 * Lines of requirements.txt are passed on unchanged. A file named by -r replaces its line, as in pip. "." and
 * "-e ." are the project itself: its modules are on PYTHONPATH, and its dependencies replace the line.
 * Anything else that refers to other files is refused here, where file and line are known. */
#include "package/requirements.h"

#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/toml.h"

#define PYPROJECT "pyproject.toml"

typedef struct {
        const RequirementsFiles *files;
        GString *text;
        GPtrArray *open; /* char *: the current file and those that include it */
        guint n_files;
        bool has_itself; /* "." occurred */
} Gather;

/* ---- one line ---- */

/* "numpy=1.2", the syntax of conda; requirements have "==". Returns the '=', or NULL. */
static const char *single_equals(const char *line)
{
        const char *at =
                line + strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");

        if (at == line || *line == '-')
                return NULL;
        if (*at == '[' && strchr(at, ']'))
                at = strchr(at, ']') + 1;
        at += strspn(at, " \t");
        return *at == '=' && at[1] != '=' ? at : NULL;
}

/* The problem of the line, with a hint after a newline; NULL: none. */
static char *wrong_equals(const char *line)
{
        const char *equals = single_equals(line), *version;
        g_autofree char *name = NULL;

        if (!equals)
                return NULL;
        name = g_strndup(line, (gsize)(equals - line));
        version = equals + 1 + strspn(equals + 1, " \t");
        return g_strdup_printf("has one '=' before the version; it takes two\nWrite '%s==%.*s'.",
                               g_strchomp(name), (int)strcspn(version, " \t;="), version);
}

/* A comment starts at the start of the line, or after a blank. */
static void cut_remark(char *line)
{
        for (char *at = line; *at; at++)
                if (*at == '#' && (at == line || at[-1] == ' ' || at[-1] == '\t')) {
                        *at = '\0';
                        return;
                }
}

bool requirements_check(const char *what, const char *text, GError **error)
{
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        bool goes_on = false;

        for (guint i = 0; lines[i]; i++) {
                g_autofree char *why = NULL;
                bool begins = !goes_on;

                cut_remark(lines[i]);
                g_strstrip(lines[i]);
                goes_on = g_str_has_suffix(lines[i], "\\");
                why = begins ? wrong_equals(lines[i]) : NULL;
                if (why)
                        return err_set(error, ERR_INVALID, "%s, line %u: '%.200s' %s", what, i + 1, lines[i],
                                       why);
        }
        return true;
}

/* ---- pyproject.toml ---- */

/* NULL without an error: no such file. */
static json_t *read_pyproject(const RequirementsFiles *files, GError **error)
{
        g_autofree char *text = files->read(PYPROJECT, NEEDS_TEXT_MAX * 8, files->arg, error);

        return text ? toml_parse(text, strlen(text), PYPROJECT, error) : NULL;
}

static bool add_list(GString *text, const json_t *list, const char *name, GError **error)
{
        json_t *item;
        gsize i;

        if (list && !json_is_array(list))
                return err_set(error, ERR_INVALID, PYPROJECT ": %s is not a list of texts", name);
        json_array_foreach(list, i, item) {
                g_autofree char *why = json_is_string(item) ? wrong_equals(json_string_value(item)) : NULL;

                if (why)
                        return err_set(error, ERR_INVALID, PYPROJECT ": %s[%zu]: '%.200s' %s", name, i,
                                       json_string_value(item), why);
                if (!json_is_string(item) || strchr(json_string_value(item), '\n'))
                        return err_set(error, ERR_INVALID, PYPROJECT ": %s[%zu] is not a text of one line",
                                       name, i);
                g_string_append_printf(text, "%s\n", json_string_value(item));
        }
        return true;
}

static bool add_project(GString *text, const json_t *project, GError **error)
{
        return add_list(text, json_object_get(project, "dependencies"), "project.dependencies", error);
}

/* ---- requirements.txt ---- */

static bool fail(const Gather *gather, guint number, const char *line, const char *why, GError **error)
{
        const char *file = gather->open->pdata[gather->open->len - 1];

        return err_set(error, ERR_INVALID, "%s, line %u: '%.200s' %s", file, number, line, why);
}

/* Resolves "a/../b/c" of a file relative to `file`; NULL if it leaves the package. */
static char *beside(const char *file, const char *path)
{
        g_autofree char *dir = g_path_get_dirname(file);
        g_autofree char *joined = g_build_filename(dir, path, NULL);

        return file_path_inside(joined);
}

static bool is_open(const Gather *gather, const char *path)
{
        for (guint i = 0; i < gather->open->len; i++)
                if (strcmp(gather->open->pdata[i], path) == 0)
                        return true;
        return false;
}

static bool add_text(Gather *gather, const char *text, GError **error);

static bool add_file(Gather *gather, guint number, const char *line, const char *name, GError **error)
{
        g_autofree char *path = NULL, *text = NULL;
        g_autoptr(GError) cause = NULL;
        bool ok;

        if (strstr(name, "://"))
                return fail(gather, number, line,
                            "names an address; only files of the package can be named\n"
                            "Copy the file into the package.",
                            error);
        path = *name == '/' ? NULL : beside(gather->open->pdata[gather->open->len - 1], name);
        if (!path)
                return fail(gather, number, line,
                            "names a file outside the package\nCopy the file into the package.", error);
        if (is_open(gather, path))
                return fail(gather, number, line, "names a file that names this one\nRemove the line.",
                            error);
        if (gather->n_files++ >= NEEDS_FILES_MAX)
                return fail(gather, number, line, "is one file too many: at most 64 can be named", error);
        text = gather->files->read(path, NEEDS_TEXT_MAX, gather->files->arg, &cause);
        if (cause) {
                g_propagate_error(error, g_steal_pointer(&cause));
                return false;
        }
        if (!text)
                return fail(
                        gather, number, line,
                        "names a file that is not in the package\n"
                        "Correct its name; or, if .gitignore or .paddleignore leaves it out, bring it back.",
                        error);
        g_ptr_array_add(gather->open, path);
        ok = add_text(gather, text, error);
        g_ptr_array_set_size(gather->open, (int)gather->open->len - 1);
        return ok;
}

/* PYTHONPATH does not find modules that a project keeps in src/. */
static bool is_in_src(const Gather *gather, const json_t *project)
{
        const char *name = json_string_value(json_object_get(project, "name"));
        g_autofree char *module = g_strdelimit(g_strdup(name ? name : ""), "-.", '_'), *text = NULL;
        g_autofree char *path = NULL;

        g_strdelimit(module, "/", '_');
        path = g_strdup_printf("src/%s/__init__.py", module);
        text = gather->files->read(path, NEEDS_TEXT_MAX * 8, gather->files->arg, NULL);
        return text != NULL;
}

static bool check_len(const char *name, gsize len, GError **error)
{
        return len < NEEDS_TEXT_MAX ||
               err_set(error, ERR_TOO_LARGE, "%s: the requirements are larger than 128 KiB together", name);
}

/* Checked while gathering, as files may include files. */
static bool check_size(const Gather *gather, GError **error)
{
        return check_len(gather->open->pdata[0], gather->text->len, error);
}

/* "[a, b]" after ".": optional dependencies. */
static bool add_extras(Gather *gather, guint number, const char *line, const char *extras,
                       const json_t *project, GError **error)
{
        g_autofree char *inner = g_strndup(extras + 1, strcspn(extras + 1, "]"));
        g_auto(GStrv) names = g_strsplit(inner, ",", -1);

        for (char **name = names; *name; name++) {
                const json_t *list =
                        json_object_get(json_object_get(project, "optional-dependencies"), g_strstrip(*name));

                if (!list)
                        return fail(gather, number, line,
                                    "names an extra that pyproject.toml has not\n"
                                    "See [project.optional-dependencies] there.",
                                    error);
                if (!add_list(gather->text, list, "project.optional-dependencies", error) ||
                    !check_size(gather, error))
                        return false;
        }
        return true;
}

/* `what` is "." or ".[extra]". */
static bool add_itself(Gather *gather, guint number, const char *line, const char *what, GError **error)
{
        g_autoptr(GError) cause = NULL;
        g_autoptr(json_t) pyproject = NULL;
        const json_t *project;

        if (gather->has_itself)
                return fail(gather, number, line,
                            "stands for the package itself a second time\nRemove the line.", error);
        gather->has_itself = true;
        pyproject = read_pyproject(gather->files, &cause);
        project = json_object_get(pyproject, "project");
        if (cause) {
                g_propagate_error(error, g_steal_pointer(&cause));
                return false;
        }
        if (!json_is_object(project))
                return fail(gather, number, line,
                            "needs a pyproject.toml with [project], which says what it depends on\n"
                            "The directory itself is on PYTHONPATH anyway: list the packages instead of the "
                            "line.",
                            error);
        if (is_in_src(gather, project))
                return fail(gather, number, line,
                            "would install the modules below src/, which is not done\n"
                            "Remove the line, and submit with --env PYTHONPATH=src.",
                            error);
        return add_project(gather->text, project, error) &&
               (!what[1] || add_extras(gather, number, line, what + 1, project, error));
}

/* ---- lines ---- */

/* The rest of a line that starts with one of these options: "-r x", "-rx", "--requirement x",
 * "--requirement=x". NULL: another line. Borrowed. */
static const char *value_of(const char *line, const char *letter, const char *name)
{
        const char *rest = NULL;

        if (g_str_has_prefix(line, name) && strchr(" \t=", line[strlen(name)]))
                rest = line + strlen(name);
        else if (g_str_has_prefix(line, letter))
                rest = line + strlen(letter);
        return rest ? rest + strspn(rest, " \t=") : NULL;
}

static bool is_itself(const char *text)
{
        return strcmp(text, ".") == 0 || strcmp(text, "./") == 0 ||
               (g_str_has_prefix(text, ".[") && g_str_has_suffix(text, "]"));
}

static bool is_path(const char *text)
{
        return text[0] == '.' || g_str_has_prefix(text, "/") || g_str_has_prefix(text, "file:");
}

/* `line` without its comment and outer blanks; `whole` has both. */
static bool add_line(Gather *gather, guint number, const char *line, const char *whole, GError **error)
{
        const char *file = value_of(line, "-r", "--requirement");
        const char *constraint = value_of(line, "-c", "--constraint");
        const char *editable = value_of(line, "-e", "--editable");
        const char *place = editable ? editable : line;
        g_autofree char *why = wrong_equals(line);

        if (why)
                return fail(gather, number, line, why, error);
        if (file)
                return add_file(gather, number, line, file, error);
        if (constraint)
                return fail(gather, number, line,
                            "names constraints, which are not supported\n"
                            "Write the versions into the requirements themselves.",
                            error);
        if (is_itself(place))
                return add_itself(gather, number, line, place, error);
        if (is_path(place) || editable)
                return fail(gather, number, line,
                            editable && !is_path(place)
                                    ? "cannot be installed to be edited\nLeave out the -e."
                                    : "installs from a path, which is not supported\nThe package's own "
                                      "directory is "
                                      "on PYTHONPATH: modules in it need no installation.",
                            error);
        g_string_append_printf(gather->text, "%s\n", whole);
        return true;
}

/* A line that ends in a backslash continues on the next one. Both stay as they are: only the start of a line
 * is checked. */
static bool add_text(Gather *gather, const char *text, GError **error)
{
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        bool goes_on = false;

        for (guint i = 0; lines[i]; i++) {
                g_autofree char *line = g_strdup(lines[i]);
                bool begins = !goes_on;

                if (!*line && !lines[i + 1])
                        break; /* after the last newline */
                cut_remark(line);
                g_strstrip(line);
                goes_on = g_str_has_suffix(line, "\\");
                if (!*line || !begins)
                        g_string_append_printf(gather->text, "%s\n", lines[i]);
                else if (!add_line(gather, i + 1, line, lines[i], error))
                        return false;
                if (!check_size(gather, error))
                        return false;
        }
        return true;
}

/* ---- the files ---- */

static bool from_requirements(const RequirementsFiles *files, const char *name, char **ret, GError **error)
{
        g_autofree char *text = files->read(name, NEEDS_TEXT_MAX, files->arg, error);
        g_autoptr(GString) whole = g_string_new(NULL);
        g_autoptr(GPtrArray) open = g_ptr_array_new();
        Gather gather = { files, whole, open, 0, false };

        if (!text)
                return false;
        g_ptr_array_add(open, (gpointer)name);
        if (!add_text(&gather, text, error))
                return false;
        *ret = g_string_free(g_steal_pointer(&whole), FALSE);
        return true;
}

static bool from_lock(const RequirementsFiles *files, const char *name, char **ret, GError **error)
{
        g_autofree char *text = files->read(name, LOCK_FILE_MAX, files->arg, error);

        *ret = text ? uv_lock_requirements(text, error) : NULL;
        return *ret != NULL;
}

static bool from_pyproject(const RequirementsFiles *files, const char *name G_GNUC_UNUSED, char **ret,
                           GError **error)
{
        g_autoptr(json_t) pyproject = read_pyproject(files, error);
        const json_t *project = json_object_get(pyproject, "project");
        g_autoptr(GString) text = g_string_new(NULL);

        if (!json_is_array(json_object_get(project, "dependencies")) || !add_project(text, project, error))
                return false;
        *ret = g_string_free(g_steal_pointer(&text), FALSE);
        return true;
}

/* An explanation for users who only have files of other tools. */
static char *note_of(const RequirementsFiles *files)
{
        static const char *const conda[] = { "environment.yml", "environment.yaml" };
        g_autoptr(json_t) pyproject = read_pyproject(files, NULL);
        const json_t *project = json_object_get(pyproject, "project");
        const json_t *poetry = json_object_get(json_object_get(pyproject, "tool"), "poetry");
        const json_t *item;
        gsize i;

        for (gsize n = 0; n < G_N_ELEMENTS(conda); n++) {
                g_autofree char *text = files->read(conda[n], NEEDS_TEXT_MAX * 8, files->arg, NULL);

                if (text)
                        return g_strdup_printf("%s is ignored: conda environments are not supported\n"
                                               "List the packages that `pip` installs in requirements.txt.",
                                               conda[n]);
        }
        if (json_is_object(json_object_get(poetry, "dependencies")) &&
            !json_is_array(json_object_get(project, "dependencies")))
                return g_strdup("the dependencies that Poetry keeps in pyproject.toml are not read\n"
                                "`poetry export -o requirements.txt` writes them into a file that is.");
        json_array_foreach(json_object_get(project, "dynamic"), i, item) {
                if (g_strcmp0(json_string_value(item), "dependencies") == 0)
                        return g_strdup(
                                "the dependencies of pyproject.toml are 'dynamic', so they are not read\n"
                                "List the packages in requirements.txt.");
        }
        return NULL;
}

bool requirements_gather(const RequirementsFiles *files, char **ret_text, char **ret_note, GError **error)
{
        static const struct {
                const char *name;
                bool (*take)(const RequirementsFiles *files, const char *name, char **ret, GError **error);
        } rows[] = {
                { "requirements.txt", from_requirements },
                { "requirments.txt", from_requirements },
                { "uv.lock", from_lock },
                { PYPROJECT, from_pyproject },
        };
        g_autoptr(GError) cause = NULL;

        *ret_text = NULL;
        if (ret_note)
                *ret_note = NULL;
        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                if (rows[i].take(files, rows[i].name, ret_text, &cause) &&
                    check_len(rows[i].name, strlen(*ret_text), &cause))
                        return true;
                if (cause) {
                        g_clear_pointer(ret_text, g_free);
                        g_propagate_error(error, g_steal_pointer(&cause));
                        return false;
                }
        }
        if (ret_note)
                *ret_note = note_of(files);
        return true;
}
