/* A command that runs beside a member, in its environment: a terminal in a running job. Any thread may use
 * the handle. The driver's functions run on the thread of its context.
 *
 *     exec_new ─▶ start ─▶ output*, taken* ─▶ done          ops on the driver's thread, orders by the queue
 *
 * No side blocks the other. Written input waits in the driver until it is taken. `taken` reports that, so
 * that the caller can limit the waiting input. Output arrives until exec_hold. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct RuntimeExec RuntimeExec;

typedef enum {
        EXEC_COMMAND,
        EXEC_TERMINAL, /* the member's own terminal: input and output are the frames of terminal/terminal.h */
        EXEC_PORT,     /* a connection to a port that the member listens on */
} ExecKind;

/* EXEC_TERMINAL and EXEC_PORT end with the status 0 when the other side has finished, else with a status of
 * their own. Their errors arrive as `output` with fd 2. */
typedef struct {
        ExecKind kind;
        int port;                /* for EXEC_PORT */
        const char *const *argv; /* for EXEC_COMMAND */
        bool tty;                /* its standard error is then part of its output */
        int columns, rows;
        /* The job's user, as in RuntimeAttempt; set by the engine. Borrowed for the call that creates the
         * command. */
        const char *user;
        gint64 user_seq;
        /* Called on the driver's thread; they are short. The driver does not call them from within one of its
         * own functions below. */
        /* fd 1 or 2. EXEC_PORT: `len` 0 means that the other side has sent its end. */
        void (*output)(int fd, const char *data, gsize len, void *arg);
        void (*taken)(gsize len, void *arg); /* bytes taken of what was written */
        /* Called once, for any end, as the last call. `error` NULL: `status` is the command's, 128 + N for
         * signal N. ERR_FAILED: the command did not start. ERR_UNAVAILABLE: the member is unknown (or not
         * known yet), or the connection to it broke. */
        void (*done)(int status, const GError *error, void *arg);
        void *arg;
} ExecStart;

/* A driver's implementation; each function runs on the thread of its context. */
typedef struct {
        /* False with an error: the command is done. On success it has called exec_set_backend. */
        bool (*start)(RuntimeExec *exec, const ExecStart *start, void *arg, GError **error);
        void (*write)(RuntimeExec *exec, const char *data, gsize len);
        void (*close_input)(RuntimeExec *exec);
        void (*resize)(RuntimeExec *exec, int columns, int rows);
        void (*hold)(RuntimeExec *exec, bool hold);
        void (*stop)(RuntimeExec *exec); /* stops everything that is left, and frees the backend */
} ExecOps;

/* The commands of one context. */
typedef struct ExecRoom ExecRoom;
ExecRoom *exec_room_new(GMainContext *context);
/* Ends all commands with ERR_UNAVAILABLE. Call it on the context's thread, which runs nothing more after
 * that. */
void exec_room_close(ExecRoom *room);
void exec_room_free(ExecRoom *room);

/* Any thread, as long as `room` exists. `arg` is passed to `start` and freed with `free_arg` after it. The
 * caller's reference. */
RuntimeExec *exec_new(ExecRoom *room, const ExecOps *ops, const ExecStart *start, void *arg,
                      GDestroyNotify free_arg);
RuntimeExec *exec_ref(RuntimeExec *exec);
void exec_unref(RuntimeExec *exec); /* NULL is a no-op; the command continues */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RuntimeExec, exec_unref)

/* Any thread; no-ops after it is done. */
void exec_write(RuntimeExec *exec, const char *data, gsize len);
void exec_close_input(RuntimeExec *exec);
void exec_resize(RuntimeExec *exec, int columns, int rows);
void exec_hold(RuntimeExec *exec, bool hold); /* stops the output, or resumes it */
void exec_cancel(RuntimeExec *exec);          /* `done` follows */

/* "PADDLE_TERMINAL=WORD": names the terminal of an attempt that is about to start by a secret word; the
 * caller's. */
char *exec_terminal_variable(void);

/* ---- for drivers, on the context's thread ---- */

void exec_set_backend(RuntimeExec *exec, void *backend);
void *exec_backend(const RuntimeExec *exec); /* NULL after stop */
void exec_output(RuntimeExec *exec, int fd, const char *data, gsize len);
/* The last value passed to exec_hold, even before its order runs. A driver that has much output checks it
 * after each piece, so that little more than the caller's limit arrives. */
bool exec_is_held(const RuntimeExec *exec);
void exec_taken(RuntimeExec *exec, gsize len);
void exec_end(RuntimeExec *exec, int status, const GError *error); /* calls `stop` first */
