/* Figures of look-ups in the cache of steps, in the real store, beside a bare SELECT by primary key in the same file:
 *
 *     bench-cache [ENTRIES [ROUNDS]]      2,000 entries, one round; a JSON object a line
 *
 * Each entry has a job of its own, 200 have a run. A round makes so many look-ups of keys that are there, of keys that are
 * not, and so many SELECTs, in random order. A look-up must find its entry, and nothing else. */
#include <stdio.h>
#include <stdlib.h>

#include <sqlite3.h>

#include "base/number.h"
#include "store/test/help.h"

enum { ENTRIES = 2000, OF_RUN = 200, BATCH = 50 * 1000, LOOKUPS = 2000, PARTS = 20 };

typedef enum { HIT, MISS, SELECT, WAYS } Way;
typedef enum { WALL, CPU, CLOCKS } Clock;
static const clockid_t clock_ids[CLOCKS] = { CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID };
static const char *const way_names[WAYS] = { "hit", "miss", "select" };

static void G_GNUC_PRINTF(1, 2) fail(const char *format, ...)
{
        va_list args;

        va_start(args, format);
        fputs("bench-cache: ", stderr);
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
        va_end(args);
        exit(1);
}

/* ---- entries ---- */

/* The digest that the entry `seq` has in this place; the caller's. */
static char *digest_of(const char *place, gint64 seq)
{
        g_autofree char *text = g_strdup_printf("%s %" G_GINT64_FORMAT, place, seq);

        return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
}

/* As an entry of a step with a few parameters and an output. */
static char *make_body(gint64 seq)
{
        g_autoptr(json_t) body =
                json_pack("{s:{}, s:{s:s}}", "parts", "outputs", "model",
                          ".pipeline/run-000001/p/train-0-34430ff26490bfde63d328a99084b1c8/model");
        json_t *parts = json_object_get(body, "parts");

        for (int i = 0; i < PARTS; i++) {
                g_autofree char *name = g_strdup_printf("parameter p%d", i), *digest = digest_of(name, seq);

                json_object_set_new(parts, name, json_stringn(digest, 16));
        }
        return json_format(body);
}

static CacheEntry *make_entry(gint64 seq)
{
        CacheEntry *entry = g_new0(CacheEntry, 1);

        *entry = (CacheEntry){ .key = digest_of("key", seq),
                               .first = digest_of("first", seq),
                               .second = digest_of("second", seq),
                               .run = (seq - 1) / OF_RUN + 1,
                               .node = (guint32)((seq - 1) % OF_RUN + 2),
                               .job = seq,
                               .user = g_strdup("ann"),
                               .fs = g_strdup("home"),
                               .source = digest_of("source", 0),
                               .step = g_strdup_printf("train-%d", (int)(seq % OF_RUN)),
                               .expiry_s = CACHE_NEVER_EXPIRES,
                               .created = 1000 * seq,
                               .body = make_body(seq) };
        return entry;
}

static RunRecord *make_run(gint64 seq)
{
        RunRecord *run = g_new0(RunRecord, 1);

        *run = (RunRecord){ .seq = seq,
                            .user = g_strdup("ann"),
                            .name = g_strdup("train"),
                            .text = g_strdup("entry_points: {a: {command: x}}"),
                            .request = g_strdup("{}"),
                            .state = NODE_RUNNING,
                            .created = 1000 };
        id_new(run->id);
        return run;
}

static void fill(Store *store, gint64 n)
{
        for (gint64 seq = 1; seq <= n;) {
                g_autoptr(Batch) batch = batch_new();

                for (int i = 0; i < BATCH && seq <= n; i++, seq++) {
                        g_autofree char *name = g_strdup_printf("job-%" G_GINT64_FORMAT, seq);
                        Job *job = make_job(seq, "ann", name, JOB_SUCCEEDED);

                        job->spec_seq = 1;
                        batch_put(batch, RECORD_NEW_JOB, job);
                        batch_put(batch, RECORD_CACHE_ENTRY, make_entry(seq));
                        if (seq % OF_RUN == 1)
                                batch_put(batch, RECORD_NEW_RUN, make_run((seq - 1) / OF_RUN + 1));
                }
                commit(store, batch);
                store_checkpoint(store);
        }
}

/* ---- what is measured ---- */

typedef struct {
        Store *store;
        sqlite3 *db;
        sqlite3_stmt *select;
        gint64 entries;
} Bench;

/* The entry that is found; 0: none. */
static gint64 look_up(const Bench *bench, const char *key, const char *second)
{
        const CacheLookup lookup = {
                .key = key, .second = second, .before = G_MAXINT64, .not_run = -1, .limit = 16
        };
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) found = store_cache_lookup(bench->store, &lookup, &error);

        if (error || found->len > 1)
                fail("a look-up found %u entries: %s", error ? 0 : found->len, error ? error->message : "");
        return found->len ? ((const CacheEntry *)found->pdata[0])->seq : 0;
}

static gint64 select_body(const Bench *bench, gint64 seq)
{
        gint64 found;

        sqlite3_bind_int64(bench->select, 1, seq);
        if (sqlite3_step(bench->select) != SQLITE_ROW)
                fail("SELECT: %s", sqlite3_errmsg(bench->db));
        found = sqlite3_column_int64(bench->select, 0);
        (void)sqlite3_column_text(bench->select, 1);
        sqlite3_reset(bench->select);
        return found;
}

static gint64 now_ns(clockid_t clock)
{
        struct timespec now;

        clock_gettime(clock, &now);
        return now.tv_sec * G_GINT64_CONSTANT(1000000000) + now.tv_nsec;
}

/* One operation on a random entry: nanoseconds by each clock. */
static void measure(const Bench *bench, Way way, GRand *draw, gint64 ret[CLOCKS])
{
        gint64 seq = 1 + (gint64)(g_rand_double(draw) * (double)bench->entries), found;
        g_autofree char *key = digest_of(way == MISS ? "other" : "key", seq),
                        *second = digest_of("second", seq);

        for (int clock = 0; clock < CLOCKS; clock++)
                ret[clock] = -now_ns(clock_ids[clock]);
        found = way == SELECT ? select_body(bench, seq) : look_up(bench, key, second);
        for (int clock = 0; clock < CLOCKS; clock++)
                ret[clock] += now_ns(clock_ids[clock]);
        if (found != (way == MISS ? 0 : seq))
                fail("%s of entry %" G_GINT64_FORMAT " gave %" G_GINT64_FORMAT, way_names[way], seq, found);
}

static int compare_times(const void *a, const void *b)
{
        const gint64 *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

/* {"median": ms, "p99": ms, "max": ms}. Sorts the times. */
static json_t *places_of(gint64 times[LOOKUPS])
{
        qsort(times, LOOKUPS, sizeof times[0], compare_times);
        return json_pack("{s:f, s:f, s:f}", "median", (double)times[LOOKUPS / 2] / 1e6, "p99",
                         (double)times[LOOKUPS * 99 / 100] / 1e6, "max", (double)times[LOOKUPS - 1] / 1e6);
}

/* The ways in turn, so that what else the machine does meets all of them. */
static void run_round(const Bench *bench, GRand *draw)
{
        static gint64 times[WAYS][CLOCKS][LOOKUPS];
        g_autoptr(json_t) row = json_object();

        for (int n = 0; n < LOOKUPS; n++)
                for (Way way = 0; way < WAYS; way++) {
                        gint64 took[CLOCKS];

                        measure(bench, way, draw, took);
                        for (int clock = 0; clock < CLOCKS; clock++)
                                times[way][clock][n] = took[clock];
                }
        for (Way way = 0; way < WAYS; way++)
                json_object_set_new(row, way_names[way],
                                    json_pack("{s:o, s:o}", "wall", places_of(times[way][WALL]), "cpu",
                                              places_of(times[way][CPU])));
        g_autofree char *text = json_format(row);
        puts(text);
        (void)fflush(stdout);
}

static gint64 take_number(const char *text, gint64 max)
{
        gint64 number = 0;
        g_autoptr(GError) error = NULL;

        if (!number_parse("argument", text, 1, max, &number, &error))
                fail("%s", error->message);
        return number;
}

int main(int argc, char **argv)
{
        gint64 entries = argc > 1 ? take_number(argv[1], 100 * 1000 * 1000) : ENTRIES;
        gint64 rounds = argc > 2 ? take_number(argv[2], 1000) : 1;
        g_autoptr(Scratch) dir = scratch_new();
        g_autoptr(Store) store = open_store(dir);
        g_autoptr(GRand) draw = g_rand_new_with_seed(1);
        g_autofree char *path = g_build_filename(dir, "paddle.db", NULL);
        Bench bench = { .store = store, .entries = entries };

        fill(store, entries);
        if (sqlite3_open_v2(path, &bench.db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
            sqlite3_prepare_v2(bench.db, "SELECT seq, body FROM run_cache WHERE seq = ?1", -1, &bench.select,
                               NULL) != SQLITE_OK)
                fail("'%s' cannot be opened: %s", path, sqlite3_errmsg(bench.db));
        for (gint64 i = 0; i < rounds; i++)
                run_round(&bench, draw);
        sqlite3_finalize(bench.select);
        sqlite3_close(bench.db);
        return 0;
}
