/* Commands, admission and what readers find, beside one job's life cycle (that is cycle.c). */
#include <string.h>

#include "base/err.h"
#include "engine/state.h"
#include "engine/test/help.h"

#define ONE(name) "{'name':'" name "','command':['true'],'roles':[{'name':'worker','replicas':1,'cpu':'1'}]}"
#define WHOLE(name)                                                                                          \
        "{'name':'" name "','command':['true'],'roles':[{'name':'worker','replicas':4,'cpu':'1'}]}"
#define GPUS(name, n)                                                                                        \
        "{'name':'" name                                                                                     \
        "','command':['true'],'roles':[{'name':'worker','replicas':2,'cpu':'500m','gpus':" #n "}]}"

static void run_and_end(House *house, const char *id, int members)
{
        for (int i = 0; i < members; i++) {
                g_autofree char *task = task_of(id, 1, "worker", i);

                script_say_kind(house->script, OBSERVED_STARTED, task);
                script_say_exit(house->script, task, 0, 0, false);
        }
        house_barrier(house);
}

static void assert_refused(const char *id, GError *error, ErrCode code, const char *says)
{
        g_assert_null(id);
        if (!err_is(error, code) || !strstr(error->message, says))
                g_error("'%s' is not in '%s' (code %d)", says, error ? error->message : "(none)",
                        error ? error->code : -1);
        g_error_free(error);
}

static void submit_refused(House *house, const char *spec, const char *key, ErrCode code, const char *says)
{
        GError *error = NULL;
        char *id = house_submit(house, "ann", spec, key, &error);

        assert_refused(id, error, code, says);
}

static void test_names(void)
{
        House *house = house_new();
        g_autofree char *id = house_submit_ok(house, ONE("a"));
        g_autofree char *of_bob = house_submit(house, "bob", ONE("a"), NULL, NULL), *again = NULL;
        g_autofree char *says = g_strdup_printf("job 'a' (%s) of 'ann' is starting", id);

        g_assert_nonnull(of_bob); /* names are a user's own */
        submit_refused(house, ONE("a"), NULL, ERR_EXISTS, says);
        run_and_end(house, id, 1);
        assert_state(house, id, JOB_SUCCEEDED);
        again = house_submit_ok(house, ONE("a"));
        g_assert_cmpstr(again, !=, id);
        house_free(house);
}

static void note_id(Job *job, bool repeated, const GError *error, void *arg)
{
        char **id = arg;

        g_assert_no_error(error);
        *id = g_strdup(job->id);
}

/* A name that becomes free in the very batch in which it is wanted. */
static void test_name_passes_on(void)
{
        House *house = house_new();
        g_autofree char *id = house_submit_ok(house, ONE("a")), *next = NULL;
        g_autofree char *task = task_of(id, 1, "worker", 0);
        g_autoptr(Job) first = house_job(house, id);

        house_hold(house);
        script_say_exit(house->script, task, 0, 0, false);
        engine_submit(house->engine,
                      &(EngineSubmission){ .user = "ann", .specs = &first->spec, .n_specs = 1 }, note_id,
                      &next);
        house_let_go(house);
        house_barrier(house);
        g_assert_nonnull(next);
        assert_state(house, id, JOB_SUCCEEDED);
        assert_state(house, next, JOB_STARTING);
        house_free(house);
}

static void note_refusal(Job *job, bool repeated, const GError *error, void *arg)
{
        int *refused = arg;

        *refused += error != NULL;
}

/* Six characters of an id are not enough to keep so many apart: one dry run in twenty met two that are equal.
 */
static void test_generated_names_differ(void)
{
        enum { MANY = 10000, TIMES = 60 };
        House *house = house_new();
        g_autoptr(json_t) object = json_pack("{s:[s]}", "command", "true");
        g_autoptr(Spec) spec = spec_parse(object, NULL);
        g_autofree Spec **specs = g_new(Spec *, MANY);
        int refused = 0;

        for (int i = 0; i < MANY; i++)
                specs[i] = spec;
        for (int i = 0; i < TIMES; i++)
                engine_submit(house->engine,
                              &(EngineSubmission){
                                      .user = "ann", .specs = specs, .n_specs = MANY, .only_check = true },
                              note_refusal, &refused);
        house_barrier(house);
        g_assert_cmpint(refused, ==, 0);
        house_free(house);
}

/* New jobs share the start of their ids, so that the index over ids changes in few places; the rest is random. */
static void test_ids(void)
{
        enum { JOBS = 300, STARTS_MAX = 4 };
        House *house = house_new();
        g_autofree char *array = house_submit_ok(house, "{'command':['true'],'array':'0-299'}");
        g_autoptr(GHashTable) starts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_autoptr(GHashTable) rests = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        gint64 next;
        g_autoptr(GPtrArray) jobs = store_jobs(house->store, &(JobQuery){ .limit = 1000 }, &next, NULL);

        g_assert_cmpuint(jobs->len, ==, JOBS);
        for (guint i = 0; i < jobs->len; i++) {
                const Job *job = jobs->pdata[i];

                g_assert_true(id_is_valid(job->id));
                g_hash_table_add(starts, g_strndup(job->id, 2));
                g_hash_table_add(rests, g_strdup(job->id + 2));
        }
        g_assert_cmpuint(g_hash_table_size(starts), <=, STARTS_MAX);
        g_assert_cmpuint(g_hash_table_size(rests), ==, JOBS);
        house_free(house);
}

static void test_generated_names(void)
{
        static const struct {
                const char *spec, *prefix;
        } cases[] = {
                { "{'command':['/usr/bin/My_Prog.py','x']}", "my-prog-" },
                { "{'command':['...']}", "job-" },
                { "{'command':['true'],'package':"
                  "'0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef','package_name':'demo'}",
                  "demo-" },
        };
        House *house = house_new();

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *id = house_submit_ok(house, cases[i].spec);
                g_autoptr(Job) job = house_job(house, id);

                g_assert_true(g_str_has_prefix(job->name, cases[i].prefix));
                g_assert_true(name_is_valid(job->name));
                g_assert_cmpmem(job->name + strlen(cases[i].prefix), 6, id, 6);
        }
        house_free(house);
}

static void test_keys(void)
{
        House *house = house_new();
        g_autofree char *id = house_submit(house, "ann", ONE("a"), "k1", NULL);
        g_autofree char *same = NULL, *other = NULL, *later = NULL;

        g_assert_nonnull(id);
        g_assert_false(house_repeated());
        same = house_submit(house, "ann", ONE("a"), "k1", NULL);
        g_assert_cmpstr(same, ==, id);
        g_assert_true(house_repeated());
        submit_refused(house, ONE("b"), "k1", ERR_CONFLICT, "key 'k1'");
        other = house_submit(house, "bob", ONE("a"), "k1", NULL); /* keys are a user's own */
        g_assert_nonnull(other);
        g_assert_false(house_repeated());
        run_and_end(house, id, 1);
        later = house_submit(house, "ann", ONE("a"), "k1", NULL); /* from the store */
        g_assert_cmpstr(later, ==, id);
        g_assert_true(house_repeated());
        submit_refused(house, ONE("b"), "k1", ERR_CONFLICT, "key 'k1'");
        house_free(house);
}

static void test_never_fits(void)
{
        static const struct {
                const char *spec, *says;
        } cases[] = {
                { "{'command':['t'],'roles':[{'name':'worker','replicas':2,'cpu':'3'}]}",
                  "6 cores; the machine has 4" },
                { "{'command':['t'],'roles':[{'name':'worker','replicas':1,'memory':'5Gi'}]}",
                  "5.0 GiB of memory; the machine has 4.0 GiB" },
                { "{'command':['t'],'roles':[{'name':'worker','replicas':1,'gpus':5}]}",
                  "5 GPUs; the machine has 4" },
        };
        House *house = house_new();

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {

                submit_refused(house, cases[i].spec, NULL, ERR_INVALID, cases[i].says);
        }
        house_free(house);
}

static void test_order(void)
{
        House *house = house_new();
        g_autofree char *first = house_submit_ok(house, ONE("a")), *big = house_submit_ok(house, WHOLE("b"));
        g_autofree char *small = house_submit_ok(house, ONE("c")), *why = NULL;
        g_autoptr(Job) waits = house_job(house, small);

        assert_state(house, first, JOB_STARTING);
        assert_state(house, big, JOB_QUEUED);
        assert_state(house, small, JOB_QUEUED); /* would fit, but came later */
        why = engine_explain(house->engine, waits);
        g_assert_nonnull(strstr(why, "1 job is ahead of it"));
        run_and_end(house, first, 1);
        assert_state(house, big, JOB_STARTING); /* whole */
        g_assert_cmpint(script_count(house->script, "start "), ==, 5);
        assert_state(house, small, JOB_QUEUED);
        g_assert_true(house_cancel(house, big, NULL));
        assert_state(house, small, JOB_QUEUED); /* what is stopping still holds */
        for (int i = 0; i < 4; i++) {
                g_autofree char *task = task_of(big, 1, "worker", i);

                assert_state(house, small, JOB_QUEUED);
                script_say_exit(house->script, task, -1, 15, false);
                house_barrier(house);
        }
        assert_state(house, small, JOB_STARTING);
        house_free(house);
}

static void test_blocked_head_is_cancelled(void)
{
        House *house = house_new();
        g_autofree char *first = house_submit_ok(house, ONE("a")), *big = house_submit_ok(house, WHOLE("b"));
        g_autofree char *small = house_submit_ok(house, ONE("c"));

        assert_state(house, small, JOB_QUEUED);
        g_assert_true(house_cancel(house, big, NULL));
        assert_state(house, big, JOB_CANCELLED);
        assert_state(house, small, JOB_STARTING);
        house_free(house);
}

/* A job that is repeated keeps its place, before one that waits. */
static void test_repeated_keeps_its_place(void)
{
        House *house = house_new();
        g_autofree char *first =
                house_submit_ok(house, "{'name':'a','command':['t'],'retries':1,'roles':[{'name':'worker',"
                                       "'replicas':1,'cpu':'1'}]}");
        g_autofree char *other = house_submit_ok(house, ONE("b")), *big = house_submit_ok(house, WHOLE("c"));
        g_autofree char *task = task_of(first, 1, "worker", 0);

        script_say_exit(house->script, task, 1, 0, false);
        house_barrier(house);
        assert_state(house, first, JOB_QUEUED);
        assert_state(house, big, JOB_QUEUED);
        house_pass(house, 1000);
        assert_state(house, first, JOB_STARTING);
        assert_state(house, other, JOB_STARTING);
        assert_state(house, big, JOB_QUEUED);
        house_free(house);
}

/* A job whose environment is not there holds nobody up, and takes its place when it is. */
static void test_building_holds_nobody_up(void)
{
        House *house = house_new();
        g_autofree char *slow = NULL, *quick = NULL;

        script_prepared(house->script, false);
        slow = house_submit_ok(house, WHOLE("a"));
        script_prepared(house->script, true);
        quick = house_submit_ok(house, ONE("b"));
        assert_state(house, quick, JOB_STARTING);
        script_say_kind(house->script, OBSERVED_PREPARED, slow);
        house_barrier(house);
        assert_state(house, slow, JOB_QUEUED);
        run_and_end(house, quick, 1);
        assert_state(house, slow, JOB_STARTING);
        house_free(house);
}

static void test_many_queued(void)
{
        House *house = house_new();
        g_autoptr(GPtrArray) ids = g_ptr_array_new_with_free_func(g_free);
        EngineMetrics metrics;

        for (int i = 0; i < 300; i++) {
                g_autofree char *spec = g_strdup_printf(
                        "{'name':'j%d','command':['t'],'roles':[{'name':'worker','replicas':1,'cpu':'1'}]}",
                        i);

                g_ptr_array_add(ids, house_submit_ok(house, spec));
        }
        engine_metrics(house->engine, &metrics);
        g_assert_cmpint(metrics.open_jobs, ==, 300);
        g_assert_cmpint(metrics.queued_jobs, ==, 296);
        g_assert_cmpint(metrics.free.cpu_milli, ==, 0);
        for (guint i = 0; i < ids->len; i++) {
                assert_state(house, g_ptr_array_index(ids, i), JOB_STARTING); /* in order of submission */
                run_and_end(house, g_ptr_array_index(ids, i), 1);
        }
        engine_metrics(house->engine, &metrics);
        g_assert_cmpint(metrics.open_jobs, ==, 0);
        g_assert_cmpint(metrics.queued_jobs, ==, 0);
        g_assert_cmpint(metrics.running_members, ==, 0);
        g_assert_cmpint(metrics.succeeded, ==, 300);
        g_assert_cmpint(metrics.free.cpu_milli, ==, 4000);
        house_free(house);
}

static void test_gpus(void)
{
        House *house = house_new();
        g_autofree char *a = house_submit_ok(house, GPUS("a", 1)), *b = house_submit_ok(house, GPUS("b", 1));
        g_autofree char *c = house_submit_ok(house, GPUS("c", 2));
        g_autoptr(Job) first = house_job(house, a), second = house_job(house, b), third = NULL;

        g_assert_cmpstr(first->members[0].gpus, ==, "0");
        g_assert_cmpstr(first->members[1].gpus, ==, "1");
        g_assert_cmpstr(second->members[0].gpus, ==, "2");
        g_assert_cmpstr(second->members[1].gpus, ==, "3");
        run_and_end(house, b, 2);
        run_and_end(house, a, 2);
        third = house_job(house, c);
        g_assert_cmpstr(third->members[0].gpus, ==, "0,1");
        g_assert_cmpstr(third->members[1].gpus, ==, "2,3");
        house_free(house);
}

static void test_ports_run_out(void)
{
        static const char *const spec =
                "{'name':'%s','command':['t'],'roles':[{'name':'pserver','replicas':1,'cpu':'1'},"
                "{'name':'trainer','replicas':1,'cpu':'1'}]}";
        g_autofree char *one = g_strdup_printf(spec, "a"), *two = g_strdup_printf(spec, "b");
        House *house = house_new();
        g_autofree char *a = NULL, *b = NULL, *task = NULL, *why = NULL;
        g_autoptr(Job) ended = NULL;
        g_autoptr(Job) waits = NULL;
        int leased;

        a = house_submit_ok(house, one);
        leased = script_leased(house->script);
        g_assert_cmpint(leased, >, 0);
        script_ports(house->script, leased);
        b = house_submit_ok(house, two);
        waits = house_job(house, b);
        g_assert_cmpint(waits->state, ==, JOB_QUEUED);
        why = engine_explain(house->engine, waits);
        g_assert_nonnull(strstr(why, "waits for ports"));
        g_assert_true(house_cancel(house, a, NULL));
        task = task_of(a, 1, "pserver", 0);
        script_say_kind(house->script, OBSERVED_LOST, task);
        ended = house_wait(house, a, JOB_CANCELLED);
        house_barrier(house);
        assert_state(house, b, JOB_STARTING);
        g_assert_cmpint(script_leased(house->script), ==, leased);
        house_free(house);
}

static void test_strays(void)
{
        House *house = house_new();
        g_autofree char *id = house_submit_ok(house, ONE("a"));
        g_autofree char *old = task_of(id, 7, "worker", 0),
                        *gone = task_of("zzzzzzzzzzzzzzzz", 1, "worker", 0);
        g_autofree char *stop = g_strdup_printf("stop %s 0", gone),
                        *forget = g_strdup_printf("forget %s", gone);
        g_autofree char *clean = g_strdup("clean zzzzzzzzzzzzzzzz 1");

        script_say_kind(house->script, OBSERVED_STARTED, gone);
        script_wait(house->script, stop, 1);
        script_say_exit(house->script, gone, -1, 9, false);
        script_wait(house->script, forget, 1);
        script_wait(house->script, clean, 1);
        script_say_exit(house->script, old, 0, 0, false); /* another attempt's */
        script_say_kind(house->script, OBSERVED_STARTED, "env.0123");
        script_say_kind(house->script, OBSERVED_STARTED, "nonsense");
        script_say_kind(house->script, OBSERVED_PREPARED, id);
        house_barrier(house);
        assert_state(house, id, JOB_STARTING);
        house_free(house);
}

static void test_find(void)
{
        House *house = house_new();
        g_autofree char *first = house_submit_ok(house, ONE("a")), *second = NULL;
        g_autoptr(Job) job = NULL;
        GError *error = NULL;

        run_and_end(house, first, 1);
        g_assert_null(engine_job(house->engine, first)); /* not live */
        job = engine_find(house->engine, "ann", "a", NULL);
        g_assert_cmpstr(job->id, ==, first);
        g_clear_pointer(&job, job_unref);
        second = house_submit_ok(house, ONE("a"));
        job = engine_find(house->engine, "ann", "a", NULL);
        g_assert_cmpstr(job->id, ==, second); /* the newest */
        g_clear_pointer(&job, job_unref);
        job = engine_job_by_name(house->engine, "ann", "a");
        g_assert_cmpstr(job->id, ==, second);
        g_assert_null(engine_job_by_name(house->engine, "bob", "a"));
        g_clear_pointer(&job, job_unref);
        job = engine_find(house->engine, "bob", first,
                          NULL); /* ids are everybody's; who may see is not the engine's business */
        g_assert_cmpint(job->state, ==, JOB_SUCCEEDED);
        g_assert_null(engine_find(house->engine, "bob", "a", &error));
        assert_refused(NULL, error, ERR_NOT_FOUND, "no job 'a' of 'bob'");
        house_free(house);
}

static void test_cancel_refused(void)
{
        House *house = house_new();
        g_autofree char *id = house_submit_ok(house, ONE("a"));
        GError *error = NULL;

        g_assert_false(house_cancel(house, "0123456789abcdef", &error));
        assert_refused(NULL, g_steal_pointer(&error), ERR_NOT_FOUND, "0123456789abcdef");
        run_and_end(house, id, 1);
        g_assert_false(house_cancel(house, id, &error));
        assert_refused(NULL, g_steal_pointer(&error), ERR_CONFLICT, "has already ended: succeeded");
        house_free(house);
}

static void test_open_limit(void)
{
        House *house = house_new_cold();
        g_autofree char *a = NULL, *b = NULL;

        house->config.max_open_jobs = 1;
        house_open(house);
        house_sync(house);
        a = house_submit_ok(house, ONE("a"));
        submit_refused(house, ONE("b"), NULL, ERR_QUOTA, "the server has 1 job that");
        run_and_end(house, a, 1);
        b = house_submit_ok(house, ONE("b"));
        house_free(house);
}

/* Nobody may take all of it; administrators may. */
static void test_open_limit_per_user(void)
{
        House *house = house_new_cold();
        const char *const more[] = { ONE("x"), ONE("y"), NULL };
        g_autofree char *a = NULL, *b = NULL, *c = NULL, *d = NULL;
        g_autoptr(GError) error = NULL;

        house->config.max_open_jobs = 9; /* a quarter of it: 2 */
        house_open(house);
        house_sync(house);
        a = house_submit_ok(house, ONE("a"));
        g_assert_null(house_submit_all(house, "ann", more, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_QUOTA);
        b = house_submit_ok(house, ONE("b"));
        submit_refused(house, ONE("c"), NULL, ERR_QUOTA,
                       "'ann' has 2 open jobs, and this would be 1 more: one user may have 2 (paddled "
                       "--max-open-jobs-per-user)");
        c = house_submit(house, "bob", ONE("c"), NULL, NULL);
        g_assert_nonnull(c);
        run_and_end(house, a, 1);
        d = house_submit_ok(house, ONE("d"));
        house_free(house);
}

static void test_accounts(void)
{
        House *house = house_new();
        g_autoptr(Token) token = NULL;
        g_autoptr(Object) bob = object_new(KIND_USER, "bob");

        g_assert_true(house_put_token(house, "t1", NULL));
        token = store_token_by_hash(house->store, "t1", NULL);
        g_assert_cmpstr(token->user, ==, "root");
        g_assert_false(house_put_token(house, "t1",
                                       NULL)); /* its id is taken: the commit fails, nothing else does */
        g_assert_true(house_put(house, bob, NULL));
        house_free(house);
}

static Token *plain_token(const char *user, const char *id, const char *parent)
{
        Token *token = g_new0(Token, 1);

        *token = (Token){ .id = g_strdup(id),
                          .user = g_strdup(user),
                          .hash = g_strdup(id),
                          .note = g_strdup(""),
                          .parent = g_strdup(parent),
                          .login = parent ? TOKEN_OF_LOGIN : TOKEN_LOGIN,
                          .created = 1 };
        return token;
}

static void put_password(House *house, const char *name, const char *password)
{
        g_autoptr(Catalog) catalog = engine_catalog(house->engine);
        const Object *was = catalog_find(catalog, KIND_USER, name);
        g_autoptr(Object) user = was ? object_copy(was) : object_new(KIND_USER, name);
        g_autoptr(GError) error = NULL;

        g_free(((User *)user)->password);
        ((User *)user)->password = g_strdup(password);
        (void)house_put(house, user, &error);
        g_assert_no_error(error);
}

static void token_refused(House *house, const char *user, const char *parent, ErrCode code, const char *says)
{
        g_autoptr(Token) token = plain_token(user, "refused", parent);
        g_autoptr(GError) error = NULL;

        g_assert_false(house_take_token(house, token, &error));
        g_assert_error(error, ERR_DOMAIN, (int)code);
        g_assert_nonnull(strstr(error->message, says));
}

/* Nobody's token, and one whose log-in ended before it was taken. */
static void test_tokens_in_vain(void)
{
        House *house = house_new();
        g_autoptr(Token) login = plain_token("bob", "login", NULL),
                         child = plain_token("bob", "child", "login");
        g_autoptr(GError) error = NULL;

        token_refused(house, "nobody", NULL, ERR_NOT_FOUND, "user 'nobody' does not exist");
        put_password(house, "bob", "one");
        token_refused(house, "bob", "login", ERR_UNAUTHENTICATED, "Log in again");
        g_assert_true(house_take_token(house, login, NULL));
        g_assert_true(house_take_token(house, child, &error));
        put_password(house, "bob", "two");
        token_refused(house, "bob", "login", ERR_UNAUTHENTICATED, "Log in again");
        g_assert_null(store_token_by_hash(house->store, "child", NULL));
        g_assert_true(house_drop(house, KIND_USER, "bob", &error));
        token_refused(house, "bob", NULL, ERR_NOT_FOUND, "user 'bob' does not exist");
        house_free(house);
}

static void test_keeps_events(void)
{
        House *house = house_new_cold();
        g_autoptr(GPtrArray) events = NULL;
        g_autoptr(GError) error = NULL;

        house->config.keep_events = 100;
        house_open(house);
        house_sync(house);
        for (int i = 0; i < 300; i++) {
                g_autofree char *id = house_submit_ok(house, ONE("a"));

                run_and_end(house, id, 1);
        }
        while ((events = store_events(house->store, &(EventQuery){ .limit = 1000 },
                                      &error))) { /* until an idle moment came */
                g_clear_pointer(&events, g_ptr_array_unref);
                house_pass(house, 0);
        }
        g_assert_true(err_is(error, ERR_GONE));
        events = store_events(house->store,
                              &(EventQuery){ .since = engine_revision(house->engine) - 100, .limit = 1000 },
                              NULL);
        g_assert_cmpint(events->len, ==, 100);
        house_free(house);
}

static bool is_known(House *house, const char *id)
{
        g_autoptr(Job) job = engine_find(house->engine, "ann", id, NULL);

        return job != NULL;
}

typedef struct {
        const Engine *engine;
        bool sweeps; /* a page of finished jobs is being read */
} SweepLook;

/* On the engine's thread. */
static void look_for_sweep(Job *job, bool repeated, const GError *error, void *arg)
{
        SweepLook *look = arg;

        look->sweeps = look->engine->sweeps;
}

/* Until retention has found an idle moment; the test's time limit ends a vain wait. No time passes while it looks: younger jobs
 * would become old meanwhile. */
static void pass_until_gone(House *house, const char *id)
{
        SweepLook look = { .engine = house->engine };

        while (is_known(house, id)) {
                engine_flush_journal(house->engine, look_for_sweep, &look);
                house_barrier(house);
                house_pass(house, look.sweeps ? 0 : 10);
        }
}

static void test_keeps_finished(void)
{
        House *house = house_new_cold();
        g_autofree char *old = NULL, *young = NULL;

        house->config.keep_finished_ms = 10000;
        house_open(house);
        house_sync(house);
        old = house_submit_ok(house, ONE("a"));
        run_and_end(house, old, 1);
        house_pass(house, 6000);
        young = house_submit_ok(house, ONE("b"));
        run_and_end(house, young, 1);
        house_pass(house, 3999);
        assert_state(house, old, JOB_SUCCEEDED);
        house_pass(house, 1001);
        pass_until_gone(house, old);
        assert_state(house, young, JOB_SUCCEEDED);
        house_free(house);
}

/* The id of an element; the caller's. */
static char *element(House *house, const char *name)
{
        g_autoptr(Job) job = engine_find(house->engine, "ann", name, NULL);

        return g_strdup(job->id);
}

/* Without its failed job it would have succeeded; without its first one nobody would find it. */
static void test_keeps_arrays_whole(void)
{
        House *house = house_new_cold();
        g_autofree char *first = NULL, *second = NULL, *third = NULL, *other = NULL;

        house->config.keep_finished_ms = 10000;
        house_open(house);
        house_sync(house);
        first = house_submit_ok(
                house, "{'name':'sw','command':['true'],'array':'0-2','roles':[{'name':'worker','replicas':1,"
                       "'cpu':'1'}]}");
        second = element(house, "sw-1");
        third = element(house, "sw-2");
        run_and_end(house, second, 1);
        house_pass(house, 6000);
        run_and_end(house, first, 1);
        other = house_submit_ok(house, ONE("a"));
        run_and_end(house, other, 1);
        house_pass(house, 12000);
        pass_until_gone(house, other); /* so there was a sweep */
        assert_state(house, first, JOB_SUCCEEDED);
        assert_state(house, second, JOB_SUCCEEDED);
        run_and_end(house, third, 1);
        g_free(other);
        other = house_submit_ok(house, ONE("b"));
        run_and_end(house, other, 1);
        house_pass(house, 5000);
        assert_state(house, first, JOB_SUCCEEDED);
        pass_until_gone(house, other);
        pass_until_gone(house, third);
        g_assert_false(is_known(house, first) || is_known(house, second));
        house_free(house);
}

/* While the runtime is away nothing is asked of it, and all is when it is back. */
static void test_disconnected(void)
{
        House *house = house_new_cold();
        g_autofree char *id = NULL, *task = NULL, *start = NULL, *stop = NULL, *why = NULL;
        g_autoptr(Job) job = NULL;

        house_open(house);
        g_assert_false(engine_is_ready(house->engine));
        id = house_submit_ok(house, ONE("a"));
        task = task_of(id, 1, "worker", 0);
        start = g_strdup_printf("start %s", task);
        stop = g_strdup_printf("stop %s", task);
        job = house_job(house, id);
        why = engine_explain(house->engine, job);
        g_assert_nonnull(strstr(why, "not connected"));
        house_sync(house);
        script_wait(house->script, start, 1);
        script_say_kind(house->script, OBSERVED_STARTED, task);
        script_say_kind(house->script, OBSERVED_DISCONNECTED, NULL);
        house_barrier(house);
        g_assert_true(house_cancel(house, id, NULL));
        house_barrier(house);
        g_assert_cmpint(script_count(house->script, stop), ==, 0);
        script_say_kind(house->script, OBSERVED_STARTED, task);
        script_say_kind(house->script, OBSERVED_SYNCED, NULL);
        script_wait(house->script, stop, 1);
        assert_state(house, id, JOB_STOPPING);
        house_free(house);
}

static void never_called(Job *job, bool repeated, const GError *error, void *arg)
{
        int *answers = arg;

        g_assert_true(job || err_is(error, ERR_UNAVAILABLE));
        (*answers)++;
}

static void count_answer(Job *job, bool repeated, const GError *error, void *arg)
{
        (*(int *)arg)++;
}

static void count_clone(Scheduler *clone, gint64 now, void *arg)
{
        (*(int *)arg)++;
        scheduler_free(clone);
}

static void count_reply(json_t *object, const GError *error, void *arg)
{
        (*(int *)arg)++;
}

/* One command of each kind that is answered. Returns how many. */
static int ask_everything(Engine *engine, int *answers)
{
        const JobChange change = { .by = "ann" };
        const Token token = { .id = (char *)"t",
                              .user = (char *)"root",
                              .hash = (char *)"h",
                              .parent = (char *)"p",
                              .note = (char *)"" };
        g_autoptr(Object) object = object_new(KIND_QUEUE, "q");
        RuntimeAsk *ask = g_new0(RuntimeAsk, 1);

        *ask = (RuntimeAsk){ .answer = count_reply, .arg = answers };
        engine_act(engine, "0000000000000000", ACT_HOLD, "ann", false, count_answer, answers);
        engine_act_array(engine, 1, "0000000000000000", ACT_HOLD, "ann", false, count_answer, answers);
        engine_change_job(engine, "0000000000000000", &change, count_answer, answers);
        engine_change_array(engine, 1, "0000000000000000", &change, count_answer, answers);
        engine_put(engine, object, "root", count_answer, answers);
        engine_drop(engine, KIND_QUEUE, "q", 0, "root", count_answer, answers);
        engine_put_token(engine, &token, count_answer, answers);
        engine_drop_token(engine, "t", count_answer, answers);
        engine_ask(engine, "nowhere", ask);
        engine_clone_scheduler(engine, count_clone, answers);
        engine_flush_journal(engine, count_answer, answers);
        return 11;
}

/* Every command is answered once, those too that still wait when the engine ends. */
static void test_end_answers_all(void)
{
        House *house = house_new();
        g_autoptr(json_t) object = json_pack("{s:[s]}", "command", "true");
        g_autoptr(Spec) spec = spec_parse(object, NULL);
        int answers = 0, others = 0, asked = ask_everything(house->engine, &others);

        engine_terminal(house->engine, "0000000000000000", true); /* has no answer, as observations */

        for (int i = 0; i < 2000; i++)
                engine_submit(house->engine,
                              &(EngineSubmission){ .user = "ann", .specs = &spec, .n_specs = 1 },
                              never_called, &answers);
        asked += ask_everything(house->engine, &others);
        house_close(house);
        g_assert_cmpint(answers, ==, 2000);
        g_assert_cmpint(others, ==, asked);
        house_free(house);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/commands/names", test_names);
        g_test_add_func("/commands/name passes on", test_name_passes_on);
        g_test_add_func("/commands/repeated keeps its place", test_repeated_keeps_its_place);
        g_test_add_func("/commands/generated names", test_generated_names);
        g_test_add_func("/commands/ids of new jobs", test_ids);
        g_test_add_func("/commands/generated names differ", test_generated_names_differ);
        g_test_add_func("/commands/keys", test_keys);
        g_test_add_func("/commands/never fits", test_never_fits);
        g_test_add_func("/commands/order", test_order);
        g_test_add_func("/commands/blocked head is cancelled", test_blocked_head_is_cancelled);
        g_test_add_func("/commands/building holds nobody up", test_building_holds_nobody_up);
        g_test_add_func("/commands/many queued", test_many_queued);
        g_test_add_func("/commands/gpus", test_gpus);
        g_test_add_func("/commands/ports run out", test_ports_run_out);
        g_test_add_func("/commands/strays", test_strays);
        g_test_add_func("/commands/find", test_find);
        g_test_add_func("/commands/cancel refused", test_cancel_refused);
        g_test_add_func("/commands/open limit", test_open_limit);
        g_test_add_func("/commands/open limit per user", test_open_limit_per_user);
        g_test_add_func("/commands/accounts", test_accounts);
        g_test_add_func("/commands/tokens in vain", test_tokens_in_vain);
        g_test_add_func("/commands/keeps events", test_keeps_events);
        g_test_add_func("/commands/keeps finished", test_keeps_finished);
        g_test_add_func("/commands/keeps arrays whole", test_keeps_arrays_whole);
        g_test_add_func("/commands/disconnected", test_disconnected);
        g_test_add_func("/commands/end answers all", test_end_answers_all);
        return g_test_run();
}
