/* A client of one Kubernetes API server. It belongs to one GMainContext: its functions are called on the
 * thread that runs it, and every callback arrives there. No function waits.
 *
 * A request ends in one call of its `done`, or in none when it was cancelled (kube_call_cancel,
 * kube_client_free). What the server answers with a Status becomes a typed error (the table is in status.c):
 *
 *     no reply                 ERR_UNREACHABLE, ERR_TIMEOUT, ERR_UNAVAILABLE (it broke off)
 *     400, 422                 ERR_INVALID
 *     401                      ERR_UNAUTHENTICATED
 *     403                      ERR_DENIED; "exceeded quota" in it: ERR_QUOTA
 *     4xx of a policy, webhook ERR_DENIED
 *     404                      ERR_NOT_FOUND
 *     409                      AlreadyExists ERR_EXISTS, else ERR_CONFLICT
 *     410, 413                 ERR_GONE, ERR_TOO_LARGE
 *     429, 5xx                 ERR_UNAVAILABLE (with retry_after_ms)
 *     else                     ERR_FAILED
 *
 * Reads (GET) are repeated by the client after 429, 502, 503, 504 and broken connections, with back-off, at
 * most `retries` times; writes only when they certainly did not arrive (429, or no connection). One thing is
 * done by libcurl itself: it sends a request, also a write, again if a kept connection was closed without a byte
 * of reply. So a create may answer ERR_EXISTS for its own object. After a 401, exec and file credentials are read
 * again, once. Rate: a token bucket over all requests (watches count when they open). Waiting requests keep their
 * order, except that lists and watches of caches come first, and requests in the background last. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "kube/config.h"
#include "kube/kind.h"

typedef struct KubeClient KubeClient;

typedef struct {
        GMainContext *context; /* NULL: the default one */
        const char *agent;     /* User-Agent */
        double rate;           /* average requests per second, 0: 500 */
        int burst;             /* 0: 1000 */
        int max_in_flight;     /* without watches, 0: 64 */
        gint64 timeout_ms;     /* for one attempt of a request, 0: 30 s */
        int retries;           /* 0: 5; -1: none */
        gsize body_max;        /* bytes of one reply in memory, 0: 256 MiB */
} KubeClientOptions;

/* Does not connect yet. ERR_INVALID for an unusable config (keys that do not parse, no libcurl). */
KubeClient *kube_client_new(const KubeConfig *config, const KubeClientOptions *options, GError **error);
void kube_client_free(KubeClient *client); /* cancels everything */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(KubeClient, kube_client_free)

typedef enum { KUBE_GET, KUBE_LIST, KUBE_CREATE, KUBE_REPLACE, KUBE_PATCH, KUBE_DELETE, KUBE_VERBS } KubeVerb;
typedef enum { PATCH_MERGE, PATCH_JSON, PATCH_STRATEGIC, PATCH_APPLY } KubePatch;

/* All borrowed for the call; `body` is formatted immediately. */
typedef struct {
        KubeVerb verb;
        const KubeKind *kind;
        const char *namespace, *name, *subresource;
        const json_t *body; /* CREATE, REPLACE, PATCH; DELETE: DeleteOptions or NULL */
        KubePatch patch;
        const char *field_manager;                   /* PATCH_APPLY needs one */
        bool force;                                  /* PATCH_APPLY: takes fields over from other managers */
        const char *label_selector, *field_selector; /* LIST */
        int limit;                                   /* LIST: page size; 0: all at once */
        const char *resume;                          /* LIST: `continue` of the previous page */
        const char *resource_version; /* LIST, GET; NULL: the newest; "0": any version that the server has */
        const char *delete_uid;       /* DELETE: only the object with this uid */
        const char *propagation;      /* DELETE: "Background" (default), "Foreground", "Orphan" */
        gint64 grace_seconds;         /* DELETE: -1: the object's own; used only with has_grace, else -1 */
        bool has_grace;
        const char *path;  /* instead of kind, namespace, name: a raw path (GET only), such as "/version" */
        gint64 timeout_ms; /* 0: the client's */
        bool background;   /* low priority: such requests use at most an eighth of max_in_flight, and others
                              overtake them */
} KubeRequest;

typedef struct {
        int status;            /* HTTP; 0: no reply */
        const char *reason;    /* of the Status ("AlreadyExists", "Expired"), or "" */
        gint64 retry_after_ms; /* -1: not given */
        json_t *object;   /* object, list or Status; borrowed: json_incref to keep; NULL if the reply is not
                             JSON */
        const char *text; /* text of a reply that is not JSON (logs, /healthz), or NULL */
        gsize text_len;
        const GError *error; /* NULL: success */
} KubeReply;

typedef void (*KubeDone)(const KubeReply *reply, void *arg);
typedef struct KubeCall KubeCall;

/* Sends a request. The handle is valid until `done` returns or the call is cancelled. Never NULL. `done` is
 * never called from within kube_send. */
KubeCall *kube_send(KubeClient *client, const KubeRequest *request, KubeDone done, void *arg);
void kube_call_cancel(KubeCall *call);

/* A streamed reply: watches, logs, lists that are read item by item. `data` gets the body piece by piece (2xx
 * only). Its first call means that the server has accepted, and may bring no bytes yet (len 0). Then `end` is
 * called once: reply->error is NULL at the ordinary end of the stream, `object` is the Status of a refusal.
 * `end` is not called after `data` returned false or after kube_call_cancel. `idle_ms`: silence after which
 * the stream counts as broken (half-closed connections), 0: none. The client never repeats a stream: the
 * caller knows where to resume. */
typedef bool (*KubeData)(const char *data, gsize len, void *arg); /* false: end the stream */
typedef KubeDone KubeEnd;
KubeCall *kube_stream(KubeClient *client, const char *path_and_query, gint64 idle_ms, KubeData data,
                      KubeEnd end, void *arg);

/* Finds the kinds that the server offers, by discovery, cached for 3 minutes. A cached answer is given from
 * within the call. Calls that wait when the client is freed get no answer. `done` gets the kind (borrowed for
 * the client's life), or NULL with ERR_NOT_FOUND ("the cluster serves no 'PaddleJob' of
 * 'batch.paddlepaddle.org/v1'"). */
typedef void (*KubeKindDone)(const KubeKind *kind, const GError *error, void *arg);
void kube_kind_find(KubeClient *client, const char *api_version, const char *kind, KubeKindDone done,
                    void *arg);

/* Figures for /metrics (rest_client_requests_total by code and method) and for tests. */
typedef struct {
        guint64 requests[KUBE_VERBS][6]; /* by KubeVerb, and by first digit of the status (0: no reply) */
        guint64 retries, waiting, in_flight, streams;
} KubeClientFigures;
void kube_client_figures(const KubeClient *client, KubeClientFigures *ret);
