/* paddle shell: a job with a terminal. It is submitted and waits like any job; then this terminal is
 * connected to the job's. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/attach.h"
#include "cli/discover.h"
#include "cli/follow.h"
#include "cli/listing.h"
#include "cli/submission.h"
#include "cli/verbs.h"

enum { INTERRUPTED = 128 + SIGINT };

/* The user's shell may not exist on the other machine: use what is there. */
static char *const usual_shell[] = { "sh", "-c", "command -v bash >/dev/null && exec bash; exec sh", NULL };

static bool check(const Submission *s, GError **error)
{
        const struct {
                const char *option;
                bool said;
        } refused[] = {
                { "--follow", s->follow },
                { "--no-file", s->no_file },
                { "--entry-point", s->entry_point },
                { "--ps-cpu", s->ps_cpu },
                { "--ps-memory", s->ps_memory },
                { "--retries", s->retries },
                { "--array", s->array },
                { "--sweep", s->sweep },
                { "--sweep-parallel", s->sweep_parallel },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(refused); i++)
                if (refused[i].said)
                        return err_set(error, ERR_USAGE,
                                       "%s is not for `paddle shell`\nUse `paddle submit` for it.",
                                       refused[i].option);
        if (s->detach && s->hangup_after)
                return err_set(error, ERR_USAGE, "--detach cannot be combined with --hangup-after");
        return s->detach || s->dry_run ||
               attach_check_terminal(
                       "shell",
                       "`paddle submit --follow -- COMMAND` runs a command without one, `paddle "
                       "shell --detach` starts the job for later.",
                       error);
}

/* The fields of an interactive job. Its program draws for this terminal. */
static json_t *terminal_members(const Submission *s)
{
        json_t *extra = json_pack("{s:b}", "tty", 1);

        if (s->detach)
                json_object_set_new(extra, "detach", json_true());
        if (s->hangup_after)
                json_object_set_new(extra, "hangup_after", json_string(s->hangup_after));
        return extra;
}

static void put_term(json_t *spec)
{
        const char *term = g_getenv("TERM");
        json_t *env = json_object_get(spec, "env");

        if (!term || !*term || !g_utf8_validate(term, -1, NULL) || (env && json_object_get(env, "TERM")))
                return;
        if (!json_is_object(env))
                json_object_set_new(spec, "env", env = json_object());
        json_object_set_new(env, "TERM", json_string(term));
}

/* ---- waiting ---- */

enum { OVER = SIGUSR1 };

/* Ctrl-C while it waits cancels the job. A signal handler cannot make requests, so a thread with its own
 * connection waits for the signal, until OVER. */
typedef struct {
        HttpClient *client;
        char *path, *name;
        sigset_t set, before;
        GThread *thread;
} Interrupt;

static void *wait_for_interrupt(void *arg)
{
        const Interrupt *interrupt = arg;
        g_autoptr(json_t) body = json_pack("{s:b}", "force", 0), reply = NULL;
        g_autoptr(GError) error = NULL;
        int number;

        if (sigwait(&interrupt->set, &number) != 0 || number == OVER)
                return NULL;
        if (http_call_json(interrupt->client, "POST", interrupt->path, body, &reply, &error))
                (void)fprintf(stderr, "\npaddle: cancelled '%s'\n", interrupt->name);
        else
                (void)fprintf(stderr, "\npaddle: '%s' could not be cancelled: %s\n", interrupt->name,
                              error->message);
        _exit(INTERRUPTED);
}

static bool cancel_when_interrupted(Cli *cli, const json_t *job, Interrupt *interrupt, GError **error)
{
        g_autoptr(Discovery) found = discover(cli->common->server, cli->common->token, DISCOVER_ONLY, error);

        interrupt->client = found ? discovery_client(found, found->token, error) : NULL;
        if (!interrupt->client)
                return false;
        interrupt->path = job_path(text_of(job, "id"), "/cancel");
        interrupt->name = g_strdup(text_of(job, "name"));
        sigemptyset(&interrupt->set);
        sigaddset(&interrupt->set, SIGINT);
        sigaddset(&interrupt->set, OVER);
        pthread_sigmask(SIG_BLOCK, &interrupt->set, &interrupt->before);
        interrupt->thread = g_thread_new("interrupt", wait_for_interrupt, interrupt);
        return true;
}

/* All threads block both signals, so only that thread gets them. After an earlier Ctrl-C this does not
 * return. */
static void stop_interrupt(Interrupt *interrupt)
{
        (void)kill(getpid(), OVER);
        (void)g_thread_join(interrupt->thread);
        pthread_sigmask(SIG_SETMASK, &interrupt->before, NULL);
        http_client_free(interrupt->client);
        g_free(interrupt->path);
        g_free(interrupt->name);
}

static bool wait_until_running(Cli *cli, const json_t *job, GError **error)
{
        const FollowOptions wait = { .job = text_of(job, "id"),
                                     .members = "environment",
                                     .tail = -1,
                                     .follow = true,
                                     .until_running = true,
                                     .terminal = true };
        Interrupt interrupt = { 0 };
        bool ok;

        if (!cancel_when_interrupted(cli, job, &interrupt, error))
                return false;
        ok = follow_job(cli, &wait, NULL, error);
        stop_interrupt(&interrupt);
        return ok;
}

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Submission *s = target;
        g_autoptr(json_t) extra = terminal_members(s);
        g_autoptr(json_t) job = NULL;

        if (!check(s, error) ||
            !submission_start(cli, s, *words ? words : usual_shell, extra, put_term, &job, error))
                return false;
        if (!job || s->detach)
                return true;
        return wait_until_running(cli, job, error) &&
               attach_run(cli, text_of(job, "id"), text_of(job, "name"), error);
}

const Verb verb_shell = {
        .name = "shell",
        .args = "[--] [COMMAND [ARGUMENT]...]",
        .summary = "Start a job with a terminal, and connect to it",
        .about = "The job has one process: the command, or a shell (bash, else sh), in a copy of the current "
                 "directory. It waits in its queue like any job. When it runs, this terminal is connected to "
                 "it; keys, signals and the size of the window are sent to it, and the exit status is the "
                 "program's.\n\nCtrl-P Ctrl-Q detaches and the job keeps running; `paddle attach` "
                 "reconnects. If the terminal is closed in another way, the job is hung up 60 s later and "
                 "cancelled, also while it waits; --hangup-after sets another time. With --detach the "
                 "command only starts the job and prints its name; the job runs until its program ends. "
                 "Ctrl-C while it waits cancels it.",
        .examples = "paddle shell\ta shell in a copy of this directory\n"
                    "paddle shell --gpus 1 -- python\tPython with a GPU\n"
                    "paddle shell --cluster prod --memory 8Gi --time-limit 2h\ta pod, for two hours\n"
                    "paddle shell --detach --job-name lab -- ipython\tfor `paddle attach lab`",
        .options = submission_shell_options,
        .size = sizeof(Submission),
        .stop_at_word = true,
        .max_words = -1,
        .words = WORDS_COMMAND,
        .run = run,
};
