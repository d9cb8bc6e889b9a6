/* Takes finalizers off jobs (see wipe.h). In rounds: the jobs are listed page by page, each that has the
 * finalizer is patched, and the next page is asked for when the last patch of this one has been answered. A
 * round without a failure is the last. */
#include "operator/wipe.h"

#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "base/timer.h"
#include "operator/paddlejob.h"

enum { PAGE = 500, AGAIN_MS = 500 };

typedef struct {
        Wipe *wipe;
        KubeCall *call;
} Strip;

struct Wipe {
        KubeClient *client;
        char *namespace, *resume;
        KubeCall *list;    /* or NULL */
        GPtrArray *strips; /* Strip *, under way */
        Timer *timer;
        bool failed;
        void (*done)(void *arg);
        void *arg;
};

static void send_list(Wipe *wipe);

static void on_again(void *arg)
{
        send_list(arg);
}

static void end_round(Wipe *wipe)
{
        if (wipe->failed) {
                wipe->failed = false;
                g_clear_pointer(&wipe->resume, g_free);
                timer_set(&wipe->timer, NULL, AGAIN_MS, on_again, wipe);
                return;
        }
        log_info("no job has a finalizer of this operator any more", NULL);
        wipe->done(wipe->arg);
}

static void end_page(Wipe *wipe)
{
        if (wipe->strips->len > 0)
                return;
        if (wipe->resume && *wipe->resume && !wipe->failed)
                send_list(wipe);
        else
                end_round(wipe);
}

static void strip_free(void *data)
{
        Strip *strip = data;

        if (strip->call)
                kube_call_cancel(strip->call);
        g_free(strip);
}

static void on_stripped(const KubeReply *reply, void *arg)
{
        Strip *strip = arg;
        Wipe *wipe = strip->wipe;

        strip->call = NULL;
        if (reply->error && !err_is(reply->error, ERR_NOT_FOUND)) {
                wipe->failed = true;
                log_warning("a job keeps its finalizer for now, trying again", "error", reply->error->message,
                            NULL);
        }
        g_ptr_array_remove_fast(wipe->strips, strip); /* frees it */
        end_page(wipe);
}

/* Removes the finalizer by its index, after a test of its value: if it is gone by then, no other is removed.
 * */
static json_t *make_patch(const json_t *job)
{
        const json_t *list = kube_get(job, "metadata.finalizers"), *item;
        size_t i;

        json_array_foreach(list, i, item) {
                g_autofree char *path = g_strdup_printf("/metadata/finalizers/%zu", i);

                if (g_strcmp0(json_string_value(item), JOB_FINALIZER) == 0)
                        return json_pack("[{s:s, s:s, s:s}, {s:s, s:s}]", "op", "test", "path", path, "value",
                                         JOB_FINALIZER, "op", "remove", "path", path);
        }
        return NULL;
}

static void strip_job(Wipe *wipe, const json_t *job)
{
        g_autoptr(json_t) patch = make_patch(job);
        Strip *strip;

        if (!patch)
                return;
        strip = g_new0(Strip, 1);
        strip->wipe = wipe;
        g_ptr_array_add(wipe->strips, strip);
        strip->call = kube_send(wipe->client,
                                &(KubeRequest){ .verb = KUBE_PATCH,
                                                .kind = &kube_paddle_jobs,
                                                .namespace = kube_namespace(job),
                                                .name = kube_name(job),
                                                .patch = PATCH_JSON,
                                                .body = patch },
                                on_stripped, strip);
}

static void on_listed(const KubeReply *reply, void *arg)
{
        Wipe *wipe = arg;
        const json_t *job;
        size_t i;

        wipe->list = NULL;
        g_clear_pointer(&wipe->resume, g_free);
        if (reply->error && !err_is(reply->error, ERR_NOT_FOUND)) { /* not found: the kind itself has gone */
                wipe->failed = true;
                log_warning("jobs could not be listed, trying again", "error", reply->error->message, NULL);
        } else if (!reply->error) {
                wipe->resume = g_strdup(kube_get_text(reply->object, "metadata.continue"));
                json_array_foreach(json_object_get(reply->object, "items"), i, job)
                        strip_job(wipe, job);
        }
        end_page(wipe);
}

static void send_list(Wipe *wipe)
{
        wipe->list = kube_send(wipe->client,
                               &(KubeRequest){ .verb = KUBE_LIST,
                                               .kind = &kube_paddle_jobs,
                                               .namespace = wipe->namespace,
                                               .limit = PAGE,
                                               .resume = wipe->resume },
                               on_listed, wipe);
}

Wipe *wipe_new(KubeClient *client, const char *namespace, void (*done)(void *arg), void *arg)
{
        Wipe *wipe = g_new0(Wipe, 1);

        wipe->client = client;
        wipe->namespace = g_strdup(namespace);
        wipe->strips = g_ptr_array_new_with_free_func(strip_free);
        wipe->done = done;
        wipe->arg = arg;
        send_list(wipe);
        return wipe;
}

void wipe_free(Wipe *wipe)
{
        if (!wipe)
                return;
        if (wipe->list)
                kube_call_cancel(wipe->list);
        timer_clear(&wipe->timer);
        g_ptr_array_unref(wipe->strips);
        g_free(wipe->namespace);
        g_free(wipe->resume);
        g_free(wipe);
}
