/* What the server and a member's terminal say to each other (terminal/terminal.h). Pure; what comes is from a
 * user's process and is bounded and checked. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "terminal/terminal.h"

typedef struct {
        /* `text` of TERMINAL_OUTPUT; `number` of TERMINAL_POSITION and TERMINAL_END. */
        void (*take)(TerminalFrame type, const char *text, gsize len, guint64 number, void *arg);
        void *arg;
        gsize len;
        char buffer[TERMINAL_HEAD + TERMINAL_FRAME_MAX];
} TerminalFrames; /* zero but for take and arg at first */

/* False: those are no frames of a terminal. */
bool terminal_frames_feed(TerminalFrames *frames, const char *data, gsize len);

/* Frames to a host, appended. */
void terminal_frames_attach(GString *out, guint64 position); /* or TERMINAL_LATEST */
void terminal_frames_size(GString *out, int columns, int rows);
void terminal_frames_input(GString *out, const char *data, gsize len);
void terminal_frames_detach(GString *out);
