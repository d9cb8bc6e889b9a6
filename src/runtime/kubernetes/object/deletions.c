/* Deletions (see deletions.h). */
#include "runtime/kubernetes/object/deletions.h"

#include "base/backoff.h"
#include "base/err.h"
#include "base/log.h"
#include "base/timer.h"

enum { RETRY_MS = 1000, RETRY_MAX_MS = 30000 };

typedef struct {
        Deletions *deletions;
        char *key;
        const KubeKind *kind;
        char *namespace, *name, *uid; /* uid: or NULL */
        char *task;                   /* to be told of; or NULL */
        gint64 grace_s;
        Backoff backoff;
        KubeCall *call;
        Timer *retry;
} Deletion;

struct Deletions {
        DeletionsConfig config;
        GHashTable *all; /* key -> Deletion */
};

static void deletion_free(gpointer data)
{
        Deletion *deletion = data;

        if (deletion->call)
                kube_call_cancel(deletion->call);
        timer_clear(&deletion->retry);
        g_free(deletion->key);
        g_free(deletion->namespace);
        g_free(deletion->name);
        g_free(deletion->uid);
        g_free(deletion->task);
        g_free(deletion);
}

static void send_it(Deletion *deletion);

static void on_retry(void *arg)
{
        send_it(arg);
}

/* Or another object has the name now, so the old one is gone. */
static bool is_gone(const Deletion *deletion, const GError *error)
{
        return err_is(error, ERR_NOT_FOUND) || (deletion->uid && err_is(error, ERR_CONFLICT));
}

/* A Secret is owned by its attempt's service and is removed with it, so the account may lack the right to
 * delete it. An API server that has just started denies everything for some seconds: believe the denial only
 * after the longest wait. */
static bool is_left_to_its_owner(const Deletion *deletion, const GError *error)
{
        return deletion->kind == &kube_secrets && err_is(error, ERR_DENIED) &&
               deletion->backoff.last >= RETRY_MAX_MS;
}

static void finish(Deletion *deletion)
{
        Deletions *deletions = deletion->deletions;
        g_autofree char *task = g_steal_pointer(&deletion->task);

        g_hash_table_remove(deletions->all, deletion->key);
        if (task)
                deletions->config.undone(task, deletions->config.arg);
}

static void on_deleted(const KubeReply *reply, void *arg)
{
        Deletion *deletion = arg;
        const DeletionsConfig *config = &deletion->deletions->config;

        deletion->call = NULL;
        if (!reply->error || is_gone(deletion, reply->error) ||
            is_left_to_its_owner(deletion, reply->error)) {
                finish(deletion);
                return;
        }
        if (!deletion->backoff.last)
                log_warning("an object of a job cannot be deleted, retrying", "cluster", config->cluster,
                            "object", deletion->key, "reason", reply->error->message, NULL);
        timer_set(&deletion->retry, config->context, backoff_next(&deletion->backoff), on_retry, deletion);
        config->failed(reply->error, config->arg);
}

static void send_it(Deletion *deletion)
{
        KubeRequest request = { .verb = KUBE_DELETE,
                                .kind = deletion->kind,
                                .namespace = deletion->namespace,
                                .name = deletion->name,
                                .delete_uid = deletion->uid,
                                .has_grace = deletion->grace_s >= 0,
                                .grace_seconds = deletion->grace_s };

        deletion->call = kube_send(deletion->deletions->config.client, &request, on_deleted, deletion);
}

/* The shorter of both grace times: a node that does not answer would never let a longer one end. */
static gint64 shorter(const Deletion *before, const char *uid, gint64 grace_s)
{
        if (!before || g_strcmp0(before->uid, uid) != 0 || before->grace_s < 0)
                return grace_s;
        return grace_s < 0 ? before->grace_s : MIN(before->grace_s, grace_s);
}

static Deletion *deletion_new(Deletions *deletions, const KubeKind *kind, const char *namespace,
                              const char *name, const char *uid, gint64 grace_s)
{
        Deletion *deletion = g_new0(Deletion, 1), *before;

        deletion->deletions = deletions;
        deletion->key = g_strdup_printf("%s/%s/%s", kind->plural, namespace, name);
        before = g_hash_table_lookup(deletions->all, deletion->key);
        if (before) /* its task is still told */
                deletion->task = g_steal_pointer(&before->task);
        deletion->backoff = (Backoff){ .first = RETRY_MS, .max = RETRY_MAX_MS };
        deletion->kind = kind;
        deletion->namespace = g_strdup(namespace);
        deletion->name = g_strdup(name);
        deletion->uid = g_strdup(uid);
        deletion->grace_s = shorter(before, uid, grace_s);
        g_hash_table_replace(deletions->all, deletion->key, deletion);
        return deletion;
}

void deletions_want(Deletions *deletions, const KubeKind *kind, const char *namespace, const char *name,
                    const char *uid, gint64 grace_s)
{
        send_it(deletion_new(deletions, kind, namespace, name, uid, grace_s));
}

void deletions_undo(Deletions *deletions, const char *namespace, const char *pod, const char *task,
                    gint64 grace_s)
{
        Deletion *deletion = deletion_new(deletions, &kube_pods, namespace, pod, NULL, grace_s);

        g_free(deletion->task);
        deletion->task = g_strdup(task);
        send_it(deletion);
}

Deletions *deletions_new(const DeletionsConfig *config)
{
        Deletions *deletions = g_new0(Deletions, 1);

        deletions->config = *config;
        deletions->all = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, deletion_free);
        return deletions;
}

void deletions_free(Deletions *deletions)
{
        if (!deletions)
                return;
        g_hash_table_unref(deletions->all);
        g_free(deletions);
}
