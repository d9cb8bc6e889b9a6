/* A command beside a member, in its surroundings: a terminal into a running job. The handle is for any
 * thread; what a driver does for it happens on the thread of the context that it names.
 *
 *     exec_new ─▶ start ─▶ output*, taken* ─▶ done          ops on the driver's thread, orders by the queue
 *
 * Nobody waits for anybody: what is written waits at the driver until it is taken, and `taken` says so, which
 * is how a caller keeps its bound; output comes until exec_hold. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct RuntimeExec RuntimeExec;

typedef enum {
        EXEC_COMMAND,
        EXEC_TERMINAL, /* the member's own terminal: input and output are the frames of terminal/terminal.h */
        EXEC_PORT,     /* a connection to a port that the member listens on */
} ExecKind;

/* The last two end with the status 0 when the other side is through, else with one of their own, and say why
 * as errors (`output` with fd 2). */
typedef struct {
        ExecKind kind;
        int port;                /* of EXEC_PORT */
        const char *const *argv; /* of EXEC_COMMAND */
        bool tty;                /* its standard error comes as its output then */
        int columns, rows;
        /* The job's user, as RuntimeAttempt has it; the engine's. Borrowed for the call that makes the command.
         */
        const char *user;
        gint64 user_seq;
        /* On the driver's thread; short, and not from within one of the functions below. */
        /* fd 1 or 2. EXEC_PORT: `len` 0 says that the other side has sent its end. */
        void (*output)(int fd, const char *data, gsize len, void *arg);
        void (*taken)(gsize len, void *arg); /* of what was written */
        /* Once, however it ends; the last of all. `error` NULL: the command's status, 128 + N for signal N.
         * ERR_FAILED: the command does not start; ERR_UNAVAILABLE: the member is not known (yet), or the
         * connection to it broke. */
        void (*done)(int status, const GError *error, void *arg);
        void *arg;
} ExecStart;

/* What a driver does, each on the thread of its context. */
typedef struct {
        /* False with an error: it is done. Else exec_backend is what it made. */
        bool (*start)(RuntimeExec *exec, const ExecStart *start, void *arg, GError **error);
        void (*write)(RuntimeExec *exec, const char *data, gsize len);
        void (*close_input)(RuntimeExec *exec);
        void (*resize)(RuntimeExec *exec, int columns, int rows);
        void (*hold)(RuntimeExec *exec, bool hold);
        void (*stop)(RuntimeExec *exec); /* gives up whatever is left, and frees the backend */
} ExecOps;

/* Those of one context. */
typedef struct ExecRoom ExecRoom;
ExecRoom *exec_room_new(GMainContext *context);
/* On the context's thread, which runs no more after it: all of them end, with ERR_UNAVAILABLE. */
void exec_room_close(ExecRoom *room);
void exec_room_free(ExecRoom *room);

/* Any thread, while the room is there. `arg` is start's, freed with `free_arg` after it. The caller's
 * reference. */
RuntimeExec *exec_new(ExecRoom *room, const ExecOps *ops, const ExecStart *start, void *arg,
                      GDestroyNotify free_arg);
RuntimeExec *exec_ref(RuntimeExec *exec);
void exec_unref(RuntimeExec *exec); /* NULL is a no-op; the command runs on */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RuntimeExec, exec_unref)

/* Any thread; no-ops once it is done. */
void exec_write(RuntimeExec *exec, const char *data, gsize len);
void exec_close_input(RuntimeExec *exec);
void exec_resize(RuntimeExec *exec, int columns, int rows);
void exec_hold(RuntimeExec *exec, bool hold); /* no output, or again */
void exec_cancel(RuntimeExec *exec);          /* done follows */

/* "PADDLE_TERMINAL=WORD": names the terminal of an attempt that is about to start, by a secret; the caller's.
 */
char *exec_terminal_variable(void);

/* ---- for drivers, on the context's thread ---- */

void exec_set_backend(RuntimeExec *exec, void *backend);
void *exec_backend(const RuntimeExec *exec); /* NULL after stop */
void exec_output(RuntimeExec *exec, int fd, const char *data, gsize len);
/* The last that exec_hold was told, before its order runs: a driver that finds much at once asks after each
 * piece, so that little more than the caller's bound comes. */
bool exec_is_held(const RuntimeExec *exec);
void exec_taken(RuntimeExec *exec, gsize len);
void exec_end(RuntimeExec *exec, int status, const GError *error); /* stop is called first */
