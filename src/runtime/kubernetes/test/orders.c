/* Starts that wait for the end of an earlier pod, and stops of members that such a start is for. No API server answers:
 * orders are run on the test's own thread, and what the engine is told follows from them alone. */
#include <signal.h>
#include <string.h>

#include "podspec/objects.h"
#include "runtime/kubernetes/kubernetes.h"
#include "runtime/kubernetes/internal.h"
#include "runtime/test/attempt.h"

#define JOB "0123456789abcdef"
#define FIRST JOB ".2.pserver.0"
#define SECOND JOB ".2.pserver.1"
#define THIRD JOB ".2.pserver.2"

enum { PLACES = 128 /* doc/internals/kubernetes.md, "Many pods" */ };

static const char credential[] = "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
                                 "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:9'}}]\n"
                                 "users: [{name: u, user: {}}]\n";
static const char *const set[] = { FIRST, SECOND, THIRD, NULL };

typedef struct {
        Kubernetes *k8s;
        char *dir;
        GPtrArray *told; /* Observation */
} Fixture;

static void note(Observation *observation, void *arg)
{
        g_ptr_array_add(((Fixture *)arg)->told, observation);
}

static void free_told(gpointer observation)
{
        observation_free(observation);
}

static void begin(Fixture *fixture, gconstpointer data)
{
        g_autoptr(GError) error = NULL;

        fixture->dir = g_dir_make_tmp("paddle-orders-XXXXXX", NULL);
        fixture->told = g_ptr_array_new_with_free_func(free_told);
        fixture->k8s = (Kubernetes *)kubernetes_runtime_new(&(KubernetesConfig){ .name = "c",
                                                                                 .credential = credential,
                                                                                 .state_dir = fixture->dir,
                                                                                 .server = "s.1",
                                                                                 .dc = "dc" },
                                                            &error);
        g_assert_no_error(error);
        fixture->k8s->observe = note;
        fixture->k8s->observe_arg = fixture;
        g_main_context_push_thread_default(fixture->k8s->context);
        kubernetes_open_parts(fixture->k8s);
}

static void finish(Fixture *fixture, gconstpointer data)
{
        kubernetes_close_parts(fixture->k8s);
        g_main_context_pop_thread_default(fixture->k8s->context);
        runtime_free(&fixture->k8s->runtime);
        g_ptr_array_unref(fixture->told);
        g_assert_cmpint(rmdir(fixture->dir), ==, 0);
        g_free(fixture->dir);
}

static int count(const Fixture *fixture, ObservationKind kind, const char *task)
{
        int n = 0;

        for (guint i = 0; i < fixture->told->len; i++) {
                const Observation *one = fixture->told->pdata[i];

                n += one->kind == kind && strcmp(one->task, task) == 0;
        }
        return n;
}

static json_t *objects_new(const char *name)
{
        json_t *objects = json_array();

        json_array_append_new(objects, podspec_object(&kube_config_maps, "jobs", name, NULL));
        return objects;
}

/* The engine starts these tasks. */
static void start(Fixture *fixture, void (*run)(Order *order), const char *const *tasks)
{
        TestAttempt attempt;
        Order *order = g_new0(Order, 1);
        g_autoptr(json_t) objects = objects_new("m");

        test_attempt_init(&attempt, JOB, 2);
        *order = (Order){ .run = run,
                          .k8s = fixture->k8s,
                          .tasks = g_strdupv((char **)tasks),
                          .namespace = g_strdup("jobs"),
                          .job_id = g_strdup(JOB),
                          .number = 2,
                          .form = form_of(&fixture->k8s->forms, &attempt.attempt,
                                          &(FormRole){ .serves = true }),
                          .objects = json_dumps(objects, 0) };
        g_assert_nonnull(order->form);
        order_run(order);
}

static void stop(Fixture *fixture, const char *const *tasks)
{
        k8s_stop(&fixture->k8s->runtime, tasks, (int)g_strv_length((char **)tasks), 1000);
        while (g_main_context_iteration(fixture->k8s->context, FALSE))
                ;
}

/* The start of the set waits, because the object that would recreate the second member's earlier pod is still
 * being deleted. */
static void start_set(Fixture *fixture)
{
        Task *task = task_get(fixture->k8s, SECOND);

        task->status = (MemberStatus){ STAGE_LEAVING, REMOVAL_OWNER, STOP_KILL, 0 };
        start(fixture, order_start_set, set);
        g_assert_nonnull(task->again);
        g_assert_cmpuint(fixture->told->len, ==, 0);
}

/* Nothing of the start is left when the earlier pod has gone. */
static void check_given_up(Fixture *fixture)
{
        g_assert_cmpuint(g_hash_table_size(fixture->k8s->later), ==, 0);
        task_dropped(SECOND, fixture->k8s);
        g_assert_false(sets_has(fixture->k8s->sets, FIRST));
        g_assert_null(g_hash_table_lookup(fixture->k8s->tasks, SECOND));
}

static void check_not_started(const Fixture *fixture, const char *task)
{
        g_assert_cmpint(count(fixture, OBSERVED_START_FAILED, task), ==, 1);
        g_assert_cmpint(count(fixture, OBSERVED_EXITED, task), ==, 0);
}

/* runtime.h: EXITED follows for each that is stopped, and STARTED or START_FAILED for each that is started. */
static void test_stop_of_the_leaving(Fixture *fixture, gconstpointer data)
{
        start_set(fixture);
        stop(fixture, (const char *const[]){ SECOND, NULL });
        g_assert_cmpint(count(fixture, OBSERVED_EXITED, SECOND), ==, 1);
        g_assert_cmpint(count(fixture, OBSERVED_START_FAILED, SECOND), ==, 0);
        check_not_started(fixture, FIRST);
        check_not_started(fixture, THIRD);
        for (guint i = 0; i < fixture->told->len; i++) {
                const Observation *one = fixture->told->pdata[i];

                if (!*one->task)
                        continue;               /* of the cluster */
                g_assert_false(one->permanent); /* another attempt may start */
                g_assert_cmpint(one->signal, ==, one->kind == OBSERVED_EXITED ? SIGTERM : 0);
                g_assert_true(one->kind == OBSERVED_EXITED || strstr(one->text, "was stopped"));
        }
        check_given_up(fixture);
}

/* The set may not be created with a member that was stopped. */
static void test_stop_of_another(Fixture *fixture, gconstpointer data)
{
        start_set(fixture);
        stop(fixture, (const char *const[]){ FIRST, NULL });
        check_not_started(fixture, SECOND);
        check_not_started(fixture, THIRD);
        g_assert_cmpint(count(fixture, OBSERVED_START_FAILED, FIRST), ==, 0);
        check_given_up(fixture);
}

static void test_stop_of_all(Fixture *fixture, gconstpointer data)
{
        start_set(fixture);
        stop(fixture, set);
        for (int i = 0; set[i]; i++)
                g_assert_cmpint(count(fixture, OBSERVED_START_FAILED, set[i]), ==, 0);
        g_assert_cmpint(count(fixture, OBSERVED_EXITED, SECOND), ==, 1);
        check_given_up(fixture);
}

/* Without a stop the set is created when the earlier pod has gone. */
static void test_start(Fixture *fixture, gconstpointer data)
{
        start_set(fixture);
        task_dropped(SECOND, fixture->k8s);
        for (int i = 0; set[i]; i++)
                g_assert_true(sets_has(fixture->k8s->sets, set[i]));
        g_assert_cmpuint(g_hash_table_size(fixture->k8s->later), ==, 0);
        g_assert_cmpuint(fixture->told->len, ==, 0);
}

/* A start that is repeated, as after a lost connection, waits once. */
static void test_start_twice(Fixture *fixture, gconstpointer data)
{
        start_set(fixture);
        start(fixture, order_start_set, set);
        stop(fixture, (const char *const[]){ THIRD, NULL });
        check_not_started(fixture, FIRST);
        check_not_started(fixture, SECOND);
        check_given_up(fixture);
}

static void on_other(const GError *error, void *arg)
{
        g_assert_not_reached();
}

/* The creation of a stopped member's pod has not begun, since others come first. A start under its name ends
 * that creation, and nothing is left to wait for. */
static void test_start_at_once(Fixture *fixture, gconstpointer data)
{
        Kubernetes *k8s = fixture->k8s;
        MakingConfig config = { .client = k8s->client,
                                .context = k8s->context,
                                .room = k8s->makings,
                                .gates = k8s->gates,
                                .done = on_other,
                                .waits = on_other };
        Task *task = task_get(k8s, FIRST);
        Making *others[PLACES];

        for (int i = 0; i < PLACES; i++) {
                g_autofree char *name = g_strdup_printf("other-%d", i);

                others[i] = making_new(&config, objects_new(name));
        }
        task_place(task, "jobs", JOB, 2);
        task_make_pod(task, objects_new("m"));
        g_assert_true(making_is_idle(task->making));
        task->status = (MemberStatus){ STAGE_STOPPING, REMOVAL_NONE, STOP_GRACE, 0 };
        start(fixture, order_start_pod, (const char *const[]){ FIRST, NULL });
        g_assert_cmpuint(fixture->told->len, ==, 1);
        g_assert_cmpint(count(fixture, OBSERVED_EXITED, FIRST), ==, 1);
        task = g_hash_table_lookup(k8s->tasks, FIRST);
        g_assert_nonnull(task);
        g_assert_cmpint((int)task->status.stage, ==, (int)STAGE_WAITING);
        g_assert_nonnull(task->making);
        g_assert_null(task->again);
        for (int i = 0; i < PLACES; i++)
                making_free(others[i]);
}

int main(int argc, char **argv)
{
        static const struct {
                const char *path;
                void (*test)(Fixture *fixture, gconstpointer data);
        } tests[] = {
                { "/orders/stop of the leaving member", test_stop_of_the_leaving },
                { "/orders/stop of another member", test_stop_of_another },
                { "/orders/stop of all members", test_stop_of_all },
                { "/orders/start of a set later", test_start },
                { "/orders/start twice", test_start_twice },
                { "/orders/start at once", test_start_at_once },
        };

        json_init();
        g_test_init(&argc, &argv, NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].path, Fixture, NULL, begin, tests[i].test, finish);
        return g_test_run();
}
