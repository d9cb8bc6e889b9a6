/* Whether a queue and its cluster may and can take a specification (see state.h). */
#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "base/word.h"
#include "engine/state.h"
#include "model/baseline.h"
#include "model/catalog.h"
#include "model/framework.h"

/* Where grants are not asked for, everybody counts as an administrator here. */
const Queue *submit_queue(Engine *engine, const char *name, const char *user, bool admin, GError **error)
{
        const User who = { .object.name = (char *)user, .admin = admin || engine->config.open_queues };

        return catalog_submit_queue(engine->batch.catalog, name, &who, error);
}

bool check_queue_count(Engine *engine, const Queue *queue, const char *user, gint64 n, GError **error)
{
        g_autofree char *limit = NULL, *has = NULL;
        gint64 open;

        if (queue->max_open_per_user <= 0)
                return true;
        open = live_open_in(engine, queue->object.name, user);
        if (open + n <= queue->max_open_per_user)
                return true;
        limit = count_format(queue->max_open_per_user, "open job");
        has = count_format(open, "job");
        return err_set(
                error, ERR_QUOTA,
                "queue '%s' takes %s of each user: '%s' has %s there, and this would be %" G_GINT64_FORMAT
                " more\nTry again when some have ended.",
                queue->object.name, limit, user, has, n);
}

static void add_lack(GString *text, const char *what, const char *where, const char *wants, const char *has)
{
        g_string_append_printf(text, "%s%s %s; %s has %s", text->len ? "; " : "", wants, what, where, has);
}

static char *say_lack(const Resources *want, const Resources *total, const char *where)
{
        g_autoptr(GString) text = g_string_new(NULL);

        if (want->cpu_milli > total->cpu_milli) {
                g_autofree char *wants = cpu_format(want->cpu_milli);
                g_autofree char *has = cpu_format(total->cpu_milli);

                add_lack(text, "cores", where, wants, has);
        }
        if (want->memory > total->memory) {
                g_autofree char *wants = bytes_format((guint64)want->memory);
                g_autofree char *has = bytes_format((guint64)total->memory);

                add_lack(text, "of memory", where, wants, has);
        }
        if (want->gpus > total->gpus) {
                g_autofree char *wants = g_strdup_printf("%" G_GINT64_FORMAT, want->gpus);
                g_autofree char *has =
                        total->gpus ? g_strdup_printf("%" G_GINT64_FORMAT, total->gpus) : g_strdup("none");

                add_lack(text, want->gpus == 1 ? "GPU" : "GPUs", where, wants, has);
        }
        return g_strdup(text->str);
}

/* Nodes of a cluster that are not ready, or cordoned, may be used again: the job waits for them. A cluster
 * without any may get some. */
static bool could_hold(const RuntimeSlot *slot, const Resources *least)
{
        static const Resources nothing = { 0 };
        bool known = slot_is_local(slot) || (slot->connected && !resources_equal(&slot->most, &nothing));

        return !known || resources_fit(least, &slot->most);
}

static bool check_room(const RuntimeSlot *slot, const Resources *least, GError **error)
{
        g_autofree char *where = NULL, *lack = NULL;

        if (could_hold(slot, least))
                return true;
        where = slot_is_local(slot) ? g_strdup("the machine") : g_strdup_printf("cluster '%s'", slot->name);
        lack = say_lack(least, &slot->most, where);
        return err_set(error, ERR_INVALID,
                       "the job could never start: it needs %s\n"
                       "Ask for fewer members, or for less for each.",
                       lack);
}

static bool check_max(const Catalog *catalog, const Queue *queue, const Resources *least, GError **error)
{
        Resources max = queue_max(catalog, queue);
        int kind = resources_lacking(least, &max);
        g_autofree char *asked = NULL, *limit = NULL;

        if (kind < 0)
                return true;
        asked = quantity_named(kind, least->amount[kind]);
        limit = quantity_text(kind, max.amount[kind]);
        return err_set(error, ERR_INVALID,
                       "the job could never start: it needs %s; queue '%s' may use %s\n"
                       "Ask for less, or name another queue.",
                       asked, queue->object.name, limit);
}

/* Refuses a job whose members could not be told the addresses of all others: a variable has a maximum length. */
static bool check_told(const RuntimeSlot *slot, const Queue *queue, const Spec *spec, GError **error)
{
        const Job job = { .id = "0123456789abcdef", .attempt = 1, .spec = (Spec *)spec };
        const RuntimeAttempt attempt = { .job = &job,
                                         .namespace = spec->namespace ? spec->namespace : queue->namespace };

        for (int r = 0; slot->runtime && spec->framework->tells_all && r < spec->n_roles; r++) {
                const Role *role = &spec->roles[r];
                g_autofree char *first = slot->runtime->ops->address(slot->runtime, &attempt, role->name, 0);
                int most = VARIABLE_MAX / ((int)strlen(first) + 1);

                if (role->replicas > most)
                        return err_set(
                                error, ERR_INVALID,
                                "roles: %d members of role '%s' are too many: each is told where all of "
                                "them are, and a program is given at most %d bytes in a variable\n"
                                "Ask for at most %d.",
                                role->replicas, role->name, VARIABLE_MAX, most);
        }
        return true;
}

/* Known while the cluster is connected; otherwise prepare says it. */
static bool check_setup(const RuntimeSlot *slot, const Spec *spec, GError **error)
{
        Runtime *runtime = slot ? slot->runtime : NULL;
        g_autofree char *problem = NULL;

        if (!spec->setup)
                return true;
        problem = runtime_setup_problem(runtime);
        return !problem || err_set(error, ERR_CONFLICT, "setup: %s", problem);
}

bool check_fit(Engine *engine, const Catalog *catalog, const Queue *queue, const Spec *spec, GError **error)
{
        const RuntimeSlot *slot =
                slot_of_cluster(engine, queue->cluster ? catalog_cluster(catalog, queue->cluster) : NULL);
        SpecShare share = slot_share(slot, catalog, queue, spec);
        Resources least, most;

        if (!feed_wants(spec, share, true, &least) || !feed_wants(spec, share, false, &most))
                return err_set(error, ERR_INVALID, "the job asks for more than can be counted");
        if (!check_told(slot, queue, spec, error) || !check_setup(slot, spec, error) ||
            !check_room(slot, &least, error))
                return false;
        for (const Queue *at = queue; at; at = queue_parent(catalog, at))
                if (!check_max(catalog, at, &least, error))
                        return false;
        return true;
}

/* A namespace holds secrets and accounts of somebody; Kubernetes' own open the cluster. Where a queue or a
 * list names one, it is meant. */
static bool check_own_namespace(const Cluster *cluster, const Queue *queue, const Spec *spec, bool admin,
                                GError **error)
{
        if (admin || g_strcmp0(spec->namespace, queue->namespace) == 0)
                return true;
        if (g_str_has_prefix(spec->namespace, "kube-"))
                return err_set(error, ERR_DENIED,
                               "namespace: '%s' is the cluster's own, where only administrators' jobs run\n"
                               "Name another, or none.",
                               spec->namespace);
        return !cluster || cluster->type == CLUSTER_LOCAL ||
               err_set(error, ERR_DENIED,
                       "namespace: '%s' is not that of queue '%s', and cluster '%s' has no list of "
                       "namespaces: "
                       "only administrators' jobs may name any\n"
                       "Leave it out, or let an administrator allow it: `paddle cluster set %s --namespaces "
                       "%s`.",
                       spec->namespace, queue->object.name, cluster->object.name, cluster->object.name,
                       spec->namespace);
}

bool check_namespace(const Engine *engine, const Queue *queue, const Spec *spec, bool admin, GError **error)
{
        const Cluster *cluster =
                queue->cluster ? catalog_cluster(engine->batch.catalog, queue->cluster) : NULL;
        const char *const *allowed = cluster ? (const char *const *)cluster->namespaces : NULL;
        g_autofree char *words = NULL;

        if (!spec->namespace)
                return true;
        if (!allowed)
                return check_own_namespace(cluster, queue, spec, admin, error);
        if (g_strv_contains(allowed, spec->namespace))
                return true;
        words = g_strjoinv(", ", cluster->namespaces);
        return err_set(error, ERR_INVALID, "namespace: '%s' is not one of cluster '%s', which has %s",
                       spec->namespace, queue->cluster, words);
}

bool check_words(const Engine *engine, const Queue *queue, char *const *labels, char *const *annotations,
                 bool admin, GError **error)
{
        const BaselinePlace place = baseline_place(engine->batch.catalog, queue, NULL);

        return admin || (baseline_check_words("labels", labels, &place, error) &&
                         baseline_check_words("annotations", annotations, &place, error));
}

bool check_priority(const Engine *engine, const Queue *queue, const char *user, bool admin, int priority,
                    GError **error)
{
        const Catalog *catalog = engine->batch.catalog;
        const User *known;
        int most;

        if (admin)
                return true;
        known = catalog_user(catalog, user);
        most = catalog_max_priority(catalog, queue, known);
        if (priority <= most)
                return true;
        if (known && known->admin)
                return err_set(error, ERR_DENIED,
                               "priority: %d is above %d, and this token has no administrator's right\n"
                               "Ask for less, or use a token of scope 'admin'.",
                               priority, most);
        return err_set(
                error, ERR_DENIED,
                "priority: %d is above %d, the most that is granted to '%s' in queue '%s'\n"
                "Ask for less. An administrator grants more with 'paddle grant %s %s %s --max-priority "
                "%d'.",
                priority, most, user, queue->object.name,
                catalog_grant(catalog, user, GRANT_QUEUE, queue->object.name) ? "set" : "create", user,
                queue->object.name, priority);
}
