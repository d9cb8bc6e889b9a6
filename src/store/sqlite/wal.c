/* Checkpoints (see wal.h). Both kinds are SQLite's passive ones, which never wait for a lock: a full copy is
 * enough for the next commit to start over, and a foreign reader (somebody's sqlite3 shell) only delays it.
 */
#include "store/sqlite/wal.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"

void wal_init(Wal *wal, Pool *pool)
{
        *wal = (Wal){ .pool = pool, .next_try = WAL_STEP, .next_last = WAL_SOFT };
        pthread_mutex_init(&wal->lock, NULL);
        pthread_cond_init(&wal->changed, NULL);
}

/* Called with the lock held and `running` set; gives the lock up while it copies. */
static void copy(Wal *wal, Conn *conn)
{
        int frames = 0, copied = 0, code;

        pthread_mutex_unlock(&wal->lock);
        code = sqlite3_wal_checkpoint_v2(conn->db, "main", SQLITE_CHECKPOINT_PASSIVE, &frames, &copied);
        if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY)
                log_warning("the database's log could not be copied, it stays longer", "reason",
                            sqlite3_errmsg(conn->db), NULL);
        pthread_mutex_lock(&wal->lock);
        /* A full disk or a lock passes. Any other failure leaves the writer nothing to build upon. */
        if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY && (code & 0xff) != SQLITE_FULL)
                wal->broken = true;
        if (code == SQLITE_OK && wal->frames >= frames)
                wal->copied = copied;
        wal->next_try = wal->frames + WAL_STEP;
}

static void *copy_in_background(void *arg)
{
        Wal *wal = arg;

        pthread_mutex_lock(&wal->lock);
        for (;;) {
                while (!wal->quit && (wal->running || wal->frames < wal->next_try))
                        pthread_cond_wait(&wal->changed, &wal->lock);
                if (wal->quit)
                        break;
                wal->running = true;
                copy(wal, &wal->conn);
                wal->running = false;
                pthread_cond_broadcast(&wal->changed);
        }
        pthread_mutex_unlock(&wal->lock);
        return NULL;
}

bool wal_start(Wal *wal, const char *path, GError **error)
{
        int err;

        if (!conn_open(&wal->conn, path, SQLITE_OPEN_READWRITE, error) ||
            !conn_exec(&wal->conn,
                       "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -64",
                       error))
                return false;
        err = pthread_create(&wal->thread, NULL, copy_in_background, wal);
        if (err)
                return err_set_errno(error, err, "cannot start the thread that copies the database's log");
        wal->started = true;
        return true;
}

void wal_clear(Wal *wal)
{
        pthread_mutex_lock(&wal->lock);
        wal->quit = true;
        pthread_cond_broadcast(&wal->changed);
        pthread_mutex_unlock(&wal->lock);
        if (wal->started)
                pthread_join(wal->thread, NULL);
        conn_close(&wal->conn);
        pthread_cond_destroy(&wal->changed);
        pthread_mutex_destroy(&wal->lock);
}

void wal_grew(Wal *wal, int frames)
{
        pthread_mutex_lock(&wal->lock);
        if (frames < wal->frames) { /* it started over */
                wal->copied = 0;
                wal->next_try = WAL_STEP;
                wal->next_last = WAL_SOFT;
        }
        wal->frames = frames;
        if (frames >= wal->next_try)
                pthread_cond_broadcast(&wal->changed);
        pthread_mutex_unlock(&wal->lock);
}

/* Due when the log is long, and either the rest is short and nobody copies, or it is so long that the wait
 * must be borne. */
static bool is_due(const Wal *wal)
{
        if (wal->frames < wal->next_last || !wal->started)
                return false;
        return wal->frames >= WAL_HARD || (!wal->running && wal->frames - wal->copied <= WAL_REST);
}

void wal_finish(Wal *wal, Conn *writer)
{
        gint64 start = clock_monotonic_ms();

        pthread_mutex_lock(&wal->lock);
        if (!is_due(wal)) {
                pthread_mutex_unlock(&wal->lock);
                return;
        }
        while (wal->running)
                pthread_cond_wait(&wal->changed, &wal->lock);
        wal->running = true;
        pthread_mutex_unlock(&wal->lock);
        pool_hold(wal->pool);
        pthread_mutex_lock(&wal->lock);
        copy(wal, writer);
        wal->running = false;
        wal->next_last =
                wal->frames + WAL_REST / 2; /* if a foreign reader was in the way; a new log sets it back */
        wal->longest_ms = MAX(wal->longest_ms, clock_monotonic_ms() - start);
        pthread_cond_broadcast(&wal->changed);
        pthread_mutex_unlock(&wal->lock);
        pool_release(wal->pool);
}

bool wal_is_broken(Wal *wal)
{
        bool broken;

        pthread_mutex_lock(&wal->lock);
        broken = wal->broken;
        pthread_mutex_unlock(&wal->lock);
        return broken;
}

gint64 wal_bytes(Wal *wal)
{
        gint64 bytes;

        pthread_mutex_lock(&wal->lock);
        bytes = (gint64)wal->frames * WAL_FRAME;
        pthread_mutex_unlock(&wal->lock);
        return bytes;
}

gint64 wal_longest_ms(Wal *wal)
{
        gint64 longest;

        pthread_mutex_lock(&wal->lock);
        longest = wal->longest_ms;
        pthread_mutex_unlock(&wal->lock);
        return longest;
}
