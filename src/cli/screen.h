/* Uses the whole terminal: alternate screen, single keys, signals. The previous contents are restored in
 * every case except SIGKILL. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Screen Screen;

/* NULL with an error if standard input or output is not a terminal. */
Screen *screen_open(GError **error);
void screen_close(Screen *screen); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Screen, screen_close)

void screen_size(const Screen *screen, int *ret_width, int *ret_height);
/* Shows lines from the top without flicker: overwrites each line, and clears its rest and the rest of the
 * screen. */
void screen_show(Screen *screen, const char *lines);

typedef enum { SCREEN_TIMEOUT, SCREEN_RESIZED, SCREEN_KEY, SCREEN_QUIT } ScreenEvent;
/* The next event, or the timeout. Quit: q, Q, Escape, Ctrl-C, Ctrl-D, the end of the terminal, or a signal
 * that terminates. */
ScreenEvent screen_wait(Screen *screen, int timeout_ms);
