/* A small cluster with a TrainingJob (see training_world.h). */
#include "operator/test/training_world.h"

#include <string.h>

#include "operator/test/tree.h"
#include "operator/training_members.h"
#include "podspec/objects.h"

enum { PASSES_MAX = 8 };

TrainingWorld *training_world_new(const char *spec)
{
        TrainingWorld *world = g_new0(TrainingWorld, 1);
        json_t *tree = tree_parse(spec);

        world->log = g_string_new(NULL);
        world->state =
                json_pack("{s:{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:o}, s:[]}", "job", "apiVersion",
                          "paddlepaddle.org/v1", "kind", "TrainingJob", "metadata", "name", "j", "namespace",
                          "n", "uid", "11111111-2222", "resourceVersion", "1", "spec", tree, "pods");
        return world;
}

TrainingWorld *training_world_copy(const TrainingWorld *world)
{
        TrainingWorld *copy = g_new0(TrainingWorld, 1);

        *copy = *world;
        copy->state = json_deep_copy(world->state);
        copy->refusal = g_strdup(world->refusal);
        copy->warning = g_strdup(world->warning);
        copy->log = g_string_new(world->log->str);
        return copy;
}

void training_world_free(TrainingWorld *world)
{
        if (!world)
                return;
        json_decref(world->state);
        g_free(world->refusal);
        g_free(world->warning);
        g_string_free(world->log, TRUE);
        g_free(world);
}

json_t *training_find(const TrainingWorld *world, const char *role)
{
        return json_object_get(world->state, role);
}

const char *training_phase(const TrainingWorld *world)
{
        const char *phase = kube_get_text(world->state, "job.status.phase");

        return phase ? phase : "";
}

static bool is_final(const TrainingWorld *world)
{
        return strcmp(training_phase(world), "succeeded") == 0 ||
               strcmp(training_phase(world), "failed") == 0;
}

/* ---- the API server ---- */

static const char *role_of(const char *name)
{
        g_assert_true(g_str_has_prefix(name, "j-"));
        return name + strlen("j-");
}

/* Every replica of the role is ready, or the job has none of them. */
static bool is_satisfied(const TrainingWorld *world, const char *role, gint64 wanted)
{
        return wanted == 0 || kube_get_int(training_find(world, role), "status.readyReplicas", 0) >= wanted;
}

static void check_order(const TrainingWorld *world, const char *role)
{
        const json_t *spec = kube_get(world->state, "job.spec");
        gint64 masters = json_is_true(json_object_get(spec, "fault_tolerant")) ? 1 : 0;
        gint64 pservers = kube_get_int(spec, "pserver.min-instance", 0);

        if (strcmp(role, "master") != 0)
                g_assert_true(is_satisfied(world, "master", masters));
        if (strcmp(role, "trainer") == 0)
                g_assert_true(is_satisfied(world, "pserver", pservers));
}

static void create(TrainingWorld *world, const Action *action)
{
        const char *role = role_of(action->name);
        json_t *object;

        g_assert_null(training_find(world, role)); /* nothing is made twice */
        g_assert_false(is_final(world));
        g_assert_null(world->refusal);
        g_assert_true(podspec_is_owned(action->body, "11111111-2222"));
        g_assert_cmpstr(kube_namespace(action->body), ==, "n");
        check_order(world, role);
        if (world->refuses) {
                world->refusal = g_strdup("refused by the server");
                return;
        }
        object = json_deep_copy(action->body);
        tree_give_uid(object, role, world->steady, &world->counter);
        json_object_set_new(world->state, role, object);
}

/* The garbage collector's part is done at once. */
static void delete (TrainingWorld *world, const Action *action)
{
        const char *role = role_of(action->name);
        const json_t *object = training_find(world, role);

        g_assert_nonnull(object);
        g_assert_cmpstr(kube_uid(object), ==, action->uid);
        g_assert_true(world->ended);
        g_assert_cmpstr(role, !=, "trainer");
        json_object_del(world->state, role);
}

static void patch(TrainingWorld *world, const Action *action)
{
        bool status = action->verb == ACTION_STATUS;
        json_t *object = training_find(world, status ? "job" : role_of(action->name));
        g_autofree char *before = json_format(object), *after = NULL;

        if (!status) { /* trainers are stopped, never counted anew */
                g_assert_true(world->ended);
                g_assert_cmpstr(training_phase(world), ==, "failed");
                g_assert_cmpint(kube_get_int(action->body, "spec.parallelism", -1), ==, 0);
        }
        if (status) /* of no other job than the one that was looked at */
                g_assert_cmpstr(kube_resource_version(action->body), ==, kube_resource_version(object));
        g_assert_cmpuint(json_object_size(action->body), ==, status ? 2 : 1);
        tree_merge(object, action->body);
        after = json_format(object);
        g_assert_cmpstr(before, !=, after); /* no write without need */
        tree_stamp(object, world->steady, &world->counter);
}

static void warn(TrainingWorld *world, const Action *action)
{
        g_free(world->warning);
        world->warning = g_strdup_printf("%s: %s", action->reason, action->message);
}

static void act(TrainingWorld *world, const Action *action)
{
        static const char *const verbs[] = {
                "create", "delete", "patch", "patch", "status", "scale", "warn"
        };

        g_string_append_printf(world->log, "%s%s %s %s", world->log->len ? ", " : "", verbs[action->verb],
                               action->kind->kind, action->name);
        world->writes += action->verb != ACTION_WARN;
        switch (action->verb) {
        case ACTION_CREATE: create(world, action); break;
        case ACTION_DELETE: delete (world, action); break;
        case ACTION_WARN: warn(world, action); break;
        case ACTION_STATUS:
        case ACTION_PATCH: patch(world, action); break;
        case ACTION_JSON_PATCH:
        case ACTION_SCALE: g_assert_not_reached();
        }
}

static guint pass(TrainingWorld *world)
{
        g_autoptr(GPtrArray) pods = g_ptr_array_new();
        TrainingObserved seen = { .job = training_find(world, "job"),
                                  .pods = pods,
                                  .refusal = world->refusal };
        g_autoptr(Plan) plan = NULL;
        guint before = world->writes;
        json_t *pod;
        size_t i;

        json_array_foreach(json_object_get(world->state, "pods"), i, pod) {
                g_ptr_array_add(pods, pod);
        }
        for (TrainingRole role = TRAINING_MASTER; role < TRAINING_ROLES; role++)
                seen.member[role] = training_find(world, training_role_name(role));
        world->ended = is_final(world);
        plan = training_reconcile(&seen);
        for (guint a = 0; a < plan->actions->len; a++)
                act(world, plan->actions->pdata[a]);
        world->end = plan->end;
        return world->writes - before;
}

void training_settle(TrainingWorld *world)
{
        int passes = 0;

        g_string_truncate(world->log, 0);
        world->writes = 0;
        while (pass(world) > 0)
                if (++passes > PASSES_MAX)
                        g_error("does not come to rest: %s", world->log->str);
}

/* ---- the controller manager ---- */

void training_ready(TrainingWorld *world, const char *role, int count)
{
        g_autoptr(json_t) change = json_pack("{s:{s:i}}", "status", "readyReplicas", count);

        tree_merge(training_find(world, role), change);
}

void training_count(TrainingWorld *world, int active, int succeeded, int failed)
{
        g_autoptr(json_t) change = json_pack("{s:{s:i, s:i, s:i}}", "status", "active", active, "succeeded",
                                             succeeded, "failed", failed);

        tree_merge(training_find(world, "trainer"), change);
}
