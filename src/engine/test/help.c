/* The test's house (see help.h). */
#include "engine/test/help.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "engine/state.h"

enum { WAIT_MS = 60000 };

static _Thread_local bool last_repeated;

/* ---- the house ---- */

static gint64 own_clock(void *arg)
{
        House *house = arg;

        return __atomic_load_n(&house->clock_ms, __ATOMIC_SEQ_CST);
}

static void note_fatal(const GError *error, void *arg)
{
        House *house = arg;

        __atomic_add_fetch(&house->fatal, 1, __ATOMIC_SEQ_CST);
}

static void wake(gint64 revision, void *arg)
{
        House *house = arg;

        pthread_mutex_lock(&house->lock);
        house->revision = revision;
        pthread_cond_broadcast(&house->woken);
        pthread_mutex_unlock(&house->lock);
}

House *house_new_cold(void)
{
        House *house = g_new0(House, 1);
        pthread_condattr_t attr;

        json_init();
        house->dir = g_dir_make_tmp("engine-XXXXXX", NULL);
        house->script = script_new(&(Resources){ { 4000, 4ll << 30, 4 } });
        house->clock_ms = 1750000000000;
        house->boot_id = "11111111-1111-1111-1111-111111111111";
        pthread_mutex_init(&house->lock, NULL);
        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(&house->woken, &attr);
        pthread_condattr_destroy(&attr);
        return house;
}

void house_open(House *house)
{
        g_autoptr(GError) error = NULL;

        house->store = store_open_as(house->store_ops ? house->store_ops : &store_sqlite, house->dir, &error);
        g_assert_no_error(error);
        house->config.store = house->store;
        house->config.runtime = script_runtime(house->script);
        house->config.dc = "local";
        house->config.boot_id = house->boot_id;
        house->config.now = own_clock;
        house->config.now_arg = house;
        house->config.fatal = note_fatal;
        house->config.fatal_arg = house;
        house->engine = engine_new(&house->config, &error);
        g_assert_no_error(error);
        engine_watch(house->engine, wake, house);
}

void house_sync(House *house)
{
        script_say_kind(house->script, OBSERVED_SYNCED, NULL);
        house_barrier(house);
        g_assert_true(engine_is_ready(house->engine));
}

House *house_new(void)
{
        House *house = house_new_cold();

        house_open(house);
        house_sync(house);
        return house;
}

void house_close(House *house)
{
        engine_unwatch(house->engine, wake, house);
        g_clear_pointer(&house->engine, engine_free);
        g_clear_pointer(&house->store, store_close);
        script_reset(house->script);
}

void house_free(House *house)
{
        if (house->engine)
                house_close(house);
        script_free(house->script);
        (void)file_remove_tree(house->dir, NULL); /* a scratch directory under the system's own */
        pthread_cond_destroy(&house->woken);
        pthread_mutex_destroy(&house->lock);
        g_free(house->dir);
        g_free(house);
}

void house_pass(House *house, gint64 ms)
{
        __atomic_add_fetch(&house->clock_ms, ms, __ATOMIC_SEQ_CST);
        engine_poke(house->engine);
        house_barrier(house);
}

/* ---- commands, waited for ---- */

typedef struct {
        pthread_mutex_t lock;
        pthread_cond_t answered;
        bool done, repeated;
        char *id;
        GError *error;
} Answer;

static void answer(Job *job, bool repeated, const GError *error, void *arg)
{
        Answer *got = arg;

        pthread_mutex_lock(&got->lock);
        got->done = true;
        got->repeated = repeated;
        got->id = job ? g_strdup(job->id) : NULL;
        got->error = error ? g_error_copy(error) : NULL;
        pthread_cond_signal(&got->answered);
        pthread_mutex_unlock(&got->lock);
}

#define ANSWER_INIT                                                                                          \
        {                                                                                                    \
                .lock = PTHREAD_MUTEX_INITIALIZER, .answered = PTHREAD_COND_INITIALIZER                      \
        }

static bool answer_wait(Answer *got, char **ret_id, GError **error)
{
        bool ok;

        pthread_mutex_lock(&got->lock);
        while (!got->done)
                pthread_cond_wait(&got->answered, &got->lock);
        pthread_mutex_unlock(&got->lock);
        pthread_cond_destroy(&got->answered);
        pthread_mutex_destroy(&got->lock);
        last_repeated = got->repeated;
        ok = !got->error;
        if (got->error)
                g_propagate_error(error, got->error);
        if (ret_id)
                *ret_id = got->id;
        else
                g_free(got->id);
        return ok;
}

bool house_repeated(void)
{
        return last_repeated;
}

static Spec *parse(const char *text)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *quoted = g_strdelimit(g_strdup(text), "'", '"');
        g_autoptr(json_t) object = json_parse(quoted, strlen(quoted), &error);
        Spec *spec;

        g_assert_no_error(error);
        spec = spec_parse(object, &error);
        g_assert_no_error(error);
        return spec;
}

char *house_submit(House *house, const char *user, const char *text, const char *key, GError **error)
{
        g_autoptr(Spec) spec = parse(text);
        Answer got = ANSWER_INIT;
        char *id = NULL;

        engine_submit(house->engine,
                      &(EngineSubmission){
                              .user = user, .specs = &spec, .n_specs = 1, .idempotency_key = key },
                      answer, &got);
        (void)answer_wait(&got, &id, error); /* the error says it */
        return id;
}

char *house_submit_keyed(House *house, const char *user, const char *const *texts, const char *key,
                         GError **error)
{
        g_autoptr(GPtrArray) specs = g_ptr_array_new_with_free_func((GDestroyNotify)spec_unref);
        Answer got = ANSWER_INIT;
        char *id = NULL;

        for (; *texts; texts++)
                g_ptr_array_add(specs, parse(*texts));
        engine_submit(house->engine,
                      &(EngineSubmission){ .user = user,
                                           .specs = (Spec *const *)specs->pdata,
                                           .n_specs = (int)specs->len,
                                           .idempotency_key = key },
                      answer, &got);
        (void)answer_wait(&got, &id, error); /* the error says it */
        return id;
}

char *house_submit_all(House *house, const char *user, const char *const *texts, GError **error)
{
        return house_submit_keyed(house, user, texts, NULL, error);
}

bool house_change(House *house, const char *id, const JobChange *change, GError **error)
{
        Answer got = ANSWER_INIT;

        engine_change_job(house->engine, id, change, answer, &got);
        return answer_wait(&got, NULL, error);
}

char *house_submit_ok(House *house, const char *spec)
{
        g_autoptr(GError) error = NULL;
        char *id = house_submit(house, "ann", spec, NULL, &error);

        g_assert_no_error(error);
        g_assert_nonnull(id);
        return id;
}

bool house_act(House *house, const char *id, JobAction action, GError **error)
{
        Answer got = ANSWER_INIT;

        engine_act(house->engine, id, action, "ann", false, answer, &got);
        return answer_wait(&got, NULL, error);
}

bool house_cancel(House *house, const char *id, GError **error)
{
        return house_act(house, id, ACT_CANCEL, error);
}

bool house_take_token(House *house, const Token *token, GError **error)
{
        Answer got = ANSWER_INIT;

        engine_put_token(house->engine, token, answer, &got);
        return answer_wait(&got, NULL, error);
}

bool house_put_token(House *house, const char *id, GError **error)
{
        const Token token = {
                .id = (char *)id, .user = (char *)"root", .hash = (char *)id, .note = (char *)"", .created = 1
        };

        return house_take_token(house, &token, error);
}

bool house_put(House *house, const Object *object, GError **error)
{
        Answer got = ANSWER_INIT;

        engine_put(house->engine, object, "root", answer, &got);
        return answer_wait(&got, NULL, error);
}

bool house_patch(House *house, ObjectKind kind, const char *name, const char *text, GError **error)
{
        g_autoptr(Catalog) catalog = engine_catalog(house->engine);
        const Object *was = catalog_find(catalog, kind, name);
        g_autoptr(Object) object = was ? object_copy(was) : object_new(kind, name);
        g_autofree char *quoted = g_strdelimit(g_strdup(text), "'", '"');
        g_autoptr(json_t) patch = json_parse(quoted, strlen(quoted), error);

        return patch && object_patch(object, patch, error) && house_put(house, object, error);
}

void house_queue(House *house, const char *name, const char *text)
{
        g_autoptr(GError) error = NULL;

        (void)house_patch(house, KIND_QUEUE, name, text, &error);
        g_assert_no_error(error);
}

void house_let_rise(House *house, const char *user, const char *queue)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *name = grant_key(user, GRANT_QUEUE, queue);
        g_autofree char *grant =
                g_strdup_printf("{'user':'%s','type':'queue','resource':'%s','max_priority':1000}", user,
                                queue);

        (void)(house_patch(house, KIND_USER, user, "{}", &error) &&
               house_patch(house, KIND_GRANT, name, grant, &error));
        g_assert_no_error(error);
}

bool house_drop(House *house, ObjectKind kind, const char *name, GError **error)
{
        Answer got = ANSWER_INIT;

        engine_drop(house->engine, kind, name, 0, "root", answer, &got);
        return answer_wait(&got, NULL, error);
}

/* Actions run after the answers of their batch, so a second command's answer comes after them. A command that
 * is refused without a commit does as well on a full disk. */
void house_barrier(House *house)
{
        for (int i = 0; i < 2; i++) {
                g_autoptr(GError) error = NULL;

                (void)house_cancel(house, "0000000000000000", &error); /* refused: there is no such job */
        }
}

static void hold(Job *job, bool repeated, const GError *error, void *arg)
{
        House *house = arg;

        pthread_mutex_lock(&house->lock);
        house->held = 2;
        pthread_cond_broadcast(&house->woken);
        while (house->held == 2)
                pthread_cond_wait(&house->woken, &house->lock);
        pthread_mutex_unlock(&house->lock);
}

void house_hold(House *house)
{
        pthread_mutex_lock(&house->lock);
        house->held = 1;
        engine_act(house->engine, "0000000000000000", ACT_CANCEL, "ann", false, hold, house);
        while (house->held != 2)
                pthread_cond_wait(&house->woken, &house->lock);
        pthread_mutex_unlock(&house->lock);
}

void house_let_go(House *house)
{
        pthread_mutex_lock(&house->lock);
        house->held = 0;
        pthread_cond_broadcast(&house->woken);
        pthread_mutex_unlock(&house->lock);
}

/* ---- looking ---- */

Job *house_job(House *house, const char *id)
{
        g_autoptr(GError) error = NULL;
        Job *job = engine_find(house->engine, "ann", id, &error);

        g_assert_no_error(error);
        return job;
}

Job *house_wait(House *house, const char *id, JobState state)
{
        gint64 until_ms = clock_monotonic_ms() + WAIT_MS;
        struct timespec until = { .tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000 };

        for (;;) {
                gint64 revision = engine_revision(house->engine);
                Job *job = house_job(house, id);

                if (job->state == state)
                        return job;
                pthread_mutex_lock(&house->lock);
                while (house->revision <= revision)
                        if (pthread_cond_timedwait(&house->woken, &house->lock, &until) != 0)
                                g_error("job %s is %s (%s), waited in vain for %s", id,
                                        job_state_name(job->state), job->reason ? job->reason : "",
                                        job_state_name(state));
                pthread_mutex_unlock(&house->lock);
                job_unref(job);
        }
}

char *task_of(const char *id, int attempt, const char *role, int index)
{
        return g_strdup_printf("%s.%d.%s.%d", id, attempt, role, index);
}

char *house_events(House *house, const char *id)
{
        g_autoptr(Job) job = house_job(house, id);
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) events =
                store_events(house->store,
                             &(EventQuery){ .subject = SUBJECT_JOB, .seq = job->seq, .limit = 1000 }, &error);
        g_autoptr(GString) kinds = g_string_new(NULL);

        g_assert_no_error(error);
        for (guint i = 0; i < events->len; i++) {
                const Event *event = g_ptr_array_index(events, i);

                g_string_append_printf(kinds, "%s%s", i ? " " : "", event->kind);
        }
        return g_strdup(kinds->str);
}
