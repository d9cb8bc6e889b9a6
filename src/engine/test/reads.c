/* Commands whose read is older than what they are applied to (reads.h): the store changes between. A batch takes a
 * limited number of commands, so that the last of many is applied after the batch of the first was committed. */
#include <string.h>

#include "base/err.h"
#include "base/test/cpu-time.h"
#include "engine/test/help.h"

enum { MORE_THAN_A_BATCH = 600 };

#define ONE(name) "{'name':'" name "','command':['true'],'roles':[{'name':'worker','replicas':1,'cpu':'1'}]}"
#define ID "abcdefghjkmnpqrs"

/* The outcome of a command that is not waited for. */
typedef struct {
        bool done, repeated;
        char *id;
        GError *error;
        gint64 cpu_us; /* that the engine's thread had used by then */
} Outcome;

static void note(Job *job, bool repeated, const GError *error, void *arg)
{
        Outcome *outcome = arg;

        *outcome = (Outcome){ .done = true,
                              .repeated = repeated,
                              .id = job ? g_strdup(job->id) : NULL,
                              .error = error ? g_error_copy(error) : NULL,
                              .cpu_us = thread_cpu_us() };
}

static void outcome_clear(Outcome *outcome)
{
        g_free(outcome->id);
        g_clear_error(&outcome->error);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Outcome, outcome_clear)

static void assert_error(const Outcome *outcome, ErrCode code, const char *says)
{
        g_assert_true(outcome->done);
        g_assert_error(outcome->error, ERR_DOMAIN, (int)code);
        g_assert_nonnull(strstr(outcome->error->message, says));
}

static void assert_ok(const Outcome *outcome)
{
        g_assert_true(outcome->done);
        g_assert_no_error(outcome->error);
}

/* Commands after this call are applied in a later batch than those before it. */
static void next_batch(House *house)
{
        for (int i = 0; i < MORE_THAN_A_BATCH; i++)
                engine_terminal(house->engine, "0000000000000000", i % 2 == 0);
}

static Spec *parse(const char *text)
{
        g_autofree char *quoted = g_strdelimit(g_strdup(text), "'", '"');
        g_autoptr(json_t) object = json_parse(quoted, strlen(quoted), NULL);
        Spec *spec = spec_parse(object, NULL);

        g_assert_nonnull(spec);
        return spec;
}

static void submit(House *house, const char *text, const char *key, const char *id, Outcome *ret)
{
        g_autoptr(Spec) spec = parse(text);

        engine_submit(house->engine,
                      &(EngineSubmission){
                              .user = "ann", .specs = &spec, .n_specs = 1, .idempotency_key = key, .id = id },
                      note, ret);
}

static void submit_all(House *house, GPtrArray *specs, const char *key, Outcome *ret)
{
        engine_submit(house->engine,
                      &(EngineSubmission){ .user = "ann",
                                           .specs = (Spec *const *)specs->pdata,
                                           .n_specs = (int)specs->len,
                                           .idempotency_key = key },
                      note, ret);
}

static void act(House *house, const char *id, JobAction action, Outcome *ret)
{
        engine_act(house->engine, id, action, "ann", false, note, ret);
}

static void exits(House *house, const char *id, int status)
{
        g_autofree char *task = task_of(id, 1, "worker", 0);

        script_say_kind(house->script, OBSERVED_STARTED, task);
        script_say_exit(house->script, task, status, 0, false);
}

static void let_go(House *house)
{
        house_let_go(house);
        house_barrier(house);
}

/* Holds the engine. Its next batches submit the job ID with this key, and end it. */
static void submit_and_end(House *house, const char *key, Outcome *ret)
{
        house_hold(house);
        submit(house, ONE("a"), key, ID, ret);
        next_batch(house);
        exits(house, ID, 0);
        next_batch(house);
}

/* Deletes the ended job ID, and submits with its key "k" again in a later batch: this creates a new job. */
static void assert_key_free_after_delete(House *house)
{
        g_auto(Outcome) gone = { 0 }, second = { 0 };

        act(house, ID, ACT_DELETE, &gone);
        next_batch(house);
        submit(house, ONE("a"), "k", NULL, &second);
        let_go(house);
        assert_ok(&gone);
        assert_ok(&second);
        g_assert_false(second.repeated);
        g_assert_cmpstr(second.id, !=, ID);
}

/* ---- submissions ---- */

/* Two submissions with one key: the first is committed, has ended and has left the memory when the second, which was
 * read before all that, is applied. */
static void test_key_of_ended(void)
{
        House *house = house_new();
        g_auto(Outcome) first = { 0 }, second = { 0 }, other = { 0 };

        submit_and_end(house, "k", &first);
        submit(house, ONE("a"), "k", NULL, &second);
        submit(house, ONE("b"), "k", NULL, &other);
        let_go(house);
        assert_ok(&first);
        assert_state(house, ID, JOB_SUCCEEDED);
        assert_ok(&second);
        g_assert_true(second.repeated);
        g_assert_cmpstr(second.id, ==, ID);
        assert_error(&other, ERR_CONFLICT, "another specification");
        house_free(house);
}

/* The first is still open. */
static void test_key_of_live(void)
{
        House *house = house_new();
        g_auto(Outcome) first = { 0 }, second = { 0 };

        house_hold(house);
        submit(house, ONE("a"), "k", ID, &first);
        next_batch(house);
        submit(house, ONE("a"), "k", NULL, &second);
        let_go(house);
        assert_ok(&second);
        g_assert_true(second.repeated);
        g_assert_cmpstr(second.id, ==, ID);
        house_free(house);
}

/* Specifications are equal in any order of their members. A submission with a further one differs. */
static void test_key_of_equal(void)
{
        static const char first[] = "{'name':'a','command':['t'],'env':{'X':'1','Y':'2'}}",
                          same[] = "{'env':{'Y':'2','X':'1'},'command':['t'],'name':'a'}",
                          other[] = "{'name':'a','command':['t'],'env':{'X':'1','Y':'3'}}";
        static const char *const submissions[][3] = {
                { first, ONE("b") },
                { same, ONE("b") },
                { other, ONE("b") },
                { first, ONE("b"), ONE("c") },
        };
        House *house = house_new();
        Outcome out[G_N_ELEMENTS(submissions)] = { 0 };

        house_hold(house);
        for (gsize i = 0; i < G_N_ELEMENTS(submissions); i++) {
                g_autoptr(GPtrArray) specs = g_ptr_array_new_with_free_func((GDestroyNotify)spec_unref);

                for (int k = 0; k < 3 && submissions[i][k]; k++)
                        g_ptr_array_add(specs, parse(submissions[i][k]));
                submit_all(house, specs, "k", &out[i]);
        }
        let_go(house);
        assert_ok(&out[0]);
        g_assert_false(out[0].repeated);
        assert_ok(&out[1]);
        g_assert_true(out[1].repeated);
        g_assert_cmpstr(out[1].id, ==, out[0].id);
        for (gsize i = 2; i < G_N_ELEMENTS(submissions); i++)
                assert_error(&out[i], ERR_CONFLICT, "another specification");
        for (gsize i = 0; i < G_N_ELEMENTS(submissions); i++)
                outcome_clear(&out[i]);
        house_free(house);
}

/* Specifications that take long to compare. */
static GPtrArray *many_specs(const char *first_name)
{
        enum { SPECS = 300, VARIABLES = 300 };
        GPtrArray *specs = g_ptr_array_new_with_free_func((GDestroyNotify)spec_unref);
        g_autoptr(GString) env = g_string_new(NULL);

        for (int i = 0; i < VARIABLES; i++)
                g_string_append_printf(env, "%s'VARIABLE_%d':'%d'", i ? "," : "", i, i);
        for (int i = 0; i < SPECS; i++) {
                g_autofree char *name = i ? g_strdup_printf("job-%d", i) : g_strdup(first_name);
                g_autofree char *text =
                        g_strdup_printf("{'name':'%s','command':['t'],'env':{%s}}", name, env->str);

                g_ptr_array_add(specs, parse(text));
        }
        return specs;
}

/* The CPU time of the engine's thread for the second of two submissions with one key, both read before the first is
 * applied. */
static gint64 repeat_cost(const char *first_name, Outcome *ret)
{
        g_autoptr(GPtrArray) specs = many_specs("job-0"), again = many_specs(first_name);
        House *house = house_new();
        g_auto(Outcome) first = { 0 }, before = { 0 };

        house_hold(house);
        submit_all(house, specs, "k", &first);
        next_batch(house);
        act(house, ID, ACT_CANCEL, &before);
        next_batch(house);
        submit_all(house, again, "k", ret);
        let_go(house);
        assert_ok(&first);
        house_free(house);
        return ret->cpu_us - before.cpu_us;
}

/* The engine's thread does not compare all specifications of two equal submissions: other users wait for it. The cost
 * is that of two whose first specifications differ. */
static void test_key_is_cheap(void)
{
        g_auto(Outcome) equal = { 0 }, differs = { 0 };
        gint64 cost = repeat_cost("job-0", &equal), least = repeat_cost("other", &differs);

        assert_ok(&equal);
        g_assert_true(equal.repeated);
        assert_error(&differs, ERR_CONFLICT, "another specification");
        g_assert_cmpint(cost, <, 5 * least);
}

/* The job that the read found is deleted before: the key is free. */
static void test_key_of_deleted(void)
{
        House *house = house_new();
        g_auto(Outcome) first = { 0 };

        submit(house, ONE("a"), "k", ID, &first);
        house_barrier(house);
        exits(house, ID, 0);
        house_barrier(house);
        house_hold(house);
        assert_key_free_after_delete(house);
        house_free(house);
}

/* Created, ended and deleted between the read and its use. */
static void test_key_comes_and_goes(void)
{
        House *house = house_new();
        g_auto(Outcome) first = { 0 };

        submit_and_end(house, "k", &first);
        assert_key_free_after_delete(house);
        house_free(house);
}

static void test_id_of_ended(void)
{
        House *house = house_new();
        g_auto(Outcome) first = { 0 }, second = { 0 };

        submit_and_end(house, NULL, &first);
        submit(house, ONE("b"), NULL, ID, &second);
        let_go(house);
        assert_ok(&first);
        assert_error(&second, ERR_EXISTS, "there is a job '" ID "' already");
        house_free(house);
}

/* ---- actions ---- */

static void test_act_on_ended(void)
{
        House *house = house_new();
        g_autofree char *id = house_submit_ok(house, ONE("a"));
        g_auto(Outcome) cancel = { 0 }, change = { 0 }, gone = { 0 }, again = { 0 };
        const int priority = 1;

        house_hold(house);
        exits(house, id, 0);
        next_batch(house);
        act(house, id, ACT_CANCEL, &cancel);
        engine_change_job(house->engine, id, &(JobChange){ .priority = &priority, .by = "ann" }, note,
                          &change);
        act(house, id, ACT_DELETE, &gone);
        next_batch(house);
        act(house, id, ACT_DELETE, &again);
        let_go(house);
        assert_error(&cancel, ERR_CONFLICT, "has already ended: succeeded");
        assert_error(&change, ERR_CONFLICT, "has already ended: succeeded");
        assert_ok(&gone);
        assert_error(&again, ERR_NOT_FOUND, id);
        house_free(house);
}

static void test_act_on_deleted_array(void)
{
        House *house = house_new();
        g_autofree char *id = house_submit_ok(
                house, "{'name':'a','command':['t'],'array':'0-1','roles':[{'name':'worker','cpu':'1'}]}");
        g_autoptr(Job) job = house_job(house, id);
        g_autofree char *array = g_strdup_printf("a%s", id);
        g_auto(Outcome) cancel = { 0 }, ended = { 0 }, gone = { 0 }, again = { 0 };

        house_hold(house);
        engine_act_array(house->engine, job->seq, array, ACT_KILL, "ann", false, note, &cancel);
        let_go(house);
        assert_ok(&cancel);
        for (int i = 0; i < 2; i++) {
                g_autoptr(Job) one = store_job_by_seq(house->store, job->seq + i, NULL);
                g_autofree char *task = task_of(one->id, 1, "worker", 0);

                script_say_exit(house->script, task, -1, 9, false);
        }
        house_hold(house);
        next_batch(house);
        engine_act_array(house->engine, job->seq, array, ACT_HOLD, "ann", false, note, &ended);
        engine_act_array(house->engine, job->seq, array, ACT_DELETE, "ann", false, note, &gone);
        next_batch(house);
        engine_act_array(house->engine, job->seq, array, ACT_DELETE, "ann", false, note, &again);
        let_go(house);
        assert_error(&ended, ERR_CONFLICT, "has already ended");
        assert_ok(&gone);
        assert_error(&again, ERR_NOT_FOUND, "there is no array");
        house_free(house);
}

/* ---- dependencies ---- */

static void test_after_ended(void)
{
        House *house = house_new();
        g_autofree char *id = house_submit_ok(house, ONE("a"));
        g_autofree char *spec = g_strdup_printf("{'name':'b','command':['t'],'after':['ok:%s']}", id);
        g_auto(Outcome) vain = { 0 };

        house_hold(house);
        exits(house, id, 3);
        next_batch(house);
        submit(house, spec, NULL, NULL, &vain);
        let_go(house);
        assert_state(house, id, JOB_FAILED);
        assert_error(&vain, ERR_CONFLICT, "can never hold");
        house_free(house);
}

/* It ran when it was read, and is gone when the submission is applied: nothing would ever end its wait. */
static void test_after_deleted(void)
{
        House *house = house_new();
        g_autofree char *id = house_submit_ok(house, ONE("a"));
        g_autofree char *spec =
                g_strdup_printf("{'name':'b','command':['t'],'after':['ok:%s','any:%s']}", id, id);
        g_auto(Outcome) gone = { 0 }, vain = { 0 };

        house_hold(house);
        exits(house, id, 0);
        next_batch(house);
        act(house, id, ACT_DELETE, &gone);
        next_batch(house);
        submit(house, spec, NULL, NULL, &vain);
        let_go(house);
        assert_ok(&gone);
        assert_error(&vain, ERR_NOT_FOUND, "after: there is no job");
        house_free(house);
}

/* One element had failed before the read, or after it; the other succeeds after it. */
static void test_after_ended_array(void)
{
        for (int early = 0; early < 2; early++) {
                House *house = house_new();
                g_autofree char *id = house_submit_ok(
                        house,
                        "{'name':'a','command':['t'],'array':'0-1','roles':[{'name':'worker','cpu':'1'}]}");
                g_autofree char *spec =
                        g_strdup_printf("{'name':'b','command':['t'],'after':['ok:a%s']}", id);
                g_autoptr(Job) first = house_job(house, id);
                g_autoptr(Job) second = store_job_by_seq(house->store, first->seq + 1, NULL);
                g_auto(Outcome) vain = { 0 };

                if (early) {
                        exits(house, first->id, 3);
                        house_barrier(house);
                }
                house_hold(house);
                if (!early)
                        exits(house, first->id, 3);
                exits(house, second->id, 0);
                next_batch(house);
                submit(house, spec, NULL, NULL, &vain);
                let_go(house);
                assert_error(&vain, ERR_CONFLICT, "can never hold");
                house_free(house);
        }
}

/* The first element failed in an earlier run of the server: the array is known by it, and fails. */
static void test_array_over_restart(void)
{
        House *house = house_new();
        g_autofree char *id = house_submit_ok(
                house, "{'name':'a','command':['t'],'array':'0-1','roles':[{'name':'worker','cpu':'1'}]}");
        g_autofree char *spec = g_strdup_printf("{'name':'b','command':['t'],'after':['ok:a%s']}", id);
        g_autofree char *waits = house_submit_ok(house, spec), *task = NULL;
        g_autoptr(Job) first = house_job(house, id);
        g_autoptr(Job) second = store_job_by_seq(house->store, first->seq + 1, NULL);
        g_autoptr(Job) job = NULL;

        exits(house, first->id, 3);
        house_barrier(house);
        assert_state(house, waits, JOB_QUEUED);
        house_close(house);
        house_open(house);
        task = task_of(second->id, 1, "worker", 0);
        script_say_kind(house->script, OBSERVED_STARTED, task);
        house_sync(house);
        exits(house, second->id, 0);
        house_barrier(house);
        job = house_job(house, waits);
        g_assert_cmpstr(job_state_name(job->state), ==, job_state_name(JOB_CANCELLED));
        g_assert_nonnull(strstr(job->reason, "that failed"));
        house_free(house);
}

/* ---- tokens ---- */

static void put_token(House *house, const char *id, const char *parent, const char *maker, Outcome *ret)
{
        const Token token = { .id = (char *)id,
                              .user = (char *)"bob",
                              .hash = (char *)id,
                              .note = (char *)"",
                              .parent = (char *)parent,
                              .maker = (char *)maker,
                              .created = 1 };

        engine_put_token(house->engine, &token, note, ret);
}

/* A token that was created with one that was created with one that is dropped meanwhile. */
static void test_token_of_dropped(void)
{
        House *house = house_new();
        Outcome out[4] = { 0 };
        g_autoptr(GPtrArray) left = NULL;

        g_assert_true(house_patch(house, KIND_USER, "bob", "{}", NULL));
        put_token(house, "one", NULL, NULL, &out[0]);
        house_barrier(house);
        put_token(house, "two", "one", "one", &out[1]);
        house_barrier(house);
        house_hold(house);
        engine_drop_token(house->engine, "one", note, &out[2]);
        next_batch(house);
        put_token(house, "three", "two", "two", &out[3]);
        let_go(house);
        for (int i = 0; i < 3; i++)
                assert_ok(&out[i]);
        assert_error(&out[3], ERR_UNAUTHENTICATED, "Log in again");
        left = store_tokens(house->store, "bob", NULL);
        g_assert_cmpint(left->len, ==, 0);
        for (int i = 0; i < 4; i++)
                outcome_clear(&out[i]);
        house_free(house);
}

/* A token that was created after the command that drops its user. */
static void test_tokens_of_dropped_user(void)
{
        House *house = house_new();
        g_auto(Outcome) put = { 0 }, drop = { 0 };
        g_autoptr(GPtrArray) left = NULL;

        g_assert_true(house_patch(house, KIND_USER, "bob", "{}", NULL));
        house_hold(house);
        put_token(house, "one", NULL, NULL, &put);
        next_batch(house);
        engine_drop(house->engine, KIND_USER, "bob", 0, "root", note, &drop);
        let_go(house);
        assert_ok(&put);
        assert_ok(&drop);
        left = store_tokens(house->store, "bob", NULL);
        g_assert_cmpint(left->len, ==, 0);
        house_free(house);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/reads/key of ended", test_key_of_ended);
        g_test_add_func("/reads/key of live", test_key_of_live);
        g_test_add_func("/reads/key of equal", test_key_of_equal);
        g_test_add_func("/reads/key is cheap", test_key_is_cheap);
        g_test_add_func("/reads/key of deleted", test_key_of_deleted);
        g_test_add_func("/reads/key comes and goes", test_key_comes_and_goes);
        g_test_add_func("/reads/id of ended", test_id_of_ended);
        g_test_add_func("/reads/act on ended", test_act_on_ended);
        g_test_add_func("/reads/act on deleted array", test_act_on_deleted_array);
        g_test_add_func("/reads/after ended", test_after_ended);
        g_test_add_func("/reads/after deleted", test_after_deleted);
        g_test_add_func("/reads/after ended array", test_after_ended_array);
        g_test_add_func("/reads/array over restart", test_array_over_restart);
        g_test_add_func("/reads/token of dropped", test_token_of_dropped);
        g_test_add_func("/reads/tokens of dropped user", test_tokens_of_dropped_user);
        return g_test_run();
}
