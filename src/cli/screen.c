/* The terminal (see screen.h). Signals arrive through a descriptor, so that handlers need no state. */
#include "cli/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"

struct Screen {
        struct termios before;
        sigset_t signals_before;
        int signals;
};

#define OTHER_SCREEN "\033[?1049h\033[?25l\033[2J"
#define FIRST_SCREEN "\033[?25h\033[?1049l"

static void put(const char *text)
{
        (void)file_write_all(STDOUT_FILENO, text, strlen(text), NULL); /* on failure the terminal is gone */
}

static bool watch_signals(Screen *screen, GError **error)
{
        static const int wanted[] = { SIGWINCH, SIGINT, SIGTERM, SIGHUP, SIGQUIT };
        sigset_t set;

        sigemptyset(&set);
        for (gsize i = 0; i < G_N_ELEMENTS(wanted); i++)
                sigaddset(&set, wanted[i]);
        screen->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        if (screen->signals < 0)
                return err_set_errno(error, errno, "cannot watch signals");
        (void)sigprocmask(SIG_BLOCK, &set, &screen->signals_before);
        return true;
}

Screen *screen_open(GError **error)
{
        g_autofree Screen *screen = g_new0(Screen, 1);
        struct termios raw;

        if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &screen->before) < 0) {
                err_set(error, ERR_FAILED, "standard input and output are no terminal");
                return NULL;
        }
        if (!watch_signals(screen, error))
                return NULL;
        raw = screen->before;
        raw.c_lflag &= ~(tcflag_t)(ECHO | ICANON | ISIG);
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
        fflush(stdout);
        put(OTHER_SCREEN);
        return g_steal_pointer(&screen);
}

void screen_close(Screen *screen)
{
        if (!screen)
                return;
        put(FIRST_SCREEN);
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &screen->before);
        close(screen->signals);
        (void)sigprocmask(SIG_SETMASK, &screen->signals_before, NULL);
        g_free(screen);
}

void screen_size(const Screen *screen, int *ret_width, int *ret_height)
{
        struct winsize size;

        *ret_width = 80;
        *ret_height = 24;
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
                return;
        *ret_width = size.ws_col > 0 ? size.ws_col : *ret_width;
        *ret_height = size.ws_row > 0 ? size.ws_row : *ret_height;
}

void screen_show(Screen *screen, const char *lines)
{
        g_autoptr(GString) out = g_string_new("\033[H");

        for (const char *c = lines; *c; c++) {
                if (*c == '\n')
                        g_string_append(out, c[1] ? "\033[K\r\n" : "\033[K");
                else
                        g_string_append_c(out, *c);
        }
        g_string_append(out, "\033[0m\033[J");
        put(out->str);
}

static ScreenEvent read_signal(Screen *screen)
{
        struct signalfd_siginfo info;
        ScreenEvent event = SCREEN_RESIZED;

        while (read(screen->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
                if (info.ssi_signo != SIGWINCH)
                        event = SCREEN_QUIT;
        return event;
}

static ScreenEvent read_keys(void)
{
        static const char quits[] = { 'q', 'Q', '\033', 3, 4 };
        char keys[64];
        ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

        if (n <= 0)
                return n < 0 && (errno == EINTR || errno == EAGAIN) ? SCREEN_TIMEOUT : SCREEN_QUIT;
        if (keys[0] == '\033' && n > 1) /* an arrow key or similar */
                return SCREEN_KEY;
        return memchr(quits, keys[0], sizeof(quits)) ? SCREEN_QUIT : SCREEN_KEY;
}

ScreenEvent screen_wait(Screen *screen, int timeout_ms)
{
        struct pollfd fds[] = { { STDIN_FILENO, POLLIN, 0 }, { screen->signals, POLLIN, 0 } };
        int n = poll(fds, G_N_ELEMENTS(fds), timeout_ms);

        if (n <= 0)
                return SCREEN_TIMEOUT;
        if (fds[1].revents)
                return read_signal(screen);
        return read_keys();
}
