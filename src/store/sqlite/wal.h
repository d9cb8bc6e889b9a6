/* The write-ahead log is kept short by hand. A thread with its own connection copies it into the database
 * while the writer writes on; above 32 MB the writer copies the short rest itself with the readers held back,
 * so that the next commit starts the log again from its beginning. */
#pragma once

#include "store/sqlite/pool.h"

enum {
        WAL_FRAME = 4096 + 24,                   /* bytes of one page in the log */
        WAL_STEP = 4 * 1024 * 1024 / WAL_FRAME,  /* frames between two background passes */
        WAL_SOFT = 32 * 1024 * 1024 / WAL_FRAME, /* the writer copies the rest when it is short */
        WAL_HARD = 48 * 1024 * 1024 / WAL_FRAME, /* ... and whatever it costs */
};

typedef struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        pthread_t thread;
        Conn conn;                   /* the thread's */
        Pool *pool;                  /* borrowed */
        bool started, quit, running; /* running: somebody copies */
        bool broken;                 /* a copy failed with an I/O error */
        int frames;                  /* in the log now */
        int copied;                  /* of them */
        int next_try;                /* frames at which the next pass of either kind is due */
        int next_last;
        gint64 longest_ms; /* of the writer's passes */
} Wal;

void wal_init(Wal *wal, Pool *pool);
bool wal_start(Wal *wal, const char *path, GError **error);
void wal_clear(Wal *wal); /* stops the thread */

/* The log has `frames` frames after a commit. */
void wal_grew(Wal *wal, int frames);
/* The writer's pass, when it is due. `writer` has no open transaction. */
void wal_finish(Wal *wal, Conn *writer);

bool wal_is_broken(Wal *wal);
gint64 wal_bytes(Wal *wal);
gint64 wal_longest_ms(Wal *wal);
