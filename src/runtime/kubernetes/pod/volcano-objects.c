/* Objects of Volcano (see volcano-objects.h). */
#include "runtime/kubernetes/pod/volcano-objects.h"

#include <string.h>

#include "model/job.h"
#include "podspec/objects.h"

static json_t *amounts(const Resources *each, guint32 kinds)
{
        json_t *object = json_object();

        for (int kind = 0; kind < resource_kinds(); kind++) {
                gint64 amount = each->amount[kind];
                g_autofree char *text = kind == RESOURCE_CPU ? cpu_format(amount)
                                                             : g_strdup_printf("%" G_GINT64_FORMAT, amount);

                if (kinds & 1u << kind && kind != RESOURCE_STORAGE && amount != RESOURCE_UNLIMITED)
                        json_object_set_new(object, resource_name(kind), json_string(text));
        }
        return object;
}

static void put_limits(json_t *spec, const char *name, const ResourceLimits *limits)
{
        if (limits->said)
                json_object_set_new(spec, name, amounts(&limits->amount, limits->said));
}

static void label_ours(json_t *object, const char *server)
{
        podspec_label(object, "owner", "paddleflow");
        podspec_label(object, "paddle-server", server);
}

/* max is never exceeded; min comes back when it is asked for; what is reserved is never lent
 * (doc/reference/scheduling.md, "Elastic quota"). */
json_t *volcano_queue(const Queue *queue, const char *server)
{
        json_t *object = podspec_object(&kube_volcano_queues, NULL, queue->object.name, NULL);
        json_t *spec = json_pack("{s:i, s:b}", "weight", MAX(queue->weight, 1), "reclaimable", !queue->keep);

        label_ours(object, server);
        if (queue->namespace)
                podspec_annotate(object, "paddleflow/queue-namespace", queue->namespace);
        put_limits(spec, "capability", &queue->max);
        if (queue->quota_type == QUOTA_ELASTIC)
                put_limits(spec, "deserved", &queue->min);
        if (queue->reserved.said)
                json_object_set_new(spec, "guarantee",
                                    json_pack("{s:o}", "resource",
                                              amounts(&queue->reserved.amount, queue->reserved.said)));
        json_object_set_new(object, "spec", spec);
        return object;
}

static bool is_present(const Member *member)
{
        return member->state == MEMBER_INTENDED || member->state == MEMBER_RUNNING ||
               member->state == MEMBER_READY;
}

/* How many members of the role the gang has. */
static int gang_of(const Job *job, int role)
{
        int present = 0;

        for (int i = 0; i < job->n_members; i++)
                present += job->members[i].role == role && is_present(&job->members[i]);
        return MIN(present, job->spec->roles[role].min);
}

json_t *volcano_group(const MemberHome *home, const RuntimeAttempt *attempt, const char *priority_class)
{
        g_autofree char *name = member_service_name(attempt->job->id, attempt->job->attempt);
        const Spec *spec = attempt->job->spec;
        Resources sum = { 0 };
        guint32 kinds = 0;
        g_autoptr(json_t) least = NULL;
        PodspecGang gang = { .queue = attempt->job->queue, .priority_class = priority_class };
        json_t *group;

        for (int r = 0; r < spec->n_roles; r++) {
                int n = gang_of(attempt->job, r);
                Resources each;

                spec_member_wants(spec, r, job_share(attempt->job), &each);
                (void)resources_add(&sum, &each, n);
                gang.min_member += n;
        }
        for (int kind = 0; kind < resource_kinds(); kind++)
                kinds |= sum.amount[kind] > 0 ? 1u << kind : 0;
        gang.min_resources = least = amounts(&sum, kinds);
        group = podspec_pod_group(home->namespace, name, NULL, &gang);
        label_ours(group, home->server);
        podspec_label(group, "paddle-job-id", attempt->job->id);
        return group;
}

void volcano_join(json_t *pod, const RuntimeAttempt *attempt, const char *role)
{
        g_autofree char *name = member_service_name(attempt->job->id, attempt->job->attempt);

        podspec_annotate(pod, "scheduling.k8s.io/group-name", name);
        podspec_annotate(pod, "volcano.sh/task-spec", role);
}

static const char *unschedulable(const json_t *group)
{
        const json_t *list = kube_get(group, "status.conditions"), *one;
        const char *message = NULL;
        size_t i;

        json_array_foreach(list, i, one) {
                if (g_strcmp0(kube_get_text(one, "type"), "Unschedulable") == 0 &&
                    g_strcmp0(kube_get_text(one, "status"), "True") == 0)
                        message = kube_get_text(one, "message");
        }
        return message;
}

static bool is_pending(const json_t *group)
{
        const char *phase = kube_get_text(group, "status.phase");

        return !phase || strcmp(phase, "Pending") == 0;
}

static bool is_inqueue(const json_t *group)
{
        return g_strcmp0(kube_get_text(group, "status.phase"), "Inqueue") == 0;
}

bool volcano_group_waits(const json_t *group)
{
        return is_pending(group) || is_inqueue(group);
}

char *volcano_group_why(const json_t *group)
{
        const char *phase = kube_get_text(group, "status.phase"), *message = unschedulable(group);
        const char *queue = kube_get_text(group, "spec.queue");

        if (is_pending(group))
                return g_strdup_printf(
                        "Volcano's queue '%s' has no capacity for the gang yet (PodGroup '%s' is %s)%s%s",
                        queue ? queue : "default", kube_name(group), phase ? phase : "new",
                        message ? ": " : "", message ? message : "");
        if (is_inqueue(group))
                return g_strdup_printf("Volcano looks for nodes for the gang (PodGroup '%s' is Inqueue)%s%s",
                                       kube_name(group), message ? ": " : "", message ? message : "");
        return NULL;
}
