/* A request is the kind's plural, found by discovery, and one API request (see asker.h). A log is streamed,
 * so that only the requested part of it is stored. */
#include "runtime/kubernetes/cluster/asker.h"

#include <string.h>

#include "base/err.h"
#include "kube/request.h"

enum { TIMEOUT_MS = 10000, LOG_MS = 15000 };

struct Asker {
        KubeClient *client;
        GHashTable *open; /* set of Question */
};

typedef struct {
        Asker *asker;
        RuntimeAsk *ask;
        KubeCall *call; /* NULL: the kind is being found */
        GString *log;   /* the bytes so far; or NULL */
        gint64 until_us;
} Question;

static const KubeVerb verbs[] = {
        [ASK_GET] = KUBE_GET,         [ASK_LIST] = KUBE_LIST,     [ASK_CREATE] = KUBE_CREATE,
        [ASK_REPLACE] = KUBE_REPLACE, [ASK_DELETE] = KUBE_DELETE,
};

static void answer(Question *question, json_t *object, const GError *error)
{
        RuntimeAsk *ask = g_steal_pointer(&question->ask);

        g_hash_table_remove(question->asker->open, question);
        runtime_ask_answer(ask, object, error);
}

static void on_reply(const KubeReply *reply, void *arg)
{
        Question *question = arg;

        question->call = NULL;
        answer(question, reply->error ? NULL : reply->object, reply->error);
}

/* Secrets hold values that users gave to their jobs, and passwords of registries: they are not shown. */
static bool shows_secrets(const RuntimeAsk *ask, const KubeKind *kind)
{
        return (ask->verb == ASK_GET || ask->verb == ASK_LIST) && !*kind->group &&
               strcmp(kind->plural, kube_secrets.plural) == 0;
}

static void on_kind(const KubeKind *kind, const GError *error, void *arg)
{
        Question *question = arg;
        const RuntimeAsk *ask = question->ask;
        g_autoptr(GError) missing = NULL;
        KubeRequest request = { .verb = verbs[ask->verb],
                                .kind = kind,
                                .namespace = ask->namespace,
                                .name = ask->name,
                                .body = ask->body,
                                .limit = ask->limit,
                                .resume = ask->resume,
                                .label_selector = ask->label_selector,
                                .field_selector = ask->field_selector,
                                .timeout_ms = TIMEOUT_MS };

        if (kind && !kind->cluster_scoped && !ask->namespace && ask->verb != ASK_LIST)
                err_set(&missing, ERR_INVALID, "a %s has a namespace, and none is named", kind->kind);
        else if (kind && shows_secrets(ask, kind))
                err_set(&missing, ERR_DENIED,
                        "Secrets of a cluster are not shown\nAsk the cluster itself: kubectl get secret.");
        if (kind && !missing)
                question->call = kube_send(question->asker->client, &request, on_reply, question);
        else
                answer(question, NULL, missing ? missing : error);
}

/* ---- a log ---- */

static void answer_log(Question *question, const GError *error)
{
        g_autoptr(json_t) text = error ? NULL : json_stringn_nocheck(question->log->str, question->log->len);

        answer(question, text, error);
}

/* Keeps the last bytes, or the first: false when these are there. */
static bool keep_log(Question *question, const char *data, gsize len)
{
        GString *log = question->log;
        gsize max = question->ask->max_bytes;

        g_string_append_len(log, data, (gssize)len);
        if (question->ask->tail_lines) {
                if (log->len / 2 >= max)
                        g_string_erase(log, 0, (gssize)(log->len - max));
                return true;
        }
        g_string_truncate(log, MIN(log->len, max));
        return log->len < max;
}

static bool on_log(const char *data, gsize len, void *arg)
{
        Question *question = arg;
        g_autoptr(GError) late = NULL;
        bool more = keep_log(question, data, len);

        if (more && g_get_monotonic_time() > question->until_us)
                err_set(&late, ERR_TIMEOUT, "the log of container '%s' of pod '%s' did not end within %d s",
                        question->ask->container, question->ask->name, LOG_MS / 1000);
        if (more && !late)
                return true;
        question->call = NULL; /* it ends by itself */
        answer_log(question, late);
        return false;
}

static void on_log_end(const KubeReply *reply, void *arg)
{
        Question *question = arg;

        question->call = NULL;
        answer_log(question, reply->error);
}

static void read_log(Question *question)
{
        const RuntimeAsk *ask = question->ask;
        bool tail = ask->tail_lines > 0;
        g_autofree char *base = kube_path(&kube_pods, ask->namespace, ask->name, "log");
        g_autofree char *limit = tail ? g_strdup_printf("%" G_GINT64_FORMAT, ask->tail_lines)
                                      : g_strdup_printf("%" G_GSIZE_FORMAT, ask->max_bytes);
        g_autoptr(GString) path = g_string_new(base);

        kube_query_add(path, "container", ask->container);
        kube_query_add(path, "timestamps", "true");
        kube_query_add(path, tail ? "tailLines" : "limitBytes", limit);
        question->log = g_string_new(NULL);
        question->until_us = g_get_monotonic_time() + LOG_MS * 1000L;
        question->call =
                kube_stream(question->asker->client, path->str, TIMEOUT_MS, on_log, on_log_end, question);
}

/* ---- all of them ---- */

/* In a path these would name another object. */
static bool is_dots(const char *name)
{
        return name && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0);
}

void asker_ask(Asker *asker, RuntimeAsk *ask)
{
        Question *question = g_new0(Question, 1);
        g_autoptr(GError) error = NULL;

        *question = (Question){ .asker = asker, .ask = ask };
        g_hash_table_add(asker->open, question);
        if (is_dots(ask->name) || is_dots(ask->namespace))
                err_set(&error, ERR_INVALID, "'%s' is no name",
                        is_dots(ask->name) ? ask->name : ask->namespace);
        if (error)
                answer(question, NULL, error);
        else if (ask->verb == ASK_LOG)
                read_log(question);
        else
                kube_kind_find(asker->client, ask->api_version, ask->kind, on_kind, question);
}

static void question_free(gpointer data)
{
        Question *question = data;

        if (question->call)
                kube_call_cancel(question->call);
        runtime_ask_free(question->ask);
        if (question->log)
                g_string_free(question->log, TRUE);
        g_free(question);
}

Asker *asker_new(KubeClient *client)
{
        Asker *asker = g_new0(Asker, 1);

        asker->client = client;
        asker->open = g_hash_table_new_full(NULL, NULL, question_free, NULL);
        return asker;
}

void asker_free(Asker *asker)
{
        if (!asker)
                return;
        g_hash_table_unref(asker->open);
        g_free(asker);
}
