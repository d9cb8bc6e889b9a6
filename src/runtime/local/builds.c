/* Builds of environments (see builds.h). `running` maps a key to its Build, under the lock. A forget and a
 * new start of the same name are handed to the link under that lock, so that the agent sees them in order. */
#include "runtime/local/builds.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "runtime/local/message.h"
#include "runtime/local/workdir.h"

#define TASK_PREFIX "env."

enum {
        LOSSES_MAX = 2, /* a builder that was lost (killed, machine restarted) is started again so often */
        GRACE_MS = 5000,
};

typedef struct {
        char *key;
        Identity *identity; /* NULL: the server's own */
        char *requirements; /* NULL: found at the agent, nobody has asked for it yet */
        GPtrArray *waiting; /* job ids */
        bool seen;          /* handed to the agent, or reported by it, over the present connection */
        int losses;
} Build;

struct Builds {
        EnvironmentConfig environment;
        char *envs_dir, *uv, *python, *state_dir;
        gint64 log_limit;
        guint sandbox;
        bool egress;
        AgentLink *link;
        pthread_mutex_t lock;
        GHashTable *running;
};

static void build_free(void *arg)
{
        Build *build = arg;

        g_free(build->key);
        g_free(build->requirements);
        identity_unref(build->identity);
        g_ptr_array_unref(build->waiting);
        g_free(build);
}

Builds *builds_new(const BuildsConfig *config)
{
        Builds *builds = g_new0(Builds, 1);

        builds->envs_dir = g_strdup(config->environment.envs_dir);
        builds->uv = g_strdup(config->environment.uv);
        builds->python = g_strdup(config->environment.python);
        builds->environment = (EnvironmentConfig){ builds->envs_dir, builds->uv, builds->python };
        builds->state_dir = g_strdup(config->state_dir);
        builds->log_limit = config->log_limit;
        builds->sandbox = config->sandbox;
        builds->egress = config->egress;
        builds->link = config->link;
        pthread_mutex_init(&builds->lock, NULL);
        builds->running = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, build_free);
        return builds;
}

void builds_free(Builds *builds)
{
        if (!builds)
                return;
        g_hash_table_unref(builds->running);
        pthread_mutex_destroy(&builds->lock);
        g_free(builds->envs_dir);
        g_free(builds->uv);
        g_free(builds->python);
        g_free(builds->state_dir);
        g_free(builds);
}

/* `text` NULL: prepared. */
static void answer(Builds *builds, const char *job_id, const char *text)
{
        Observation *observation = g_new0(Observation, 1);

        observation->kind = text ? OBSERVED_PREPARE_FAILED : OBSERVED_PREPARED;
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

/* Hands the build to the agent; when the link is down, OBSERVED_SYNCED comes back to it. Under the lock. */
static bool ask_agent(Builds *builds, Build *build, GError **error)
{
        const EnvironmentConfig *environment = &builds->environment;
        const Owner *owner = build->identity ? &build->identity->owner : NULL;
        g_autofree char *task = g_strconcat(TASK_PREFIX, build->key, NULL);
        g_autofree char *dir = environment_build_dir(environment, build->key);
        g_autofree char *log = environment_log_path(environment, build->key);
        g_auto(GStrv) argv =
                environment_build_command(environment, build->key, owner, build->requirements, error);
        g_auto(GStrv) env = argv ? environment_build_variables(environment, build->key, owner, error) : NULL;
        g_autoptr(GString) line = g_string_new(NULL);
        TaskStart start = { .task = task,
                            .argv = argv,
                            .env = env,
                            .dir = dir,
                            .log = log,
                            .log_limit = builds->log_limit,
                            .grace_ms = GRACE_MS };
        Sandbox sandbox = { .parts = owner ? builds->sandbox & agent_link_sandbox(builds->link) : 0,
                            .egress = owner && builds->egress };

        if (!env || (owner && !agent_link_check_users(builds->link, error)) ||
            (sandbox.egress && !agent_link_check_egress(builds->link, error)))
                return false;
        message_start(line, &start, build->identity, &sandbox);
        build->seen = agent_link_send(builds->link, line);
        return true;
}

static Build *build_get(Builds *builds, const char *key)
{
        Build *build = g_hash_table_lookup(builds->running, key);

        if (!build) {
                build = g_new0(Build, 1);
                build->key = g_strdup(key);
                build->waiting = g_ptr_array_new_with_free_func(g_free);
                g_hash_table_insert(builds->running, build->key, build);
        }
        return build;
}

static void drop(Builds *builds, Build *build)
{
        g_hash_table_remove(builds->running, build->key);
}

static void ask_or_fail(Builds *builds, Build *build)
{
        g_autoptr(GError) failure = NULL;

        if (ask_agent(builds, build, &failure))
                return;
        answer_all(builds, build, failure->message);
        drop(builds, build);
}

static void wait_for_build(Builds *builds, const char *key, const char *job_id, const char *requirements,
                           const Identity *identity)
{
        Build *build;

        pthread_mutex_lock(&builds->lock);
        build = build_get(builds, key);
        if (!build->requirements)
                build->requirements = g_strdup(requirements);
        if (!build->identity && identity)
                build->identity = identity_ref(identity);
        if (!g_ptr_array_find_with_equal_func(build->waiting, job_id, g_str_equal, NULL))
                g_ptr_array_add(build->waiting, g_strdup(job_id));
        if (!build->seen)
                ask_or_fail(builds, build);
        pthread_mutex_unlock(&builds->lock);
}

void builds_prepare(Builds *builds, const char *job_id, const char *requirements, const Identity *identity)
{
        const Owner *owner = identity ? &identity->owner : NULL;
        g_autoptr(GError) failure = NULL;
        g_autofree char *key = NULL;

        if (!environment_is_needed(requirements)) {
                answer(builds, job_id, NULL);
                return;
        }
        key = environment_key(&builds->environment, owner, requirements, &failure);
        if (!key || !workdir_link_environment(builds->state_dir, job_id, key, &failure))
                answer(builds, job_id, failure->message);
        else if (environment_is_ready(&builds->environment, key))
                answer(builds, job_id, NULL);
        else
                wait_for_build(builds, key, job_id, requirements, identity);
}

bool builds_is_prepared(Builds *builds, const char *requirements, const Identity *identity)
{
        g_autofree char *key = NULL;

        if (!environment_is_needed(requirements))
                return true;
        if (!environment_is_known(&builds->environment))
                return false;
        key = environment_key(&builds->environment, identity ? &identity->owner : NULL, requirements,
                              NULL); /* prepare() tells what is wrong */
        return key && environment_is_ready(&builds->environment, key);
}

/* ---- the link's thread ---- */

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

static void on_exited(Builds *builds, Build *build, const Observation *observation)
{
        g_autofree char *log = environment_log_path(&builds->environment, build->key);
        bool ready = observation->exit_code == 0 && environment_is_ready(&builds->environment, build->key);
        g_autofree char *text = ready ? NULL : environment_failure(log);

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

        build->seen = true;
        if ((size_t)observation->kind >= G_N_ELEMENTS(ends) || !ends[observation->kind])
                return;
        agent_link_forget(builds->link, observation->task);
        ends[observation->kind](builds, build, observation);
}

static void on_disconnected(Builds *builds)
{
        GHashTableIter iter;
        void *build;

        g_hash_table_iter_init(&iter, builds->running);
        while (g_hash_table_iter_next(&iter, NULL, &build))
                ((Build *)build)->seen = false;
}

/* What the agent did not report never began (or its machine has restarted): what is still wanted is asked for
 * again. */
static void on_synced(Builds *builds)
{
        g_autoptr(GList) all = g_hash_table_get_values(builds->running);

        for (GList *item = all; item; item = item->next) {
                Build *build = item->data;

                if (build->seen)
                        continue;
                if (build->waiting->len > 0)
                        ask_or_fail(builds, build);
                else
                        drop(builds, build);
        }
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
        pthread_mutex_unlock(&builds->lock);
        return ours;
}
