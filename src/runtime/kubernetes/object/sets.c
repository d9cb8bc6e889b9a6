/* Sets (see sets.h).
 *
 *   being created ─▶ created ─▶ (not tracked any more: its pods tell the rest)
 *        └──────────────┴─────▶ being deleted: DELETE with its pods orphaned, repeated until it succeeds
 *
 * The controller of StatefulSets watches sets and pods separately. It may see the end of a pod before it sees
 * the deletion of its set, and then it recreates the pod. So the DELETE is repeated until a reply shows
 * that the controller has seen the deletion, or that the set is gone: the garbage collector removes it, and
 * reads the same cache as that controller. Only then are pods deleted. A GET would show the same, but needs
 * another right.
 *
 * A set whose creation is in progress is created before it is deleted, because the API server may handle two
 * requests in either order. */
#include "runtime/kubernetes/object/sets.h"

#include <string.h>

#include "base/backoff.h"
#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "base/timer.h"
#include "runtime/kubernetes/object/names.h"

enum {
        RETRY_MS = 1000,
        RETRY_MAX_MS = 30000,
        LOOK_MS = 20, /* until the first look whether the controller has seen the deletion; doubles */
        LOOK_MAX_MS = 1000,
        UNSEEN_US = 10 * G_USEC_PER_SEC, /* then pods are deleted anyway: the controller may be down */
};

typedef struct {
        Sets *sets;
        char *name, *namespace;
        const Form *form;
        Names tasks; /* its members */
        Making *making;
} Set;

typedef struct {
        Sets *sets;
        char *name, *namespace;
        Names tasks;               /* to be told */
        const KubeKind *only;      /* or NULL */
        const KubeKind *const *at; /* the kind that is tried */
        KubeCall *call;
        Backoff retry_ms; /* after an error */
        Backoff look_ms;  /* until the next look whether the controller has seen the deletion */
        gint64 unseen_us; /* when it was first found that it had not; 0: not yet */
        Timer *retry;
} Drop;

struct Sets {
        SetsConfig config;
        GHashTable *sets;  /* name -> Set */
        GHashTable *drops; /* name -> Drop */
};

/* ---- creating ---- */

static void set_free(gpointer data)
{
        Set *set = data;

        making_free(set->making);
        names_clear(&set->tasks);
        g_free(set->namespace);
        g_free(set->name);
        g_free(set);
}

static void start_drop(Drop *drop);

/* The cluster may lack the kind of an operator's object. */
static GError *why_refused(const Form *form, const GError *error)
{
        const KubeKind *kind = form_kind(form);
        GError *why = NULL;

        if (!form_operator(form) || !err_is(error, ERR_NOT_FOUND))
                return g_error_copy(error);
        err_set(&why, ERR_NOT_FOUND,
                "the cluster has no %ss (%s/%s): there is no CustomResourceDefinition '%s.%s'\n"
                "Install %s there, or %s.",
                kind->kind, kind->group, kind->version, kind->plural, kind->group, form_operator(form),
                form_instead(form));
        return why;
}

static void tell_refused(Sets *sets, const Form *form, const GPtrArray *tasks, const GError *error)
{
        g_autoptr(GError) why = why_refused(form, error);

        for (guint i = 0; i < tasks->len; i++)
                sets->config.failed(tasks->pdata[i], why, sets->config.arg);
}

static void on_made(const GError *error, void *arg)
{
        Set *set = arg;
        Sets *sets = set->sets;
        const Form *form = set->form;
        Drop *drop = g_hash_table_lookup(sets->drops, set->name);
        g_autoptr(GPtrArray) tasks = g_ptr_array_ref(set->tasks.list);
        g_autofree char *namespace = g_strdup(set->namespace);
        bool stood = making_stood(set->making);

        g_hash_table_remove(sets->sets, set->name);
        if (drop)
                start_drop(drop);
        else if (error)
                tell_refused(sets, form, tasks, error);
        else if (sets->config.made)
                sets->config.made(form, namespace, tasks, stood, sets->config.arg);
}

static void on_waits(const GError *error, void *arg)
{
        const Set *set = arg;
        const SetsConfig *config = &set->sets->config;
        Drop *drop = g_hash_table_lookup(set->sets->drops, set->name);
        g_autoptr(GPtrArray) tasks = g_ptr_array_ref(set->tasks.list);

        if (drop) { /* the set is not wanted any more */
                g_hash_table_remove(set->sets->sets, set->name);
                start_drop(drop);
                return;
        }
        for (guint i = 0; i < tasks->len; i++)
                config->waits(tasks->pdata[i], error, config->arg);
}

void sets_make(Sets *sets, const SetsStart *start)
{
        g_autofree char *name = form_object_name(form_kind(start->form), start->tasks[0]);
        MakingConfig config = { .client = sets->config.client,
                                .context = sets->config.context,
                                .room = sets->config.room,
                                .gates = sets->config.gates,
                                .done = on_made,
                                .waits = on_waits };
        Set *set;

        if (g_hash_table_contains(sets->sets, name)) {
                json_decref(start->objects);
                return;
        }
        config.arg = set = g_new0(Set, 1);
        set->sets = sets;
        set->name = g_steal_pointer(&name);
        set->form = start->form;
        set->namespace = g_strdup(start->namespace);
        names_init(&set->tasks);
        for (const char *const *task = start->tasks; *task; task++)
                names_add(&set->tasks, *task);
        g_hash_table_insert(sets->sets, set->name, set);
        set->making = making_new(&config, start->objects);
}

/* The set being created for the task; NULL: none. */
static const Set *set_of(const Sets *sets, const char *task)
{
        for (const KubeKind *const *kind = form_kinds; *kind; kind++) {
                g_autofree char *name = form_object_name(*kind, task);
                const Set *set = g_hash_table_lookup(sets->sets, name);

                if (set && names_has(&set->tasks, task))
                        return set;
        }
        return NULL;
}

bool sets_has(const Sets *sets, const char *task)
{
        return set_of(sets, task) != NULL;
}

/* ---- deleting ---- */

static void drop_free(gpointer data)
{
        Drop *drop = data;

        if (drop->call)
                kube_call_cancel(drop->call);
        timer_clear(&drop->retry);
        names_clear(&drop->tasks);
        g_free(drop->namespace);
        g_free(drop->name);
        g_free(drop);
}

static void finish_drop(Drop *drop)
{
        Sets *sets = drop->sets;
        g_autoptr(GPtrArray) tasks = g_ptr_array_ref(drop->tasks.list);

        g_hash_table_remove(sets->drops, drop->name);
        for (guint i = 0; i < tasks->len; i++)
                sets->config.dropped(tasks->pdata[i], sets->config.arg);
}

static void send_drop(Drop *drop);

static void on_retry(void *arg)
{
        send_drop(arg);
}

static void send_later(Drop *drop, gint64 ms)
{
        timer_set(&drop->retry, drop->sets->config.context, ms, on_retry, drop);
}

/* True while the controller may recreate pods, for at most UNSEEN_US. */
static bool waits_for_controller(Drop *drop, const json_t *reply)
{
        gint64 now = g_get_monotonic_time();

        if (!form_remakes(drop->only ? drop->only : *drop->at, reply))
                return false;
        if (!drop->unseen_us)
                drop->unseen_us = now;
        if (now - drop->unseen_us < UNSEEN_US)
                return true;
        log_warning(
                "the controller of a StatefulSet has not seen its deletion: its pods are deleted now, and "
                "may be recreated until it has",
                "name", drop->name, NULL);
        return false;
}

/* If the account may not delete a kind, it has created no object of it. */
static bool is_absent(const Drop *drop, const GError *error)
{
        return err_is(error, ERR_NOT_FOUND) || (!drop->only && err_is(error, ERR_DENIED));
}

static void on_dropped(const KubeReply *reply, void *arg)
{
        Drop *drop = arg;

        drop->call = NULL;
        if (reply->error && !is_absent(drop, reply->error)) {
                if (!drop->retry_ms.last)
                        log_warning("the object that creates the pods of a role cannot be deleted, retrying",
                                    "name", drop->name, "reason", reply->error->message, NULL);
                send_later(drop, backoff_next(&drop->retry_ms));
        } else if (waits_for_controller(drop, reply->object)) {
                send_later(drop, backoff_next(&drop->look_ms));
        } else if (drop->only || !*++drop->at) {
                finish_drop(drop);
        } else {
                send_drop(drop);
        }
}

static void send_drop(Drop *drop)
{
        const KubeKind *kind = drop->only ? drop->only : *drop->at;
        g_autofree char *name = form_object_name(kind, drop->tasks.list->pdata[0]);
        KubeRequest request = { .verb = KUBE_DELETE,
                                .kind = kind,
                                .namespace = drop->namespace,
                                .name = name,
                                .propagation = form_propagation(kind) };

        drop->call = kube_send(drop->sets->config.client, &request, on_dropped, drop);
}

static void start_drop(Drop *drop)
{
        drop->at = form_kinds;
        send_drop(drop);
}

static Drop *drop_new(Sets *sets, const char *name, const char *namespace, const KubeKind *only)
{
        Drop *drop = g_new0(Drop, 1);

        drop->sets = sets;
        drop->name = g_strdup(name);
        drop->namespace = g_strdup(namespace);
        drop->only = only;
        drop->retry_ms = (Backoff){ .first = RETRY_MS, .max = RETRY_MAX_MS };
        drop->look_ms = (Backoff){ .first = LOOK_MS, .max = LOOK_MAX_MS };
        names_init(&drop->tasks);
        g_hash_table_insert(sets->drops, drop->name, drop);
        return drop;
}

void sets_drop(Sets *sets, const char *task, const char *namespace, const KubeKind *kind)
{
        const Set *set = set_of(sets, task);
        const KubeKind *only = set ? form_kind(set->form) : kind;
        g_autofree char *name = form_object_name(only ? only : form_kinds[0], task);
        Drop *drop = g_hash_table_lookup(sets->drops, name);
        bool known = drop != NULL, making = set && set->making && !making_is_idle(set->making);

        if (!known)
                drop = drop_new(sets, name, namespace, only);
        names_add(&drop->tasks, task);
        if (known)
                return;
        if (!making)
                start_drop(drop);
        if (set && !making)
                g_hash_table_remove(sets->sets, name);
}

Sets *sets_new(const SetsConfig *config)
{
        Sets *sets = g_new0(Sets, 1);

        sets->config = *config;
        sets->sets = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, set_free);
        sets->drops = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, drop_free);
        return sets;
}

void sets_free(Sets *sets)
{
        if (!sets)
                return;
        g_hash_table_unref(sets->sets);
        g_hash_table_unref(sets->drops);
        g_free(sets);
}
