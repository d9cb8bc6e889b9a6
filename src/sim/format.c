/* What a simulation found, as JSON (see simulate.h). */
#include <math.h>

#include "sim/simulate.h"

static json_t *format_wait(const SimulatedWait *wait)
{
        return json_pack("{s:I, s:I, s:I, s:I}", "mean", (json_int_t)wait->mean, "p50", (json_int_t)wait->p50,
                         "p95", (json_int_t)wait->p95, "max", (json_int_t)wait->max);
}

/* Four digits: more would not be reproducible knowledge. */
static json_t *format_part(double part)
{
        return part < 0 ? json_null() : json_real(floor(part * 10000 + 0.5) / 10000);
}

static json_t *format_kinds(const double parts[RESOURCE_KINDS_MAX])
{
        json_t *object = json_object();

        for (int kind = 0; kind < resource_kinds(); kind++)
                if (parts[kind] >= 0)
                        json_object_set_new(object, resource_name(kind), format_part(parts[kind]));
        return object;
}

static json_t *format_queue(const SimulatedQueue *queue)
{
        return json_pack("{s:s, s:I, s:I, s:I, s:o, s:I, s:o, s:o, s:o, s:o}", "name", queue->name, "jobs",
                         (json_int_t)queue->wait.jobs, "started", (json_int_t)queue->wait.started, "ended",
                         (json_int_t)queue->wait.ended, "wait_ms", format_wait(&queue->wait), "evictions",
                         (json_int_t)queue->evictions, "service_s", format_part(queue->service), "entitled",
                         format_part(queue->entitled), "contended_s", format_part(queue->contended_s),
                         "contended", format_part(queue->contended));
}

static json_t *format_counts(const gint64 counts[], const char *(*name)(int), int n)
{
        json_t *object = json_object();

        for (int i = 0; i < n; i++)
                json_object_set_new(object, name(i), json_integer(counts[i]));
        return object;
}

static const char *kind_word(int i)
{
        return decision_kind_name((DecisionKind)i);
}

static const char *rule_word(int i)
{
        return decision_rule_name((DecisionRule)i);
}

json_t *simulation_format(const Simulation *simulation)
{
        json_t *queues = json_array();

        for (int i = 0; i < simulation->n_queues; i++)
                json_array_append_new(queues, format_queue(&simulation->queues[i]));
        return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:f, s:o}",
                         "jobs", (json_int_t)simulation->wait.started + simulation->unstarted, "started",
                         (json_int_t)simulation->wait.started, "ended", (json_int_t)simulation->wait.ended,
                         "start_ms", (json_int_t)simulation->start, "end_ms", (json_int_t)simulation->end,
                         "wait_ms", format_wait(&simulation->wait), "utilisation",
                         format_kinds(simulation->utilisation), "useful", format_kinds(simulation->useful),
                         "bound", format_kinds(simulation->bound), "fairness_queues",
                         format_part(simulation->fairness_queues), "fairness_users",
                         format_part(simulation->fairness_users), "decisions",
                         format_counts(simulation->decisions, kind_word, DECIDE_KINDS), "rules",
                         format_counts(simulation->rules, rule_word, RULES), "passes",
                         (json_int_t)simulation->passes, "wall_s", simulation->wall_s, "queues", queues);
}
