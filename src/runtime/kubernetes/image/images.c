/* Images of jobs (see images.h).
 *
 *     wish ──▶ the pull secret ──▶ look: digest of the base, key, what the registry has
 *                                     ├─ the image: done
 *                                     ├─ nothing: the key's build, shared ──▶ look once more
 *                                     └─ no answer: again, a few times
 *
 * Registries are asked on threads (aside.h), a few at a time. */
#include "runtime/kubernetes/image/images.h"

#include <string.h>

#include "base/backoff.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/timer.h"
#include "kube/cache.h"
#include "package/package.h"
#include "runtime/environment/environment.h"
#include "runtime/environment/settings.h"
#include "runtime/job-dir.h"
#include "runtime/kubernetes/image/aside.h"
#include "runtime/kubernetes/image/build.h"
#include "runtime/kubernetes/image/image.h"
#include "runtime/kubernetes/image/registry.h"
#include "runtime/kubernetes/pod/policy.h"

enum {
        LOOKS_MAX = 4,   /* at one time */
        TRIES_MAX = 10,  /* some three minutes */
        AGAIN_MS = 2000, /* doubled with each */
        AGAIN_MAX_MS = 30000,
        CLUSTER_HEX = 8,
        REFERENCE_MAX = 2048, /* bytes */
};

/* The image that one job waits for. */
typedef struct {
        Images *images;
        char *job_id, *user, *image, *package, *package_name, *requirements, *setup;
        char *key, *base; /* once they are known */
        Resources builder;
        Aside *look;
        Timer *again;
        int tries;
        bool built; /* its Job has ended well */
} Wish;

/* A query of registries. The thread uses only copies. */
typedef struct {
        Wish *wish;
        SettingRegistry registry;
        char *image, *package, *package_name, *requirements, *setup, *pip;
        bool urls;
        char *key, *base, *digest; /* answers */
        GError *error;
} Look;

typedef struct {
        Images *images;
        char *key, *user; /* user: of the first job that asked */
        Build *build;     /* NULL: waits for its turn */
        GPtrArray *jobs;  /* ids */
} Shared;

struct Images {
        ImagesConfig config;
        char *cluster, *namespace, *server, *state_dir, *secret, *pip;
        KubeCache *jobs, *pods;
        GHashTable *wishes; /* job id -> Wish */
        GHashTable *builds; /* key -> Shared */
        GQueue queue;       /* Wish: the registry has to be asked */
        GQueue line;        /* Shared: waits for its build */
        int looks;
        bool secret_made, policy_made;
        KubeCall *secret_call;
        Timer *secret_again;
};

/* ---- files ---- */

/* The same image may be built in several clusters, each for its registry. */
static char *place_of(const Images *images, const char *key)
{
        char hash[HASH_LEN + 1];

        hash_bytes(images->cluster, strlen(images->cluster), hash);
        return g_strdup_printf("%s-%.*s", key, CLUSTER_HEX, hash);
}

static char *dir_of(const char *state_dir, const char *place)
{
        return g_build_filename(state_dir, "envs", place, NULL);
}

static char *image_path(const char *state_dir, const char *place)
{
        return g_build_filename(state_dir, "envs", place, "image", NULL);
}

char *images_of_job(const char *state_dir, const char *job_id)
{
        g_autofree char *place = workdir_environment(state_dir, job_id);
        g_autofree char *path = place ? image_path(state_dir, place) : NULL;
        char *text = NULL;

        return path && file_read(path, REFERENCE_MAX, &text, NULL, NULL) ? text : NULL;
}

char *images_log_path(const char *state_dir, const char *job_id)
{
        g_autofree char *place = workdir_environment(state_dir, job_id);
        g_autofree char *dir = place ? dir_of(state_dir, place) : workdir_job(state_dir, job_id);

        return build_log_path(dir);
}

bool images_is_needed(const RuntimeAttempt *attempt)
{
        const Spec *spec = attempt->job->spec;

        return spec->package || spec->setup || environment_is_needed(spec->requirements);
}

/* ---- wishes ---- */

static void set_timer(Images *images, Timer **at, int tries, void (*func)(void *arg), void *arg)
{
        timer_set(at, images->config.context, backoff_delay(AGAIN_MS, AGAIN_MAX_MS, (guint64)tries), func,
                  arg);
}

static void wish_free(gpointer data)
{
        Wish *wish = data;

        if (wish->look) {
                aside_cancel(wish->look);
                wish->images->looks--;
        }
        g_queue_remove(&wish->images->queue, wish);
        timer_clear(&wish->again);
        g_free(wish->job_id);
        g_free(wish->user);
        g_free(wish->image);
        g_free(wish->package);
        g_free(wish->package_name);
        g_free(wish->requirements);
        g_free(wish->setup);
        g_free(wish->key);
        g_free(wish->base);
        g_free(wish);
}

static void answer(Images *images, const char *job_id, const char *problem)
{
        g_autofree char *id = g_strdup(job_id);
        const Wish *wish = g_hash_table_lookup(images->wishes, id);

        if (wish && !problem)
                images->config.made(&(ImageWish){ .image = wish->image,
                                                  .package = wish->package,
                                                  .package_name = wish->package_name,
                                                  .requirements = wish->requirements,
                                                  .setup = wish->setup },
                                    images->config.arg);
        if (g_hash_table_remove(images->wishes, id))
                images->config.done(id, problem, images->config.arg);
}

/* ---- looking ---- */

static void look_free(void *arg)
{
        Look *look = arg;

        g_free(look->registry.address);
        g_free(look->registry.username);
        g_free(look->registry.password);
        g_free(look->image);
        g_free(look->package);
        g_free(look->package_name);
        g_free(look->requirements);
        g_free(look->setup);
        g_free(look->pip);
        g_free(look->key);
        g_free(look->base);
        g_free(look->digest);
        g_clear_error(&look->error);
        g_free(look);
}

/* The base image by digest; the caller's. */
static char *find_base(Look *look, GError **error)
{
        g_auto(ImageName) name = { 0 };
        g_autofree char *digest = NULL;

        if (!image_name_parse(look->image, &name, error))
                return NULL;
        digest = name.digest ? g_strdup(name.digest) : registry_digest(&look->registry, &name, error);
        if (digest)
                return image_name_by_digest(&name, digest);
        if (error && *error && !err_is(*error, ERR_NOT_FOUND))
                g_prefix_error(
                        error,
                        "the base image's digest cannot be queried (NAME@sha256:... needs no query): ");
        else
                g_prefix_error(error, "the base image: ");
        return NULL;
}

static bool ask(Look *look)
{
        g_auto(ImageName) name = { 0 };
        g_autofree char *reference = NULL, *normal = NULL;
        g_autoptr(GError) none = NULL;
        ImageRecipe recipe = { .package = look->package,
                               .package_name = look->package_name,
                               .setup = look->setup,
                               .pip = look->pip };

        if (environment_is_needed(look->requirements)) {
                normal = environment_normal(look->requirements, look->urls, &look->error);
                if (!normal)
                        return false;
        }
        look->base = find_base(look, &look->error);
        if (!look->base)
                return false;
        recipe.base = look->base;
        recipe.requirements = normal;
        look->key = image_key(&recipe);
        reference = image_reference(&look->registry, look->key);
        if (!image_name_parse(reference, &name, &look->error))
                return false;
        look->digest = registry_digest(&look->registry, &name, &none);
        if (look->digest || err_is(none, ERR_NOT_FOUND))
                return true;
        look->error = g_steal_pointer(&none);
        return false;
}

static void work(void *arg)
{
        (void)ask(arg); /* the answer is in it */
}

static void next_look(Images *images);

static void on_wish_again(void *arg)
{
        Wish *wish = arg;

        g_queue_push_tail(&wish->images->queue, wish);
        next_look(wish->images);
}

static bool is_passing(const GError *error)
{
        return err_is(error, ERR_UNREACHABLE) || err_is(error, ERR_TIMEOUT) || err_is(error, ERR_UNAVAILABLE);
}

static void look_failed(Wish *wish, const GError *error)
{
        if (is_passing(error) && wish->tries < TRIES_MAX)
                set_timer(wish->images, &wish->again, wish->tries++, on_wish_again, wish);
        else
                answer(wish->images, wish->job_id, error->message);
}

static void join_build(Wish *wish);

/* The image exists: stores its reference. */
static bool keep(Wish *wish, const Look *look, GError **error)
{
        const Images *images = wish->images;
        g_autofree char *place = place_of(images, look->key);
        g_autofree char *path = image_path(images->state_dir, place);
        g_autofree char *dir = dir_of(images->state_dir, place);
        g_autofree char *reference = image_reference(&images->config.setting->registry, look->key);
        g_autofree char *text = NULL;

        *strrchr(reference, ':') = '\0';
        text = g_strconcat(reference, "@", look->digest, NULL);
        return file_mkdirs(dir, 0755, error) && file_replace(path, text, strlen(text), 0644, true, error);
}

static void on_look(void *arg)
{
        Look *look = arg;
        Wish *wish = look->wish;
        Images *images = wish->images;
        g_autofree char *place = look->key ? place_of(images, look->key) : NULL;
        g_autoptr(GError) error = NULL;

        wish->look = NULL;
        images->looks--;
        if (place && !workdir_link_environment(images->state_dir, wish->job_id, place, &error)) {
                answer(images, wish->job_id, error->message);
        } else if (look->error) {
                look_failed(wish, look->error);
        } else if (look->digest) {
                bool kept = keep(wish, look, &error);

                answer(images, wish->job_id, kept ? NULL : error->message);
        } else if (wish->built) {
                answer(images, wish->job_id, "the image was built, but the registry does not have it");
        } else {
                wish->key = g_steal_pointer(&look->key);
                wish->base = g_steal_pointer(&look->base);
                join_build(wish);
        }
        next_look(images);
}

static void start_look(Wish *wish)
{
        const Images *images = wish->images;
        const SettingRegistry *registry = &images->config.setting->registry;
        Look *look = g_new0(Look, 1);

        look->wish = wish;
        look->registry = (SettingRegistry){ .address = g_strdup(registry->address),
                                            .username = g_strdup(registry->username),
                                            .password = g_strdup(registry->password),
                                            .insecure = registry->insecure };
        look->image = g_strdup(wish->image);
        look->package = g_strdup(wish->package);
        look->package_name = g_strdup(wish->package_name);
        look->requirements = g_strdup(wish->requirements);
        look->setup = g_strdup(wish->setup);
        look->pip = g_strdup(images->pip);
        look->urls = images->config.bounds.urls;
        wish->look = aside_run(images->config.context, &(AsideWork){ work, on_look, look_free, look });
}

static void next_look(Images *images)
{
        Wish *wish;

        while (images->policy_made && images->looks < LOOKS_MAX &&
               (wish = g_queue_pop_head(&images->queue))) {
                images->looks++;
                start_look(wish);
        }
}

/* ---- builds ---- */

static void shared_free(gpointer data)
{
        Shared *shared = data;

        g_queue_remove(&shared->images->line, shared);
        build_free(shared->build);
        g_ptr_array_unref(shared->jobs);
        g_free(shared->key);
        g_free(shared->user);
        g_free(shared);
}

static void next_builds(Images *images);

/* The jobs that waited ask the registry again, or are told the problem. */
static void release(Shared *shared, const char *problem)
{
        Images *images = shared->images;
        g_autoptr(GPtrArray) jobs = g_ptr_array_ref(shared->jobs);

        g_hash_table_remove(images->builds, shared->key);
        for (guint i = 0; i < jobs->len; i++) {
                Wish *wish = g_hash_table_lookup(images->wishes, jobs->pdata[i]);

                if (problem) {
                        answer(images, jobs->pdata[i], problem);
                } else if (wish) {
                        wish->built = true;
                        g_queue_push_tail(&images->queue, wish);
                }
        }
        next_look(images);
        next_builds(images);
}

/* `found`: the Job was complete before this server saw it, but the registry did not have its image: the image was
 * deleted since, so it is built again. */
static void on_built(const char *problem, bool found, void *arg)
{
        Shared *shared = arg;

        if (found)
                build_remove(shared->build, true);
        else
                release(shared, problem);
}

static void look_at_build(gpointer key, gpointer shared, gpointer arg)
{
        if (((Shared *)shared)->build)
                build_look(((Shared *)shared)->build);
}

static void on_changed(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        const json_t *object = new ? new : old;
        const char *key = kube_label(object, IMAGE_LABEL);
        Shared *shared = key ? g_hash_table_lookup(((Images *)arg)->builds, key) : NULL;

        if (shared && shared->build)
                build_look(shared->build);
}

static void on_synced(KubeCache *cache, void *arg)
{
        g_hash_table_foreach(((Images *)arg)->builds, look_at_build, NULL);
}

/* A missing right does not appear by waiting, so the builds fail. */
static void on_trouble(KubeCache *cache, const GError *error, gint64 retry_ms, void *arg)
{
        Images *images = arg;
        g_autofree char *problem = NULL;
        g_autoptr(GList) all = NULL;

        if (!error || !err_is(error, ERR_DENIED))
                return;
        problem = g_strdup_printf("images cannot be built in cluster '%s': %s", images->cluster,
                                  error->message);
        all = g_hash_table_get_values(images->builds);
        for (GList *link = all; link; link = link->next)
                release(link->data, problem);
}

static void trim_pod(json_t *pod)
{
        json_object_del(pod, "spec");
}

/* Opened with the first build, so that clusters without builds need no rights for them. */
static void open_caches(Images *images)
{
        KubeCacheEvents events = {
                .changed = on_changed, .synced = on_synced, .trouble = on_trouble, .arg = images
        };

        if (images->jobs)
                return;
        images->jobs = kube_cache_new(images->config.client,
                                      &(KubeCacheConfig){ .kind = kube_jobs,
                                                          .namespace = images->namespace,
                                                          .label_selector = IMAGE_LABEL,
                                                          .trim = trim_pod },
                                      &events);
        images->pods = kube_cache_new(images->config.client,
                                      &(KubeCacheConfig){ .kind = kube_pods,
                                                          .namespace = images->namespace,
                                                          .label_selector = IMAGE_LABEL,
                                                          .trim = trim_pod },
                                      &events);
}

/* A build has limits even if its queue does not count its resources. */
static Resources limits_of(const Images *images, const Wish *wish)
{
        const Resources *each = &images->config.bounds.each, *given = &wish->builder;

        return (Resources){ .cpu_milli = given->cpu_milli ? given->cpu_milli : each->cpu_milli,
                            .memory = given->memory ? given->memory : each->memory };
}

static Build *begin_build(Images *images, const Wish *wish, Shared *shared)
{
        g_autofree char *place = place_of(images, wish->key);
        g_autofree char *dir = dir_of(images->state_dir, place);
        g_autofree char *tree =
                wish->package ? g_build_filename(images->state_dir, "packages", wish->package, NULL) : NULL;
        g_autofree char *normal =
                environment_is_needed(wish->requirements)
                        ? environment_normal(wish->requirements, images->config.bounds.urls, NULL)
                        : NULL;
        BuildConfig config = { .client = images->config.client,
                               .context = images->config.context,
                               .logs = images->config.logs,
                               .deletions = images->config.deletions,
                               .jobs = images->jobs,
                               .pods = images->pods,
                               .about = { .setting = images->config.setting,
                                          .namespace = images->namespace,
                                          .server = images->server,
                                          .key = wish->key,
                                          .base = wish->base,
                                          .package_name = wish->package_name,
                                          .pull_secret = images->secret,
                                          .limits = limits_of(images, wish),
                                          .time_limit_ms = images->config.bounds.time_limit_ms },
                               .dir = dir,
                               .tree = tree,
                               .requirements = normal,
                               .setup = wish->setup,
                               .pip = images->pip,
                               .log_limit = images->config.log_limit,
                               .done = on_built,
                               .arg = shared };

        return build_new(&config);
}

static bool may_build(Images *images, const Shared *next)
{
        const BuildBounds *bounds = &images->config.bounds;
        GHashTableIter iter;
        int in_all = 0, of_user = 0;
        void *value;

        g_hash_table_iter_init(&iter, images->builds);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const Shared *shared = value;

                in_all += shared->build != NULL;
                of_user += shared->build && g_strcmp0(shared->user, next->user) == 0;
        }
        return (bounds->at_once == 0 || in_all < bounds->at_once) &&
               (bounds->at_once_per_user == 0 || of_user < bounds->at_once_per_user);
}

/* Starts builds that may start now. A build whose user has reached a limit does not hold up those of others. Call it
 * after anything that may have ended a build. */
static void next_builds(Images *images)
{
        for (GList *link = images->line.head; link;) {
                Shared *shared = link->data;
                Wish *wish = g_hash_table_lookup(images->wishes, shared->jobs->pdata[0]);

                link = link->next;
                if (!wish || !may_build(images, shared))
                        continue;
                g_queue_remove(&images->line, shared);
                shared->build = begin_build(images, wish, shared);
                log_info("an image is built", "cluster", images->cluster, "image", shared->key, "job",
                         wish->job_id, NULL);
                build_look(shared->build);
        }
}

static void join_build(Wish *wish)
{
        Images *images = wish->images;
        Shared *shared = g_hash_table_lookup(images->builds, wish->key);

        open_caches(images);
        if (shared) {
                g_ptr_array_add(shared->jobs, g_strdup(wish->job_id));
                return;
        }
        shared = g_new0(Shared, 1);
        shared->images = images;
        shared->key = g_strdup(wish->key);
        shared->jobs = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(shared->jobs, g_strdup(wish->job_id));
        shared->user = g_strdup(wish->user);
        g_hash_table_insert(images->builds, shared->key, shared);
        g_queue_push_tail(&images->line, shared);
        next_builds(images);
}

/* ---- the pull secret, and the NetworkPolicy of builders ---- */

static void make_secret(Images *images);
static void make_policy(Images *images);

static void on_secret_again(void *arg)
{
        Images *images = arg;

        make_secret(images);
}

/* It is tried again, or all builds fail. */
static void not_made(Images *images, const char *what, const GError *error)
{
        g_autofree char *problem = g_strdup_printf("%s cannot be put into cluster '%s': %s", what,
                                                   images->cluster, error->message);
        Wish *wish;

        if (is_passing(error)) {
                set_timer(images, &images->secret_again, 0, on_secret_again, images);
                return;
        }
        while ((wish = g_queue_pop_head(&images->queue)))
                answer(images, wish->job_id, problem);
}

static void send_policy(Images *images, KubeVerb verb);

static void on_secret(const KubeReply *reply, void *arg)
{
        Images *images = arg;

        images->secret_call = NULL;
        images->secret_made = !reply->error || err_is(reply->error, ERR_EXISTS);
        if (images->secret_made)
                make_policy(images);
        else
                not_made(images, "the registry's secret", reply->error);
}

static void on_policy(const KubeReply *reply, void *arg)
{
        Images *images = arg;

        images->secret_call = NULL;
        images->policy_made = !reply->error;
        if (images->policy_made)
                next_look(images);
        else if (err_is(reply->error, ERR_EXISTS)) /* perhaps with an older setting */
                send_policy(images, KUBE_PATCH);
        else
                not_made(images, "the NetworkPolicy of builds", reply->error);
}

static void send_policy(Images *images, KubeVerb verb)
{
        const MemberHome home = { images->namespace, images->server };
        g_autoptr(json_t) policy = policy_of_builds(&home, images->config.setting->build_egress);

        images->secret_call = kube_send(images->config.client,
                                        &(KubeRequest){ .verb = verb,
                                                        .kind = &kube_network_policies,
                                                        .namespace = images->namespace,
                                                        .name = verb == KUBE_PATCH ? kube_name(policy) : NULL,
                                                        .patch = PATCH_MERGE,
                                                        .body = policy },
                                        on_policy, images);
}

static void make_policy(Images *images)
{
        if (images->policy_made || images->secret_call || images->secret_again)
                return;
        images->policy_made = !images->config.setting->build_egress;
        if (images->policy_made)
                next_look(images);
        else
                send_policy(images, KUBE_CREATE);
}

static void make_secret(Images *images)
{
        g_autoptr(json_t) secret = NULL;

        if (images->secret_made) {
                make_policy(images);
                return;
        }
        if (images->secret_call || images->secret_again)
                return;
        secret = image_pull_secret(&images->config.setting->registry, images->namespace);
        if (!secret) {
                images->secret_made = true;
                make_policy(images);
                return;
        }
        images->secret_call = kube_send(images->config.client,
                                        &(KubeRequest){ .verb = KUBE_CREATE,
                                                        .kind = &kube_secrets,
                                                        .namespace = images->namespace,
                                                        .body = secret },
                                        on_secret, images);
}

/* ---- the doors ---- */

void images_want(Images *images, const ImageWish *asked)
{
        Wish *wish;

        if (g_hash_table_contains(images->wishes, asked->job_id))
                return;
        wish = g_new0(Wish, 1);
        wish->images = images;
        wish->job_id = g_strdup(asked->job_id);
        wish->user = g_strdup(asked->user);
        wish->builder = asked->builder;
        wish->image = g_strdup(asked->image);
        wish->package = g_strdup(asked->package);
        wish->package_name = g_strdup(asked->package_name);
        wish->requirements = g_strdup(asked->requirements);
        wish->setup = g_strdup(asked->setup);
        g_hash_table_insert(images->wishes, wish->job_id, wish);
        g_queue_push_tail(&images->queue, wish);
        make_secret(images);
        next_look(images);
}

void images_abandon(Images *images, const char *job_id)
{
        Wish *wish = g_hash_table_lookup(images->wishes, job_id);
        Shared *shared = wish && wish->key ? g_hash_table_lookup(images->builds, wish->key) : NULL;

        for (guint i = 0; shared && i < shared->jobs->len; i++)
                if (strcmp(shared->jobs->pdata[i], job_id) == 0)
                        g_ptr_array_remove_index(shared->jobs, i--);
        if (shared && shared->jobs->len == 0) {
                log_info("no job needs an image any more: its build is stopped", "cluster", images->cluster,
                         "image", shared->key, NULL);
                if (shared->build)
                        build_remove(shared->build, false);
                g_hash_table_remove(images->builds, shared->key);
        }
        g_hash_table_remove(images->wishes, job_id);
        next_builds(images);
}

Images *images_new(const ImagesConfig *config)
{
        Images *images = g_new0(Images, 1);
        g_auto(GStrv) environ_list = g_get_environ();
        g_autoptr(GHashTable) pip = settings_read_pip(environ_list);

        images->config = *config;
        images->cluster = g_strdup(config->cluster);
        images->namespace = g_strdup(config->namespace);
        images->server = g_strdup(config->server);
        images->state_dir = g_strdup(config->state_dir);
        images->secret = image_pull_secret_name(&config->setting->registry);
        images->pip = image_pip_config(&config->setting->pip, pip);
        images->wishes = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, wish_free);
        images->builds = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, shared_free);
        g_queue_init(&images->queue);
        g_queue_init(&images->line);
        return images;
}

void images_free(Images *images)
{
        if (!images)
                return;
        g_hash_table_unref(images->wishes);
        g_hash_table_unref(images->builds);
        if (images->secret_call)
                kube_call_cancel(images->secret_call);
        timer_clear(&images->secret_again);
        kube_cache_free(images->jobs);
        kube_cache_free(images->pods);
        g_free(images->cluster);
        g_free(images->namespace);
        g_free(images->server);
        g_free(images->state_dir);
        g_free(images->secret);
        g_free(images->pip);
        g_free(images);
}
