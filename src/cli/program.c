/* Programs of commands (see program.h). */
#include "cli/program.h"

#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/word.h"
#include "cli/measure.h"

void program_verdict_clear(ProgramVerdict *verdict)
{
        g_free(verdict->path);
        g_free(verdict->near);
        *verdict = (ProgramVerdict){ 0 };
}

/* ---- the words of the first program ---- */

/* A shell line up to its first operator; the rest runs only afterwards. */
static char **words_of_line(const char *line)
{
        g_autofree char *first = g_strndup(line, strcspn(line, ";&|<>(){}\n"));
        char **words = NULL;

        return g_shell_parse_argv(first, NULL, &words, NULL) ? words : NULL;
}

static char **words_of(const json_t *command)
{
        g_autoptr(GStrvBuilder) words = NULL;
        json_t *word;
        gsize i;

        if (json_is_string(command))
                return words_of_line(json_string_value(command));
        words = g_strv_builder_new();
        json_array_foreach(command, i, word)
                g_strv_builder_add(words, json_is_string(word) ? json_string_value(word) : "");
        return g_strv_builder_end(words);
}

/* ---- interpreters ---- */

typedef struct {
        const char *text;       /* options without a file: their value is the program */
        const char *with_value; /* options with a value */
        const char *const *long_with_value;
        bool modules; /* -m takes a module */
} Interpreter;

static const char *const python_long[] = { "--check-hash-based-pycs", NULL };
static const char *const shell_long[] = { "--rcfile", "--init-file", NULL };
static const Interpreter python = { "c", "WX", python_long, true };
static const Interpreter shell = { "cs", "oO", shell_long, false };

/* "python", "python3", "python3.11", with or without a directory before it; "sh", "bash". */
static const Interpreter *interpreter_of(const char *word)
{
        g_autofree char *base = g_path_get_basename(word);

        if (g_str_has_prefix(base, "python") && strspn(base + 6, "0123456789.") == strlen(base + 6))
                return &python;
        return strcmp(base, "sh") == 0 || strcmp(base, "bash") == 0 || strcmp(base, "dash") == 0 ? &shell
                                                                                                 : NULL;
}

typedef struct {
        const char *file, *module; /* both NULL: program text, standard input, or unknown */
} Started;

/* Parses options in one word, "-uW": true, with *ret_takes_next if their value is the next word; false if the
 * program is not a file of the package. Sets a module in `started`. */
static bool read_letters(const Interpreter *is, const char *letters, const char *next, bool *ret_takes_next,
                         Started *started)
{
        for (; *letters; letters++) {
                if (is->modules && *letters == 'm') {
                        started->module = letters[1] ? letters + 1 : next;
                        return false;
                }
                if (strchr(is->text, *letters))
                        return false;
                if (strchr(is->with_value, *letters)) {
                        *ret_takes_next = !letters[1];
                        return true;
                }
        }
        return true;
}

/* The file or module that the interpreter in words[0] runs. */
static Started read_options(const Interpreter *is, char *const *words)
{
        Started started = { 0 };

        for (int at = 1; words[at]; at++) {
                const char *word = words[at];
                bool takes_next = false;

                if (word[0] != '-') {
                        started.file = word;
                        return started;
                }
                if (!word[1]) /* standard input */
                        return started;
                if (strcmp(word, "--") == 0) {
                        started.file = words[at + 1];
                        return started;
                }
                if (word[1] == '-')
                        takes_next = g_strv_contains(is->long_with_value, word);
                else if (!read_letters(is, word + 1, words[at + 1], &takes_next, &started))
                        return started;
                if (takes_next && !words[++at])
                        return started;
        }
        return started;
}

/* ---- the package ---- */

static Found found(GHashTable *paths, const char *path)
{
        return GPOINTER_TO_INT(g_hash_table_lookup(paths, path));
}

static bool has(GHashTable *paths, const char *dir, const char *name)
{
        g_autofree char *path = *dir ? g_strconcat(dir, "/", name, NULL) : g_strdup(name);

        return found(paths, path) != 0;
}

/* A path below a link is elsewhere in the package. */
static bool is_below_link(GHashTable *paths, const char *path)
{
        for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
                g_autofree char *above = g_strndup(path, (gsize)(slash - path));

                if (found(paths, above) == FOUND_LINK)
                        return true;
        }
        return false;
}

static gint by_name(gconstpointer a, gconstpointer b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A similar path of the same type, or a file of the same name in another directory. */
static char *near_file(GHashTable *paths, const char *path)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        g_autofree char *base = g_path_get_basename(path);
        const char *ending = strrchr(base, '.'), *near = NULL;
        GHashTableIter at;
        gpointer key, value;

        g_hash_table_iter_init(&at, paths);
        while (g_hash_table_iter_next(&at, &key, &value)) {
                const char *slash = strrchr(key, '/');

                if (GPOINTER_TO_INT(value) == FOUND_DIRECTORY || (ending && !g_str_has_suffix(key, ending)))
                        continue;
                if (strcmp(slash ? slash + 1 : key, base) == 0 && (!near || strcmp(key, near) < 0))
                        near = key;
                g_ptr_array_add(names, key);
        }
        g_ptr_array_sort(names, by_name);
        g_ptr_array_add(names, NULL);
        return g_strdup(near ? near : word_nearest(path, (const char *const *)names->pdata));
}

static ProgramVerdict verdict(ProgramFault fault, const char *path, char *near)
{
        return (ProgramVerdict){ fault, g_strdup(path), near };
}

/* A word that a shell would expand, or a path of the machine, is not about the package. */
static bool is_of_package(const char *word)
{
        return word && *word && word[0] != '/' && !strpbrk(word, "$`*?[~");
}

static ProgramVerdict judge_file(GHashTable *paths, const char *word, bool must_execute)
{
        g_autofree char *path = is_of_package(word) ? file_path_inside(word) : NULL;

        if (!is_of_package(word))
                return (ProgramVerdict){ 0 };
        if (!path)
                return verdict(PROGRAM_OUTSIDE, word, NULL);
        if (!*path)
                return must_execute || !has(paths, "", "__main__.py")
                               ? verdict(PROGRAM_NO_DIRECTORY, word, NULL)
                               : (ProgramVerdict){ 0 };
        switch (found(paths, path)) {
        case FOUND_DIRECTORY:
                return !must_execute && has(paths, path, "__main__.py")
                               ? (ProgramVerdict){ 0 }
                               : verdict(PROGRAM_NO_DIRECTORY, path, NULL);
        case FOUND_FILE:
                return must_execute ? verdict(PROGRAM_NOT_EXECUTABLE, path, NULL) : (ProgramVerdict){ 0 };
        case FOUND_PROGRAM:
        case FOUND_LINK: return (ProgramVerdict){ 0 };
        default: break;
        }
        return is_below_link(paths, path) ? (ProgramVerdict){ 0 }
                                          : verdict(PROGRAM_MISSING, path, near_file(paths, path));
}

static bool is_yaml(const char *word)
{
        return g_str_has_suffix(word, ".yaml") || g_str_has_suffix(word, ".yml");
}

/* A file that needs another program: an interpreter, or `paddle` itself. */
static bool is_script(const char *word)
{
        return g_str_has_suffix(word, ".py") || g_str_has_suffix(word, ".sh") || is_yaml(word);
}

/* An interpreter for a misspelled one: "python" for "pyhton". The first letters must be equal, since
 * "ipython" is a program that requirements may install. NULL: none; borrowed. */
static const char *near_interpreter(const char *word)
{
        static const char *const names[] = { "python", "python3", "torchrun", "mpirun" };
        g_autofree char *here = NULL;

        for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
                if (strncmp(word, names[i], 2) == 0 && word_distance(word, names[i]) == 1) {
                        here = g_find_program_in_path(word);
                        return here ? NULL : names[i];
                }
        return NULL;
}

/* A word without a slash is searched on PATH, where requirements may install scripts. */
static ProgramVerdict judge_alone(GHashTable *paths, const char *word)
{
        g_autofree char *here = is_of_package(word) && is_script(word) ? g_find_program_in_path(word) : NULL;
        g_autofree char *near = NULL;

        if (near_interpreter(word))
                return verdict(PROGRAM_MISTYPED, word, g_strdup(near_interpreter(word)));
        if (!is_of_package(word) || !is_script(word) || here)
                return (ProgramVerdict){ 0 };
        if (found(paths, word))
                return verdict(PROGRAM_ALONE, word, NULL);
        near = near_file(paths, word);
        if (!near && has(paths, "", "requirements.txt"))
                return (ProgramVerdict){ 0 };
        return verdict(PROGRAM_MISSING, word, g_steal_pointer(&near));
}

/* ---- modules ---- */

/* True if `python -m` can run `path`, a module's name with slashes. */
static bool runs(GHashTable *paths, const char *path)
{
        g_autofree char *file = g_strconcat(path, ".py", NULL);

        return found(paths, file) || has(paths, path, "__main__.py") || found(paths, path) == FOUND_LINK ||
               is_below_link(paths, path);
}

static char *near_module(GHashTable *paths, const char *path)
{
        g_autofree char *file = g_strconcat(path, ".py", NULL);
        g_autofree char *near = near_file(paths, file);

        if (!near || !g_str_has_suffix(near, ".py"))
                return NULL;
        near[strlen(near) - 3] = '\0';
        g_strdelimit(near, "/", '.');
        return g_steal_pointer(&near);
}

/* The result is certain only if the first part of the module is a regular package, or a file, of the package:
 * a directory without __init__.py has lower priority than an installed package. */
static ProgramVerdict judge_module(GHashTable *paths, const char *module)
{
        g_autofree char *path = NULL, *first = NULL, *file = NULL;

        if (!is_of_package(module) || strchr(module, '/'))
                return (ProgramVerdict){ 0 };
        path = g_strdelimit(g_strdup(module), ".", '/');
        first = g_strndup(path, strcspn(path, "/"));
        file = g_strconcat(first, ".py", NULL);
        if (g_str_has_suffix(module, ".py") && found(paths, module))
                return verdict(PROGRAM_FILE_AS_MODULE, module, g_strndup(module, strlen(module) - 3));
        if (!has(paths, first, "__init__.py") && !found(paths, file))
                return (ProgramVerdict){ 0 };
        return runs(paths, path) ? (ProgramVerdict){ 0 }
                                 : verdict(PROGRAM_NO_MODULE, module, near_module(paths, path));
}

ProgramVerdict program_judge(const json_t *command, GHashTable *paths)
{
        g_auto(GStrv) words = words_of(command);
        const Interpreter *interpreter = words && words[0] ? interpreter_of(words[0]) : NULL;
        Started started;

        if (!words || !words[0])
                return (ProgramVerdict){ 0 };
        if (!interpreter)
                return strchr(words[0], '/') ? judge_file(paths, words[0], true)
                                             : judge_alone(paths, words[0]);
        started = read_options(interpreter, words);
        return started.module ? judge_module(paths, started.module) : judge_file(paths, started.file, false);
}

/* ---- messages ---- */

#define FORCE "--force submits it anyway."

static bool refuse_missing(const ProgramVerdict *fault, const char *dir, GError **error)
{
        g_autofree char *path = g_build_filename(dir, fault->path, NULL);

        if (g_file_test(path, G_FILE_TEST_EXISTS))
                return err_set(error, ERR_USAGE,
                               "'%s' is left out of the package, so the job would fail\n"
                               "A rule in .gitignore or .paddleignore leaves it out, or `paddle download` "
                               "brought it. A line "
                               "'!%s' in .paddleignore sends it. " FORCE,
                               fault->path, fault->path);
        if (fault->near)
                return err_set(error, ERR_USAGE,
                               "'%s' is not in the package, so the job would fail\nDid you mean '%s'? " FORCE,
                               fault->path, fault->near);
        return err_set(
                error, ERR_USAGE,
                "'%s' is not in the package, so the job would fail\nThe package is the directory '%s'; "
                "the command runs in a copy of it. " FORCE,
                fault->path, dir);
}

bool program_check(const json_t *command, GHashTable *paths, const char *dir, GError **error)
{
        g_auto(ProgramVerdict) fault = program_judge(command, paths);
        const char *name = fault.path;

        switch (fault.fault) {
        case PROGRAM_MISSING: return refuse_missing(&fault, dir, error);
        case PROGRAM_MISTYPED:
                return err_set(error, ERR_USAGE,
                               "there is no program '%s', so the job would fail\nDid you mean '%s'? " FORCE,
                               name, fault.near);
        case PROGRAM_OUTSIDE:
                return err_set(error, ERR_USAGE,
                               "'%s' is outside the package '%s', so the job would fail\nName the directory "
                               "that holds all of the program with --package-path. " FORCE,
                               name, dir);
        case PROGRAM_NOT_EXECUTABLE:
                return err_set(
                        error, ERR_USAGE,
                        "'./%s' is not executable, so the job would fail\nMake it so (chmod +x %s), or "
                        "name its interpreter%s%s. " FORCE,
                        name, name, g_str_has_suffix(name, ".py") ? ": python " : "",
                        g_str_has_suffix(name, ".py") ? name : "");
        case PROGRAM_NO_DIRECTORY:
                return err_set(error, ERR_USAGE,
                               "'%s' is a directory, so the job would fail\nName the program in it. " FORCE,
                               name);
        case PROGRAM_ALONE:
                if (is_yaml(name))
                        return err_set(
                                error, ERR_USAGE,
                                "'%s' is not a program, so the job would fail\n`paddle run create -f %s` "
                                "runs a pipeline, and `paddle submit -f %s` a job file. " FORCE,
                                name, name, name);
                return err_set(
                        error, ERR_USAGE,
                        "'%s' without a directory is searched on PATH, not in the package, so the job would fail\nWrite %s %s. " FORCE,
                        name, g_str_has_suffix(name, ".py") ? "python" : "sh", name);
        case PROGRAM_NO_MODULE:
                return err_set(error, ERR_USAGE,
                               "the package has no module '%s' that can be run, so the job would "
                               "fail\n%s%s%s" FORCE,
                               name, fault.near ? "Did you mean '" : "", fault.near ? fault.near : "",
                               fault.near ? "'? " : "");
        case PROGRAM_FILE_AS_MODULE:
                return err_set(error, ERR_USAGE,
                               "'python -m' takes the name of a module, and '%s' is a file, so the job would "
                               "fail\nWrite python %s, or python -m %s. " FORCE,
                               name, name, fault.near);
        default: return true;
        }
}
