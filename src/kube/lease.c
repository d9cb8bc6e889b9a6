/* Leader election on a Lease (see lease.h), by the rules of client-go's leaderelection, so that both may compete
 * for the same lease.
 *
 * The clock of another holder does not matter: a lease is free when its record has not changed for its
 * duration by our own monotonic clock. A holder counts from the moment it sent the renewal that succeeded, so
 * it gives up before another process can begin. */
#include "kube/lease.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "base/timer.h"
#include "kube/internal.h"

enum { DURATION_MS = 15000, RENEW_DEADLINE_MS = 10000, RETRY_MS = 2000 };

struct KubeLease {
        KubeClient *client;
        KubeLeaseConfig config;
        char *namespace, *name, *identity;
        Timer *timer;    /* the next try */
        Timer *deadline; /* of the renewal */
        KubeCall *call;
        json_t *record; /* the lease as we last saw or wrote it; NULL: to be read */
        char *seen;     /* of the record: holder and times */
        gint64 seen_ms; /* when that record was first seen; monotonic */
        gint64 sent_ms; /* the request under way; monotonic */
        bool writing;   /* the request under way may make it ours */
        bool held;
        bool again; /* the release was refused once */
        void (*released)(void *arg);
        void *released_arg;
};

void kube_lease_free(KubeLease *lease)
{
        if (!lease)
                return;
        kube_call_cancel(lease->call);
        timer_clear(&lease->timer);
        timer_clear(&lease->deadline);
        json_decref(lease->record);
        g_free(lease->seen);
        g_free(lease->namespace);
        g_free(lease->name);
        g_free(lease->identity);
        g_free(lease);
}

bool kube_lease_is_held(const KubeLease *lease)
{
        return lease->held;
}

static void lose(KubeLease *lease)
{
        if (!lease->held)
                return;
        lease->held = false;
        timer_clear(&lease->deadline);
        if (lease->config.lost)
                lease->config.lost(lease->config.arg); /* may free it: nothing after that */
}

/* ---- What a record says ---- */

static const char *holder_of(const json_t *record)
{
        const char *holder = kube_get_text(record, "spec.holderIdentity");

        return holder ? holder : "";
}

static bool is_ours(const KubeLease *lease)
{
        return strcmp(holder_of(lease->record), lease->identity) == 0;
}

static void observe(KubeLease *lease, json_t *record)
{
        const json_t *spec = json_object_get(record, "spec");
        g_autofree char *says = spec ? json_format(spec) : g_strdup("");

        json_decref(lease->record);
        lease->record = json_incref(record);
        if (g_strcmp0(says, lease->seen) == 0)
                return;
        g_free(lease->seen);
        lease->seen = g_steal_pointer(&says);
        lease->seen_ms = clock_monotonic_ms();
}

static gint64 duration_of(const KubeLease *lease)
{
        gint64 seconds = kube_get_int(lease->record, "spec.leaseDurationSeconds", 0);

        return seconds > 0 && seconds < 86400 ? seconds * 1000 : lease->config.duration_ms;
}

static bool is_free(const KubeLease *lease)
{
        return !*holder_of(lease->record) || clock_monotonic_ms() - lease->seen_ms >= duration_of(lease);
}

static void on_timer(void *arg);
static void on_deadline(void *arg);

static void look_in(KubeLease *lease, gint64 ms)
{
        timer_set(&lease->timer, kube_client_context(lease->client), ms, on_timer, lease);
}

/* A candidate looks twice as often as the holder writes. So it knows soon when the holder last wrote, and
 * when that will be too long ago. Candidates look at different times. */
static void try_later(KubeLease *lease)
{
        gint64 retry_ms = lease->config.retry_ms;

        if (!lease->held) {
                gint64 left_ms =
                        lease->record ? lease->seen_ms + duration_of(lease) - clock_monotonic_ms() : 0;

                retry_ms /= 2;
                if (left_ms > 0)
                        retry_ms = MIN(retry_ms, left_ms);
                retry_ms += (gint64)((double)lease->config.retry_ms * 0.1 * g_random_double());
        }
        look_in(lease, retry_ms);
}

/* ---- Writing ---- */

static json_t *new_record(const KubeLease *lease, const char *holder, gint64 duration_s)
{
        json_t *record = lease->record ? json_deep_copy(lease->record)
                                       : json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion",
                                                   "coordination.k8s.io/v1", "kind", "Lease", "metadata",
                                                   "name", lease->name, "namespace", lease->namespace);
        g_autofree char *now = kube_time_format(clock_now_ms(), true);
        gint64 transitions = kube_get_int(record, "spec.leaseTransitions", 0);
        json_t *spec = json_object_get(record, "spec");

        if (!json_is_object(spec)) {
                spec = json_object();
                json_object_set_new(record, "spec", spec);
        }
        if (!lease->record || !is_ours(lease)) {
                json_object_set_new(spec, "acquireTime", json_string(now));
                json_object_set_new(spec, "leaseTransitions", json_integer(transitions + !!lease->record));
        }
        json_object_set_new(spec, "holderIdentity", json_string(holder));
        json_object_set_new(spec, "leaseDurationSeconds", json_integer(duration_s));
        json_object_set_new(spec, "renewTime", json_string(now));
        return record;
}

static void send_record(KubeLease *lease, const json_t *record, KubeDone done)
{
        KubeRequest request = { .verb = lease->record ? KUBE_REPLACE : KUBE_CREATE,
                                .kind = &kube_leases,
                                .namespace = lease->namespace,
                                .name = lease->record ? lease->name : NULL,
                                .body = record,
                                .timeout_ms = lease->config.renew_deadline_ms / 2 };

        lease->sent_ms = clock_monotonic_ms();
        lease->writing = true;
        lease->call = kube_send(lease->client, &request, done, lease);
}

static void read_record(KubeLease *lease, KubeDone done)
{
        KubeRequest request = { .verb = KUBE_GET,
                                .kind = &kube_leases,
                                .namespace = lease->namespace,
                                .name = lease->name,
                                .timeout_ms = lease->config.renew_deadline_ms / 2 };

        lease->writing = false;
        lease->call = kube_send(lease->client, &request, done, lease);
}

static void on_read(const KubeReply *reply, void *arg);

static void on_written(const KubeReply *reply, void *arg)
{
        KubeLease *lease = arg;
        gint64 good_until_ms = lease->sent_ms + lease->config.renew_deadline_ms;

        lease->call = NULL;
        if (reply->error) {
                log_debug("the lease was not written", "lease", lease->name, "error", reply->error->message,
                          NULL);
                g_clear_pointer(&lease->record, json_decref); /* read what it says now */
                if (err_is(reply->error, ERR_CONFLICT) || err_is(reply->error, ERR_EXISTS))
                        read_record(lease, on_read);
                else
                        try_later(lease);
                return;
        }
        observe(lease, reply->object);
        try_later(lease);
        if (clock_monotonic_ms() >= good_until_ms)
                return; /* it took so long (Retry-After) that the renewal is outdated */
        timer_set_at(&lease->deadline, kube_client_context(lease->client), good_until_ms * 1000, on_deadline,
                     lease);
        if (lease->held)
                return;
        lease->held = true;
        if (lease->config.gained)
                lease->config.gained(lease->config.arg);
}

static void write_ours(KubeLease *lease)
{
        g_autoptr(json_t) record =
                new_record(lease, lease->identity, (lease->config.duration_ms + 999) / 1000);

        send_record(lease, record, on_written);
}

/* ---- Reading ---- */

static void on_read(const KubeReply *reply, void *arg)
{
        KubeLease *lease = arg;

        lease->call = NULL;
        if (reply->error && !err_is(reply->error, ERR_NOT_FOUND)) {
                try_later(lease);
                return;
        }
        if (reply->error) {
                g_clear_pointer(&lease->record, json_decref);
                write_ours(lease);
                return;
        }
        observe(lease, reply->object);
        if (is_ours(lease) || is_free(lease)) {
                write_ours(lease);
                return;
        }
        g_clear_pointer(&lease->record, json_decref); /* the next try reads again */
        try_later(lease);
        lose(lease);
}

static void on_timer(void *arg)
{
        KubeLease *lease = arg;

        if (lease->call)
                return; /* its end sets the timer */
        if (lease->record && lease->held)
                write_ours(lease);
        else
                read_record(lease, on_read);
}

static void on_deadline(void *arg)
{
        KubeLease *lease = arg;

        if (lease->call) { /* the request may take longer, and its reply would be too late */
                g_clear_pointer(&lease->call, kube_call_cancel);
                g_clear_pointer(&lease->record, json_decref);
                try_later(lease);
        }
        lose(lease);
}

/* ---- The lease ---- */

KubeLease *kube_lease_new(KubeClient *client, const KubeLeaseConfig *config)
{
        KubeLease *lease = g_new0(KubeLease, 1);
        KubeLeaseConfig *set = &lease->config;

        lease->client = client;
        *set = *config;
        set->duration_ms = set->duration_ms > 0 ? set->duration_ms : DURATION_MS;
        set->renew_deadline_ms = set->renew_deadline_ms > 0 ? set->renew_deadline_ms : RENEW_DEADLINE_MS;
        set->retry_ms = set->retry_ms > 0 ? set->retry_ms : RETRY_MS;
        lease->namespace = g_strdup(config->namespace);
        lease->name = g_strdup(config->name);
        lease->identity = g_strdup(config->identity);
        look_in(lease, 0);
        return lease;
}

/* ---- Giving it back ---- */

static void finish_release(KubeLease *lease)
{
        void (*done)(void *arg) = lease->released;
        void *arg = lease->released_arg;

        kube_lease_free(lease);
        if (done)
                done(arg);
}

static void on_release_now(void *arg)
{
        finish_release(arg);
}

static void on_read_to_release(const KubeReply *reply, void *arg);

static void on_given_back(const KubeReply *reply, void *arg)
{
        KubeLease *lease = arg;

        lease->call = NULL;
        if (err_is(reply->error, ERR_CONFLICT) && !lease->again) {
                lease->again = true;
                read_record(lease, on_read_to_release);
                return;
        }
        finish_release(lease);
}

static void give_back(KubeLease *lease)
{
        g_autoptr(json_t) record = new_record(lease, "", 1);

        send_record(lease, record, on_given_back);
}

static void on_read_to_release(const KubeReply *reply, void *arg)
{
        KubeLease *lease = arg;

        lease->call = NULL;
        if (!reply->error)
                observe(lease, reply->object);
        if (!reply->error && is_ours(lease))
                give_back(lease);
        else
                finish_release(lease);
}

/* An interrupted write may have arrived: only the server knows the state of the lease. */
void kube_lease_release(KubeLease *lease, void (*done)(void *arg), void *arg)
{
        bool unsure = lease->call && lease->writing;
        bool held = lease->held;

        g_clear_pointer(&lease->call, kube_call_cancel);
        timer_clear(&lease->timer);
        timer_clear(&lease->deadline);
        lease->released = done;
        lease->released_arg = arg;
        lease->held = false;
        if (unsure || (held && !lease->record)) {
                read_record(lease, on_read_to_release);
        } else if (held) {
                give_back(lease);
        } else {
                timer_set(&lease->timer, kube_client_context(lease->client), 0, on_release_now, lease);
        }
}
