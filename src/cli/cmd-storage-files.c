/* paddle storage ls, du, rm, mv, mkdir: files and directories in the server's storage. */
#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "cli/listing.h"
#include "cli/question.h"
#include "cli/remote.h"
#include "cli/verbs.h"

enum { ASK_ABOVE = 100 }; /* `rm -r` asks before it removes more files */

#define ABOUT_PATHS                                                                                          \
        "A PATH that does not begin with /pfs/ is below your home, /pfs/DATACENTER/home/USER. Public files " \
        "are below /pfs/DATACENTER/public."

typedef struct {
        Common common;
        char *format;
        bool recursive, summary, force, yes, parents;
} Files;

/* One run of a verb on its words. */
typedef struct {
        Cli *cli;
        const Files *about;
        RemoteNames names;
        Listing *listing;      /* of ls and du */
        bool several, is_home; /* ... with several PATHs, with none */
        guint64 items;
        char *target; /* of mv */
        bool into;
} Run;

static bool run_begin(Run *run, Cli *cli, const Files *about, GError **error)
{
        *run = (Run){ .cli = cli, .about = about };
        return cli_client(cli, error) && remote_names_ask(cli, &run->names, error);
}

static void run_clear(Run *run)
{
        remote_names_clear(&run->names);
        g_clear_pointer(&run->target, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Run, run_clear)

/* Without trailing slashes. */
static char *bare_path(const Run *run, const char *word, GError **error)
{
        char *path = remote_path_of(&run->names, word, error);

        while (path && g_str_has_suffix(path, "/"))
                path[strlen(path) - 1] = '\0';
        return path;
}

static char *amount_of(const json_t *count)
{
        gint64 files = int_of(count, "files");
        g_autofree char *size = bytes_format((guint64)int_of(count, "bytes"));

        return g_strdup_printf("%" G_GINT64_FORMAT " file%s, %s", files, files == 1 ? "" : "s", size);
}

/* The only item of a reply, or the last one; borrowed. */
static json_t *last_item(const json_t *reply)
{
        const json_t *items = json_object_get(reply, "items");

        return json_array_get(items, json_array_size(items) - 1);
}

/* ---- ls, du ---- */

/* "drwxr-xr-x" */
static char *cell_mode(const json_t *item, const Terminal *terminal)
{
        static const struct {
                const char *type;
                char letter;
        } types[] = {
                { "directory", 'd' }, { "link", 'l' }, { "pipe", 'p' }, { "socket", 's' }, { "device", 'c' }
        };
        guint64 mode = g_ascii_strtoull(text_of(item, "mode"), NULL, 8);
        char text[] = "-rwxrwxrwx";

        for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
                if (strcmp(text_of(item, "type"), types[i].type) == 0)
                        text[0] = types[i].letter;
        for (int bit = 0; bit < 9; bit++)
                if (!(mode >> (8 - bit) & 1))
                        text[bit + 1] = '-';
        return g_strdup(text);
}

static char *cell_size(const json_t *item, const Terminal *terminal)
{
        return json_is_true(json_object_get(item, "dir")) ? NULL
                                                          : bytes_format((guint64)int_of(item, "size"));
}

static char *cell_changed(const json_t *item, const Terminal *terminal)
{
        g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(time_of(item, "mtime") / 1000);

        return time ? g_date_time_format(time, "%Y-%m-%d %H:%M") : NULL;
}

static char *cell_name(const json_t *item, const Terminal *terminal)
{
        bool slash = strcmp(text_of(item, "type"), "directory") == 0 &&
                     !g_str_has_suffix(text_of(item, "name"), "/");

        return g_strconcat(text_of(item, "name"), slash ? "/" : "", NULL);
}

static char *cell_held(const json_t *item, const Terminal *terminal)
{
        return bytes_format((guint64)int_of(item, "bytes"));
}

static char *cell_length(const json_t *item, const Terminal *terminal)
{
        return bytes_format((guint64)int_of(item, "size"));
}

static const Column ls_columns[] = {
        { "MODE", false, cell_mode, .fit = { 3, TABLE_WHOLE } },
        { ">SIZE", false, cell_size, .fit = { 1 } },
        { "CHANGED", false, cell_changed, .fit = { 2, TABLE_WHOLE } },
        { "NAME", false, cell_name },
        { ">BYTES", true, .member = "size" },
        { "PATH", true, .member = "path" },
        { 0 },
};

static const Column du_columns[] = {
        { ">HELD", false, cell_held },
        { ">FILES", .member = "files", .fit = { 1 } },
        { ">DIRECTORIES", .member = "dirs", .fit = { 2 } },
        { "NAME", .member = "name" },
        { ">LENGTH", true, cell_length },
        { ">BYTES", true, .member = "bytes" },
        { "PATH", true, .member = "path" },
        { 0 },
};

/* The path relative to the requested directory; with several of them after its name. */
static char *name_of(const Run *run, const char *word, const char *base, const char *path)
{
        gsize len = strlen(base);
        const char *rest = g_str_has_prefix(path, base) && path[len] == '/' ? path + len + 1 : NULL;

        if (!rest)
                return g_strdup(run->is_home ? base : word);
        if (!run->several)
                return g_strdup(rest);
        return g_strconcat(word, g_str_has_suffix(word, "/") ? "" : "/", rest, NULL);
}

static void add_items(Run *run, const char *word, const char *base, const json_t *reply)
{
        json_t *item;
        gsize i;

        json_array_foreach(json_object_get(reply, "items"), i, item) {
                g_autofree char *name = name_of(run, word, base, text_of(item, "path"));

                json_object_set_new(item, "name", json_string(name));
                listing_add(run->listing, item);
                run->items++;
        }
        if (json_is_true(json_object_get(reply, "more"))) {
                cli_warn(run->cli,
                         "not all of '%s' is shown: these are the first %" G_GSIZE_FORMAT " entries", base,
                         json_array_size(json_object_get(reply, "items")));
                run->cli->status = 1;
        }
}

static bool look(Run *run, const char *word, const char *query, GError **error)
{
        g_autofree char *path = bare_path(run, word, error);
        g_autoptr(json_t) reply = path ? remote_get(run->cli, path, query, error) : NULL;

        if (reply)
                add_items(run, word, path, reply);
        return reply;
}

static bool ls_one(Cli *cli, const char *word, void *arg, GError **error)
{
        Run *run = arg;
        return look(run, word,
                    run->about->recursive ? "?list=true&all=true&recursive=true" : "?list=true&all=true",
                    error);
}

static bool du_one(Cli *cli, const char *word, void *arg, GError **error)
{
        Run *run = arg;
        return look(run, word, run->about->summary ? "?count=true" : "?count=true&each=true", error);
}

/* Without words: the home. */
static bool look_at_all(Cli *cli, const Files *about, char *const *words, const Column *columns, CliEach *one,
                        guint64 *ret_items, GError **error)
{
        static char home[] = "/";
        char *only_home[] = { home, NULL };
        char *const *all = *words ? words : only_home;
        guint n = g_strv_length((char **)all);
        g_autoptr(Listing) listing = NULL;
        g_auto(Run) run = { 0 };
        Format format;
        bool ok;

        if (!format_parse(cli, about->format, &format, error) || !run_begin(&run, cli, about, error))
                return false;
        run.listing = listing = listing_new(cli, format, columns, "path");
        run.several = n > 1;
        run.is_home = !*words;
        ok = cli_each(cli, all, n, one, &run, error);
        if (ok || run.items > 0)
                listing_end(listing);
        *ret_items = run.items;
        return ok;
}

static bool run_ls(Cli *cli, const void *target, char *const *words, GError **error)
{
        guint64 items;

        if (!look_at_all(cli, target, words, ls_columns, ls_one, &items, error))
                return false;
        if (items == 0)
                cli_say(cli, *words ? "there is nothing in it" : "there is nothing in your home");
        return true;
}

static bool run_du(Cli *cli, const void *target, char *const *words, GError **error)
{
        guint64 items;

        return look_at_all(cli, target, words, du_columns, du_one, &items, error);
}

/* ---- rm ---- */

static bool is_agreed(const char *path, const char *amount)
{
        g_autofree char *shown = text_visible(path);
        g_autofree char *question = g_strdup_printf("remove '%s' with %s? [y/N] ", shown, amount);

        return question_agreed(question, false);
}

static void say_removed(const Run *run, const char *path, const char *amount)
{
        g_autofree char *shown = text_visible(path);

        cli_say(run->cli, "removed '%s'%s%s", shown, amount ? ": " : "", amount ? amount : "");
}

/* Refuses "/pfs/<dc>/home/<user>", "/pfs/<dc>/public" and their parents, before asking the user. */
static bool check_is_below(const char *path, GError **error)
{
        g_auto(GStrv) parts = g_strsplit(path, "/", -1); /* "", "pfs", dc, "home" or "public", ... */
        guint count = g_strv_length(parts);

        if (count > (count > 3 && strcmp(parts[3], "home") == 0 ? 5U : 4U))
                return true;
        return err_set(error, ERR_DENIED, "'%s' itself cannot be removed\nRemove its contents instead.",
                       path);
}

static bool remove_tree(Run *run, const char *path, GError **error)
{
        g_autoptr(json_t) reply = remote_get(run->cli, path, "?count=true", error);
        g_autofree char *amount = NULL;
        bool asks = !run->about->yes && question_is_possible(run->cli);

        if (!reply)
                return false;
        amount = amount_of(last_item(reply));
        if (asks && int_of(last_item(reply), "files") > ASK_ABOVE && !is_agreed(path, amount))
                return err_set(error, ERR_FAILED, "'%s' is not removed: you did not answer 'y'", path);
        if (!remote_delete(run->cli, path, true, error))
                return false;
        say_removed(run, path, amount);
        return true;
}

static bool rm_one(Cli *cli, const char *word, void *arg, GError **error)
{
        Run *run = arg;
        g_autofree char *path = bare_path(run, word, error);
        g_autoptr(GError) cause = NULL;
        g_autoptr(json_t) about = NULL;
        bool ok;

        if (!path || !check_is_below(path, error))
                return false;
        about = remote_get(run->cli, path, "?stat=true", &cause);
        if (!about)
                ok = false;
        else if (strcmp(text_of(last_item(about), "type"), "directory") != 0)
                ok = remote_delete(run->cli, path, false, &cause);
        else if (!run->about->recursive)
                return err_set(
                        error, ERR_CONFLICT,
                        "'%s' is a directory\n`paddle storage rm -r` removes it with all that is in it.",
                        path);
        else
                return remove_tree(run, path, error);
        if (ok)
                say_removed(run, path, NULL);
        else if (!run->about->force || !err_is(cause, ERR_NOT_FOUND))
                g_propagate_error(error, g_steal_pointer(&cause));
        else
                ok = true;
        return ok;
}

static bool run_rm(Cli *cli, const void *target, char *const *words, GError **error)
{
        g_auto(Run) run = { 0 };

        return run_begin(&run, cli, target, error) &&
               cli_each(cli, words, g_strv_length((char **)words), rm_one, &run, error);
}

/* ---- mv ---- */

/* The type of `path`: *ret_there, *ret_dir. */
static bool look_up(Run *run, const char *path, bool *ret_there, bool *ret_dir, GError **error)
{
        g_autoptr(GError) cause = NULL;
        g_autoptr(json_t) reply = remote_get(run->cli, path, "?stat=true", &cause);

        *ret_there = reply;
        *ret_dir = reply && json_is_true(json_object_get(last_item(reply), "dir"));
        if (reply || err_is(cause, ERR_NOT_FOUND))
                return true;
        g_propagate_error(error, g_steal_pointer(&cause));
        return false;
}

static bool find_target(Run *run, const char *word, bool several, GError **error)
{
        bool there, dir;

        run->target = bare_path(run, word, error);
        if (!run->target || !look_up(run, run->target, &there, &dir, error))
                return false;
        run->into = dir;
        if (dir || !(several || g_str_has_suffix(word, "/")))
                return true;
        if (there)
                return err_set(error, ERR_CONFLICT, "'%s' is a file, so nothing can be moved into it",
                               run->target);
        return err_set(error, ERR_NOT_FOUND,
                       "directory '%s' does not exist\n`paddle storage mkdir -p` makes it.", run->target);
}

static bool mv_one(Cli *cli, const char *word, void *arg, GError **error)
{
        Run *run = arg;
        g_autofree char *from = bare_path(run, word, error);
        g_autofree char *base = from ? g_path_get_basename(from) : NULL;
        g_autofree char *to = run->into ? g_strconcat(run->target, "/", base, NULL) : g_strdup(run->target);
        g_autofree char *from_shown = NULL, *to_shown = NULL;
        bool replaces = false, dir;

        if (!from || (run->about->force && !look_up(run, to, &replaces, &dir, error)) ||
            !remote_post(run->cli, from,
                         json_pack("{s:s, s:s, s:b}", "op", "move", "to", to, "replace", run->about->force),
                         error))
                return false;
        from_shown = text_visible(from);
        to_shown = text_visible(to);
        cli_say(run->cli, "%s -> %s%s", from_shown, to_shown,
                replaces ? ", in the place of the one before" : "");
        puts(to_shown);
        return true;
}

static bool run_mv(Cli *cli, const void *target, char *const *words, GError **error)
{
        guint sources = g_strv_length((char **)words) - 1;
        g_auto(Run) run = { 0 };

        return run_begin(&run, cli, target, error) && find_target(&run, words[sources], sources > 1, error) &&
               cli_each(cli, words, sources, mv_one, &run, error);
}

/* ---- mkdir ---- */

static bool mkdir_one(Cli *cli, const char *word, void *arg, GError **error)
{
        Run *run = arg;
        g_autofree char *path = bare_path(run, word, error);
        g_autofree char *shown = NULL;

        if (!path ||
            !remote_post(run->cli, path,
                         json_pack("{s:s, s:b}", "op", "mkdir", "parents", run->about->parents), error))
                return false;
        shown = text_visible(path);
        puts(shown);
        return true;
}

static bool run_mkdir(Cli *cli, const void *target, char *const *words, GError **error)
{
        g_auto(Run) run = { 0 };

        return run_begin(&run, cli, target, error) &&
               cli_each(cli, words, g_strv_length((char **)words), mkdir_one, &run, error);
}

/* ---- rows ---- */

static const Option ls_options[] = {
        { "recursive", 'R', OPTION_BOOL, offsetof(Files, recursive), NULL,
          "with all that is in the directories below" },
        FORMAT_OPTION(offsetof(Files, format)),
        COMMON_OPTIONS,
        { 0 },
};

static const Option du_options[] = {
        { "summarize", 's', OPTION_BOOL, offsetof(Files, summary), NULL,
          "one line for each PATH, without the directories in it" },
        FORMAT_OPTION(offsetof(Files, format)),
        COMMON_OPTIONS,
        { 0 },
};

static const Option rm_options[] = {
        { "recursive", 'r', OPTION_BOOL, offsetof(Files, recursive), NULL,
          "remove directories, with all that is in them" },
        { "force", 'f', OPTION_BOOL, offsetof(Files, force), NULL, "a PATH that does not exist is no error" },
        { "yes", 'y', OPTION_BOOL, offsetof(Files, yes), NULL,
          "do not ask before more than 100 files are removed" },
        COMMON_OPTIONS,
        { 0 },
};

static const Option mv_options[] = {
        { "force", 'f', OPTION_BOOL, offsetof(Files, force), NULL, "replace a file that has the new name" },
        COMMON_OPTIONS,
        { 0 },
};

static const Option mkdir_options[] = {
        { "parents", 'p', OPTION_BOOL, offsetof(Files, parents), NULL,
          "with the directories above it; one that exists is no error" },
        COMMON_OPTIONS,
        { 0 },
};

const Verb verb_storage_ls = {
        .name = "storage ls",
        .args = "[PATH...]",
        .summary = "List files and directories of the storage",
        .about = "Without PATH it lists your home. " ABOUT_PATHS "\n\nThe first letter of MODE is the type: "
                 "d is a directory, l a link (with size and "
                 "time of its target), - a file. -o name "
                 "prints whole paths, -o wide also sizes in "
                 "bytes.",
        .examples = "paddle storage ls data\n"
                    "paddle storage ls -R -o name /pfs/local/public",
        .options = ls_options,
        .size = sizeof(Files),
        .max_words = -1,
        .run = run_ls,
};

const Verb verb_storage_du = {
        .name = "storage du",
        .args = "[PATH...]",
        .summary = "Show the disk usage of files and directories",
        .about =
                "Each PATH, and the directories right below it, with all that is in them. Without PATH it is "
                "your home. " ABOUT_PATHS "\n\nHELD counts against your limit: blocks of the disk, so holes "
                "do not count, and a file with several names counts once. `paddle "
                "storage usage` shows the limit and your other usage.",
        .examples = "paddle storage du\twhich directory holds most\n"
                    "paddle storage du -s data models",
        .options = du_options,
        .size = sizeof(Files),
        .max_words = -1,
        .run = run_du,
};

const Verb verb_storage_rm = {
        .name = "storage rm",
        .args = "PATH...",
        .summary = "Remove files and directories from the storage",
        .about = "Directories need -r. Removed files cannot be restored. On a terminal, -r asks before it "
                 "removes more than 100 files. " ABOUT_PATHS "\n\nIt also works above your disk limit, and "
                 "frees the space at once. In public you can "
                 "remove files that your own jobs have written. "
                 "If one PATH fails, the others are still "
                 "removed. A name with control characters cannot "
                 "be a PATH: remove its directory with -r, or "
                 "the file in a job.",
        .examples = "paddle storage rm model.old\n"
                    "paddle storage rm -r --yes runs/1 runs/2",
        .options = rm_options,
        .size = sizeof(Files),
        .min_words = 1,
        .max_words = -1,
        .run = run_rm,
};

const Verb verb_storage_mv = {
        .name = "storage mv",
        .args = "SOURCE... TARGET",
        .summary = "Move or rename files and directories in the storage",
        .about = "SOURCE goes into TARGET when that is a directory, else it gets that name. Nothing is "
                 "replaced without --force, and a directory that is not empty never. " ABOUT_PATHS
                 "\n\nAdministrators "
                 "also "
                 "move "
                 "between "
                 "homes "
                 "and "
                 "public. "
                 "Files "
                 "moved "
                 "into a "
                 "home "
                 "belong "
                 "to its "
                 "user and "
                 "count "
                 "for that "
                 "user; "
                 "files "
                 "moved "
                 "from a "
                 "home to "
                 "public "
                 "still "
                 "count "
                 "for that "
                 "user.",
        .examples = "paddle storage mv model model.old\n"
                    "paddle storage mv a.txt b.txt notes/",
        .options = mv_options,
        .size = sizeof(Files),
        .min_words = 2,
        .max_words = -1,
        .run = run_mv,
};

const Verb verb_storage_mkdir = {
        .name = "storage mkdir",
        .args = "PATH...",
        .summary = "Make directories in the storage",
        .about = ABOUT_PATHS,
        .examples = "paddle storage mkdir -p runs/2026/march",
        .options = mkdir_options,
        .size = sizeof(Files),
        .min_words = 1,
        .max_words = -1,
        .run = run_mkdir,
};
