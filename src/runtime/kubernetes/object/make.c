/* Creation of objects in order (see make.h). */
#include "runtime/kubernetes/object/make.h"

#include <malloc.h>
#include <string.h>

#include "base/backoff.h"
#include "base/err.h"
#include "base/json.h"
#include "base/timer.h"
#include "kube/status.h"
#include "podspec/objects.h"
#include "runtime/kubernetes/pod/gate.h"

enum {
        RETRY_MS = 1000,
        WAIT_MAX_MS = 10000, /* longest delay after a refusal that a person has to resolve */
        ACTIVE_MAX = 128,    /* makings in progress; twice the requests that a client has in flight */
        DENIED_MAX = 15,
        SETTLE_MAX = 60, /* tries in a new namespace until it can be used */
};

struct MakingRoom {
        GHashTable *first; /* key of an object that is being created -> Making */
        guint active;
        GQueue line;  /* Making; those that wait for a place */
        bool crowded; /* makings have waited */
        bool moving;  /* next_in_line is running */
};

struct Making {
        MakingConfig config;
        json_t *objects;
        char *text;      /* the objects as text while it waits; `objects` is NULL then */
        bool active;     /* it is in progress */
        bool in_doubt;   /* a try failed, but may have created the object */
        bool stood;      /* the previous object existed before */
        gsize at;        /* index of the object that is being created */
        gsize gate_at;   /* index of the gate; 0: it is not among the objects */
        int settling;    /* tries since the namespace was created; 0: it existed */
        int denied;      /* tries that were denied */
        Backoff wait_ms; /* after a refusal */
        char *uid;       /* of the first object */
        KubeCall *call;
        Timer *retry;
        char *key;     /* of an object that other makings need, too; or NULL */
        GQueue behind; /* Making; those that wait for this object */
        GQueue *in;    /* the queue that this making is in; or NULL */
        GList link;
};

static const KubeKind *const kinds[] = {
        &kube_services,    &kube_secrets,
        &kube_config_maps, &kube_stateful_sets,
        &kube_jobs,        &kube_paddle_jobs,
        &kube_tf_jobs,     &kube_pytorch_jobs,
        &kube_mpi_jobs,    &kube_spark_applications,
        &kube_pods,        &kube_network_policies,
};

static const KubeKind *kind_of(const json_t *object)
{
        const char *name = kube_get_text(object, "kind");

        for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
                if (strcmp(kinds[i]->kind, name) == 0)
                        return kinds[i];
        g_assert_not_reached();
}

static const char *namespace_of(const Making *making)
{
        return kube_namespace(json_array_get(making->objects, 0));
}

/* True for objects of the attempt. The gate is shared by all jobs. */
static bool is_owned(const json_t *object)
{
        return kind_of(object) != &kube_pods && kube_label(object, "paddle-job-id");
}

static bool has_owned(const Making *making)
{
        for (gsize i = 1; i < json_array_size(making->objects); i++)
                if (is_owned(json_array_get(making->objects, i)))
                        return true;
        return false;
}

/* ---- the gate ---- */

static const json_t *pod_spec_of(const json_t *object)
{
        const json_t *template = kube_get(object, "spec.template.spec");

        return template ? template : json_object_get(object, "spec");
}

static bool needs_gate(const json_t *objects)
{
        const json_t *object;
        gsize i;

        json_array_foreach(objects, i, object) {
                if (gate_is_used(pod_spec_of(object)))
                        return true;
        }
        return false;
}

static void add_gate(Making *making)
{
        const json_t *first = json_array_get(making->objects, 0);

        if (making->at > 0 || making->gate_at ||
            g_hash_table_contains(making->config.gates, kube_namespace(first)) ||
            !needs_gate(making->objects))
                return;
        json_array_insert_new(making->objects, 1, gate_config_map(kube_namespace(first)));
        making->gate_at = 1;
}

/* ---- trees and texts ---- */

/* Objects that wait may be nested deeper than input from outside may be. */
json_t *making_tree(const char *text)
{
        json_t *tree = json_loads(text, JSON_ALLOW_NUL, NULL);

        g_assert(tree); /* we wrote it */
        return tree;
}

/* As text it takes an eighth of the memory. */
static void fold(Making *making)
{
        if (making->text)
                return;
        making->text = json_format(making->objects);
        g_clear_pointer(&making->objects, json_decref);
}

static void unfold(Making *making)
{
        if (!making->text)
                return;
        making->objects = making_tree(making->text);
        g_clear_pointer(&making->text, g_free);
}

/* ---- one after the other ---- */

static void send(Making *making);
static void go_ahead(Making *making);
static void step_aside(Making *making);

static void on_retry(void *arg)
{
        go_ahead(arg);
}

/* It keeps its place: during an outage another making would not succeed, either. */
static void try_again_in(Making *making, gint64 ms)
{
        timer_set(&making->retry, making->config.context, ms, on_retry, making);
}

/* It gives up its place meanwhile, and so do the makings that wait for it. */
static void let_others_in(Making *making)
{
        step_aside(making);
        for (GList *at = making->behind.head; at; at = at->next)
                step_aside(at->data);
}

static void try_again(Making *making)
{
        backoff_reset(&making->wait_ms);
        try_again_in(making, RETRY_MS);
        let_others_in(making);
}

/* With growing delay: a person has to free quota, or to set a new credential. */
static void wait_for_better(Making *making, const GError *error)
{
        try_again_in(making, backoff_next(&making->wait_ms));
        let_others_in(making);
        making->config.waits(error, making->config.arg);
}

/* An API server that has just started denies everything for some seconds, and a new namespace has no
 * service account yet. Refusals by a policy or a quota stay. */
static bool is_new(Making *making, const GError *error)
{
        KubeRefusal refusal = kube_refusal(error->message);

        return err_is(error, ERR_DENIED) &&
               (refusal == KUBE_REFUSED_NO_RIGHT || refusal == KUBE_REFUSED_NO_DEFAULT) &&
               making->denied++ < DENIED_MAX;
}

/* A namespace that is being deleted is created again when it is gone. */
static bool is_of_ending_namespace(const GError *error)
{
        return err_is(error, ERR_DENIED) && kube_refusal(error->message) == KUBE_REFUSED_TERMINATING;
}

/* There was no answer; the request may have succeeded. */
static bool is_outage(const GError *error)
{
        return err_is(error, ERR_TIMEOUT) || err_is(error, ERR_UNREACHABLE);
}

/* Refused for now: a person has to resolve it. */
static bool is_refusal(const GError *error)
{
        return err_is(error, ERR_QUOTA) || err_is(error, ERR_UNAUTHENTICATED) ||
               err_is(error, ERR_UNAVAILABLE) || is_of_ending_namespace(error);
}

/* False: another try would fail as well. It may free the making. */
static bool put_off(Making *making, const GError *error)
{
        making->in_doubt |= is_outage(error) || err_is(error, ERR_UNAVAILABLE);
        if (is_refusal(error)) {
                wait_for_better(making, error);
        } else if (is_outage(error)) {
                backoff_reset(&making->wait_ms);
                try_again_in(making, RETRY_MS);
        } else if (is_new(making, error)) {
                try_again(making);
        } else {
                return false;
        }
        return true;
}

static void go_on(Making *making);
static void leave(Making *making);

static void finish(Making *making, const GError *error)
{
        leave(making);
        making->config.done(error, making->config.arg);
}

/* Makings that wait for the same object continue, or create it themselves. */
static void let_go(Making *making, bool made)
{
        GQueue behind = making->behind;
        Making *next;

        if (!making->key)
                return;
        g_hash_table_remove(making->config.room->first, making->key);
        g_clear_pointer(&making->key, g_free);
        g_queue_init(&making->behind);
        for (GList *at = behind.head; at; at = at->next)
                ((Making *)at->data)->in = &behind;
        while ((next = g_queue_peek_head(&behind))) {
                g_queue_unlink(&behind, &next->link);
                next->in = NULL;
                if (made)
                        go_on(next);
                else
                        go_ahead(next);
        }
}

static void go_on(Making *making)
{
        backoff_reset(&making->wait_ms);
        making->in_doubt = false;
        unfold(making);
        let_go(making, true);
        if (making->at > 0 && making->at == making->gate_at)
                g_hash_table_add(making->config.gates, g_strdup(namespace_of(making)));
        if (++making->at < json_array_size(making->objects))
                go_ahead(making);
        else
                finish(making, NULL);
}

/* The API server's message names the missing right, but not what it is needed for. */
static GError *why_no_secret(const Making *making, const GError *error)
{
        bool lacks_right = err_is(error, ERR_DENIED) && kube_refusal(error->message) == KUBE_REFUSED_NO_RIGHT;
        g_autofree char *hint = lacks_right
                                        ? g_strdup_printf("\nLet the account of the cluster create Secrets "
                                                          "in namespace '%s'.",
                                                          namespace_of(making))
                                        : NULL;
        GError *why = NULL;

        err_set(&why, error->code, "a Secret that the job needs cannot be created: %s%s", error->message,
                hint ? hint : "");
        return why;
}

static void fail(Making *making, const GError *error)
{
        const json_t *object = json_array_get(making->objects, making->at);
        g_autoptr(GError) why =
                kind_of(object) == &kube_secrets ? why_no_secret(making, error) : g_error_copy(error);

        finish(making, why);
}

/* True if there was no error. It may free the making. */
static bool passed(Making *making, const GError *error)
{
        if (!error)
                return true;
        if (!put_off(making, error))
                fail(making, error);
        return false;
}

/* The first object existed: its uid is needed. If it was deleted meanwhile, it is created again. */
static void on_found(const KubeReply *reply, void *arg)
{
        Making *making = arg;

        making->call = NULL;
        if (err_is(reply->error, ERR_NOT_FOUND)) {
                try_again(making);
        } else if (passed(making, reply->error)) {
                making->uid = g_strdup(kube_uid(reply->object));
                go_on(making);
        }
}

static void find_first(Making *making)
{
        const json_t *object = json_array_get(making->objects, 0);
        KubeRequest request = { .verb = KUBE_GET,
                                .kind = kind_of(object),
                                .namespace = kube_namespace(object),
                                .name = kube_name(object) };

        making->call = kube_send(making->config.client, &request, on_found, making);
}

/* ---- the namespace ---- */

static bool lacks_namespace(const KubeReply *reply)
{
        return reply->error && err_is(reply->error, ERR_NOT_FOUND) &&
               g_strcmp0(kube_get_text(reply->object, "details.kind"), "namespaces") == 0;
}

/* The service account of a new namespace appears a moment later. */
static bool is_settling(const Making *making, const GError *error)
{
        KubeRefusal refusal = error ? kube_refusal(error->message) : KUBE_REFUSED;

        return making->settling > 0 && making->settling < SETTLE_MAX &&
               (refusal == KUBE_REFUSED_NO_DEFAULT || refusal == KUBE_REFUSED_NO_ACCOUNT);
}

static void on_namespace_made(const KubeReply *reply, void *arg)
{
        Making *making = arg;
        g_autoptr(GError) error = NULL;

        making->call = NULL;
        if (!reply->error || err_is(reply->error, ERR_EXISTS)) {
                making->settling = 1;
                g_hash_table_remove(making->config.gates,
                                    namespace_of(making)); /* it was deleted with the old namespace */
                add_gate(making);
                send(making);
        } else if (!put_off(making, reply->error)) {
                err_set(&error, reply->error->code,
                        "there is no namespace '%s', and it cannot be created: %s", namespace_of(making),
                        reply->error->message);
                finish(making, error);
        }
}

static void make_namespace(Making *making)
{
        g_autoptr(json_t) body = podspec_object(&kube_namespaces, NULL, namespace_of(making), NULL);
        KubeRequest request = { .verb = KUBE_CREATE, .kind = &kube_namespaces, .body = body };

        podspec_label(body, "owner", "paddleflow");
        making->call = kube_send(making->config.client, &request, on_namespace_made, making);
}

/* ---- replies ---- */

static void on_made(const KubeReply *reply, void *arg)
{
        Making *making = arg;
        bool exists = reply->error && err_is(reply->error, ERR_EXISTS);

        making->call = NULL;
        making->stood = exists;
        if (is_settling(making, reply->error)) {
                making->settling++;
                try_again(making);
                return;
        }
        if (lacks_namespace(reply) && !making->settling) {
                make_namespace(making);
                return;
        }
        if (exists && making->at == 0 && has_owned(making)) {
                find_first(making);
        } else if (exists || passed(making, reply->error)) {
                if (making->at == 0 && !exists)
                        making->uid = g_strdup(kube_uid(reply->object));
                go_on(making);
        }
}

static void set_owner(const Making *making, json_t *object)
{
        const json_t *first = json_array_get(making->objects, 0);
        g_autofree char *version = kube_api_version(kind_of(first));

        json_object_set_new(json_object_get(object, "metadata"), "ownerReferences",
                            json_pack("[{s:s, s:s, s:s, s:s}]", "apiVersion", version, "kind",
                                      kube_get_text(first, "kind"), "name", kube_name(first), "uid",
                                      making->uid));
}

/* All pods of an attempt need the same service first. Makings with objects that the service owns need its
 * uid, so they create or find it themselves. */
static bool joins_another(Making *making, const json_t *object)
{
        g_autofree char *key = NULL;
        Making *first;

        if (kind_of(object) == &kube_pods || making->key || has_owned(making))
                return false;
        key = g_strjoin("/", kind_of(object)->plural, kube_namespace(object), kube_name(object), NULL);
        first = g_hash_table_lookup(making->config.room->first, key);
        if (!first) {
                making->key = g_steal_pointer(&key);
                g_hash_table_insert(making->config.room->first, making->key, making);
                return false;
        }
        making->in = &first->behind;
        g_queue_push_tail_link(making->in, &making->link);
        if (!first->active)
                step_aside(making);
        return true;
}

static void send(Making *making)
{
        json_t *object = json_array_get(making->objects, making->at);
        KubeRequest request = { .verb = KUBE_CREATE,
                                .kind = kind_of(object),
                                .namespace = kube_namespace(object),
                                .body = object };

        if (joins_another(making, object))
                return;
        if (making->at > 0 && is_owned(object))
                set_owner(making, object);
        making->call = kube_send(making->config.client, &request, on_made, making);
}

/* ---- the line ---- */

static void begin(Making *making)
{
        making->active = true;
        making->config.room->active++;
        unfold(making);
        add_gate(making);
        send(making);
}

static void line_up(Making *making)
{
        MakingRoom *room = making->config.room;

        fold(making);
        making->in = &room->line;
        g_queue_push_tail_link(making->in, &making->link);
        room->crowded = true;
}

/* Without a place it waits for one. */
static void go_ahead(Making *making)
{
        if (making->active)
                send(making);
        else if (making->config.room->active < ACTIVE_MAX)
                begin(making);
        else
                line_up(making);
}

/* Starts makings while there are places. One that is started may give its place back at once. */
static void next_in_line(MakingRoom *room)
{
        Making *making;

        if (room->moving)
                return;
        room->moving = true;
        while (room->active < ACTIVE_MAX && (making = g_queue_peek_head(&room->line))) {
                g_queue_unlink(&room->line, &making->link);
                making->in = NULL;
                begin(making);
        }
        room->moving = false;
        if (room->active == 0 && room->crowded) { /* returns the memory of thousands of makings */
                room->crowded = false;
                malloc_trim(0);
        }
}

static void give_place(Making *making)
{
        if (!making->active)
                return;
        making->active = false;
        making->config.room->active--;
        next_in_line(making->config.room);
}

static void step_aside(Making *making)
{
        fold(making);
        give_place(making);
}

/* It has ended, with or without success. */
static void leave(Making *making)
{
        let_go(making, false);
        give_place(making);
}

MakingRoom *making_room_new(void)
{
        MakingRoom *room = g_new0(MakingRoom, 1);

        room->first = g_hash_table_new(g_str_hash, g_str_equal);
        return room;
}

void making_room_free(MakingRoom *room)
{
        if (!room)
                return;
        g_hash_table_unref(room->first);
        g_free(room);
}

Making *making_new(const MakingConfig *config, json_t *objects)
{
        Making *making = g_new0(Making, 1);

        making->config = *config;
        making->link.data = making;
        making->objects = objects;
        making->wait_ms = (Backoff){ .first = RETRY_MS, .max = WAIT_MAX_MS };
        go_ahead(making);
        return making;
}

bool making_is_idle(const Making *making)
{
        return making->in || (making->retry && making->wait_ms.last > 0);
}

bool making_is_done(const Making *making)
{
        return making->objects && making->at >= json_array_size(making->objects);
}

bool making_stood(const Making *making)
{
        return making->stood;
}

bool making_is_in_doubt(const Making *making)
{
        return making->in_doubt;
}

void making_free(Making *making)
{
        if (!making)
                return;
        if (making->in)
                g_queue_unlink(making->in, &making->link);
        leave(making);
        if (making->call)
                kube_call_cancel(making->call);
        timer_clear(&making->retry);
        json_decref(making->objects);
        g_free(making->text);
        g_free(making->uid);
        g_free(making);
}
