/* Guards (see guard.h). Role, binding and account each carry a finalizer of ours, and each is the owner of
 * the next. A caller who deletes them gets a role that is still in force: RBAC does not ask for
 * deletionTimestamp, and a token holds for 60 s after its account's.
 *
 * Letting go has a knot: each patch needs all three, so that the first object to vanish would forbid the
 * patch on the others. Therefore all but the last are deleted once more, in the foreground: from then on they
 * wait, by a finalizer of the garbage collector's, for what they own. Then our finalizers go, that of the
 * last object last; when it has vanished, the collector lets the others follow. So one single write ends our
 * rights.
 *
 * Who deletes only some of them means these: a binding without its role is worth nothing and goes with it;
 * the others lose our finalizer and their owner first, and stay. */
#include "operator/guard.h"

#include "base/backoff.h"
#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "base/timer.h"
#include "kube/cache.h"

#define GUARD_FINALIZER "paddlepaddle.org/guard"

enum { RETRY_MIN_MS = 500, RETRY_MAX_MS = 30000, SETTLE_MS = 2000 };

/* In the order of owners. */
enum { ROLE, BINDING, ACCOUNT, GUARDED };

static const KubeKind kinds[GUARDED] = {
        [ROLE] = { "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", true },
        [BINDING] = { "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", true },
        [ACCOUNT] = { "", "v1", "ServiceAccount", "serviceaccounts", false },
};

typedef struct {
        const KubeKind *kind;
        char *namespace, *name, *uid;
        KubeCache *cache;
        bool deleting;
} Guarded;

typedef enum { STEP_STRIP, STEP_DELETE, STEP_LET_GO } StepVerb;
typedef struct {
        StepVerb verb;
        int of;
} Step;

struct Guard {
        GuardConfig config;
        Guarded objects[GUARDED];
        int holding; /* the place in `hold_order` */
        Step steps[2 * GUARDED];
        int n_steps, step;
        KubeCall *call; /* one at a time */
        void (*later)(Guard *guard);
        Timer *timer;
        Backoff retry_ms;
        bool watching, settling, told;
        void (*released)(void *arg);
        void *released_arg;
};

static void on_timer(void *arg)
{
        Guard *guard = arg;

        guard->later(guard);
}

static void set_timer(Guard *guard, gint64 ms, void (*later)(Guard *guard))
{
        guard->later = later;
        timer_set(&guard->timer, NULL, ms, on_timer, guard);
}

static void retry(Guard *guard, void (*later)(Guard *guard))
{
        set_timer(guard, backoff_next(&guard->retry_ms), later);
}

static void send_patch(Guard *guard, int of, json_t *metadata, KubeDone done)
{
        const Guarded *object = &guard->objects[of];
        g_autoptr(json_t) body = json_pack("{s:o}", "metadata", metadata);

        guard->call = kube_send(guard->config.client,
                                &(KubeRequest){ .verb = KUBE_PATCH,
                                                .kind = object->kind,
                                                .namespace = object->namespace,
                                                .name = object->name,
                                                .patch = PATCH_STRATEGIC,
                                                .body = body },
                                done, guard);
}

/* ---- being taken away ---- */

static void tell_leaving(Guard *guard)
{
        guard->told = true;
        guard->config.leaving(guard->config.arg);
}

/* Whoever deletes one of them deletes the others in the next moment, and what is to happen depends on which
 * ones. */
static void look(Guard *guard)
{
        int n = 0;

        for (int i = 0; i < GUARDED; i++)
                n += guard->objects[i].deleting;
        if (n == 0 || guard->told)
                return;
        if (!guard->settling || n == GUARDED)
                set_timer(guard, n == GUARDED ? 0 : SETTLE_MS, tell_leaving);
        guard->settling = true;
}

static void on_changed(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        Guard *guard = arg;

        for (int i = 0; i < GUARDED; i++)
                if (guard->objects[i].cache == cache)
                        guard->objects[i].deleting |= !new || kube_is_deleting(new);
        if (guard->watching)
                look(guard);
}

static void on_synced(KubeCache *cache, void *arg)
{
        Guard *guard = arg;

        for (int i = 0; i < GUARDED; i++) {
                Guarded *object = &guard->objects[i];

                if (!object->cache || !kube_cache_is_synced(object->cache))
                        return;
                object->deleting |= !kube_cache_get(object->cache, object->namespace, object->name);
        }
        guard->watching = true;
        look(guard);
        if (!guard->settling)
                guard->config.held(guard->config.arg);
}

static void watch(Guard *guard)
{
        for (int i = 0; i < GUARDED; i++) {
                Guarded *object = &guard->objects[i];
                g_autofree char *field = g_strconcat("metadata.name=", object->name, NULL);

                object->cache =
                        kube_cache_new(guard->config.client,
                                       &(KubeCacheConfig){ .kind = *object->kind,
                                                           .namespace = object->namespace,
                                                           .field_selector = field },
                                       &(KubeCacheEvents){
                                               .changed = on_changed, .synced = on_synced, .arg = guard });
        }
}

/* ---- taking hold ---- */

/* The binding first, which names the others, and again when its owner is known. */
enum { HOLDS = 4 };
static const int hold_order[HOLDS] = { BINDING, ROLE, BINDING, ACCOUNT };

/* Says who owns an object, but for the role. */
static json_t *owner_of(const Guard *guard, int of)
{
        const Guarded *owner = of > ROLE ? &guard->objects[of - 1] : NULL;
        g_autofree char *version = owner ? kube_api_version(owner->kind) : NULL;

        return owner && owner->uid ? json_pack("{s:s, s:s, s:s, s:s, s:b}", "apiVersion", version, "kind",
                                               owner->kind->kind, "name", owner->name, "uid", owner->uid,
                                               "blockOwnerDeletion", 1)
                                   : NULL;
}

static bool read_binding(Guard *guard, const json_t *binding)
{
        const char *role = kube_get_text(binding, "roleRef.name");
        const json_t *subject;
        size_t i;

        g_clear_pointer(&guard->objects[ROLE].name, g_free);
        guard->objects[ROLE].name = g_strdup(role);
        json_array_foreach(json_object_get(binding, "subjects"), i, subject) {
                const char *name = kube_get_text(subject, "name");
                const char *namespace = kube_get_text(subject, "namespace");
                Guarded *account = &guard->objects[ACCOUNT];

                if (g_strcmp0(kube_get_text(subject, "kind"), "ServiceAccount") != 0 || !name || !namespace)
                        continue;
                g_free(account->name);
                g_free(account->namespace);
                account->name = g_strdup(name);
                account->namespace = g_strdup(namespace);
                return role != NULL;
        }
        return false;
}

static void hold(Guard *guard);
static void hold_next(Guard *guard);

static void hold_later(Guard *guard, const char *why)
{
        log_warning("the rights of this operator are not in its hold; no job is looked after until they are",
                    "kind", kinds[hold_order[guard->holding]].kind, "name",
                    guard->objects[hold_order[guard->holding]].name, "why", why, NULL);
        retry(guard, hold);
}

/* One that is being deleted takes no finalizer (ERR_INVALID); when ours is there already, this changes
 * nothing, and the caches say what is going on. */
static void on_holding(const KubeReply *reply, void *arg)
{
        Guard *guard = arg;
        int of = hold_order[guard->holding];

        guard->call = NULL;
        if (reply->error) {
                hold_later(guard, reply->error->message);
                return;
        }
        g_free(guard->objects[of].uid);
        guard->objects[of].uid = g_strdup(kube_uid(reply->object));
        if (of == BINDING && !read_binding(guard, reply->object)) {
                hold_later(guard, "it names no ServiceAccount with its namespace");
                return;
        }
        guard->holding++;
        hold_next(guard);
}

static void hold_next(Guard *guard)
{
        json_t *metadata, *owner;
        int of;

        if (guard->holding == HOLDS) {
                backoff_reset(&guard->retry_ms);
                watch(guard);
                return;
        }
        of = hold_order[guard->holding];
        metadata = json_pack("{s:[s]}", "finalizers", GUARD_FINALIZER);
        owner = owner_of(guard, of);
        if (owner)
                json_object_set_new(metadata, "ownerReferences", json_pack("[o]", owner));
        send_patch(guard, of, metadata, on_holding);
}

static void hold(Guard *guard)
{
        guard->holding = 0;
        for (int i = 0; i < GUARDED; i++)
                g_clear_pointer(&guard->objects[i].uid, g_free); /* they may be others by now */
        hold_next(guard);
}

/* ---- letting go ---- */

static void add_step(Guard *guard, StepVerb verb, int of)
{
        guard->steps[guard->n_steps++] = (Step){ verb, of };
}

static void plan(Guard *guard)
{
        bool goes[GUARDED];
        int last = ROLE;

        guard->n_steps = guard->step = 0;
        for (int i = 0; i < GUARDED; i++) {
                goes[i] = guard->objects[i].deleting || (i == BINDING && goes[ROLE]);
                if (goes[i])
                        last = i;
                else
                        add_step(guard, STEP_STRIP, i);
        }
        for (int i = 0; i < last; i++)
                if (goes[i])
                        add_step(guard, STEP_DELETE, i);
        for (int i = 0; i <= last; i++)
                if (goes[i])
                        add_step(guard, STEP_LET_GO, i);
}

static void send_step(Guard *guard);
static void begin_release(Guard *guard);

static void end_release(Guard *guard)
{
        guard->released(guard->released_arg);
}

/* Without rights there is nothing that could be done: another process of this operator was faster, or we hear
 * no answer to what was done. */
static void on_step(const KubeReply *reply, void *arg)
{
        Guard *guard = arg;
        const Step *step = &guard->steps[guard->step];

        guard->call = NULL;
        if (err_is(reply->error, ERR_DENIED) || err_is(reply->error, ERR_UNAUTHENTICATED)) {
                log_warning("the rights of this operator have gone before it let go of them", "kind",
                            kinds[step->of].kind, "name", guard->objects[step->of].name, "error",
                            reply->error->message, NULL);
                end_release(guard);
        } else if (reply->error && !err_is(reply->error, ERR_NOT_FOUND)) {
                log_warning("could not let go, trying again", "kind", kinds[step->of].kind, "name",
                            guard->objects[step->of].name, "error", reply->error->message, NULL);
                retry(guard, begin_release);
        } else if (++guard->step < guard->n_steps) {
                send_step(guard);
        } else {
                end_release(guard);
        }
}

static void send_delete(Guard *guard, const Guarded *object)
{
        guard->call = kube_send(guard->config.client,
                                &(KubeRequest){ .verb = KUBE_DELETE,
                                                .kind = object->kind,
                                                .namespace = object->namespace,
                                                .name = object->name,
                                                .delete_uid = object->uid,
                                                .propagation = "Foreground" },
                                on_step, guard);
}

/* Removes the finalizer, and the owner of an object that stays. The patch names the version, so that it fails
 * if the object has been deleted since the plan was made. */
static json_t *strip_patch(const Guard *guard, const Step *step)
{
        const Guarded *object = &guard->objects[step->of];
        const json_t *seen = kube_cache_get(object->cache, object->namespace, object->name);
        json_t *metadata = json_pack("{s:[s]}", "$deleteFromPrimitiveList/finalizers", GUARD_FINALIZER);

        if (step->verb == STEP_LET_GO)
                return metadata;
        if (seen)
                json_object_set_new(metadata, "resourceVersion", json_string(kube_resource_version(seen)));
        if (step->of > ROLE)
                json_object_set_new(metadata, "ownerReferences",
                                    json_pack("[{s:s, s:s}]", "$patch", "delete", "uid",
                                              guard->objects[step->of - 1].uid));
        return metadata;
}

static void send_step(Guard *guard)
{
        const Step *step = &guard->steps[guard->step];

        if (step->verb == STEP_DELETE)
                send_delete(guard, &guard->objects[step->of]);
        else
                send_patch(guard, step->of, strip_patch(guard, step), on_step);
}

static void begin_release(Guard *guard)
{
        plan(guard);
        send_step(guard);
}

/* ---- the guard ---- */

Guard *guard_new(const GuardConfig *config)
{
        Guard *guard = g_new0(Guard, 1);

        guard->config = *config;
        guard->retry_ms = (Backoff){ .first = RETRY_MIN_MS, .max = RETRY_MAX_MS };
        for (int i = 0; i < GUARDED; i++)
                guard->objects[i].kind = &kinds[i];
        guard->objects[BINDING].name = g_strdup(config->binding);
        hold(guard);
        return guard;
}

void guard_free(Guard *guard)
{
        if (!guard)
                return;
        if (guard->call)
                kube_call_cancel(guard->call);
        timer_clear(&guard->timer);
        for (int i = 0; i < GUARDED; i++) {
                kube_cache_free(guard->objects[i].cache);
                g_free(guard->objects[i].namespace);
                g_free(guard->objects[i].name);
                g_free(guard->objects[i].uid);
        }
        g_free(guard);
}

bool guard_is_leaving(const Guard *guard)
{
        return guard->settling;
}

void guard_release(Guard *guard, void (*done)(void *arg), void *arg)
{
        guard->released = done;
        guard->released_arg = arg;
        backoff_reset(&guard->retry_ms);
        begin_release(guard);
}
