/* Builds of environments (see builds.h). `all` maps a key to its Build; the lock protects it. A forget and a
 * new start of the same name are passed to the link with that lock, so that the agent sees them in order.
 *
 *     requested ──▶ queued ──its turn──▶ sent to the agent ──▶ runs ──▶ ended: waiting jobs get the result
 *                      │                     ▲                   │
 *                      └─ unwanted: dropped  └─ lost, or wanted ─┴─ stopped: unwanted, or overdue
 *                                               again
 *
 * A separate thread watches the clock: for time limits, and for builds of an earlier server that no job has
 * claimed. */
#include "runtime/local/builds.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cond.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "runtime/environment/settings.h"
#include "runtime/local/message.h"
#include "runtime/local/workdir.h"

#define TASK_PREFIX "env."

enum {
        LOSSES_MAX = 2, /* a builder that was lost (killed, machine restarted) is restarted this often */
        GRACE_MS = 5000,
        CLAIM_MS = 60000, /* time for a job to claim a build of an earlier server, which else ends */
};

typedef enum { NOT_STOPPED, STOPPED_UNWANTED, STOPPED_OVERDUE } Stopped;

typedef struct {
        char *key;
        Identity *identity;         /* NULL: the server's own */
        char *user;                 /* the first user who requested it; NULL: found at the agent */
        gint64 user_seq;            /* number of that user in the catalog */
        char *requirements, *setup; /* both NULL: found at the agent, not requested yet */
        char *staged;               /* of environment_stage(); or NULL */
        Resources limits;
        GPtrArray *waiting; /* job ids */
        bool turn;          /* it runs or is about to run: counts against the limits */
        bool seen;          /* sent to the agent, or reported by it, over the current connection */
        int losses;
        gint64 deadline;    /* monotonic ms: the time limit; 0: none, or not known yet */
        gint64 claim_until; /* monotonic ms: limit for being claimed by a job; 0: it was claimed */
        Stopped stopped;    /* the agent was asked to end it */
} Build;

struct Builds {
        EnvironmentConfig environment;
        BuildBounds bounds;
        char *envs_dir, *uv, *python, *state_dir, *proxy_program, *allow;
        gint64 log_limit, user_processes;
        guint sandbox;
        bool egress;
        const char *const *keep;
        GpuDevices gpus;
        Projects *projects;
        AgentLink *link;

        pthread_mutex_t wanted_lock;
        GHashTable *wanted; /* job ids */

        pthread_mutex_t lock;
        GHashTable *all;
        GQueue line; /* Build without a turn, in order of request */
        pthread_cond_t changed;
        pthread_t clock;
        bool closing;
};

static void build_free(void *arg)
{
        Build *build = arg;

        g_free(build->key);
        g_free(build->user);
        g_free(build->requirements);
        g_free(build->setup);
        g_free(build->staged);
        identity_unref(build->identity);
        g_ptr_array_unref(build->waiting);
        g_free(build);
}

static void *watch_clock(void *arg);

Builds *builds_new(const BuildsConfig *config)
{
        Builds *builds = g_new0(Builds, 1);

        builds->envs_dir = g_strdup(config->environment.envs_dir);
        builds->uv = g_strdup(config->environment.uv);
        builds->python = g_strdup(config->environment.python);
        builds->bounds = config->bounds;
        builds->bounds.allow = builds->allow = g_strdup(config->bounds.allow);
        builds->environment =
                (EnvironmentConfig){ builds->envs_dir, builds->uv, builds->python, config->bounds.urls };
        builds->state_dir = g_strdup(config->state_dir);
        builds->proxy_program = g_strdup(config->proxy_program);
        builds->log_limit = config->log_limit;
        builds->user_processes = config->user_processes;
        builds->sandbox = config->sandbox;
        builds->keep = config->keep;
        builds->egress = config->egress;
        builds->gpus = config->gpus;
        builds->projects = config->projects;
        builds->link = config->link;
        pthread_mutex_init(&builds->wanted_lock, NULL);
        builds->wanted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        pthread_mutex_init(&builds->lock, NULL);
        builds->all = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, build_free);
        g_queue_init(&builds->line);
        cond_init(&builds->changed);
        if (pthread_create(&builds->clock, NULL, watch_clock, builds) != 0)
                g_error("no thread for the time limits of builds"); /* as all of GLib does */
        return builds;
}

void builds_free(Builds *builds)
{
        if (!builds)
                return;
        pthread_mutex_lock(&builds->lock);
        builds->closing = true;
        pthread_cond_signal(&builds->changed);
        pthread_mutex_unlock(&builds->lock);
        pthread_join(builds->clock, NULL);
        g_queue_clear(&builds->line);
        g_hash_table_unref(builds->all);
        g_hash_table_unref(builds->wanted);
        pthread_cond_destroy(&builds->changed);
        pthread_mutex_destroy(&builds->lock);
        pthread_mutex_destroy(&builds->wanted_lock);
        g_free(builds->envs_dir);
        g_free(builds->uv);
        g_free(builds->python);
        g_free(builds->state_dir);
        g_free(builds->proxy_program);
        g_free(builds->allow);
        g_free(builds);
}

/* ---- jobs ---- */

void builds_want(Builds *builds, const char *job_id)
{
        pthread_mutex_lock(&builds->wanted_lock);
        g_hash_table_add(builds->wanted, g_strdup(job_id));
        pthread_mutex_unlock(&builds->wanted_lock);
}

void builds_unwant(Builds *builds, const char *job_id)
{
        pthread_mutex_lock(&builds->wanted_lock);
        g_hash_table_remove(builds->wanted, job_id);
        pthread_mutex_unlock(&builds->wanted_lock);
}

static bool is_wanted(Builds *builds, const char *job_id)
{
        bool wanted;

        pthread_mutex_lock(&builds->wanted_lock);
        wanted = g_hash_table_contains(builds->wanted, job_id);
        pthread_mutex_unlock(&builds->wanted_lock);
        return wanted;
}

/* `text` NULL: prepared; otherwise the reason of the failure. */
static void answer(Builds *builds, const char *job_id, const char *text)
{
        Observation *observation = g_new0(Observation, 1);

        builds_unwant(builds, job_id);
        observation->kind = text ? OBSERVED_PREPARE_FAILED : OBSERVED_PREPARED;
        observation->preparation = PREPARE_ENVIRONMENT;
        g_strlcpy(observation->task, job_id, sizeof observation->task);
        observation->time = clock_now_ms();
        observation->text = g_strdup(text);
        agent_link_post(builds->link, observation);
}

static void answer_all(Builds *builds, Build *build, const char *text)
{
        for (guint i = 0; i < build->waiting->len; i++)
                answer(builds, build->waiting->pdata[i], text);
        g_ptr_array_set_size(build->waiting, 0);
}

/* ---- one build ---- */

static char *task_of(const Build *build)
{
        return g_strconcat(TASK_PREFIX, build->key, NULL);
}

/* The builder's proxy in place of the machine's network; NULL with an empty error: none. */
static char **proxy_of(const Builds *builds, const Build *build, GError **error)
{
        const BuildBounds *bounds = &builds->bounds;
        g_auto(GStrv) here = g_get_environ(), proxies = NULL;
        g_autofree char *index = NULL, *named = NULL, *allow = NULL;
        g_autoptr(GStrvBuilder) list = g_strv_builder_new();
        g_autoptr(GError) failure = NULL;

        if (bounds->network == BUILD_NETWORK_HOST)
                return NULL;
        proxies = settings_proxies(here, &failure);
        if (!proxies && bounds->network == BUILD_NETWORK_INDEX) {
                g_propagate_prefixed_error(error, g_steal_pointer(&failure),
                                           "a build cannot be limited to the package index: ");
                return NULL;
        }
        if (!proxies) {
                log_warning("builds of environments can connect to everything that this machine can",
                            "reason", failure->message, NULL);
                return NULL;
        }
        index = settings_addresses(here);
        named = settings_addresses_in(bounds->urls ? build->requirements : NULL);
        allow = g_strconcat("ALLOW=", index, ",", named, ",", bounds->allow, NULL);
        g_strv_builder_add(list, builds->proxy_program);
        g_strv_builder_add(list, allow);
        g_strv_builder_addv(list, (const char **)proxies);
        if (bounds->network == BUILD_NETWORK_INDEX)
                g_strv_builder_add(list, "REQUIRED=1");
        if (builds->egress && build->identity)
                g_strv_builder_add(list, "EGRESS=1"); /* for its error texts; the agent sets the rules */
        return g_strv_builder_end(list);
}

static char *downloads_of(const Builds *builds, const Owner *owner)
{
        return g_strdup_printf("%s/u%u", builds->envs_dir, owner->uid);
}

/* Labels the build's directory, and its downloads if those are new, so that the kernel counts them to its
 * user. builds_prepare has labelled existing downloads. */
static void label_new(const Builds *builds, const Build *build, const char *new_downloads)
{
        g_autofree char *dir = g_build_filename(builds->envs_dir, build->key, NULL);

        (void)projects_label(builds->projects, build->user, dir, NULL, NULL); /* failures are only logged */
        if (new_downloads)
                (void)projects_label(builds->projects, build->user, new_downloads, NULL, NULL);
}

/* Sends the build to the agent; without a connection, OBSERVED_SYNCED sends it later. Call it with the
 * lock. */
static bool ask_agent(Builds *builds, Build *build, GError **error)
{
        const EnvironmentConfig *environment = &builds->environment;
        const Owner *owner = build->identity ? &build->identity->owner : NULL;
        const EnvironmentRecipe recipe = { .requirements = build->requirements, .setup = build->setup };
        g_autofree char *task = task_of(build);
        g_autofree char *dir = environment_build_dir(environment, build->key);
        g_autofree char *log = environment_log_path(environment, build->key);
        g_autofree char *downloads = owner ? downloads_of(builds, owner) : NULL;
        bool is_first = downloads && access(downloads, F_OK) < 0;
        g_auto(GStrv) argv =
                environment_build_command(environment, build->key, owner, &recipe, build->staged, error);
        g_auto(GStrv) env = argv ? environment_build_variables(environment, build->key, owner, error) : NULL;
        g_autoptr(GError) failure = NULL;
        g_auto(GStrv) proxy = env ? proxy_of(builds, build, &failure) : NULL;
        g_autoptr(GString) line = g_string_new(NULL);
        TaskStart start = { .task = task,
                            .argv = argv,
                            .env = env,
                            .dir = dir,
                            .log = log,
                            .limits = build->limits,
                            .max_processes = builds->bounds.processes,
                            .user = build->user_seq,
                            .user_processes = builds->user_processes,
                            .proxy = (const char *const *)proxy,
                            .log_limit = builds->log_limit,
                            .grace_ms = GRACE_MS };
        Sandbox sandbox = { .parts = owner ? builds->sandbox & agent_link_sandbox(builds->link) : 0,
                            .egress = owner && builds->egress,
                            .keep = builds->keep };

        if (!env || (owner && !agent_link_check_users(builds->link, error)) ||
            (sandbox.egress && !agent_link_check_egress(builds->link, error)))
                return false;
        if (failure) {
                g_propagate_error(error, g_steal_pointer(&failure));
                return false;
        }
        if (owner)
                label_new(builds, build, is_first ? downloads : NULL);
        if (agent_link_denies_devices(builds->link)) {
                sandbox.denied_major = builds->gpus.major;
                sandbox.denied_minors = gpus_denied(&builds->gpus, NULL);
        }
        message_start(line, &start, build->identity, &sandbox);
        build->stopped = NOT_STOPPED;
        build->deadline = 0;
        build->seen = agent_link_send(builds->link, line);
        return true;
}

/* Without a connection nothing is sent: it is stopped when the agent reports it. */
static void ask_to_stop(Builds *builds, Build *build, Stopped why)
{
        g_autofree char *task = task_of(build);
        g_autoptr(GString) line = g_string_new(NULL);

        message_stop(line, task, GRACE_MS);
        if (agent_link_send(builds->link, line))
                build->stopped = why;
}

static Build *build_get(Builds *builds, const char *key)
{
        Build *build = g_hash_table_lookup(builds->all, key);

        if (!build) {
                build = g_new0(Build, 1);
                build->key = g_strdup(key);
                build->waiting = g_ptr_array_new_with_free_func(g_free);
                g_hash_table_insert(builds->all, build->key, build);
        }
        return build;
}

/* ---- turns ---- */

static bool may_run(Builds *builds, const Build *next)
{
        const BuildBounds *bounds = &builds->bounds;
        GHashTableIter iter;
        int in_all = 0, of_user = 0;
        void *value;

        g_hash_table_iter_init(&iter, builds->all);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const Build *build = value;

                in_all += build->turn;
                of_user += build->turn && g_strcmp0(build->user, next->user) == 0;
        }
        return (bounds->at_once == 0 || in_all < bounds->at_once) &&
               (bounds->at_once_per_user == 0 || of_user < bounds->at_once_per_user);
}

static void drop(Builds *builds, Build *build)
{
        g_queue_remove(&builds->line, build);
        g_hash_table_remove(builds->all, build->key);
}

static void ask_or_fail(Builds *builds, Build *build)
{
        g_autoptr(GError) failure = NULL;

        if (ask_agent(builds, build, &failure))
                return;
        answer_all(builds, build, failure->message);
        drop(builds, build);
}

/* Call it after each end of a build. A build whose user has reached the limit is overtaken by those of
 * others. */
static void give_turns(Builds *builds)
{
        for (GList *link = builds->line.head; link;) {
                Build *build = link->data;

                link = link->next;
                if (!may_run(builds, build))
                        continue;
                g_queue_remove(&builds->line, build);
                build->turn = true;
                ask_or_fail(builds, build);
        }
}

/* ---- requests ---- */

/* The first request of a build describes it. */
static void describe(Build *build, const BuildWish *wish)
{
        build->claim_until = 0;
        if (!build->requirements && !build->setup) {
                build->requirements = g_strdup(wish->recipe.requirements);
                build->setup = g_strdup(wish->recipe.setup);
                build->limits = wish->limits;
        }
        if (!build->user) {
                build->user = g_strdup(wish->user);
                build->user_seq = wish->recipe.user;
        }
        if (!build->identity && wish->identity)
                build->identity = identity_ref(wish->identity);
}

static bool lacks_package(Builds *builds, const char *key, const BuildWish *wish)
{
        const Build *build = g_hash_table_lookup(builds->all, key);

        return wish->recipe.setup && wish->package && !(build && build->staged);
}

/* False: the setup's package must be staged first. Takes *staged if it is used. */
static bool wait_for_build(Builds *builds, const char *key, const BuildWish *wish, char **staged)
{
        Build *build;

        pthread_mutex_lock(&builds->lock);
        if (!is_wanted(builds, wish->job_id)) { /* the job has ended meanwhile */
                pthread_mutex_unlock(&builds->lock);
                return true;
        }
        if (lacks_package(builds, key, wish) && !*staged) {
                pthread_mutex_unlock(&builds->lock);
                return false;
        }
        build = build_get(builds, key);
        describe(build, wish);
        if (!build->staged)
                build->staged = g_steal_pointer(staged);
        if (!g_ptr_array_find_with_equal_func(build->waiting, wish->job_id, g_str_equal, NULL))
                g_ptr_array_add(build->waiting, g_strdup(wish->job_id));
        if (!build->turn && !g_queue_find(&builds->line, build))
                g_queue_push_tail(&builds->line, build);
        give_turns(builds);
        pthread_mutex_unlock(&builds->lock);
        return true;
}

/* Labels downloads that are older than project quotas, once. The walk takes time, so do not hold the lock. */
static void label_downloads(const Builds *builds, const BuildWish *wish)
{
        g_autofree char *dir = wish->identity ? downloads_of(builds, &wish->identity->owner) : NULL;

        if (dir)
                (void)projects_label(builds->projects, wish->user, dir, NULL, NULL); /* as in label_new */
}

/* The package counts to its user from its first byte. */
static bool stage(Builds *builds, const char *key, const BuildWish *wish, char **ret, GError **error)
{
        const Owner *owner = wish->identity ? &wish->identity->owner : NULL;
        g_autofree char *dir = g_build_filename(builds->envs_dir, key, NULL);

        if (!file_mkdirs(dir, 0755, error))
                return false;
        if (owner)
                (void)projects_label(builds->projects, wish->user, dir, NULL, NULL); /* as in label_new */
        return environment_stage(&builds->environment, key, owner, wish->package, ret, error) ||
               err_prefix(error, "the package cannot be copied for its setup: ");
}

static void build_for(Builds *builds, const char *key, const BuildWish *wish)
{
        g_autoptr(GError) failure = NULL;
        g_autofree char *staged = NULL;

        label_downloads(builds, wish);
        if (wait_for_build(builds, key, wish, &staged))
                return;
        if (!stage(builds, key, wish, &staged, &failure)) {
                answer(builds, wish->job_id, failure->message);
                return;
        }
        (void)wait_for_build(builds, key, wish, &staged); /* true: there is a package */
        if (staged)                                       /* another worker was first */
                environment_unstage(&builds->environment, key, staged);
}

void builds_prepare(Builds *builds, const BuildWish *wish)
{
        const Owner *owner = wish->identity ? &wish->identity->owner : NULL;
        g_autoptr(GError) failure = NULL;
        g_autofree char *key = NULL;

        if (!environment_is_wanted(&wish->recipe)) {
                answer(builds, wish->job_id, NULL);
                return;
        }
        key = environment_key(&builds->environment, owner, &wish->recipe, &failure);
        if (!key || !workdir_link_environment(builds->state_dir, wish->job_id, key, &failure))
                answer(builds, wish->job_id, failure->message);
        else if (environment_use(&builds->environment, key))
                answer(builds, wish->job_id, NULL);
        else
                build_for(builds, key, wish);
}

void builds_abandon(Builds *builds, const char *job_id)
{
        g_autoptr(GList) all = NULL;

        pthread_mutex_lock(&builds->lock);
        all = is_wanted(builds, job_id) ? NULL : g_hash_table_get_values(builds->all);
        for (GList *item = all; item; item = item->next) {
                Build *build = item->data;
                guint at;

                if (!g_ptr_array_find_with_equal_func(build->waiting, job_id, g_str_equal, &at))
                        continue;
                g_ptr_array_remove_index(build->waiting, at);
                if (build->waiting->len == 0 && build->turn)
                        ask_to_stop(builds, build, STOPPED_UNWANTED);
                else if (build->waiting->len == 0)
                        drop(builds, build);
                break; /* a job waits for a build */
        }
        give_turns(builds);
        pthread_mutex_unlock(&builds->lock);
}

void builds_touch(Builds *builds, const char *key)
{
        (void)environment_use(&builds->environment, key); /* a deleted environment is rebuilt on demand */
}

bool builds_is_prepared(Builds *builds, const EnvironmentRecipe *recipe, const Identity *identity,
                        char **ret_touch)
{
        g_autofree char *key = NULL;
        bool touch, ready;

        *ret_touch = NULL;
        if (!environment_is_wanted(recipe))
                return true;
        if (!environment_is_known(&builds->environment))
                return false;
        key = environment_key(&builds->environment, identity ? &identity->owner : NULL, recipe,
                              NULL); /* prepare() reports the error */
        ready = key && environment_look(&builds->environment, key, &touch);
        if (ready && touch)
                *ret_touch = g_steal_pointer(&key);
        return ready;
}

/* ---- the clock ---- */

static bool is_overdue(const Build *build)
{
        return build->deadline && build->deadline <= clock_monotonic_ms();
}

/* The next time at which something is due, monotonic ms; 0: never. */
static gint64 due_of(const Build *build)
{
        if (!build->turn || !build->seen || build->stopped)
                return 0;
        if (build->waiting->len == 0 && build->claim_until)
                return build->deadline ? MIN(build->deadline, build->claim_until) : build->claim_until;
        return build->deadline;
}

/* Ends overdue builds; returns when to check again, 0: only after a change. */
static gint64 end_overdue(Builds *builds)
{
        gint64 now = clock_monotonic_ms(), next = 0;
        GHashTableIter iter;
        void *value;

        g_hash_table_iter_init(&iter, builds->all);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                Build *build = value;
                gint64 due = due_of(build);

                if (due && due <= now)
                        ask_to_stop(builds, build, is_overdue(build) ? STOPPED_OVERDUE : STOPPED_UNWANTED);
                else if (due && (!next || due < next))
                        next = due;
        }
        return next;
}

static void *watch_clock(void *arg)
{
        Builds *builds = arg;

        pthread_mutex_lock(&builds->lock);
        while (!builds->closing) {
                gint64 next = end_overdue(builds);

                if (next)
                        (void)cond_wait_until(&builds->changed, &builds->lock, next);
                else
                        (void)pthread_cond_wait(&builds->changed, &builds->lock);
        }
        pthread_mutex_unlock(&builds->lock);
        return NULL;
}

/* ---- the link's thread ---- */

static void on_started(Builds *builds, Build *build, const Observation *observation)
{
        gint64 ran = observation->time ? MAX(clock_now_ms() - observation->time, 0) : 0;

        if (builds->bounds.time_limit_ms)
                build->deadline = clock_monotonic_ms() + MAX(builds->bounds.time_limit_ms - ran, 0);
        if (build->waiting->len == 0 && build->user && !build->stopped)
                ask_to_stop(builds, build, STOPPED_UNWANTED); /* the job ended during the disconnection */
        pthread_cond_signal(&builds->changed);
}

static void on_lost(Builds *builds, Build *build, const Observation *observation)
{
        g_autofree char *text = g_strdup_printf("the builder of the environment was lost: %s",
                                                observation->text ? observation->text : "");

        build->seen = false;
        build->losses++;
        if (build->waiting->len > 0 && build->losses <= LOSSES_MAX) {
                ask_or_fail(builds, build);
                return;
        }
        answer_all(builds, build, text);
        drop(builds, build);
}

/* Why the build failed; the caller's. */
static char *why_failed(const Builds *builds, const Build *build, const Observation *observation)
{
        g_autofree char *log = environment_log_path(&builds->environment, build->key), *amount = NULL,
                        *text = NULL;

        if (build->stopped == STOPPED_OVERDUE || (observation->exit_code != 0 && is_overdue(build))) {
                amount = duration_format(builds->bounds.time_limit_ms);
                return g_strdup_printf("environment '%s' was not ready after %s, the time limit of a build "
                                       "(`paddled --build-time-limit`)",
                                       build->key, amount);
        }
        if (observation->oom) {
                amount = memory_format(build->limits.memory);
                return g_strdup_printf("the builder of environment '%s' needed more than its %s of memory "
                                       "(`paddled --build-memory`, or what the job's queue may have)",
                                       build->key, amount);
        }
        text = environment_failure(log);
        return observation->note ? g_strconcat(observation->note, "; ", text, NULL) : g_steal_pointer(&text);
}

static void on_exited(Builds *builds, Build *build, const Observation *observation)
{
        bool ready = observation->exit_code == 0 && environment_use(&builds->environment, build->key);
        g_autofree char *text = NULL;

        if (!ready && build->stopped == STOPPED_UNWANTED && build->waiting->len > 0) {
                ask_or_fail(builds, build); /* requested again while it was being ended */
                return;
        }
        if (build->staged) /* staged while a build of an earlier server ended */
                environment_unstage(&builds->environment, build->key, build->staged);
        text = ready ? NULL : why_failed(builds, build, observation);
        answer_all(builds, build, text);
        drop(builds, build);
}

static void on_failed(Builds *builds, Build *build, const Observation *observation)
{
        answer_all(builds, build,
                   observation->text ? observation->text
                                     : "the builder of the environment could not be started");
        drop(builds, build);
}

static void on_report(Builds *builds, const Observation *observation)
{
        static void (*const ends[])(Builds *, Build *, const Observation *) = {
                [OBSERVED_EXITED] = on_exited,
                [OBSERVED_LOST] = on_lost,
                [OBSERVED_START_FAILED] = on_failed,
        };
        Build *build = build_get(builds, observation->task + strlen(TASK_PREFIX));

        if (!build->turn && !build->user) /* of an earlier server */
                build->claim_until = clock_monotonic_ms() + CLAIM_MS;
        g_queue_remove(&builds->line, build);
        build->turn = build->seen = true;
        if (observation->kind == OBSERVED_STARTED)
                on_started(builds, build, observation);
        if ((size_t)observation->kind >= G_N_ELEMENTS(ends) || !ends[observation->kind])
                return;
        agent_link_forget(builds->link, observation->task);
        ends[observation->kind](builds, build, observation);
}

static void on_disconnected(Builds *builds)
{
        GHashTableIter iter;
        void *value;

        g_hash_table_iter_init(&iter, builds->all);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                Build *build = value;

                build->seen = false;
                build->stopped = NOT_STOPPED; /* the stop request may have been lost */
        }
}

/* Builds that the agent did not report were never started (or the machine has restarted). Those still
 * requested are sent again. */
static void on_synced(Builds *builds)
{
        g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func(g_free);
        GHashTableIter iter;
        void *key;

        g_hash_table_iter_init(&iter, builds->all); /* sending one may drop others */
        while (g_hash_table_iter_next(&iter, &key, NULL))
                g_ptr_array_add(keys, g_strdup(key));
        for (guint i = 0; i < keys->len; i++) {
                Build *build = g_hash_table_lookup(builds->all, keys->pdata[i]);

                if (!build || !build->turn || build->seen)
                        continue;
                if (build->waiting->len > 0)
                        ask_or_fail(builds, build);
                else
                        drop(builds, build);
        }
}

char *builds_dir_of_task(const Builds *builds, const char *task)
{
        return g_str_has_prefix(task, TASK_PREFIX)
                       ? g_build_filename(builds->envs_dir, task + strlen(TASK_PREFIX), NULL)
                       : NULL;
}

bool builds_observe(Builds *builds, const Observation *observation)
{
        bool ours = g_str_has_prefix(observation->task, TASK_PREFIX);

        pthread_mutex_lock(&builds->lock);
        if (observation->kind == OBSERVED_DISCONNECTED)
                on_disconnected(builds);
        else if (observation->kind == OBSERVED_SYNCED)
                on_synced(builds);
        else if (ours)
                on_report(builds, observation);
        give_turns(builds);
        pthread_mutex_unlock(&builds->lock);
        return ours;
}
