/* Passwords (see password.h). The terminal's echo is always restored: signals interrupt the read, and are
 * passed on after it. */
#include "cli/password.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "cli/listing.h"

void password_free(char *password)
{
        if (password)
                explicit_bzero(password, strlen(password));
        g_free(password);
}

/* Ctrl-C. */
enum { INTERRUPT = 3 };

/* A line without its end, or up to Ctrl-C; NULL at the end of input, or if it is too long. */
static char *read_line(int fd)
{
        char line[PASSWORD_LINE_MAX + 1];
        gsize len = 0;
        char *copy;

        while (len < sizeof(line)) {
                ssize_t n = read(fd, line + len, 1);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0 && len == 0)
                        return NULL;
                if (n <= 0 || line[len] == '\n')
                        break;
                if (line[len++] == INTERRUPT)
                        break;
        }
        copy = len < sizeof(line) ? g_strndup(line, len) : NULL;
        explicit_bzero(line, sizeof(line));
        if (copy && len > 0 && copy[len - 1] == '\r')
                copy[len - 1] = '\0';
        return copy;
}

static char *read_quietly(int tty, const char *prompt)
{
        sigset_t all, before;
        struct termios shown, quiet;
        char *line;

        sigemptyset(&all);
        sigaddset(&all, SIGINT);
        sigaddset(&all, SIGTERM);
        sigaddset(&all, SIGTSTP);
        (void)sigprocmask(SIG_BLOCK, &all, &before);
        if (tcgetattr(tty, &shown) < 0) {
                (void)sigprocmask(SIG_SETMASK, &before, NULL);
                return NULL;
        }
        quiet = shown;
        quiet.c_lflag &= ~(tcflag_t)(ECHO | ISIG); /* the code below handles ^C */
        quiet.c_cc[VEOL] = INTERRUPT;
        (void)tcsetattr(tty, TCSAFLUSH, &quiet);
        (void)!write(tty, prompt, strlen(prompt));
        line = read_line(tty);
        (void)!write(tty, "\n", 1);
        (void)tcsetattr(tty, TCSAFLUSH, &shown);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        if (line && strchr(line, INTERRUPT)) {
                password_free(g_steal_pointer(&line));
                (void)raise(SIGINT);
        }
        return line;
}

static char *ask(const char *what, GError **error)
{
        fd_auto int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
        g_autofree char *prompt = g_strconcat(what, ": ", NULL);
        char *line;

        if (tty < 0) {
                err_set(error, ERR_USAGE,
                        "there is no terminal to ask for the password on\nPipe it in and use --password-stdin.");
                return NULL;
        }
        line = read_quietly(tty, prompt);
        if (!line)
                err_set(error, ERR_USAGE, "the %s was not entered, or has more than %d bytes", what,
                        PASSWORD_LINE_MAX);
        return line;
}

char *password_ask(const Cli *cli, const char *what, bool from_stdin, bool twice, GError **error)
{
        g_autoptr(Password) first = from_stdin ? read_line(STDIN_FILENO) : ask(what, error);
        g_autoptr(Password) second = NULL;

        if (!first && from_stdin)
                err_set(error, ERR_USAGE,
                        "standard input has no password of at most %d bytes on its first line",
                        PASSWORD_LINE_MAX);
        if (!first)
                return NULL;
        if (!*first || !g_utf8_validate(first, -1, NULL)) {
                err_set(error, ERR_USAGE, *first ? "the %s is not UTF-8" : "the %s is empty", what);
                return NULL;
        }
        if (from_stdin || !twice)
                return g_steal_pointer(&first);
        second = ask("once more", error);
        if (!second)
                return NULL;
        if (strcmp(first, second) != 0) {
                err_set(error, ERR_USAGE, "the two inputs for the %s differ; nothing is changed", what);
                return NULL;
        }
        return g_steal_pointer(&first);
}

char *code_ask(const Cli *cli, const char *what, bool from_stdin, GError **error)
{
        char *code = from_stdin ? read_line(STDIN_FILENO) : ask(what, NULL);

        if (code && *code)
                return code;
        password_free(code);
        err_set(error, ERR_USAGE,
                "a code of the second factor is needed, and there is no %s to read it from\nUse --otp CODE, or set PADDLE_OTP.",
                from_stdin ? "second line of standard input" : "terminal");
        return NULL;
}

const char *code_given(const char *option)
{
        const char *code = option ? option : g_getenv("PADDLE_OTP");

        return code && *code ? code : NULL;
}

bool who_am_i(Cli *cli, char **ret_user, bool *ret_vouched, GError **error)
{
        g_autoptr(json_t) who = NULL;

        if (!http_call_json(cli->client, "GET", "/v1/whoami", NULL, &who, error))
                return false;
        *ret_user = g_strdup(text_of(who, "user"));
        *ret_vouched = g_str_has_prefix(http_client_url(cli->client), "unix:") && !is_set(who, "token");
        return true;
}
