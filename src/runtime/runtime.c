/* What all drivers share (see runtime.h). */
#include "runtime/runtime.h"

#include <string.h>

#include "base/err.h"
#include "terminal/terminal.h"

static void ask_free(RuntimeAsk *ask)
{
        g_free(ask->api_version);
        g_free(ask->kind);
        g_free(ask->namespace);
        g_free(ask->name);
        g_free(ask->resume);
        g_free(ask->label_selector);
        g_free(ask->field_selector);
        g_free(ask->container);
        json_decref(ask->body);
        g_free(ask);
}

void runtime_ask_answer(RuntimeAsk *ask, json_t *object, const GError *error)
{
        ask->answer(object, error, ask->arg);
        ask_free(ask);
}

void runtime_ask_free(RuntimeAsk *ask)
{
        g_autoptr(GError) error = NULL;

        if (!ask)
                return;
        err_set(&error, ERR_UNAVAILABLE,
                "the connection to the cluster was given up meanwhile\nTry again in a moment.");
        runtime_ask_answer(ask, NULL, error);
}

void runtime_node_free(RuntimeNode *node)
{
        if (!node)
                return;
        g_free(node->name);
        g_strfreev(node->labels);
        g_free(node->why);
        g_free(node);
}

RuntimeNode *runtime_node_copy(const RuntimeNode *node)
{
        RuntimeNode *copy = g_memdup2(node, sizeof *node);

        copy->name = g_strdup(node->name);
        copy->labels = g_strdupv(node->labels);
        copy->why = g_strdup(node->why);
        return copy;
}

static bool same_labels(char *const *a, char *const *b)
{
        return a == b || (a && b && g_strv_equal((const char *const *)a, (const char *const *)b));
}

bool runtime_node_equal(const RuntimeNode *a, const RuntimeNode *b)
{
        return strcmp(a->name, b->name) == 0 && a->ready == b->ready && a->usable == b->usable &&
               g_strcmp0(a->why, b->why) == 0 && resources_equal(&a->allocatable, &b->allocatable) &&
               resources_equal(&a->others, &b->others) && resources_equal(&a->system, &b->system) &&
               same_labels(a->labels, b->labels);
}

bool observation_is_failure(const Observation *observation)
{
        return observation->kind == OBSERVED_EXITED && (observation->exit_code != 0 || observation->signal);
}

bool report_take_hang_up(char *report)
{
        bool hung_up = false;
        char *to = report;

        for (char *at = report; at && *at;) {
                gsize len = strcspn(at, "\n");

                len += at[len] != '\0';
                if (g_str_has_prefix(at, TERMINAL_HANG_UP_NAME "=")) {
                        hung_up = true;
                } else {
                        memmove(to, at, len);
                        to += len;
                }
                at += len;
        }
        if (report)
                *to = '\0';
        return hung_up;
}

/* A program may say it, too, and then it has to end like that. */
void observation_take_report(Observation *observation, char *report)
{
        observation->hung_up = report_take_hang_up(report) && observation->kind == OBSERVED_EXITED &&
                               observation->exit_code == TERMINAL_HUNG_UP;
        observation->report = report;
}

void observation_free(Observation *observation)
{
        if (!observation)
                return;
        g_free(observation->text);
        g_free(observation->report);
        g_free(observation->note);
        g_free(observation->last_line);
        g_free(observation);
}

/* ---- operations that a driver may not have ---- */

#define HAS(runtime, op) ((runtime) && (runtime)->ops->op)

bool runtime_orders(Runtime *runtime, const RuntimeAttempt *attempt)
{
        return HAS(runtime, orders) && runtime->ops->orders(runtime, attempt);
}

char *runtime_setup_problem(Runtime *runtime)
{
        return HAS(runtime, setup_problem) ? runtime->ops->setup_problem(runtime) : NULL;
}

char *runtime_mount_problem(Runtime *runtime, const char *user, const TaskMount *mounts, int n)
{
        return HAS(runtime, mount_problem) ? runtime->ops->mount_problem(runtime, user, mounts, n) : NULL;
}

GPtrArray *runtime_nodes(Runtime *runtime)
{
        return HAS(runtime, nodes) ? runtime->ops->nodes(runtime) : NULL;
}

bool runtime_usage(Runtime *runtime, const char *task, TaskUsage *ret)
{
        return HAS(runtime, usage) && runtime->ops->usage(runtime, task, ret);
}

bool runtime_gpu_usage(Runtime *runtime, int gpu, GpuUsage *ret)
{
        return HAS(runtime, gpu_usage) && runtime->ops->gpu_usage(runtime, gpu, ret);
}

char *runtime_report(Runtime *runtime, const char *job_id, int attempt, const char *role, int index)
{
        return HAS(runtime, report) ? runtime->ops->report(runtime, job_id, attempt, role, index) : NULL;
}

/* NULL: the driver does not have it. */
static const RuntimePreparation *preparation_of(Runtime *runtime, PreparationKind kind)
{
        return runtime ? runtime->ops->preparations[kind] : NULL;
}

bool runtime_has_preparation(Runtime *runtime, PreparationKind kind)
{
        return preparation_of(runtime, kind);
}

void runtime_prepare(Runtime *runtime, PreparationKind kind, const RuntimeAttempt *attempt)
{
        const RuntimePreparation *ops = preparation_of(runtime, kind);

        if (ops)
                ops->prepare(runtime, attempt);
}

bool runtime_is_prepared(Runtime *runtime, PreparationKind kind, const RuntimeAttempt *attempt)
{
        const RuntimePreparation *ops = preparation_of(runtime, kind);

        return runtime && (!ops || ops->is_prepared(runtime, attempt));
}

bool runtime_prepare_wants(Runtime *runtime, PreparationKind kind, const RuntimeAttempt *attempt,
                           Resources *ret_wants)
{
        const RuntimePreparation *ops = preparation_of(runtime, kind);

        return ops && ops->wants && ops->wants(runtime, attempt, ret_wants);
}

bool runtime_was_prepared(Runtime *runtime, PreparationKind kind, const RuntimeAttempt *attempt)
{
        const RuntimePreparation *ops = preparation_of(runtime, kind);

        return ops && ops->was_prepared && ops->was_prepared(runtime, attempt);
}

void runtime_abandon(Runtime *runtime, PreparationKind kind, const char *job_id)
{
        const RuntimePreparation *ops = preparation_of(runtime, kind);

        if (ops && ops->abandon)
                ops->abandon(runtime, job_id);
}

void runtime_mark_preempting(Runtime *runtime, const char *task, const char *why)
{
        if (HAS(runtime, mark_preempting))
                runtime->ops->mark_preempting(runtime, task, why);
}

bool runtime_takes_priority(Runtime *runtime, const RuntimeAttempt *attempt)
{
        return HAS(runtime, takes_priority) && runtime->ops->takes_priority(runtime, attempt);
}

void runtime_reprioritize(Runtime *runtime, const RuntimeAttempt *attempt)
{
        if (HAS(runtime, reprioritize))
                runtime->ops->reprioritize(runtime, attempt);
}

RuntimeExec *runtime_exec(Runtime *runtime, const char *task, const ExecStart *start)
{
        return HAS(runtime, exec) ? runtime->ops->exec(runtime, task, start) : NULL;
}

void runtime_queues(Runtime *runtime, const GPtrArray *queues)
{
        if (HAS(runtime, queues))
                runtime->ops->queues(runtime, queues);
}

bool runtime_ask(Runtime *runtime, RuntimeAsk *ask)
{
        if (!HAS(runtime, ask))
                return false;
        runtime->ops->ask(runtime, ask);
        return true;
}

void runtime_free(Runtime *runtime)
{
        if (HAS(runtime, free))
                runtime->ops->free(runtime);
}
