/* A question is the kind's plural, asked of discovery, and one request (see asker.h). */
#include "runtime/kubernetes/asker.h"

#include "base/err.h"

enum { TIMEOUT_MS = 10000 };

struct Asker {
        KubeClient *client;
        GHashTable *open; /* set of Question */
};

typedef struct {
        Asker *asker;
        RuntimeAsk *ask;
        KubeCall *call; /* NULL: the kind is being found */
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
                                .timeout_ms = TIMEOUT_MS };

        if (kind && !kind->cluster_scoped && !ask->namespace && ask->verb != ASK_LIST)
                err_set(&missing, ERR_INVALID, "a %s has a namespace, and none is named", kind->kind);
        if (kind && !missing)
                question->call = kube_send(question->asker->client, &request, on_reply, question);
        else
                answer(question, NULL, missing ? missing : error);
}

void asker_ask(Asker *asker, RuntimeAsk *ask)
{
        Question *question = g_new0(Question, 1);

        *question = (Question){ asker, ask, NULL };
        g_hash_table_add(asker->open, question);
        kube_kind_find(asker->client, ask->api_version, ask->kind, on_kind, question);
}

static void question_free(gpointer data)
{
        Question *question = data;

        if (question->call)
                kube_call_cancel(question->call);
        runtime_ask_free(question->ask);
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
