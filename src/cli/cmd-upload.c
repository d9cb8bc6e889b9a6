/* paddle upload: files and directories to the server's storage. */
#include <sys/stat.h>

#include "base/err.h"
#include "base/number.h"
#include "cli/progress.h"
#include "cli/remote.h"
#include "cli/verbs.h"

static const Option options[] = {
        COMMON_OPTIONS,
        { 0 },
};

typedef struct {
        Progress bar;
        TransferProgress last;
} Tally;

static void on_progress(const TransferProgress *progress, void *arg)
{
        Tally *tally = arg;

        tally->last = *progress;
        remote_report(progress, &tally->bar);
}

static bool upload(Cli *cli, const char *local, const char *remote, GError **error)
{
        Tally tally = { 0 };
        g_autofree char *all = NULL;
        g_autofree char *sent = NULL;
        bool ok;

        progress_begin(&tally.bar, cli, local, 0, 0);
        ok = upload_path(local, remote, &remote_ops, cli, on_progress, &tally, error);
        progress_end(&tally.bar);
        if (!ok)
                return false;
        all = bytes_format(tally.last.bytes);
        sent = bytes_format(tally.last.bytes_sent);
        cli_say(cli, "%s -> %s: %u file%s, %s, of which %s sent", local, remote, tally.last.files,
                tally.last.files == 1 ? "" : "s", all, sent);
        return true;
}

/* Checks all sources before the first byte is sent. */
static bool check_sources(char *const *words, int n, GError **error)
{
        struct stat info;

        for (int i = 0; i < n; i++)
                if (stat(words[i], &info) < 0)
                        return err_set(error, ERR_USAGE, "'%s' does not exist here", words[i]);
        return true;
}

/* Several sources go into a directory, as in cp. */
static char *target_of(Cli *cli, const char *text, bool several, GError **error)
{
        g_autofree char *path = remote_path(cli, text, error);

        if (!path || !several || g_str_has_suffix(path, "/"))
                return g_steal_pointer(&path);
        return g_strconcat(path, "/", NULL);
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        int sources = (int)g_strv_length((char **)words) - 1;
        g_autofree char *remote = NULL;

        if (!check_sources(words, sources, error) || !cli_client(cli, error) ||
            !(remote = target_of(cli, words[sources], sources > 1, error)))
                return false;
        for (int i = 0; i < sources; i++)
                if (!upload(cli, words[i], remote, error))
                        return false;
        puts(remote);
        return true;
}

const Verb verb_upload = {
        .name = "upload",
        .args = "LOCAL... REMOTE",
        .summary = "Copy files and directories to the server's storage",
        .about = "A file becomes the file REMOTE, a directory's contents become those of directory REMOTE. "
                 "With a slash at the end of REMOTE, or several sources, each goes into it under its own "
                 "name. A REMOTE that does not begin with /pfs/ is relative to your home, "
                 "/pfs/DATACENTER/home/USER.\n\nFiles are sent in verified chunks: chunks that the server "
                 "has are skipped, and after an interruption the same command resumes.",
        .examples = "paddle upload ./data digits\tas --input=digits",
        .options = options,
        .size = sizeof(Common),
        .min_words = 2,
        .max_words = -1,
        .words = WORDS_FILES,
        .run = run,
};
