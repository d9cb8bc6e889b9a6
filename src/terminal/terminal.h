/* A terminal that outlives those who look at it (doc/guide/interactive.md): the host, which is the first process of
 * a member and keeps its pseudo-terminal, and the relay, which connects one watcher to it. Linked into
 * paddle-spawner and into the gate of pods, so: no GLib, and nothing of other rooms.
 *
 * Host and watcher talk over a Unix socket with an abstract name, TERMINAL_PREFIX and the value of the
 * variable TERMINAL_VARIABLE, a secret of the attempt. Both sides check that the other runs as their own
 * user. A frame is a byte of TerminalFrame, the length of what follows (4 bytes), and that; numbers have
 * their lowest byte first.
 *
 *     watcher ─▶ host   attach, once and first: a position (8 bytes), or TERMINAL_LATEST
 *                       input: bytes     size: columns, rows (2 bytes each)
 *                       detach: nothing, and the last; the host sends what was shown until then, and closes
 *     host ─▶ watcher   position: of the first byte of output that follows (8 bytes)
 *                       output: bytes    end: the program's exit status (4 bytes), and the last;
 *                       the host sends an end of file, and waits 5 s at most until the watcher closes
 *                       full: nothing, first and last: there are TERMINAL_WATCHERS already */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TERMINAL_VARIABLE "PADDLE_TERMINAL"
#define TERMINAL_PREFIX "paddle-terminal-"
/* The host appends "TERMINAL_HANG_UP_NAME=1" to $TERMINAL_REPORT when it hangs its program up: the exit
 * status alone could be the program's own. */
#define TERMINAL_REPORT "PADDLE_PROGRESS_FILE"
#define TERMINAL_HANG_UP_NAME "paddle.hung-up"
#define TERMINAL_LATEST UINT64_MAX /* the last TERMINAL_REPLAY bytes */

typedef enum {
        TERMINAL_ATTACH = 'a',
        TERMINAL_INPUT = 'i',
        TERMINAL_SIZE = 's',
        TERMINAL_DETACH = 'd',
        TERMINAL_POSITION = 'p',
        TERMINAL_OUTPUT = 'o',
        TERMINAL_END = 'e',
        TERMINAL_FULL = 'f',
} TerminalFrame;

enum {
        TERMINAL_HEAD = 5,         /* bytes of a frame before its content */
        TERMINAL_FRAME_MAX = 4096, /* bytes of content, both ways */
        TERMINAL_KEPT = 256 << 10, /* bytes of output that a watcher may ask for again */
        TERMINAL_REPLAY = 16 << 10,
        TERMINAL_WATCHERS = 16, /* at once */
        TERMINAL_HUNG_UP = 129, /* the host's exit status when no watcher came back: 128 + HUP */
        TERMINAL_LOST = 125,    /* the relay's when there is no host, or it is another user's */
};

/* Writes the head of a frame with `len` bytes of content. */
void terminal_head(unsigned char head[TERMINAL_HEAD], TerminalFrame type, uint32_t len);
/* Numbers of frames: `bytes` lowest first. */
uint64_t terminal_number(const unsigned char *at, int bytes);
void terminal_put_number(unsigned char *at, int bytes, uint64_t value);

/* HANGUP_MS WORD...: becomes the host of the program WORD..., in this process. HANGUP_MS: how long it may be
 * without a watcher, 0: for ever. Output goes to standard output, too. Returns the exit status for the
 * process; a program that a signal ended ends the process by that signal, where it can (the first process of
 * a container cannot). */
int terminal_host(int argc, char **argv);

/* Standard input and output become a watcher's connection to the host, whose name is in the environment,
 * until either ends. The exit status: 0, or TERMINAL_LOST with a sentence on standard error. */
int terminal_relay(void);

/* Copies `in` to the socket and the socket to `out`, an end of file as one, until both directions are over.
 * `until_socket`: until the socket says no more. A socket that takes no more ends that direction alone. False
 * when the connection broke, or nobody reads `out`. Raises no SIGPIPE for the socket. */
bool terminal_copy(int in, int out, int socket, bool until_socket);
