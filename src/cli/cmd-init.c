/* paddle init: writes a job file for the current directory. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/guess.h"
#include "cli/measure.h"
#include "cli/needs.h"
#include "cli/verbs.h"

#define JOB_FILE "paddle.yaml"

enum {
        FILES_READ = 500, /* Python files to search */
        FILE_MAX = 1024 * 1024,
        PATHS_MAX = 20000,
};

typedef struct {
        Common common;
        bool force;
} Init;

static const Option options[] = {
        { "force", 'f', OPTION_BOOL, offsetof(Init, force), NULL, "replace a " JOB_FILE " that is there" },
        COMMON_OPTIONS,
        { 0 },
};

static gint by_name(gconstpointer a, gconstpointer b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The directory's Python files in order of name; borrowed from the measure. */
static GPtrArray *programs_of(const Measure *measure)
{
        GPtrArray *programs = g_ptr_array_new();
        GHashTableIter at;
        gpointer path;

        g_hash_table_iter_init(&at, measure->paths);
        while (g_hash_table_iter_next(&at, &path, NULL))
                if (g_str_has_suffix(path, ".py"))
                        g_ptr_array_add(programs, path);
        g_ptr_array_sort(programs, by_name);
        return programs;
}

static void look_at_programs(Guess *guess, const char *dir, const Measure *measure)
{
        g_autoptr(GPtrArray) programs = programs_of(measure);

        for (guint i = 0; i < programs->len && i < FILES_READ; i++) {
                g_autofree char *file = g_build_filename(dir, programs->pdata[i], NULL), *text = NULL;

                if (file_read(file, FILE_MAX, &text, NULL, NULL))
                        guess_add(guess, programs->pdata[i], text);
        }
}

/* A job name from the directory's name: "My Project" -> "my-project". */
static char *job_name(const char *dir)
{
        g_autofree char *whole = g_canonicalize_filename(dir, NULL), *base = g_path_get_basename(whole);
        g_autofree char *name = g_ascii_strdown(base, -1);

        g_strcanon(name, "abcdefghijklmnopqrstuvwxyz0123456789-", '-');
        return g_str_has_prefix(name, "-") ? g_strdup("model") : g_strndup(name, 40);
}

static bool check_place(const char *dir, const char *path, bool force, GError **error)
{
        struct stat info;

        if (stat(dir, &info) < 0 || !S_ISDIR(info.st_mode))
                return err_set(error, ERR_USAGE, "'%s' is not a directory", dir);
        if (!force && lstat(path, &info) == 0)
                return err_set(error, ERR_USAGE, "'%s' exists already\n--force replaces it.", path);
        return true;
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Init *init = target;
        const char *dir = words[0] ? words[0] : ".";
        g_autofree char *path = words[0] ? g_build_filename(dir, JOB_FILE, NULL) : g_strdup(JOB_FILE);
        g_autofree char *name = job_name(dir), *text = NULL;
        g_autoptr(IgnoreRules) rules = ignore_new();
        g_autoptr(Guess) guess = guess_new();
        g_auto(Measure) measure = { 0 };
        const char *needs;

        if (!check_place(dir, path, init->force, error) ||
            !measure_directory(dir, rules, PATHS_MAX, &measure, error))
                return false;
        look_at_programs(guess, dir, &measure);
        needs = needs_file(&measure);
        if (needs)
                guess_needs(guess, needs);
        text = guess_format(guess, name);
        if (!file_replace(path, text, strlen(text), 0644, false, error))
                return false;
        puts(path);
        if (guess_program(guess))
                cli_say(cli,
                        "wrote a job file: %s, framework %s\n`paddle submit --plan` shows what it would do.",
                        guess_program(guess), guess_framework(guess));
        else
                cli_say(cli, "wrote a job file without a command, as no program was found: name it there.");
        return true;
}

const Verb verb_init = {
        .name = "init",
        .args = "[DIR]",
        .summary = "Write a job file for this directory: " JOB_FILE,
        .about = "It reads the directory's Python files: their names suggest the program, their imports the "
                 "framework and, without a requirements.txt, the packages. Comments in the file explain "
                 "everything that can be changed. `paddle submit` without a command uses it.",
        .examples = "paddle init\tand then: paddle submit --follow\n"
                    "paddle init --force\twrite it again",
        .options = options,
        .size = sizeof(Init),
        .max_words = 1,
        .words = WORDS_FILES,
        .run = run,
};
