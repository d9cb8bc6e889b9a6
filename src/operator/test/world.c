/* A small cluster (see world.h). */
#include "operator/test/world.h"

#include <string.h>

#include "base/err.h"
#include "operator/test/tree.h"
#include "podspec/objects.h"

enum { PASSES_MAX = 12 };

World *world_new(const char *spec)
{
        World *world = g_new0(World, 1);
        static json_t *init;

        if (!init)
                init = tree_parse("{\"cpu\": \"10m\", \"memory\": \"10m\"}");
        world->rules =
                (OperatorRules){ .init_image = "docker.io/library/alpine:3.10", .init_requests = init };
        world->now_ms = 1700000000000;
        world->log = g_string_new(NULL);
        world->state = json_pack("{s:{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:o}, s:{}, s:{}}", "job",
                                 "apiVersion", "batch.paddlepaddle.org/v1", "kind", "PaddleJob", "metadata",
                                 "name", "j", "namespace", "n", "uid", "11111111-2222", "resourceVersion",
                                 "1", "spec", tree_parse(spec), "pods", "services");
        return world;
}

World *world_copy(const World *world)
{
        World *copy = g_new0(World, 1);

        *copy = *world;
        copy->state = json_deep_copy(world->state);
        copy->warning = g_strdup(world->warning);
        copy->log = g_string_new(world->log->str);
        return copy;
}

void world_free(World *world)
{
        if (!world)
                return;
        json_decref(world->state);
        g_free(world->warning);
        g_string_free(world->log, TRUE);
        g_free(world);
}

/* ---- the API server ---- */

static json_t *job_of(const World *world)
{
        return json_object_get(world->state, "job");
}

static const char *folder(const KubeKind *kind)
{
        return kind == &kube_pods ? "pods" : "services";
}

static const char *single(const KubeKind *kind)
{
        return kind == &kube_config_maps ? "map" : kind == &kube_pod_groups ? "group" : NULL;
}

static json_t *find(const World *world, const KubeKind *kind, const char *name)
{
        if (kind == &kube_paddle_jobs)
                return job_of(world);
        if (single(kind))
                return json_object_get(world->state, single(kind));
        return json_object_get(json_object_get(world->state, folder(kind)), name);
}

static guint owned_pods(const World *world)
{
        const char *name;
        json_t *pod;
        guint n = 0;

        json_object_foreach(json_object_get(world->state, "pods"), name, pod) {
                n += podspec_is_owned(pod, kube_uid(job_of(world)));
        }
        return n;
}

/* What a server stores of a new object. */
static void put(World *world, const KubeKind *kind, json_t *object)
{
        json_t *copy = json_deep_copy(object);

        tree_give_uid(copy, kube_name(copy), world->steady, &world->counter);
        if (single(kind))
                json_object_set_new(world->state, single(kind), copy);
        else
                json_object_set_new(json_object_get(world->state, folder(kind)), kube_name(object), copy);
}

static void create(World *world, const Action *action)
{
        PaddleJob job;
        gint64 most = 0;

        g_assert_null(find(world, action->kind, action->name)); /* nothing is made twice */
        g_assert_cmpstr(kube_namespace(action->body), ==, "n");
        g_assert_true(podspec_is_owned(action->body, kube_uid(job_of(world))));
        put(world, action->kind, action->body);
        if (action->kind != &kube_pods)
                return;
        world_set_pod(world, action->name, "pending");
        paddle_job_read(job_of(world), &job);
        g_assert_false(job_phase_is_final(job.phase));
        g_assert_false(job.deleting);
        for (JobRole role = ROLE_PS; role < ROLES; role++)
                most += MAX(job.role[role].replicas, 0);
        g_assert_cmpint(owned_pods(world), <=, most);
}

/* The garbage collector's part is done at once; the job itself has a finalizer. */
static void delete (World *world, const Action *action)
{
        json_t *object = find(world, action->kind, action->name);

        g_assert_nonnull(object);
        g_assert_cmpstr(kube_uid(object), ==, action->uid);
        if (action->kind == &kube_paddle_jobs)
                json_object_set_new(json_object_get(object, "metadata"), "deletionTimestamp",
                                    json_string("2026-01-01T00:00:00Z"));
        else if (single(action->kind))
                json_object_del(world->state, single(action->kind));
        else
                json_object_del(json_object_get(world->state, folder(action->kind)), action->name);
}

/* Of RFC 6902 what finalizers take. */
static void json_patch(json_t *job, const json_t *patch)
{
        json_t *metadata = json_object_get(job, "metadata"), *list = json_object_get(metadata, "finalizers");
        const json_t *item;
        size_t i;

        json_array_foreach(patch, i, item) {
                const char *op = json_string_value(json_object_get(item, "op"));
                const char *path = json_string_value(json_object_get(item, "path"));
                json_t *value = json_object_get(item, "value");

                if (strcmp(op, "test") == 0) {
                        if (strcmp(path, "/metadata/resourceVersion") == 0)
                                g_assert_cmpstr(json_string_value(value), ==, kube_resource_version(job));
                } else if (strcmp(op, "remove") == 0) {
                        json_array_remove(list, (size_t)(path[strlen(path) - 1] - '0'));
                } else if (strcmp(path, "/metadata/finalizers") == 0) {
                        json_object_set_new(metadata, "finalizers", json_deep_copy(value));
                } else {
                        g_assert_cmpstr(path, ==, "/metadata/finalizers/-");
                        json_array_append(list, value);
                }
        }
}

static void patch(World *world, const Action *action)
{
        json_t *object = find(world, action->kind, action->name);
        g_autofree char *before = json_format(object), *after = NULL;

        g_assert_nonnull(object);
        if (action->verb == ACTION_JSON_PATCH)
                json_patch(object, action->body);
        else
                tree_merge(object, action->body);
        after = json_format(object);
        g_assert_cmpstr(before, !=, after); /* no write without need */
        tree_stamp(object, world->steady, &world->counter);
}

static void warn(World *world, const Action *action)
{
        g_assert_true(strcmp(action->reason, "Create") == 0 ||
                      strcmp(action->reason, "DeadlineExceeded") == 0);
        world->warnings++;
        g_free(world->warning);
        world->warning = g_strdup(action->message);
}

static void act(World *world, const Action *action)
{
        static const char *const verbs[] = {
                "create", "delete", "patch", "patch", "status", "scale", "warn"
        };

        g_string_append_printf(world->log, "%s%s %s %s", world->log->len ? ", " : "", verbs[action->verb],
                               action->kind ? action->kind->kind : "np", action->name);
        world->writes += action->verb != ACTION_WARN;
        switch (action->verb) {
        case ACTION_CREATE: create(world, action); break;
        case ACTION_DELETE: delete (world, action); break;
        case ACTION_WARN: warn(world, action); break;
        case ACTION_SCALE: json_object_set_new(world->state, "np", json_string(action->message)); break;
        case ACTION_STATUS:
                g_assert_cmpuint(json_object_size(action->body), ==, 1);
                patch(world, action);
                break;
        case ACTION_PATCH:
        case ACTION_JSON_PATCH: patch(world, action); break;
        }
}

static GPtrArray *list_of(const World *world, const char *name)
{
        GPtrArray *list = g_ptr_array_new();
        const char *key;
        json_t *value;

        json_object_foreach(json_object_get(world->state, name), key, value) {
                g_ptr_array_add(list, value);
        }
        return list;
}

guint world_pass(World *world)
{
        g_autoptr(GPtrArray) pods = list_of(world, "pods"), services = list_of(world, "services");
        Observed seen = {
                .job = job_of(world),
                .pods = pods,
                .services = services,
                .config_map = json_object_get(world->state, "map"),
                .pod_group = json_object_get(world->state, "group"),
                .host_port = world->host_port,
                .np = json_string_value(json_object_get(world->state, "np")),
                .now_ms = world->now_ms,
        };
        g_autoptr(Plan) plan = reconcile(&world->rules, &seen);
        guint before = world->writes;

        for (guint i = 0; i < plan->actions->len; i++)
                act(world, plan->actions->pdata[i]);
        world->end = plan->end;
        world->again_ms = plan->again_ms;
        return world->writes - before;
}

void world_settle(World *world)
{
        int passes = 0;

        g_string_truncate(world->log, 0);
        world->writes = 0;
        while (world_pass(world) > 0)
                if (++passes > PASSES_MAX)
                        g_error("does not come to rest: %s", world->log->str);
}

/* ---- pods ---- */

static const struct {
        const char *name, *phase;
        bool coord, ready;
        const char *disrupted; /* the reason; or NULL */
} pod_states[] = {
        { "pending", "Pending", false, false },
        { "coord", "Pending", true, false },
        { "running", "Running", false, true },
        { "unready", "Running", false, false },
        { "succeeded", "Succeeded", false, false },
        { "failed", "Failed", false, false },
        { "unknown", "Unknown", false, false },
        { "orphaned", "Failed", false, false, "DeletionByPodGC" },
        { "evicted", "Failed", false, false, "TerminationByKubelet" },
};

void world_set_pod(World *world, const char *name, const char *state)
{
        json_t *pod = find(world, &kube_pods, name), *status = json_object();
        gsize i = 0;
        JobRole role;
        gint64 index;
        PaddleJob job;

        while (strcmp(pod_states[i].name, state) != 0)
                g_assert_cmpuint(++i, <, G_N_ELEMENTS(pod_states));
        g_assert_nonnull(pod);
        paddle_job_read(job_of(world), &job);
        json_object_set_new(status, "phase", json_string(pod_states[i].phase));
        if (i > 0 && job_pod_parse(&job, name, &role, &index)) {
                g_autofree char *ip = g_strdup_printf("10.0.%d.%d", (int)role, (int)index);

                json_object_set_new(status, "podIP", json_string(ip));
                json_object_set_new(status, "initContainerStatuses",
                                    json_pack("[{s:s, s:b, s:{s:{}}}]", "name", "coord-paddle", "ready",
                                              !pod_states[i].coord, "state",
                                              pod_states[i].coord ? "running" : "terminated"));
                json_object_set_new(status, "containerStatuses",
                                    json_pack("[{s:s, s:b, s:{s:{}}}]", "name", "c", "ready",
                                              pod_states[i].ready, "state",
                                              pod_states[i].ready ? "running" : "waiting"));
        }
        if (pod_states[i].disrupted)
                json_object_set_new(status, "conditions",
                                    json_pack("[{s:s, s:s, s:s}]", "type", "DisruptionTarget", "status",
                                              "True", "reason", pod_states[i].disrupted));
        json_object_set_new(pod, "status", status);
        tree_stamp(pod, world->steady, &world->counter);
}

void world_delete_pod(World *world, const char *name)
{
        g_assert_cmpint(json_object_del(json_object_get(world->state, "pods"), name), ==, 0);
}

/* ---- stories ---- */

static void set_all(World *world, const char *state)
{
        g_autoptr(GPtrArray) pods = list_of(world, "pods");

        for (guint i = 0; i < pods->len; i++)
                world_set_pod(world, kube_name(pods->pdata[i]), state);
}

static void make_foreign(World *world, const char *kind, const char *name)
{
        static const KubeKind *const kinds[] = { &kube_pods, &kube_services, &kube_config_maps,
                                                 &kube_pod_groups };
        g_autoptr(json_t) object = NULL;

        for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
                if (strcmp(kinds[i]->kind, kind) != 0)
                        continue;
                object = podspec_object(kinds[i], "n", name, NULL);
                put(world, kinds[i], object);
        }
        g_assert_nonnull(object);
}

static void set_rule(World *world, const char *word)
{
        if (strcmp(word, "volcano") == 0)
                world->rules.volcano = true;
        else if (strcmp(word, "compat") == 0)
                world->rules.compat = true;
        else if (strcmp(word, "bare") == 0)
                world->rules.init_image = "";
        else if (strcmp(word, "etcd") == 0)
                world->rules.etcd_server = "http://e:2379";
        else
                g_error("no rule '%s'", word);
}

static char *names_of(const World *world, const char *what)
{
        g_autoptr(GPtrArray) list = list_of(world, what);
        GString *names = g_string_new(NULL);

        for (guint i = 0; i < list->len; i++)
                g_string_append_printf(names, "%s%s", i ? " " : "", kube_name(list->pdata[i]));
        return g_string_free(names, FALSE);
}

static char *shown_figure(const World *world, const char *path)
{
        static const char *const ends[] = { "done", "park", "retry", "again" };

        if (strcmp(path, "pods") == 0 || strcmp(path, "services") == 0)
                return names_of(world, path);
        if (strcmp(path, "writes") == 0)
                return g_strdup_printf("%u", world->writes);
        if (strcmp(path, "warnings") == 0)
                return g_strdup_printf("%u", world->warnings);
        if (strcmp(path, "warning") == 0)
                return g_strdup(world->warning ? world->warning : "-");
        if (strcmp(path, "again") == 0)
                return g_strdup_printf("%" G_GINT64_FORMAT, world->again_ms);
        if (strcmp(path, "end") == 0)
                return g_strdup(ends[world->end]);
        if (strcmp(path, "log") == 0)
                return g_strdup(world->log->str);
        return NULL;
}

/* "pod:worker-0.spec.hostname" */
static char *shown(const World *world, const char *path)
{
        char *figure = shown_figure(world, path);
        const char *colon = strchr(path, ':'), *dot = strchr(path, '.');
        g_autofree char *first = g_strndup(path, dot ? (gsize)(dot - path) : strlen(path));
        const json_t *object;

        if (figure)
                return figure;
        if (colon && (!dot || colon < dot)) {
                g_autofree char *name = g_strconcat("j-", first + (colon - path) + 1, NULL);

                object = find(world, *path == 'p' ? &kube_pods : &kube_services, name);
        } else {
                object = json_object_get(world->state, first);
        }
        return tree_show(dot && object ? kube_get(object, dot + 1) : object);
}

static void expect(const World *world, const char *text)
{
        g_autofree char *path = tree_expected_path(text), *value = shown(world, path);

        if (tree_expect(text, value))
                return;
        g_test_message("log: %s", world->log->str);
        g_test_fail();
}

static void tell(World *world, const char *text)
{
        g_auto(GStrv) words = g_strsplit(text, " ", 3);
        const char *verb = words[0], *one = verb ? words[1] : NULL, *two = one ? words[2] : NULL;
        g_autofree char *name = one ? g_strconcat("j-", one, NULL) : NULL;

        if (strcmp(verb, "go") == 0) {
                world_settle(world);
        } else if (strcmp(verb, "pod") == 0) {
                world_set_pod(world, name, two);
        } else if (strcmp(verb, "all") == 0) {
                set_all(world, one);
        } else if (strcmp(verb, "gone") == 0) {
                world_delete_pod(world, name);
        } else if (strcmp(verb, "going") == 0) {
                json_object_set_new(json_object_get(find(world, &kube_pods, name), "metadata"),
                                    "deletionTimestamp", json_string("2026-01-01T00:00:00Z"));
        } else if (strcmp(verb, "spec") == 0) {
                g_autoptr(json_t) change = tree_parse(text + strlen("spec "));

                tree_merge(job_of(world), change);
        } else if (strcmp(verb, "foreign") == 0) {
                make_foreign(world, one, two);
        } else if (strcmp(verb, "group") == 0) {
                json_object_set_new(json_object_get(world->state, "group"), "status",
                                    json_pack("{s:s}", "phase", one));
        } else if (strcmp(verb, "np") == 0) {
                json_object_set_new(world->state, "np", json_string(one));
        } else if (strcmp(verb, "rules") == 0) {
                set_rule(world, one);
        } else if (strcmp(verb, "port") == 0) {
                world->host_port = g_ascii_strtoll(one, NULL, 10);
        } else if (strcmp(verb, "later") == 0) {
                world->now_ms += 60000;
        } else if (strcmp(verb, "lost") == 0) {
                json_object_del(world->state, one);
        } else {
                expect(world, text);
        }
}

void world_tell(World *world, const char *story)
{
        g_auto(GStrv) parts = g_strsplit(story, ";", -1);

        for (char **part = parts; *part; part++)
                if (*g_strstrip(*part))
                        tell(world, *part);
}
