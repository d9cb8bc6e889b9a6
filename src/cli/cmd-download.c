/* paddle download: files and directories from the server's storage. */
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/number.h"
#include "cli/downloads.h"
#include "cli/progress.h"
#include "cli/remote.h"
#include "cli/verbs.h"

static const Option options[] = {
        COMMON_OPTIONS,
        { 0 },
};

typedef struct {
        Progress bar;
        GPtrArray *written; /* char *: downloaded files */
        guint files_done;
        guint64 bytes_sent; /* at the start of the current file */
} Fetch;

/* A file of which nothing was downloaded is equal already, and is not listed as written. */
static void on_progress(const TransferProgress *progress, void *arg)
{
        Fetch *fetch = arg;

        if (progress->files_done > fetch->files_done) {
                if (progress->bytes_sent > fetch->bytes_sent)
                        g_ptr_array_add(fetch->written, g_strdup(progress->path));
                fetch->files_done = progress->files_done;
                fetch->bytes_sent = progress->bytes_sent;
        }
        remote_report(progress, &fetch->bar);
}

static bool download(Cli *cli, const char *text, const char *local, GError **error)
{
        g_autofree char *remote = remote_path(cli, text, error);
        g_autoptr(GPtrArray) written = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *size = NULL;
        Fetch fetch = { .written = written };
        bool ok;

        if (!remote)
                return false;
        progress_begin(&fetch.bar, cli, text, 0, 0);
        ok = download_path(remote, local, &remote_ops, cli, on_progress, &fetch, error);
        progress_end(&fetch.bar);
        downloads_note(written);
        if (!ok)
                return remote_hint(error);
        size = bytes_format(fetch.bar.total);
        cli_say(cli, "%s -> %s: %s", remote, local, size);
        return true;
}

/* "." and ".." are directories, as in cp; so is the target of several sources. */
static char *target_of(const char *text, bool several)
{
        bool into = several || strcmp(text, ".") == 0 || strcmp(text, "..") == 0 ||
                    g_str_has_suffix(text, "/.") || g_str_has_suffix(text, "/..");

        return g_strconcat(text, into && !g_str_has_suffix(text, "/") ? "/" : "", NULL);
}

static bool check_target(const char *local, GError **error)
{
        struct stat info;

        if (g_str_has_suffix(local, "/") && stat(local, &info) == 0 && !S_ISDIR(info.st_mode))
                return err_set(error, ERR_USAGE, "'%s' is not a directory", local);
        return true;
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        int sources = (int)g_strv_length((char **)words) - 1;
        g_autofree char *local = target_of(words[sources], sources > 1);

        if (!check_target(local, error) || !cli_client(cli, error))
                return false;
        for (int i = 0; i < sources; i++)
                if (!download(cli, words[i], local, error))
                        return false;
        puts(words[sources]);
        return true;
}

const Verb verb_download = {
        .name = "download",
        .args = "REMOTE... LOCAL",
        .summary = "Copy files and directories from the server's storage",
        .about = "A file becomes the file LOCAL, a directory's contents become those of directory LOCAL. "
                 "With a slash at the end of LOCAL, with '.', or with several sources, each goes into it "
                 "under its own name. A REMOTE that does not begin with /pfs/ is relative to your home, "
                 "/pfs/DATACENTER/home/USER.\n\nA file is written as NAME.part and renamed when it is "
                 "complete and verified; after an interruption the same command resumes. Files that are "
                 "equal already are skipped.\n\n`paddle submit` does not send downloaded files, unless they "
                 "were changed since or .paddleignore has a line '!NAME'.",
        .examples = "paddle download digits-model ./model\tthe --output of a job",
        .options = options,
        .size = sizeof(Common),
        .min_words = 2,
        .max_words = -1,
        .words = WORDS_FILES,
        .run = run,
};
