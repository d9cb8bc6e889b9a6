/* Steps that search the cache: what a batch does of them. */
#include "engine/test/play.h"

#include <glib/gstdio.h>
#include <string.h>
#include <utime.h>

#include "base/err.h"
#include "engine/runs-cache.h"
#include "store/test/faulty.h"

/* ---- what a search costs ---- */

typedef struct {
        House *house;
        guint searches;
        int done; /* atomic */
} Asked;

/* On the engine's thread, before the searches of the batch begin. */
static void note_searches(const RunRecord *run, bool repeated, const GError *error, void *arg)
{
        Asked *asked = arg;

        g_assert_no_error(error);
        asked->searches = runs_find(asked->house->engine, run->seq)->cache_searches_due->len;
        g_atomic_int_set(&asked->done, 1);
}

/* How many steps of a new run search the cache in its first batch. */
static guint count_searches(const char *step)
{
        enum { STEPS = 8 };
        g_autoptr(GString) text =
                g_string_new("name: p\nparallelism: 20\ncache: {enable: true}\nentry_points:\n");
        House *house = house_new();
        Asked asked = { .house = house };

        for (int i = 0; i < STEPS; i++)
                g_string_append_printf(text, "  s%d:\n%s", i, step);
        engine_create_run(house->engine, &(EngineRun){ .user = "ann", .text = text->str }, note_searches,
                          &asked);
        for (gint64 end = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;
             !g_atomic_int_get(&asked.done) && g_get_monotonic_time() < end;)
                house_barrier(house);
        g_assert_true(g_atomic_int_get(&asked.done));
        house_free(house);
        return asked.searches;
}

/* A search is charged by the texts and parts of its fingerprints. */
static void test_cost(void)
{
        g_autofree char *words = g_strnfill(RUN_STEPS * RUN_STEP_BYTES, 'x');
        g_autofree char *long_command = g_strdup_printf("    command: '%s'\n", words);
        g_autoptr(GString) parts = g_string_new("    command: c\n    parameters:\n");
        g_autoptr(GString) paths = g_string_new(NULL);
        g_autofree char *scopes = NULL, *lines = g_strnfill(RUN_STEPS * RUN_STEP_BYTES / 4, 'x');
        g_autofree char *needs = g_strdup_printf("    command: c\n    requirements: '%s'\n", lines);

        for (int i = 0; i < RUN_STEPS * RUN_PARTS_PER_STEP; i++)
                g_string_append_printf(parts, "      p%d: 1\n", i);
        for (int i = 0; i < RUN_STEPS * RUN_PARTS_PER_STEP * 9 / 10; i++)
                g_string_append_printf(paths, "x%d,", i);
        scopes = g_strdup_printf("    command: c\n    extra_fs: [{name: home}]\n"
                                 "    cache: {fs_scope: [{name: home, path: '%s'}]}\n",
                                 paths->str);
        g_assert_cmpuint(count_searches("    command: c\n"), ==, 8);
        g_assert_cmpuint(count_searches(long_command), <=,
                         2); /* one that uses up the run's part, and the last step of it */
        g_assert_cmpuint(count_searches(parts->str), <=, 2);
        g_assert_cmpuint(count_searches(scopes), <=, 2);
        g_assert_cmpuint(count_searches(needs), <=, 4); /* a quarter of the run's part each */
}

/* ---- a store whose reads fail, or take long ---- */

static struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        int failing; /* so many reads fail */
        int lost; /* so many look-ups found entries whose outputs are gone, without end; -1: they find what there is */
        bool holds; /* the next look-up waits behind its read ... */
        bool held;  /* ... and does */
} reads = { .lost = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static bool read_fails(GError **error)
{
        bool fails;

        pthread_mutex_lock(&reads.lock);
        fails = reads.failing > 0;
        reads.failing -= fails;
        pthread_mutex_unlock(&reads.lock);
        return fails && !err_set(error, ERR_UNAVAILABLE, "the disk is tired");
}

static void fail_reads(int n)
{
        pthread_mutex_lock(&reads.lock);
        reads.failing = n;
        pthread_mutex_unlock(&reads.lock);
}

static int failing_reads(void)
{
        int n;

        pthread_mutex_lock(&reads.lock);
        n = reads.failing;
        pthread_mutex_unlock(&reads.lock);
        return n;
}

static void free_entry(gpointer entry)
{
        cache_entry_free(entry);
}

/* A page of entries of the run 1 before `before`. */
static GPtrArray *lost_entries(const CacheLookup *lookup)
{
        GPtrArray *found = g_ptr_array_new_with_free_func(free_entry);

        for (int i = 1; i <= lookup->limit; i++) {
                CacheEntry *entry = g_new0(CacheEntry, 1);

                *entry = (CacheEntry){ .seq = lookup->before - i,
                                       .run = 1,
                                       .job = 1,
                                       .expiry_s = CACHE_NEVER_EXPIRES,
                                       .step = g_strdup("a"),
                                       .body = g_strdup("{\"outputs\": {\"x\": \"gone\"}}"),
                                       .run_id = g_strdup("run"),
                                       .job_id = g_strdup("job"),
                                       .job_state = JOB_SUCCEEDED };
                g_ptr_array_add(found, entry);
        }
        return found;
}

static GPtrArray *slow_lookup(Store *store, const CacheLookup *lookup, GError **error)
{
        GPtrArray *found = read_fails(error) ? NULL : store_sqlite.cache_lookup(store, lookup, error);

        pthread_mutex_lock(&reads.lock);
        if (reads.lost >= 0 && found) {
                reads.lost++;
                g_ptr_array_unref(found);
                found = lost_entries(lookup);
        }
        if (reads.holds) {
                reads.holds = false;
                reads.held = true;
                pthread_cond_broadcast(&reads.changed);
                while (reads.held)
                        pthread_cond_wait(&reads.changed, &reads.lock);
        }
        pthread_mutex_unlock(&reads.lock);
        return found;
}

static GArray *failing_chain(Store *store, gint64 run, int limit, GError **error)
{
        return read_fails(error) ? NULL : store_sqlite.run_chain(store, run, limit, error);
}

static bool failing_taker(Store *store, gint64 maker, gint64 job, gint64 from, gint64 *ret, GError **error)
{
        return !read_fails(error) && store_sqlite.cache_taker(store, maker, job, from, ret, error);
}

static void hold_lookup(void)
{
        pthread_mutex_lock(&reads.lock);
        reads.holds = true;
        pthread_mutex_unlock(&reads.lock);
}

/* Returns when a look-up has read, and waits. */
static void await_lookup(void)
{
        pthread_mutex_lock(&reads.lock);
        while (!reads.held)
                pthread_cond_wait(&reads.changed, &reads.lock);
        pthread_mutex_unlock(&reads.lock);
}

static void release_lookup(void)
{
        pthread_mutex_lock(&reads.lock);
        reads.held = false;
        pthread_cond_broadcast(&reads.changed);
        pthread_mutex_unlock(&reads.lock);
}

static House *slow_house(void)
{
        static StoreOps ops;
        House *house = house_new_cold();
        g_autofree char *ann = NULL;

        ops = store_sqlite;
        ops.cache_lookup = slow_lookup;
        ops.run_chain = failing_chain;
        ops.cache_taker = failing_taker;
        house->store_ops = &ops;
        house->config.homes = g_build_filename(house->dir, "homes", NULL);
        ann = g_build_filename(house->config.homes, "ann", NULL);
        g_assert_cmpint(g_mkdir_with_parents(ann, 0755), ==, 0);
        house_open(house);
        house->engine->cache_rest_ms = 1;
        house_sync(house);
        return house;
}

/* ---- runs ---- */

#define CACHE "cache: {enable: true}\n"
#define ONE CACHE "entry_points:\n  a: {command: c}\n"

/* A run of the text whose step ends like this: its entry is there. */
static Play filled(House *house, const char *text, int status)
{
        Play play = play_new(house, text);

        play_assert(&play, "a", "running");
        play_end_job(&play, "a", status);
        play_assert(&play, "run", status == 0 ? "succeeded" : "failed");
        return play;
}

/* The run whose job made the result of the step; NULL: it is its own. */
static void assert_made_by(const Play *play, const char *path, const Play *maker)
{
        g_autoptr(GPtrArray) nodes = play_nodes(play);
        const RunNodeRecord *node = play_find(play, nodes, path);

        g_assert_cmpint(node->made_by, ==, maker ? maker->seq : 0);
}

static guint count_entries(const Play *play)
{
        g_autoptr(GError) error = NULL;
        gint64 next;
        g_autoptr(GPtrArray) entries =
                store_cache_entries(play->house->store, &(CacheQuery){ .run = play->seq, .limit = 1000 },
                                    &next, &error);

        g_assert_no_error(error);
        return entries->len;
}

/* ---- hits and misses ---- */

#define EXPIRES(seconds)                                                                                     \
        "cache: {enable: true, max_expired_time: " #seconds "}\nentry_points:\n  a: {command: c}\n"

/* A second run of the text so many seconds after the first one: whether it takes the result. */
static bool is_hit_after(const char *text, gint64 seconds)
{
        House *house = slow_house();
        Play first = filled(house, text, 0), second;
        bool hit;

        house_pass(house, seconds * 1000);
        second = play_new(house, text);
        for (gint64 end = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;
             strcmp(play_state(&second, "a"), "none") == 0 && g_get_monotonic_time() < end;)
                house_barrier(house);
        g_assert_cmpstr(play_state(&second, "a"), !=, "none");
        hit = strcmp(play_state(&second, "a"), "succeeded") == 0;
        assert_made_by(&second, "a", hit ? &first : NULL);
        g_assert_cmpuint(play_count_jobs(house), ==, hit ? 1 : 2);
        play_clear(&first);
        play_clear(&second);
        play_house_free(house);
        return hit;
}

/* C117, C118: how old an entry may be. */
static void test_expiry(void)
{
        g_assert_false(is_hit_after(EXPIRES(400), 500));
        g_assert_true(is_hit_after(EXPIRES(300), 100));
        g_assert_true(is_hit_after(EXPIRES(300), 299));
        g_assert_false(is_hit_after(EXPIRES(300), 300));
        g_assert_true(is_hit_after(EXPIRES(-1), 100ll * 365 * 24 * 3600));
        g_assert_false(is_hit_after(EXPIRES(0), 0));
}

/* C117: no entry, and one with another second fingerprint, which is that of a file here. */
static void test_other_files(void)
{
        static const char text[] = HOME
                "cache: {enable: true, fs_scope: [{name: home, path: scope}]}\nentry_points:\n  a: {command: c}\n";
        House *house = slow_house();
        g_autofree char *scope = g_build_filename(house->config.homes, "ann", "scope", NULL);
        g_autoptr(GError) error = NULL;
        Play first, second, third;

        g_assert_true(g_file_set_contents(scope, "1", 1, &error));
        first = filled(house, text, 0);
        g_assert_cmpint(g_utime(scope, &(struct utimbuf){ 7, 7 }), ==, 0);
        second = filled(house, text, 0);
        assert_made_by(&second, "a", NULL);
        third = play_new(house, text);
        play_assert(&third, "run", "succeeded");
        assert_made_by(&third, "a", &second);
        g_assert_cmpuint(play_count_jobs(house), ==, 2);
        play_clear(&first);
        play_clear(&second);
        play_clear(&third);
        play_house_free(house);
}

/* C119: a hit takes the outputs, and gives its slot to the next step. */
static void test_hit(void)
{
        static const char text[] =
                HOME CACHE "parallelism: 1\nentry_points:\n  a: {command: c, artifacts: {output: [x]}}\n"
                           "  b: {command: d, cache: {enable: false}}\n";
        House *house = slow_house();
        Play first = play_new(house, text), second;
        g_autofree char *path = play_artifact(&first, "a", "x");

        play_assert(&first, "a", "running");
        play_put(&first, "a", "x", "1\n", 2);
        play_end_job(&first, "a", 0);
        play_assert(&first, "b", "running");
        second = play_new(house, text);
        play_assert(&second, "a", "succeeded");
        play_assert(&second, "b", "running"); /* in the only slot */
        assert_made_by(&second, "a", &first);
        g_autoptr(GPtrArray) nodes = play_nodes(&second);
        const char *reuse = play_find(&second, nodes, "a")->reuse;
        g_autoptr(json_t) taken = json_parse(reuse, strlen(reuse), NULL);
        g_assert_true(
                g_str_has_suffix(path,
                                 json_string_value(json_object_get(json_object_get(taken, "outputs"), "x"))));
        g_assert_cmpuint(play_count_jobs(house), ==, 3);
        play_clear(&first);
        play_clear(&second);
        play_house_free(house);
}

/* ---- reads of the store ---- */

/* A store that cannot be read says nothing about the cache: it is read again, and later the step fails. */
static void test_unread(void)
{
        House *house = slow_house();
        Play first = filled(house, ONE, 0), second, third;

        fail_reads(3);
        second = play_new(house, ONE);
        play_assert(&second, "run", "succeeded");
        g_assert_cmpint(failing_reads(), ==, 0);
        assert_made_by(&second, "a", &first);
        fail_reads(CACHE_READ_TRIES);
        third = play_new(house, ONE);
        play_assert_message(&third, "a", "RE-04: the cache cannot be read: the disk is tired");
        g_assert_cmpint(failing_reads(), ==, 0);
        g_assert_cmpuint(play_count_jobs(house), ==, 1);
        play_clear(&first);
        play_clear(&second);
        play_clear(&third);
        play_house_free(house);
}

/* A retry of the run, whose look-up has an entry already while `n` further reads fail: the step runs. The retry's id; the
 * caller's. */
static char *retry_unread(House *house, const char *id, int n)
{
        Play retry = { .house = house, .definition = play_compile(ONE) };
        g_autoptr(GError) error = NULL;

        hold_lookup();
        retry.id = play_retry(house, id, NULL, NULL, &retry.seq, &error);
        g_assert_no_error(error);
        await_lookup();
        fail_reads(n);
        release_lookup();
        play_assert(&retry, "a", "running");
        g_assert_cmpint(failing_reads(), ==, 0);
        assert_made_by(&retry, "a", NULL);
        play_end_job(&retry, "a", 3);
        play_assert(&retry, "run", "failed");
        definition_free(retry.definition);
        return retry.id;
}

/* a retry replays neither the failure of the run that it retries, nor one that this run had replayed; also if the
 * store cannot be read at first. */
static void test_unread_chain(void)
{
        House *house = slow_house();
        Play first = filled(house, ONE, 3), second = play_new(house, ONE);
        g_autofree char *id = g_strdup(second.id);

        play_assert(&second, "run", "failed");
        assert_made_by(&second, "a", &first);
        for (int n = 1; n <= 4; n++) {
                g_autofree char *before = g_steal_pointer(&id);

                id = retry_unread(house, before, n);
        }
        play_clear(&first);
        play_clear(&second);
        play_house_free(house);
}

static void begin_of(Play *play, const char *user, const char *text)
{
        g_autofree char *whole = g_strconcat("name: p\n", text, NULL);
        RunAnswer answer = { .done = 0 };

        engine_create_run(play->house->engine, &(EngineRun){ .user = user, .text = whole }, play_note_answer,
                          &answer);
        house_barrier(play->house);
        g_assert_no_error(answer.error);
        play->id = g_strdup(answer.run->id);
        play->seq = answer.run->seq;
        run_record_free(answer.run);
}

/* A slow look-up of one user does not delay the look-ups of others. */
static void test_shares(void)
{
        House *house = slow_house();
        Play first = filled(house, ONE, 0), second, third;
        Play bob = { .house = house, .definition = play_compile(ONE) };

        hold_lookup();
        second = play_new(house, ONE);
        await_lookup();
        third = play_new(house, ONE);
        begin_of(&bob, "bob", ONE);
        play_assert(&bob, "a", "running"); /* a miss: entries are of their user */
        g_assert_cmpstr(play_state(&second, "a"), ==, "none");
        g_assert_cmpstr(play_state(&third, "a"), ==, "none");
        release_lookup();
        play_assert(&second, "run", "succeeded");
        play_assert(&third, "run", "succeeded");
        play_clear(&first);
        play_clear(&second);
        play_clear(&third);
        play_clear(&bob);
        play_house_free(house);
}

/* the run of an entry is deleted between the look-up and its answer. */
static void test_deleted_between(void)
{
        House *house = slow_house();
        Play first = filled(house, ONE, 0), second;
        g_autoptr(GError) error = NULL;

        hold_lookup();
        second = play_new(house, ONE);
        await_lookup();
        g_assert_true(play_act(house, first.id, "delete --force", &error));
        g_assert_no_error(error);
        release_lookup();
        play_assert(&second, "a", "running");
        assert_made_by(&second, "a", NULL);
        play_end_job(&second, "a", 0);
        play_assert(&second, "run", "succeeded");
        g_assert_cmpuint(count_entries(&second), ==, 1);
        play_clear(&first);
        play_clear(&second);
        play_house_free(house);
}

/* A search ends, however many entries are of no use. */
static void test_many_lost(void)
{
        static const char text[] = HOME CACHE "entry_points:\n  a: {command: c, artifacts: {output: [x]}}\n";
        House *house = slow_house();
        Play play;

        reads.lost = 0; /* no look-up is under way */
        play = play_new(house, text);
        play_assert(&play, "a", "running");
        g_assert_cmpint(reads.lost, >, 1);
        g_assert_cmpint(reads.lost, <=, CACHE_LOOKED_MAX + 1);
        reads.lost = -1;
        play_clear(&play);
        play_house_free(house);
}

/* ---- commits that fail ---- */

/* The first success lets the rest go on at once. */
static void free_disk(House *house)
{
        static int token;
        g_autofree char *name = g_strdup_printf("space-%d", token++);
        g_autoptr(GError) error = NULL;

        faulty_set(FAULT_NONE, NULL, 0, false);
        g_assert_true(house_put_token(house, name, &error));
}

static void await_failure(House *house)
{
        for (gint64 end = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;
             faulty_count() == 0 && g_get_monotonic_time() < end;)
                house_barrier(house);
        g_assert_cmpint(faulty_count(), >, 0);
}

/* The answer to the first look-up comes while the disk is full. When it has space the answer counts, once. */
static Play begin_full(House *house, const char *text)
{
        Play play;

        hold_lookup();
        play = play_new(house, text);
        await_lookup();
        faulty_set(FAULT_FULL, "-wal", 1, false);
        release_lookup();
        await_failure(house);
        g_assert_cmpstr(play_state(&play, "a"), ==, "none");
        free_disk(house);
        return play;
}

static void test_full_disks(void)
{
        House *house;
        Play first, second;

        faulty_install();
        house = slow_house();
        first = begin_full(house, HOME CACHE WRITES READS); /* misses */
        play_assert(&first, "a", "running");
        play_put(&first, "a", "x", "1\n", 2);
        play_end(&first, "a", 0, WITH_FULL_DISKS);
        play_assert(&first, "b", "running");
        second = begin_full(house, HOME CACHE WRITES READS); /* takes a, and waits for b */
        play_assert(&second, "a", "succeeded");
        assert_made_by(&second, "a", &first);
        play_end(&first, "b", 0, WITH_FULL_DISKS);
        play_assert(&first, "run", "succeeded");
        play_assert(&second, "run", "succeeded");
        assert_made_by(&second, "b", &first);
        g_assert_cmpuint(count_entries(&first), ==, 2);
        g_assert_cmpuint(count_entries(&second), ==, 0);
        g_assert_cmpuint(play_count_jobs(house), ==, 2);
        play_clear(&first);
        play_clear(&second);
        play_house_free(house);
        faulty_remove();
}

/* ---- many that wait ---- */

enum { WAITING = 3 * RUN_STEPS };

#define CONTENT "cache: {enable: true, fingerprint: content}\n"

typedef struct {
        House *house;
        gint64 run;
        guint waiting;
        guint known; /* nodes that have searched the cache and are not forgotten */
        int done;    /* atomic */
} Watch;

static guint count_waiting(const LiveRun *live)
{
        guint waiting = 0;

        for (guint32 i = RUN_POST + 1; live && i < run_nodes(live->machine); i++) {
                const RunNode *node = run_node(live->machine, i);

                waiting += node->state == NODE_STARTING && !node->slot && !node->wants;
        }
        return waiting;
}

/* On the engine's thread, after a commit. */
static void note_waiting(Job *job, bool repeated, const GError *error, void *arg)
{
        Watch *waiting = arg;
        const LiveRun *live = runs_find(waiting->house->engine, waiting->run);

        waiting->waiting = count_waiting(live);
        waiting->known = live ? g_hash_table_size(live->cache) : 0;
        g_atomic_int_set(&waiting->done, 1);
}

/* How many nodes of the run wait for a job after the batch in which it is asked. */
static void ask_waiting(House *house, gint64 run, Watch *ret)
{
        *ret = (Watch){ .house = house, .run = run };
        engine_flush_journal(house->engine, note_waiting, ret);
}

static Watch watch(House *house, gint64 run)
{
        Watch waiting;

        ask_waiting(house, run, &waiting);
        house_barrier(house);
        g_assert_true(g_atomic_int_get(&waiting.done));
        return waiting;
}

static guint get_waiting(House *house, gint64 run)
{
        return watch(house, run).waiting;
}

/* Polls until `want` steps of the run wait. */
static void assert_waiting(House *house, gint64 run, guint want)
{
        gint64 patience = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;

        while (get_waiting(house, run) < want && g_get_monotonic_time() < patience)
                g_usleep(5000);
        g_assert_cmpuint(get_waiting(house, run), ==, want);
}

/* A run whose WAITING steps wait for the job of `first`, which runs. */
static Play begin_waiting(House *house)
{
        g_autoptr(GString) text =
                g_string_new("parallelism: 1000\n" CONTENT "entry_points:\n  d:\n    loop_argument: [");
        Play play;

        for (int i = 0; i < WAITING; i++)
                g_string_append_printf(text, "%s%d", i ? ", " : "", i);
        g_string_append(text, "]\n    entry_points:\n      a: {command: c}\n");
        play = play_new(house, text->str);
        assert_waiting(house, play.seq, WAITING);
        return play;
}

static void say_end(const Play *play, const char *path)
{
        g_autofree char *job = play_job(play, path), *task = task_of(job, 1, "worker", 0);

        script_say_kind(play->house->script, OBSERVED_STARTED, task);
        script_say_exit(play->house->script, task, 0, 0, false);
}

/* A batch wakes a bounded number of the nodes that wait for a job. */
static void test_many_wait(void)
{
        House *house = slow_house();
        Play first = play_new(house, CONTENT "entry_points:\n  a: {command: c}\n"), second;
        Watch waiting;

        play_assert(&first, "a", "running");
        second = begin_waiting(house);
        house_hold(house);
        say_end(&first, "a");
        ask_waiting(house, second.seq, &waiting);
        house_let_go(house);
        house_barrier(house);
        g_assert_true(g_atomic_int_get(&waiting.done));
        g_assert_cmpuint(waiting.waiting, <, WAITING);
        g_assert_cmpuint(waiting.waiting, >=, WAITING - RUN_STEPS);
        play_assert(&second, "run", "succeeded");
        g_assert_cmpuint(play_count_jobs(house), ==, 1);
        play_clear(&first);
        play_clear(&second);
        play_house_free(house);
}

/* ... and wakes them again if its commit fails. */
static void test_many_wait_full(void)
{
        House *house;
        Play first, second;

        faulty_install();
        house = slow_house();
        first = play_new(house, CONTENT "entry_points:\n  a: {command: c}\n");
        play_assert(&first, "a", "running");
        second = begin_waiting(house);
        faulty_set(FAULT_FULL, "-wal", 1, false);
        say_end(&first, "a");
        await_failure(house);
        g_assert_cmpuint(get_waiting(house, second.seq), ==, WAITING);
        free_disk(house);
        play_assert(&second, "run", "succeeded");
        g_assert_cmpuint(play_count_jobs(house), ==, 1);
        play_clear(&first);
        play_clear(&second);
        play_house_free(house);
        faulty_remove();
}

/* A run knows the nodes that wait, and forgets those that have begun or ended. */
static void test_forgotten(void)
{
        House *house = slow_house();
        Play first = play_new(house, CONTENT "entry_points:\n  a: {command: c}\n"), second, third;
        g_autoptr(GError) error = NULL;

        play_assert(&first, "a", "running");
        g_assert_cmpuint(watch(house, first.seq).known, ==, 0);
        second = begin_waiting(house);
        g_assert_cmpuint(watch(house, second.seq).known, ==, WAITING);
        third = play_new(house, CONTENT CONTINUE "entry_points:\n  a: {command: c}\n"
                                                 "  b: {command: d, cache: {enable: false}}\n");
        assert_waiting(house, third.seq, 1);
        g_assert_cmpuint(watch(house, third.seq).known, ==, 1);
        say_end(&first, "a");
        play_assert(&third, "a", "succeeded");
        play_assert(&third, "b", "running");
        g_assert_cmpuint(watch(house, third.seq).known, ==, 0);
        g_assert_true(play_act(house, second.id, "stop", &error));
        g_assert_no_error(error);
        play_clear(&first);
        play_clear(&second);
        play_clear(&third);
        play_house_free(house);
}

/* ---- what it takes in the store ---- */

static gint64 bytes_of(House *house)
{
        g_autoptr(GError) error = NULL;
        gint64 bytes;

        g_assert_true(store_run_bytes(house->store, "ann", &bytes, &error));
        return bytes;
}

enum { OUTPUTS = 200 };

/* What a run of a step with many outputs adds. *ret is the run. */
static gint64 bytes_of_run(House *house, const char *cache, const Play *maker, Play *ret)
{
        g_autoptr(GString) text = g_string_new(HOME);
        gint64 before = bytes_of(house);

        g_string_append_printf(text, "%sentry_points:\n  a:\n    command: c\n    artifacts:\n      output: [",
                               cache);
        for (int i = 0; i < OUTPUTS; i++)
                g_string_append_printf(text, "%sthe_output_%d", i ? ", " : "", i);
        g_string_append(text, "]\n");
        *ret = play_new(house, text->str);
        if (!maker) {
                play_assert(ret, "a", "running");
                for (int i = 0; i < OUTPUTS; i++) {
                        g_autofree char *name = g_strdup_printf("the_output_%d", i);

                        play_put(ret, "a", name, "", 0);
                }
                play_end_job(ret, "a", 0);
        }
        play_assert(ret, "run", "succeeded");
        assert_made_by(ret, "a", maker);
        return bytes_of(house) - before;
}

/* The names of outputs are in the entry of a step, and in what another run takes of it. */
static void test_bytes(void)
{
        House *house = slow_house();
        Play plain, first, second;
        gint64 without = bytes_of_run(house, "cache: {enable: false}\n", NULL, &plain);
        gint64 with = bytes_of_run(house, CACHE, NULL, &first);
        gint64 taken = bytes_of_run(house, CACHE, &first, &second);
        g_autoptr(GError) error = NULL;
        g_autoptr(CacheEntry) entry = store_cache_entry(house->store, 1, &error);
        g_autoptr(GPtrArray) nodes = play_nodes(&second);

        g_assert_no_error(error);
        g_assert_cmpint(with - without, >=, (gint64)strlen(entry->body));
        g_assert_cmpint(taken, >=, RUN_BYTES + (gint64)strlen(play_find(&second, nodes, "a")->reuse));
        play_clear(&plain);
        play_clear(&first);
        play_clear(&second);
        play_house_free(house);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/engine/runs/cache/cost", test_cost);
        g_test_add_func("/engine/runs/cache/expiry", test_expiry);
        g_test_add_func("/engine/runs/cache/other-files", test_other_files);
        g_test_add_func("/engine/runs/cache/hit", test_hit);
        g_test_add_func("/engine/runs/cache/unread", test_unread);
        g_test_add_func("/engine/runs/cache/unread-chain", test_unread_chain);
        g_test_add_func("/engine/runs/cache/shares", test_shares);
        g_test_add_func("/engine/runs/cache/deleted-between", test_deleted_between);
        g_test_add_func("/engine/runs/cache/many-lost", test_many_lost);
        g_test_add_func("/engine/runs/cache/full-disks", test_full_disks);
        g_test_add_func("/engine/runs/cache/many-wait", test_many_wait);
        g_test_add_func("/engine/runs/cache/many-wait-full", test_many_wait_full);
        g_test_add_func("/engine/runs/cache/forgotten", test_forgotten);
        g_test_add_func("/engine/runs/cache/bytes", test_bytes);
        return g_test_run();
}
