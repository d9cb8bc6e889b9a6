/* Objects whose pods are missing (see overdue.h). */
#include "runtime/kubernetes/cluster/overdue.h"

#include "base/backoff.h"
#include "base/err.h"
#include "base/timer.h"
#include "runtime/kubernetes/object/names.h"
#include "runtime/kubernetes/pod/member.h"

enum {
        LOOK_MS = 3000,
        LOOK_MAX_MS = 60000, /* longest delay between looks at objects without an operator */
        PATIENCE = 4,        /* looks at an object without a status, until its operator counts as missing */
};

typedef struct {
        Overdue *overdue;
        const Form *form;
        char *namespace, *name;
        Names tasks; /* those that had no pod at the last look */
        int silent;  /* looks */
        Backoff look_ms;
        KubeCall *call;
        Timer *timer;
} Watch;

struct Overdue {
        OverdueConfig config;
        GHashTable *watches; /* "NAMESPACE/NAME" -> Watch */
};

static void watch_free(gpointer data)
{
        Watch *watch = data;

        if (watch->call)
                kube_call_cancel(watch->call);
        timer_clear(&watch->timer);
        names_clear(&watch->tasks);
        g_free(watch->namespace);
        g_free(watch->name);
        g_free(watch);
}

/* ---- reports ---- */

static void tell_wait(Watch *watch, const char *why)
{
        const OverdueConfig *config = &watch->overdue->config;
        g_autofree char *text =
                g_strdup_printf("%s '%s' is %s", form_kind(watch->form)->kind, watch->name, why);

        for (guint i = 0; i < watch->tasks.list->len; i++)
                config->waits(watch->tasks.list->pdata[i], text, config->arg);
}

static void tell_silence(Watch *watch)
{
        const OverdueConfig *config = &watch->overdue->config;
        const char *kind = form_kind(watch->form)->kind;
        g_autofree char *text = g_strdup_printf(
                "the operator of %ss does not answer: %s '%s' exists, but no operator has started it\n"
                "See that %s runs on the cluster, or %s.",
                kind, kind, watch->name, form_operator(watch->form), form_instead(watch->form));

        for (guint i = 0; i < watch->tasks.list->len; i++)
                config->waits(watch->tasks.list->pdata[i], text, config->arg);
}

/* The object has failed or is gone: its tasks end. Frees the watch. */
static void tell_end(Watch *watch, const char *why, bool lost)
{
        const OverdueConfig *config = &watch->overdue->config;
        g_autoptr(GPtrArray) tasks = g_ptr_array_ref(watch->tasks.list);
        g_autofree char *key = g_strdup_printf("%s/%s", watch->namespace, watch->name);
        g_autofree char *text = g_strdup_printf("%s '%s' %s", form_kind(watch->form)->kind, watch->name, why);

        g_hash_table_remove(watch->overdue->watches, key);
        for (guint i = 0; i < tasks->len; i++)
                config->failed(tasks->pdata[i], text, lost, config->arg);
}

/* Tells the tasks whose pods are gone for good. */
static void tell_lost(const Watch *watch, const json_t *object)
{
        const OverdueConfig *config = &watch->overdue->config;
        g_autofree char *text =
                g_strdup_printf("its pod was deleted before the server saw it, and %s '%s' creates no other",
                                form_kind(watch->form)->kind, watch->name);

        for (guint i = 0; i < watch->tasks.list->len; i++)
                if (form_is_over(watch->form, object, watch->tasks.list->pdata[i]))
                        config->failed(watch->tasks.list->pdata[i], text, true, config->arg);
}

/* ---- looking ---- */

static void look_later(Watch *watch);

static void take_word(Watch *watch, const json_t *object)
{
        g_autofree char *said = NULL;
        FormWord word;

        if (form_ends_pods(watch->form)) {
                tell_lost(watch, object);
                look_later(watch);
                return;
        }
        word = form_says(form_kind(watch->form), object, &said);
        watch->silent = word == FORM_SILENT ? watch->silent + 1 : 0;
        if (word == FORM_FAILED) {
                tell_end(watch, said, false);
                return;
        }
        if (word == FORM_WAITS)
                tell_wait(watch, said);
        else if (watch->silent >= PATIENCE)
                tell_silence(watch);
        look_later(watch);
}

static void on_object(const KubeReply *reply, void *arg)
{
        Watch *watch = arg;

        watch->call = NULL;
        if (err_is(reply->error, ERR_NOT_FOUND))
                tell_end(watch, "was deleted", true);
        else if (reply->error)
                look_later(watch);
        else
                take_word(watch, reply->object);
}

static void look(void *arg)
{
        Watch *watch = arg;
        KubeRequest request = { .verb = KUBE_GET,
                                .kind = form_kind(watch->form),
                                .namespace = watch->namespace,
                                .name = watch->name };

        names_keep(&watch->tasks, watch->overdue->config.lacks, watch->overdue->config.arg);
        if (watch->tasks.list->len > 0) {
                watch->call = kube_send(watch->overdue->config.client, &request, on_object, watch);
        } else {
                g_autofree char *key = g_strdup_printf("%s/%s", watch->namespace, watch->name);

                g_hash_table_remove(watch->overdue->watches, key);
        }
}

static void look_later(Watch *watch)
{
        timer_set(&watch->timer, watch->overdue->config.context, backoff_next(&watch->look_ms), look, watch);
}

/* ---- the doors ---- */

static bool is_awaited(const Watch *watch, const char *task)
{
        g_autofree char *role = member_role(task);

        return !form_is_passing(form_kind(watch->form), role);
}

static void add_tasks(Watch *watch, const GPtrArray *tasks)
{
        for (guint i = 0; i < tasks->len; i++)
                if (is_awaited(watch, tasks->pdata[i]))
                        names_add(&watch->tasks, tasks->pdata[i]);
}

void overdue_watch(Overdue *overdue, const Form *form, const char *namespace, const GPtrArray *tasks)
{
        g_autofree char *name = form_object_name(form_kind(form), tasks->pdata[0]);
        g_autofree char *key = g_strdup_printf("%s/%s", namespace, name);
        Watch *watch = g_hash_table_lookup(overdue->watches, key);

        if (watch)
                add_tasks(watch, tasks);
        if (watch || (!form_operator(form) && !form_ends_pods(form)))
                return;
        watch = g_new0(Watch, 1);
        *watch = (Watch){ .overdue = overdue,
                          .form = form,
                          .look_ms = { .first = LOOK_MS, .max = form_operator(form) ? LOOK_MS : LOOK_MAX_MS },
                          .namespace = g_strdup(namespace),
                          .name = g_steal_pointer(&name) };
        names_init(&watch->tasks);
        add_tasks(watch, tasks);
        g_hash_table_insert(overdue->watches, g_steal_pointer(&key), watch);
        look_later(watch);
}

Overdue *overdue_new(const OverdueConfig *config)
{
        Overdue *overdue = g_new0(Overdue, 1);

        overdue->config = *config;
        overdue->watches = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, watch_free);
        return overdue;
}

void overdue_free(Overdue *overdue)
{
        if (!overdue)
                return;
        g_hash_table_unref(overdue->watches);
        g_free(overdue);
}
