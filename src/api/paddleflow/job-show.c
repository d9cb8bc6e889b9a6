/* Jobs as this face shows them (doc/reference/paddleflow-api.md, "A job as it is shown"): what was asked for,
 * and what became of it. A job that came by another face is shown as if it had been asked for here. */
#include <string.h>

#include "api/paddleflow/internal.h"
#include "model/framework.h"

/* What PaddleFlow calls the objects of its frameworks (doc/reference/scheduling.md, "Objects of frameworks").
 */
static const struct {
        const char *framework, *kind, *group, *version;
} kinds[] = {
        { "standalone", "Pod", "", "v1" },
        { "paddle", "PaddleJob", "batch.paddlepaddle.org", "v1" },
        { "pytorch", "PyTorchJob", "kubeflow.org", "v1" },
        { "tensorflow", "TFJob", "kubeflow.org", "v1" },
        { "mpi", "MPIJob", "kubeflow.org", "v1" },
        { "mxnet", "MXJob", "kubeflow.org", "v1" },
        { "spark", "SparkApplication", "sparkoperator.k8s.io", "v1beta2" },
        { "ray", "RayJob", "ray.io", "v1alpha1" },
        { "aitj", "AITrainingJob", "kongming.cce.baiudbce.com", "v1" },
        { "workflow", "Workflow", "argoproj.io", "v1alpha1" },
};

/* ---- what was asked for ---- */

json_t *job_asked(const Job *job)
{
        const char *text = job->spec->origin;
        g_autoptr(json_t) origin = text ? json_parse_own(text, strlen(text), NULL) : NULL;
        json_t *asked = json_object_get(origin, "paddleflow");

        return json_is_object(asked) ? json_incref(asked) : NULL;
}

static const char *paddleflow_role(const char *name)
{
        return strcmp(name, "trainer") == 0 ? "worker" : name;
}

static json_t *command_text(char *const *argv)
{
        bool shell = argv && argv[0] && argv[1] && strcmp(argv[0], "sh") == 0 && strcmp(argv[1], "-c") == 0;
        g_autofree char *joined = argv ? g_strjoinv(" ", (char **)argv) : NULL;

        return json_string(shell && argv[2] ? argv[2] : joined ? joined : "");
}

static json_t *flavour_of(const Role *role)
{
        Resources each = role->each;
        json_t *amounts, *flavour;

        each.cpu_milli = MAX(each.cpu_milli, 0);
        amounts = amounts_format(&each, amounts_kinds(&each));
        flavour = json_pack("{s:s, s:O, s:O, s:o}", "name", role->flavour ? role->flavour : "", "cpu",
                            json_object_get(amounts, "cpu"), "mem", json_object_get(amounts, "memory"),
                            "scalarResources",
                            json_object_get(amounts, "scalarResources")
                                    ? json_incref(json_object_get(amounts, "scalarResources"))
                                    : json_object());
        json_decref(amounts);
        return flavour;
}

static json_t *member_of(const Spec *spec, const Role *role)
{
        return json_pack("{s:s, s:i, s:o, s:s, s:o, s:o}", "role", paddleflow_role(role->name), "replicas",
                         role->replicas, "flavour", flavour_of(role), "image", spec->image ? spec->image : "",
                         "command", command_text(role->command ? role->command : spec->command), "env",
                         labels_format(role->env ? role->env : spec->env));
}

/* The request that a client of this interface would have sent for the job. */
static json_t *translated(const Job *job)
{
        const Spec *spec = job->spec;
        bool single = spec_members(spec) == 1;
        json_t *asked = single ? member_of(spec, &spec->roles[0]) : json_object(), *members;

        json_object_del(asked, "role");
        json_object_del(asked, "replicas");
        json_object_set_new(asked, "name", json_string(job->name));
        json_object_set_new(asked, "type", json_string(single ? "single" : "distributed"));
        json_object_set_new(asked, "framework",
                            json_string(single ? "standalone" : spec->framework->paddleflow_name));
        if (single)
                return asked;
        members = json_array();
        for (int r = 0; r < spec->n_roles; r++)
                if (spec->roles[r].replicas > 0)
                        json_array_append_new(members, member_of(spec, &spec->roles[r]));
        json_object_set_new(asked, "members", members);
        return asked;
}

/* ---- the parts of a job ---- */

static json_t *no_flavour(void)
{
        return json_pack("{s:s, s:s, s:s, s:n}", "name", "", "cpu", "", "mem", "", "scalarResources");
}

/* The member as it is, or `other` (taken). */
static json_t *member_or(const json_t *object, const char *name, json_t *other)
{
        json_t *value = json_object_get(object, name);

        if (!value)
                return other;
        json_decref(other);
        return json_incref(value);
}

/* The spec fields, which must all be there. */
static void add_spec(json_t *shown, const json_t *asked)
{
        static const char *const texts[] = { "image", "command" }, *const nulls[] = { "extraFS", "env",
                                                                                      "args" };

        json_object_set_new(shown, "flavour", member_or(asked, "flavour", no_flavour()));
        json_object_set_new(shown, "limitFlavour", no_flavour());
        json_object_set_new(shown, "fs",
                            member_or(asked, "fs",
                                      json_pack("{s:s, s:s, s:s, s:s, s:b}", "id", "", "name", "",
                                                "mountPath", "", "subPath", "", "readOnly", 0)));
        json_object_set_new(shown, "port", member_or(asked, "port", json_integer(0)));
        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
                json_object_set_new(shown, texts[i], member_or(asked, texts[i], json_string("")));
        for (gsize i = 0; i < G_N_ELEMENTS(nulls); i++)
                json_object_set_new(shown, nulls[i], member_or(asked, nulls[i], json_null()));
}

static json_t *kind_of(const char *framework, const char *said)
{
        const char *dot = said ? strchr(said, '.') : NULL, *slash = dot ? strchr(dot, '/') : NULL;

        if (slash) {
                g_autofree char *kind = g_strndup(said, (gsize)(dot - said));
                g_autofree char *group = g_strndup(dot + 1, (gsize)(slash - dot - 1));

                return json_pack("{s:s, s:s, s:s}", "kind", kind, "group", group, "apiVersion", slash + 1);
        }
        for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
                if (strcmp(kinds[i].framework, framework) == 0)
                        return json_pack("{s:s, s:s, s:s}", "kind", kinds[i].kind, "group", kinds[i].group,
                                         "apiVersion", kinds[i].version);
        return json_pack("{s:s, s:s, s:s}", "kind", "", "group", "", "apiVersion", "");
}

typedef struct {
        const Job *job;
        const json_t *asked;
        const Queue *queue;     /* NULL: it is not there any more */
        const Cluster *cluster; /* NULL likewise */
        const char *framework;
} View;

static json_t *show_member(const View *view, const json_t *member, const char *role, gint64 replicas)
{
        const char *said = labels_get(job_annotations(view->job), "paddleflow/job-kind-group-version");
        json_t *shown = json_object();

        add_spec(shown, member);
        json_object_set_new(shown, "id", member_or(role ? NULL : member, "id", json_string("")));
        json_object_set_new(shown, "name", member_or(member, "name", json_string("")));
        json_object_set_new(shown, "role",
                            role ? json_string(role) : member_or(member, "role", json_string("")));
        json_object_set_new(shown, "replicas",
                            role ? json_integer(replicas) : member_or(member, "replicas", json_integer(0)));
        json_object_set_new(shown, "priority", json_string(priority_word(view->job->priority)));
        json_object_set_new(shown, "clusterID", json_string(view->cluster ? view->cluster->object.id : ""));
        json_object_set_new(shown, "queueID", json_string(view->queue ? view->queue->object.id : ""));
        json_object_set_new(shown, "queueName", json_string(view->job->queue));
        json_object_set_new(shown, "kindGroupVersion", kind_of(view->framework, said));
        json_object_set_new(shown, "labels", member_or(role ? NULL : member, "labels", json_null()));
        json_object_set_new(shown, "annotations",
                            member_or(role ? NULL : member, "annotations", json_null()));
        return shown;
}

static json_t *show_members(const View *view)
{
        json_t *members = json_object_get(view->asked, "members"), *shown = json_array();
        const json_t *member;
        size_t i;

        if (strcmp(go_text(view->asked, "type"), "single") == 0)
                json_array_append_new(shown, show_member(view, view->asked, "worker", 1));
        json_array_foreach(members, i, member)
                json_array_append_new(shown, show_member(view, member, NULL, 0));
        return shown;
}

/* ---- what runs ---- */

static const char *phase_of(const Member *member)
{
        switch (member->state) {
        case MEMBER_RUNNING:
        case MEMBER_READY:
        case MEMBER_STOPPING: return "Running";
        case MEMBER_EXITED: return member->exit_code == 0 ? "Succeeded" : "Failed";
        case MEMBER_LOST: return "Unknown";
        default: return "Pending";
        }
}

char *job_task_name(const Job *job, int member)
{
        g_autofree char *id = job_flow_id(job);
        const Member *at = &job->members[member];

        return g_strdup_printf("%s-%s-%d", id, paddleflow_role(job->spec->roles[at->role].name), at->index);
}

void job_member_name(const json_t *asked, const Job *job, int member, const char **ret_role, int *ret_index)
{
        *ret_role = paddleflow_role(job->spec->roles[job->members[member].role].name);
        *ret_index = job->members[member].index;
}

static const char *namespace_of(const View *view)
{
        const char *own = view->job->spec->namespace;

        return own ? own : view->queue && view->queue->namespace ? view->queue->namespace : "default";
}

/* "" while its cluster has not placed it. */
static const char *node_of(const PaddleFlow *flow, const Member *member)
{
        if (member->reported_node)
                return member->reported_node;
        return member->node ? "" : flow->node_name;
}

static json_t *show_runtime(PaddleFlow *flow, const View *view, int member)
{
        const Job *job = view->job;
        const Member *at = &job->members[member];
        g_autofree char *name = job_task_name(job, member);
        g_autofree char *status = g_strdup_printf("{\"phase\":\"%s\"}", phase_of(at));
        g_autofree char *id = g_strdup_printf("%s.%d.%s.%d", job->id, job->attempt,
                                              job->spec->roles[at->role].name, at->index);
        const char *role;
        json_t *shown;
        int index;

        job_member_name(view->asked, job, member, &role, &index);
        shown = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i}", "name", name, "namespace",
                          namespace_of(view), "id", id, "status", status, "nodeName", node_of(flow, at),
                          "role", role, "index", index);
        if (at->gpus)
                json_object_set_new(shown, "acceleratorCards", json_string(at->gpus));
        return shown;
}

static json_t *show_runtimes(PaddleFlow *flow, const View *view)
{
        json_t *runtimes = json_array();
        g_autofree char *id = job_flow_id(view->job);
        g_autofree char *status = g_strdup_printf("{\"phase\":\"%s\"}", job_word(view->job));

        for (int i = 0; i < view->job->n_members; i++)
                json_array_append_new(runtimes, show_runtime(flow, view, i));
        return json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", id, "namespace", namespace_of(view), "id",
                         view->job->id, "status", status, "runtimes", runtimes);
}

static void add_runtime(PaddleFlow *flow, const View *view, json_t *shown)
{
        if (view->job->n_members == 0)
                return;
        if (strcmp(go_text(view->asked, "type"), "single") == 0)
                json_object_set_new(shown, "runtime", show_runtime(flow, view, 0));
        else
                json_object_set_new(shown, "distributedRuntime", show_runtimes(flow, view));
}

/* ---- all ---- */

/* Why it waits, or what became of it. */
static char *message_of(PaddleFlow *flow, const Job *job)
{
        char *waits = job_state_is_final(job->state) ? NULL : engine_explain(flow->engine, job);

        return waits ? waits : g_strdup(job->reason ? job->reason : "");
}

static void add_times(const Job *job, json_t *shown)
{
        const struct {
                const char *name;
                gint64 ms;
        } times[] = { { "acceptTime", job->submitted },
                      { "startTime", job->running },
                      { "finishTime", job_state_is_final(job->state) ? job->finished : 0 } };

        for (gsize i = 0; i < G_N_ELEMENTS(times); i++) {
                g_autofree char *text = time_text(times[i].ms);

                json_object_set_new(shown, times[i].name, json_string(text));
        }
}

static void add_head(PaddleFlow *flow, const View *view, json_t *shown)
{
        const Job *job = view->job;
        g_autofree char *id = job_flow_id(job), *message = message_of(flow, job);
        g_autofree char *valid = g_utf8_make_valid(message, -1);

        json_object_set_new(shown, "id", json_string(id));
        json_object_set_new(shown, "name", member_or(view->asked, "name", json_string("")));
        json_object_set_new(shown, "labels", labels_format(job_labels(job)));
        json_object_set_new(shown, "annotations", labels_format(job_annotations(job)));
        json_object_set_new(shown, "schedulingPolicy",
                            json_pack("{s:s, s:s}", "queue", job->queue, "priority",
                                      priority_word(job->priority)));
        json_object_set_new(shown, "status", json_string(job_word(job)));
        json_object_set_new(shown, "message", json_string(valid));
        json_object_set_new(shown, "extensionTemplate",
                            member_or(view->asked, "extensionTemplate", json_null()));
        if (strcmp(go_text(view->asked, "type"), "workflow") != 0)
                json_object_set_new(shown, "UserName", json_string(job->user)); /* spelled so */
}

json_t *job_show(PaddleFlow *flow, const Catalog *catalog, const Job *job, bool detail)
{
        json_t *own = job_asked(job), *shown = json_object(), *members;
        g_autoptr(json_t) asked = own ? own : translated(job);
        View view = { .job = job, .asked = asked, .queue = catalog_queue(catalog, job->queue) };
        bool single = strcmp(go_text(asked, "type"), "single") == 0;

        view.cluster = view.queue ? catalog_cluster(catalog, view.queue->cluster) : NULL;
        view.framework = go_text(asked, "framework");
        add_head(flow, &view, shown);
        add_spec(shown, single ? asked : NULL);
        add_times(job, shown);
        if (*view.framework)
                json_object_set_new(shown, "framework", json_string(view.framework));
        members = show_members(&view);
        if (json_array_size(members) > 0)
                json_object_set(shown, "members", members);
        json_decref(members);
        if (detail)
                add_runtime(flow, &view, shown);
        return shown;
}
