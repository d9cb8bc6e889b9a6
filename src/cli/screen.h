/* The whole terminal for a while: its other screen, keys as they are pressed, signals as they come. What was
 * there comes back in any case but SIGKILL. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Screen Screen;

/* NULL with an error when standard input or output is no terminal. */
Screen *screen_open(GError **error);
void screen_close(Screen *screen); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Screen, screen_close)

void screen_size(const Screen *screen, int *ret_width, int *ret_height);
/* Shows lines from the top, without flicker: each is written over, the rest of it and of the screen cleared.
 */
void screen_show(Screen *screen, const char *lines);

typedef enum { SCREEN_TIMEOUT, SCREEN_RESIZED, SCREEN_KEY, SCREEN_QUIT } ScreenEvent;
/* The next thing that happens, or the timeout. Quit: q, Q, Escape, Ctrl-C, Ctrl-D, the terminal's end, or a
 * signal that asks the program to end. */
ScreenEvent screen_wait(Screen *screen, int timeout_ms);
