/* One image's Job (see build.h).
 *
 *     no Job ──create──▶ running ──▶ the pod runs: the content is delivered, the log is followed
 *       ▲                   │
 *       └──── delete ◀── failed or complete: an earlier build's
 *                           └─ this build's: its log to the end, then done
 *
 * build-state.c has the states of what goes on side by side. */
#include "runtime/kubernetes/image/build.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "base/timer.h"
#include "package/tar.h"
#include "runtime/environment/environment.h"
#include "runtime/kubernetes/image/aside.h"
#include "runtime/kubernetes/image/build-state.h"
#include "runtime/kubernetes/image/delivery.h"
#include "runtime/kubernetes/log/follow.h"
#include "runtime/kubernetes/pod/member.h"

enum {
        AGAIN_MS = 1000,
        UNSEEN_MS = 30000, /* what was created shows in the cache within this time, or is gone */
        DELIVERIES_MAX = 5,
        LOSSES_MAX = 3, /* Jobs that a third party deleted */
        UID_MAX = 64,
        SIGNALLED = 128, /* an exit status above it: the signal's number */
};

#define CONTENT "content." /* and a number: the tars */

/* A tar that is being made. */
typedef struct {
        Build *build;
        char *path, *tree, *requirements, *setup, *pip, *auth;
        bool taken; /* the build has it */
        GError *error;
} Packing;

struct Build {
        BuildConfig config; /* its texts are not kept */
        char *namespace, *server, *key, *base, *package_name, *pull_secret;
        char *dir, *tar;
        BuildState state; /* build_move moves it */
        Aside *packing;

        char *uid;      /* of the Job that is ours: CREATED, OURS; else NULL */
        gint64 made_us; /* when it was created: CREATED */
        KubeCall *call; /* that creates or deletes */
        Timer *again;
        int losses;

        char *pod, *pod_uid; /* that the log and the delivery are of */
        Follow *follow;      /* FOLLOWED */
        Delivery *delivery;  /* STARTED */
        int deliveries;
        char *killed; /* what killed its container; NULL: the script ended by itself */

        bool found;    /* KNOWN: see BuildConfig.done */
        char *problem; /* KNOWN; or NULL */
        Timer *ending;
};

static bool is_at(const Build *build, BuildActivity activity, int state)
{
        return build->state.at[activity] == state;
}

char *build_log_path(const char *dir)
{
        return g_build_filename(dir, "build.log", NULL);
}

static void on_again(void *arg)
{
        build_look(arg);
}

static void look_again(Build *build)
{
        if (!build->again)
                timer_set(&build->again, build->config.context, AGAIN_MS, on_again, build);
}

static void on_ending(void *arg)
{
        Build *build = arg;
        g_autofree char *problem = g_steal_pointer(&build->problem);

        build_move(&build->state, BUILD_RESULT, RESULT_TOLD);
        build->config.done(problem, build->found, build->config.arg);
}

/* `problem` is taken. It is told from the loop, because the callback may free the build. */
static void end(Build *build, char *problem, bool found)
{
        if (!is_at(build, BUILD_RESULT, RESULT_OPEN)) {
                g_free(problem);
                return;
        }
        build_move(&build->state, BUILD_RESULT, RESULT_KNOWN);
        build->found = found;
        build->problem = problem;
        timer_set(&build->ending, build->config.context, 0, on_ending, build);
}

/* ---- its content ---- */

static void pack(void *arg)
{
        Packing *packing = arg;
        TarText texts[5] = { { "auth.json", packing->auth }, { "pip.conf", packing->pip }, { NULL } };
        TarText *end = texts + 2;

        if (packing->requirements)
                *end++ = (TarText){ "requirements.txt", packing->requirements };
        if (packing->setup)
                *end++ = (TarText){ "setup", packing->setup };

        (void)tar_write(packing->path, packing->tree, "work", texts, false, &packing->error);
}

static void on_packed(void *arg)
{
        Packing *packing = arg;
        Build *build = packing->build;

        build->packing = NULL;
        packing->taken = !packing->error;
        build_move(&build->state, BUILD_CONTENT, packing->error ? CONTENT_FAILED : CONTENT_READY);
        if (packing->error)
                end(build, g_strdup_printf("the package cannot be read: %s", packing->error->message), false);
        else
                build_look(build);
}

static void packing_free(void *arg)
{
        Packing *packing = arg;

        if (!packing->taken)
                (void)unlink(packing->path);
        g_free(packing->path);
        g_free(packing->tree);
        g_free(packing->requirements);
        g_free(packing->setup);
        g_free(packing->pip);
        g_free(packing->auth);
        g_clear_error(&packing->error);
        g_free(packing);
}

static void start_packing(Build *build, const BuildConfig *config)
{
        Packing *packing = g_new0(Packing, 1);

        packing->build = build;
        packing->path = g_strdup(build->tar);
        packing->tree = g_strdup(config->tree);
        packing->requirements = g_strdup(config->requirements);
        packing->setup = g_strdup(config->setup);
        packing->pip = g_strdup(config->pip);
        packing->auth = image_credentials(&config->about.setting->registry);
        build->packing = aside_run(config->context, &(AsideWork){ pack, on_packed, packing_free, packing });
}

static void on_delivered(const char *problem, void *arg)
{
        Build *build = arg;

        g_clear_pointer(&build->delivery, delivery_free);
        build_move(&build->state, BUILD_DELIVERY, problem ? DELIVERY_NONE : DELIVERY_DONE);
        if (!problem)
                return;
        if (++build->deliveries >= DELIVERIES_MAX) {
                end(build,
                    g_strdup_printf("the files for the image could not be sent to its builder: %s", problem),
                    false);
                return;
        }
        log_info("the files for an image could not be sent to its builder, retrying", "image", build->key,
                 "reason", problem, NULL);
        look_again(build);
}

static void deliver(Build *build)
{
        g_auto(GStrv) argv = NULL;
        struct stat st = { 0 };

        if (!is_at(build, BUILD_CONTENT, CONTENT_READY) || !is_at(build, BUILD_DELIVERY, DELIVERY_NONE) ||
            build->again)
                return;
        (void)stat(build->tar, &st); /* a missing file counts as empty: the command refuses it */
        argv = image_delivery(st.st_size);
        build_move(&build->state, BUILD_DELIVERY, DELIVERY_STARTED);
        build->delivery =
                delivery_new(build->config.client, &(DeliveryConfig){ .context = build->config.context,
                                                                      .namespace = build->namespace,
                                                                      .pod = build->pod,
                                                                      .container = IMAGE_CONTAINER,
                                                                      .argv = (const char *const *)argv,
                                                                      .path = build->tar,
                                                                      .done = on_delivered,
                                                                      .arg = build });
}

/* ---- the log ---- */

static void on_log_done(void *arg)
{
        Build *build = arg;

        g_clear_pointer(&build->follow, follow_free);
        build_move(&build->state, BUILD_LOG, IMAGE_LOG_COMPLETE);
        build_look(build);
}

/* The log of another pod starts a new file. The log of the same pod continues, even if an earlier server
 * wrote it. */
static void begin_log(Build *build, const char *log)
{
        g_autofree char *path = g_build_filename(build->dir, "pod", NULL), *was = NULL;
        g_autoptr(GError) error = NULL;

        if (file_read(path, UID_MAX, &was, NULL, NULL) && strcmp(was, build->pod_uid) == 0)
                return;
        (void)unlink(log); /* it may not be there */
        if (!file_replace(path, build->pod_uid, strlen(build->pod_uid), 0644, false, &error))
                log_warning("the log of a build may be written twice", "image", build->key, "reason",
                            error->message, NULL);
}

static void follow_log(Build *build)
{
        g_autofree char *log = build_log_path(build->dir);

        if (is_at(build, BUILD_LOG, IMAGE_LOG_FOLLOWED) || is_at(build, BUILD_LOG, IMAGE_LOG_COMPLETE))
                return;
        build_move(&build->state, BUILD_LOG, IMAGE_LOG_FOLLOWED);
        begin_log(build, log);
        build->follow = follow_new(build->config.logs, &(FollowConfig){ .namespace = build->namespace,
                                                                        .pod = build->pod,
                                                                        .container = IMAGE_CONTAINER,
                                                                        .uid = build->pod_uid,
                                                                        .path = log,
                                                                        .limit = build->config.log_limit,
                                                                        .done = on_log_done,
                                                                        .arg = build });
}

/* ---- the pod ---- */

typedef struct {
        const char *uid;
        const json_t *found;
} PodSearch;

static void match_pod(const json_t *pod, void *arg)
{
        PodSearch *search = arg;
        const char *owner = json_string_value(json_object_get(kube_controller(pod), "uid"));

        if (g_strcmp0(owner, search->uid) == 0 && !kube_is_deleting(pod))
                search->found = image_pod(search->found, pod);
}

static void take_pod(Build *build, const json_t *pod)
{
        if (g_strcmp0(build->pod_uid, kube_uid(pod)) == 0)
                return;
        g_clear_pointer(&build->follow, follow_free);
        g_clear_pointer(&build->delivery, delivery_free);
        if (!is_at(build, BUILD_LOG, IMAGE_LOG_NONE))
                build_move(&build->state, BUILD_LOG, IMAGE_LOG_NONE);
        if (!is_at(build, BUILD_DELIVERY, DELIVERY_NONE))
                build_move(&build->state, BUILD_DELIVERY, DELIVERY_NONE);
        g_clear_pointer(&build->killed, g_free);
        g_free(build->pod);
        g_free(build->pod_uid);
        build->pod = g_strdup(kube_name(pod));
        build->pod_uid = g_strdup(kube_uid(pod));
}

/* True if it would wait for ever. */
static bool is_vain(const json_t *state, char **ret_problem)
{
        const char *reason = kube_get_text(state, "waiting.reason");
        const char *message = kube_get_text(state, "waiting.message");

        if (!reason || !member_waits_in_vain(reason, NULL))
                return false;
        *ret_problem = g_strdup_printf("the builder of the cluster's setting does not start: %s%s%s", reason,
                                       message ? ": " : "", message ? message : "");
        return true;
}

/* "OOMKilled", "signal 15"; the caller's, NULL: the container ended by itself. */
static char *killer(const json_t *terminated)
{
        const char *reason = kube_get_text(terminated, "reason");
        gint64 status = kube_get_int(terminated, "exitCode", 0);

        if (g_strcmp0(reason, "OOMKilled") == 0)
                return g_strdup("OOMKilled");
        return status > SIGNALLED ? g_strdup_printf("signal %d", (int)status - SIGNALLED) : NULL;
}

static void look_at_pod(Build *build)
{
        PodSearch search = { .uid = build->uid };
        const json_t *state;
        char *problem = NULL;

        kube_cache_each(build->config.pods, match_pod, &search);
        if (!search.found)
                return;
        take_pod(build, search.found);
        state = kube_get(search.found, "status.containerStatuses[0].state");
        if (kube_get(state, "running") || kube_get(state, "terminated"))
                follow_log(build);
        if (kube_get(state, "running"))
                deliver(build);
        if (kube_get(state, "terminated") && is_at(build, BUILD_LOG, IMAGE_LOG_FOLLOWED)) {
                g_free(build->killed);
                build->killed = killer(kube_get(state, "terminated"));
                follow_last(build->follow);
        }
        if (is_vain(state, &problem)) {
                build_remove(build, false);
                end(build, problem, false);
        }
}

/* ---- the Job ---- */

static void on_made(const KubeReply *reply, void *arg)
{
        Build *build = arg;

        build->call = NULL;
        build_move(&build->state, BUILD_JOB, reply->error ? IMAGE_JOB_UNKNOWN : IMAGE_JOB_CREATED);
        if (!reply->error) {
                build->uid = g_strdup(kube_uid(reply->object));
                build->made_us = g_get_monotonic_time();
                look_again(build);
        } else if (err_is(reply->error, ERR_INVALID) || err_is(reply->error, ERR_DENIED) ||
                   err_is(reply->error, ERR_NOT_FOUND) || err_is(reply->error, ERR_QUOTA)) {
                end(build, g_strdup_printf("the image's Job cannot be created: %s", reply->error->message),
                    false);
        } else { /* it is there, or passing */
                look_again(build);
        }
}

static void create(Build *build)
{
        ImageBuild about = { .setting = build->config.about.setting,
                             .namespace = build->namespace,
                             .server = build->server,
                             .key = build->key,
                             .base = build->base,
                             .package_name = build->package_name,
                             .pull_secret = build->pull_secret,
                             .limits = build->config.about.limits,
                             .time_limit_ms = build->config.about.time_limit_ms };
        g_autoptr(json_t) job = image_job(&about);

        build_move(&build->state, BUILD_JOB, IMAGE_JOB_CREATING);
        g_clear_pointer(&build->uid, g_free);
        build->call = kube_send(build->config.client,
                                &(KubeRequest){ .verb = KUBE_CREATE,
                                                .kind = &kube_jobs,
                                                .namespace = build->namespace,
                                                .body = job },
                                on_made, build);
}

static void on_deleted(const KubeReply *reply, void *arg)
{
        Build *build = arg;

        build->call = NULL;
        if (reply->error && !err_is(reply->error, ERR_NOT_FOUND))
                build_move(&build->state, BUILD_JOB, IMAGE_JOB_UNKNOWN);
        look_again(build);
}

void build_remove(Build *build, bool again)
{
        KubeRequest request = { .verb = KUBE_DELETE,
                                .kind = &kube_jobs,
                                .namespace = build->namespace,
                                .name = build->key,
                                .propagation = "Background" };

        if (!again) { /* the cluster may be away */
                deletions_want(build->config.deletions, &kube_jobs, build->namespace, build->key, build->uid,
                               -1);
                return;
        }
        if (is_at(build, BUILD_RESULT, RESULT_TOLD))
                build_move(&build->state, BUILD_RESULT, RESULT_OPEN);
        build_move(&build->state, BUILD_JOB, IMAGE_JOB_DELETING);
        g_clear_pointer(&build->uid, g_free);
        if (!build->call)
                build->call = kube_send(build->config.client, &request, on_deleted, build);
}

static bool has_condition(const json_t *job, const char *type, const json_t **ret)
{
        const json_t *list = kube_get(job, "status.conditions"), *one;
        gsize i;

        json_array_foreach(list, i, one) {
                if (g_strcmp0(kube_get_text(one, "type"), type) == 0 &&
                    g_strcmp0(kube_get_text(one, "status"), "True") == 0) {
                        *ret = one;
                        return true;
                }
        }
        return false;
}

/* The reason from the log, or else from the Job. */
static char *why_failed(const Build *build, const json_t *condition)
{
        g_autofree char *log = build_log_path(build->dir);
        const char *message = kube_get_text(condition, "message");

        if (build->killed)
                return g_strdup_printf("the image's builder was ended by %s", build->killed);
        if (g_strcmp0(kube_get_text(condition, "reason"), "DeadlineExceeded") == 0) {
                g_autofree char *limit = duration_format(build->config.about.time_limit_ms);

                return g_strdup_printf("image '%s' was not ready after %s, the time limit of a build "
                                       "(`paddled --build-time-limit`)",
                                       build->key, build->config.about.time_limit_ms ? limit : "2 hours");
        }
        if (is_at(build, BUILD_LOG, IMAGE_LOG_COMPLETE))
                return environment_failure(log);
        return g_strdup_printf("the image's Job failed: %s", message ? message : "it does not say why");
}

/* The log first; the pod may show a moment later than the Job's end. */
static void look_at_end(Build *build, const json_t *failed)
{
        if (is_at(build, BUILD_LOG, IMAGE_LOG_FOLLOWED)) {
                follow_last(build->follow);
        } else if (failed && is_at(build, BUILD_LOG, IMAGE_LOG_NONE)) {
                build_move(&build->state, BUILD_LOG, IMAGE_LOG_AWAITED);
                look_again(build);
        } else if (!build->again || !failed) {
                end(build, failed ? why_failed(build, failed) : NULL, false);
        }
}

static void job_gone(Build *build)
{
        bool is_new = is_at(build, BUILD_JOB, IMAGE_JOB_CREATED);

        if (is_new && g_get_monotonic_time() - build->made_us < UNSEEN_MS * G_GINT64_CONSTANT(1000)) {
                look_again(build);
                return;
        }
        if ((is_new || is_at(build, BUILD_JOB, IMAGE_JOB_OURS)) && ++build->losses > LOSSES_MAX) {
                end(build,
                    g_strdup_printf("a third party has deleted the image's Job '%s' %d times", build->key,
                                    build->losses),
                    false);
                return;
        }
        create(build);
}

/* True if the Job is the one that this build has created; or one that runs when this server first sees it, which
 * counts as such. */
static bool is_ours(Build *build, const json_t *job, bool has_ended)
{
        if (is_at(build, BUILD_JOB, IMAGE_JOB_UNKNOWN)) {
                if (has_ended)
                        return false;
                build->uid = g_strdup(kube_uid(job));
        } else if (strcmp(build->uid, kube_uid(job)) != 0) {
                return false;
        }
        if (!is_at(build, BUILD_JOB, IMAGE_JOB_OURS))
                build_move(&build->state, BUILD_JOB, IMAGE_JOB_OURS);
        return true;
}

static void job_there(Build *build, const json_t *job)
{
        const json_t *condition = NULL;
        bool failed = has_condition(job, "Failed", &condition);
        bool complete = !failed && has_condition(job, "Complete", &condition);

        if (!is_ours(build, job, failed || complete)) {
                if (complete)
                        end(build, NULL, true);
                else
                        build_remove(build, true);
                return;
        }
        look_at_pod(build);
        if (is_at(build, BUILD_RESULT, RESULT_OPEN) && (failed || complete))
                look_at_end(build, failed ? condition : NULL);
}

void build_look(Build *build)
{
        const json_t *job = kube_cache_get(build->config.jobs, build->namespace, build->key);

        if (!is_at(build, BUILD_RESULT, RESULT_OPEN) || build->call ||
            !kube_cache_is_synced(build->config.jobs) || !kube_cache_is_synced(build->config.pods))
                return;
        if (!job && !build->again)
                job_gone(build);
        else if (job && !kube_is_deleting(job) && !is_at(build, BUILD_JOB, IMAGE_JOB_DELETING))
                job_there(build, job);
}

/* Deletes the tars that killed servers left: they have credentials. */
static void drop_contents(const char *dir)
{
        GDir *list = g_dir_open(dir, 0, NULL);

        for (const char *name; list && (name = g_dir_read_name(list));) {
                g_autofree char *path = g_build_filename(dir, name, NULL);

                if (g_str_has_prefix(name, CONTENT))
                        (void)unlink(path);
        }
        if (list)
                g_dir_close(list);
}

Build *build_new(const BuildConfig *config)
{
        Build *build = g_new0(Build, 1);
        g_autoptr(GError) error = NULL;

        build->config = *config;
        build->namespace = g_strdup(config->about.namespace);
        build->server = g_strdup(config->about.server);
        build->key = g_strdup(config->about.key);
        build->base = g_strdup(config->about.base);
        build->package_name = g_strdup(config->about.package_name);
        build->pull_secret = g_strdup(config->about.pull_secret);
        build->dir = g_strdup(config->dir);
        build->tar = g_strdup_printf("%s/" CONTENT "%" G_GINT64_FORMAT, config->dir, g_get_monotonic_time());
        if (!file_mkdirs(build->dir, 0755, &error))
                log_warning("an image has no place for its log", "reason", error->message, NULL);
        drop_contents(build->dir);
        start_packing(build, config);
        return build;
}

void build_free(Build *build)
{
        if (!build)
                return;
        aside_cancel(build->packing);
        timer_clear(&build->again);
        timer_clear(&build->ending);
        if (build->call)
                kube_call_cancel(build->call);
        follow_free(build->follow);
        delivery_free(build->delivery);
        (void)unlink(build->tar); /* it may not be there */
        g_free(build->tar);
        g_free(build->dir);
        g_free(build->namespace);
        g_free(build->server);
        g_free(build->key);
        g_free(build->base);
        g_free(build->package_name);
        g_free(build->pull_secret);
        g_free(build->uid);
        g_free(build->pod);
        g_free(build->pod_uid);
        g_free(build->killed);
        g_free(build->problem);
        g_free(build);
}
