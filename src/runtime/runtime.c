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
