/* Programs that make definitions (see pipeline-program.h).
 *
 * python/paddlecloud/pipeline/load.py loads the program. It writes the definition, or with an exit status other than 0 a
 * message, to its standard output. Messages of the program itself go to standard error, at once. */
#include "cli/pipeline-program.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/err.h"
#include "base/file.h"
#include "base/number.h"

enum { NO_MODULE = 5 }; /* exit status of `loader` */

/* The directory of the program comes first on the path, as if Python had started it. */
static const char loader[] = "import os, sys\n"
                             "if sys.path[:1] == ['']:\n"
                             "    del sys.path[0]\n"
                             "sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))\n"
                             "try:\n"
                             "    from paddlecloud.pipeline.load import main\n"
                             "except ModuleNotFoundError as missing:\n"
                             "    if (missing.name or '').split('.')[0] != 'paddlecloud':\n"
                             "        raise\n"
                             "    sys.exit(5)\n"
                             "sys.exit(main(*sys.argv[1:]))\n";

/* ---- words ---- */

/* The colon of FILE.py:NAME, or NULL. */
static const char *colon_of(const char *word)
{
        const char *colon = strrchr(word, ':');

        return colon && colon - word > 3 && strncmp(colon - 3, ".py", 3) == 0 && !strchr(colon, '/') ? colon
                                                                                                     : NULL;
}

bool pipeline_program_is(const char *word)
{
        return g_str_has_suffix(word, ".py") || colon_of(word);
}

char *pipeline_program_file(const char *word)
{
        const char *colon = colon_of(word);

        return colon ? g_strndup(word, (gsize)(colon - word)) : g_strdup(word);
}

/* ---- the process ---- */

typedef struct {
        pid_t pid;
        int out; /* its standard output */
        gint64 deadline;
        GString *text;
} Process;

static void process_clear(Process *process)
{
        if (process->pid > 0) {
                (void)kill(process->pid, SIGKILL); /* it may have ended */
                (void)waitpid(process->pid, NULL, 0);
        }
        if (process->out >= 0)
                close(process->out);
        if (process->text)
                g_string_free(process->text, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Process, process_clear)

static void end_with_parent(void *arg)
{
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* The program finds the server that this command has found. */
static char **environment_for(const Discovery *server)
{
        char **env = g_get_environ();

        if (!server)
                return env;
        const char *const pairs[][2] = { { "PADDLE_SERVER", server->url },
                                         { "PADDLE_TOKEN", server->token },
                                         { "PADDLE_CACERT", server->ca },
                                         { "PADDLE_CERT", server->cert },
                                         { "PADDLE_KEY", server->key } };

        for (gsize i = 0; i < G_N_ELEMENTS(pairs); i++)
                if (pairs[i][1])
                        env = g_environ_setenv(env, pairs[i][0], pairs[i][1], TRUE);
        return env;
}

static bool start(const PipelineProgram *how, const char *python, const char *word, Process *process,
                  GError **error)
{
        g_autofree char *file = pipeline_program_file(word);
        const char *name = colon_of(word) ? colon_of(word) + 1 : "";
        const char *argv[] = { python,
                               "-c",
                               loader,
                               file,
                               name,
                               how->server ? "send" : "check",
                               how->directory ? how->directory : "",
                               NULL };
        g_auto(GStrv) env = environment_for(how->server);
        g_autoptr(GError) cause = NULL;

        process->deadline = clock_monotonic_ms() + how->limit_ms;
        process->text = g_string_new(NULL);
        return g_spawn_async_with_pipes(NULL, (char **)argv, env, G_SPAWN_DO_NOT_REAP_CHILD, end_with_parent,
                                        NULL, &process->pid, NULL, &process->out, NULL, &cause) ||
               err_set(error, ERR_USAGE, "'%s' does not start: %s", python, cause->message);
}

/* Waits until `fd` has something. False at the deadline. */
static bool wait_for(int fd, gint64 deadline)
{
        struct pollfd one = { .fd = fd, .events = POLLIN };
        gint64 left;
        int n;

        do {
                left = MAX(deadline - clock_monotonic_ms(), 0);
                n = poll(&one, 1, (int)MIN(left, G_MAXINT));
        } while (n < 0 && errno == EINTR);
        return n > 0;
}

/* False at the deadline; what is longer than a definition may be is cut behind its limit. */
static bool read_output(Process *process)
{
        char buffer[65536];

        while (process->text->len <= document_limits.size) {
                ssize_t n;

                if (!wait_for(process->out, process->deadline))
                        return false;
                n = read(process->out, buffer, sizeof buffer);
                if (n > 0)
                        g_string_append_len(process->text, buffer, n);
                else if (n == 0 || errno != EINTR)
                        return true;
        }
        return true;
}

/* False at the deadline. */
static bool wait_for_end(Process *process, int *ret_status)
{
        fd_auto int end = pidfd_open(process->pid, 0);

        if (end >= 0 && !wait_for(end, process->deadline))
                return false;
        if (waitpid(process->pid, ret_status, 0) != process->pid)
                *ret_status =
                        W_EXITCODE(EXIT_FAILURE, 0); /* the caller ignores SIGCHLD: its end is not known */
        process->pid = 0;
        return true;
}

/* ---- its end ---- */

static bool refuse_late(const char *word, gint64 limit_ms, GError **error)
{
        g_autofree char *limit = duration_format(limit_ms);

        return err_set(error, ERR_USAGE,
                       "%s: the program did not end within %s, and was killed\n"
                       "A pipeline is only described in it: put what takes long into its steps, or below "
                       "`if __name__ == \"__main__\":`.",
                       word, limit);
}

/* The exit statuses of load.py are those of this program. */
static ErrCode code_of(int status)
{
        static const ErrCode codes[] = { [2] = ERR_INVALID, [3] = ERR_DENIED, [4] = ERR_UNREACHABLE };

        return status >= 2 && status < (int)G_N_ELEMENTS(codes) ? codes[status] : ERR_FAILED;
}

static bool refuse_end(const Process *process, const char *python, const char *word, int status,
                       GError **error)
{
        g_autofree char *text = g_utf8_make_valid(process->text->str, -1);

        if (WIFEXITED(status) && WEXITSTATUS(status) == NO_MODULE && !*text)
                return err_set(
                        error, ERR_USAGE,
                        "%s needs the module paddlecloud, which '%s' does not have\n"
                        "Install it with `%s -m pip install` and the directory `python` of the sources, or activate "
                        "the virtual environment that has it.",
                        word, python, python);
        if (WIFEXITED(status) && *text)
                return err_set(error, code_of(WEXITSTATUS(status)), "%s", text);
        if (WIFEXITED(status))
                return err_set(error, ERR_INVALID,
                               "%s: Python ended with status %d before the pipeline was known", word,
                               WEXITSTATUS(status));
        return err_set(error, ERR_INVALID, "%s: Python was killed by signal %d (%s)", word, WTERMSIG(status),
                       g_strsignal(WTERMSIG(status)));
}

/* A program that nowhere has the word is another program, which might train for hours if it were run. */
static bool mentions_pipeline(const char *text)
{
        return strcasestr(text, "pipeline") != NULL;
}

static bool check_file(const char *word, GError **error)
{
        g_autofree char *file = pipeline_program_file(word), *text = NULL;
        g_autoptr(GError) cause = NULL;
        gsize len;

        if (!file_read(file, document_limits.size, &text, &len, &cause))
                return err_set(error, ERR_USAGE, "%s", cause->message);
        return mentions_pipeline(text) ||
               err_set(error, ERR_USAGE,
                       "%s describes no pipeline: it does not contain this word\n"
                       "A pipeline is described with paddlecloud.pipeline. `paddle submit -- python %s` runs a program "
                       "as a job.",
                       file, file);
}

bool pipeline_program_run(const PipelineProgram *how, const char *word, char **ret, gsize *ret_len,
                          GError **error)
{
        g_autofree char *python = g_find_program_in_path("python3");
        g_auto(Process) process = { .out = -1 };
        int status = 0;

        if (!check_file(word, error))
                return false;
        if (!python)
                return err_set(error, ERR_USAGE,
                               "%s is a program in Python, and there is no python3 in PATH\n"
                               "Install Python 3.8 or later, with the module paddlecloud.",
                               word);
        if (!start(how, python, word, &process, error))
                return false;
        if (!read_output(&process))
                return refuse_late(word, how->limit_ms, error);
        if (process.text->len > document_limits.size)
                return err_set(error, ERR_INVALID, "%s: its pipeline is longer than %d MiB", word,
                               (int)(document_limits.size >> 20));
        if (!wait_for_end(&process, &status))
                return refuse_late(word, how->limit_ms, error);
        if (status != 0)
                return refuse_end(&process, python, word, status, error);
        *ret_len = process.text->len;
        *ret = g_string_free(g_steal_pointer(&process.text), FALSE);
        return true;
}
