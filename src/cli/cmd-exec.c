/* paddle exec: runs a command beside a member of a running job (the protocol is in session.h). */
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "cli/listing.h"
#include "cli/member.h"
#include "cli/session.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        char *member;
        bool interactive, tty;
} Exec;

static const Option options[] = {
        { "member", 'm', OPTION_STRING, offsetof(Exec, member), "NAME",
          "beside this one: trainer-0; without it, the first trainer or worker that runs" },
        { "interactive", 'i', OPTION_BOOL, offsetof(Exec, interactive), NULL,
          "pass standard input on to the command" },
        { "tty", 't', OPTION_BOOL, offsetof(Exec, tty), NULL, "give the command a terminal" },
        COMMON_OPTIONS,
        { 0 },
};

static char *exec_path(const Exec *exec, const char *job, const char *member, char *const *words)
{
        g_autofree char *name = url_escape(member);
        g_autofree char *tail = g_strdup_printf("/members/%s/exec", name);
        g_autofree char *base = job_path(job, tail);
        g_autofree char *window = exec->tty ? session_window_query() : g_strdup("");
        GString *path = g_string_new(base);

        g_string_append_printf(path, "?tty=%s", exec->tty ? "true" : "false");
        if (*window)
                g_string_append_printf(path, "&%s", window);
        for (; *words; words++) {
                g_autofree char *word = url_escape(*words);

                g_string_append_printf(path, "&command=%s", word);
        }
        return g_string_free(path, FALSE);
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Exec *exec = target;
        g_autofree char *member = g_strdup(exec->member), *path = NULL;
        g_autoptr(WebSocketClient) socket = NULL;
        Session session = { .input_open = exec->interactive, .signals = -1 };
        bool ok;

        if (!cli_client(cli, error) || (!member && !member_choose(cli, words[0], words[0], &member, error)))
                return false;
        path = exec_path(exec, words[0], member, words + 1);
        socket = websocket_client_open(cli->client, path, error);
        if (!socket)
                return false;
        session.socket = socket;
        session.signals = exec->tty ? session_listen_to_size() : -1;
        if (exec->tty && exec->interactive)
                (void)session_make_raw(); /* pipes need no raw mode */
        if (!exec->interactive)
                websocket_client_send(socket, "5", 1);
        ok = session_talk(&session, error);
        session_make_usual();
        if (session.signals >= 0)
                close(session.signals);
        cli->status = session.status;
        return ok;
}

const Verb verb_exec = {
        .name = "exec",
        .args = "JOB -- COMMAND...",
        .summary = "Run a command beside a member of a running job",
        .about = "The command runs where the member runs: on its machine or in its pod, as its user, in its "
                 "directory, with its environment; its usage counts as the member's. The exit status is the "
                 "command's, or 128 + N if signal N ended it. If the connection ends, the command is hung "
                 "up.",
        .examples = "paddle exec digits -- nvidia-smi\n"
                    "paddle exec -it --member trainer-1 digits -- bash\ta shell beside trainer-1\n"
                    "tar c data | paddle exec -i digits -- tar x -C /tmp",
        .options = options,
        .size = sizeof(Exec),
        .min_words = 2,
        .max_words = -1,
        .words = WORDS_JOB,
        .run = run,
};
