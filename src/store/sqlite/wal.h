/* Keeps the write-ahead log short. A thread with its own connection copies it into the database while the
 * writer continues. Above 32 MB the writer itself copies the short rest while readers are blocked, so that
 * the next commit starts the log from its beginning. */
#pragma once

#include "store/sqlite/pool.h"

enum {
        WAL_FRAME = 4096 + 24,                   /* bytes of one page in the log */
        WAL_STEP = 16 * 1024 * 1024 / WAL_FRAME, /* frames between two background passes */
        WAL_REST = 8 * 1024 * 1024 / WAL_FRAME,  /* the most that counts as short */
        WAL_SOFT = 32 * 1024 * 1024 / WAL_FRAME, /* the writer copies the rest if it is short */
        WAL_HARD = 48 * 1024 * 1024 / WAL_FRAME, /* ... and whatever its length */
};

typedef struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        pthread_t thread;
        Conn conn;                   /* the thread's */
        Pool *pool;                  /* borrowed */
        bool started, quit, running; /* running: a copy is in progress */
        bool broken;                 /* a copy failed with an I/O error */
        int frames;                  /* current length of the log */
        int copied;                  /* of these */
        int next_try;                /* number of frames at which the next pass is due: the thread's and the
                                        writer's */
        int next_last;
        gint64 longest_ms; /* of the writer's passes */
} Wal;

void wal_init(Wal *wal, Pool *pool);
bool wal_start(Wal *wal, const char *path, GError **error);
void wal_clear(Wal *wal); /* stops the thread */

/* Reports that the log has `frames` frames after a commit. */
void wal_grew(Wal *wal, int frames);
/* Runs the writer's pass if it is due. `writer` has no open transaction. */
void wal_finish(Wal *wal, Conn *writer);

bool wal_is_broken(Wal *wal);
gint64 wal_bytes(Wal *wal);
gint64 wal_longest_ms(Wal *wal);
