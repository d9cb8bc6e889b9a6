/* For dry runs and what-ifs: a copy of the scheduler, and jobs that do not exist yet and changed queues in its form.
 * The copy is a command; the rest is for any thread, from the published catalog and the machine's size. */
#include "engine/state.h"

#include "base/err.h"
#include "model/catalog.h"

static const Queue *queue_of(const Catalog *catalog, const Spec *spec, GError **error)
{
        const char *name = spec->queue ? spec->queue : QUEUE_DEFAULT;
        const Queue *queue = catalog_queue(catalog, name);

        if (!queue)
                err_set(error, ERR_NOT_FOUND, "queue '%s' does not exist", name);
        return queue;
}

SchedJobFill *engine_fill_job(Engine *engine, const char *user, const Spec *spec, gint64 seq, gint64 now,
                              SchedJob *ret, GError **error)
{
        g_autoptr(Catalog) catalog = views_catalog(engine->views);
        g_auto(ClusterView) view = { 0 };
        const Queue *queue = queue_of(catalog, spec, error);
        SchedJobFill *fill;

        if (!queue)
                return NULL;
        fill = g_new0(SchedJobFill, 1);
        fill->spec = spec_ref((Spec *)spec);
        *ret = (SchedJob){ .key = seq,
                           .queue = ids_find(engine->queue_ids, queue->object.name),
                           .user = ids_get(engine->user_ids, user),
                           .priority = spec->priority,
                           .submitted = now,
                           .not_before = spec->begin,
                           .held = spec->after != NULL,
                           .state = SCHED_PENDING };
        cluster_view(engine, queue->cluster ? catalog_cluster(catalog, queue->cluster) : NULL, &view);
        feed_spec(spec, cluster_view_share(&view, catalog, queue, spec), engine->topology, fill, ret);
        return fill;
}

void engine_fill_free(SchedJobFill *fill)
{
        if (!fill)
                return;
        spec_unref(fill->spec);
        g_free(fill);
}

bool engine_fill_queue(Engine *engine, const Queue *queue, SchedQueue *ret)
{
        g_autoptr(Catalog) catalog = views_catalog(engine->views);

        ret->labels = NULL;
        return queue_fill(engine, catalog, queue, ret);
}

/* ---- the copy ---- */

typedef struct {
        Command command;
        EngineCloned done;
} Clone;

static bool apply_clone(Engine *engine, Command *command)
{
        return true;
}

/* The copy is made after the commit. It does not depend on its outcome. */
static void answer_clone(Engine *engine, Command *command, const GError *error)
{
        const Clone *clone = (const Clone *)command;

        if (engine && !engine->dead)
                clone->done(scheduler_clone(engine->scheduler), engine->batch.now, command->arg);
        else
                clone->done(NULL, 0, command->arg);
}

static const CommandOps clone_ops = {
        .name = "clone scheduler", .size = sizeof(Clone), .apply = apply_clone, .answer = answer_clone
};

void engine_clone_scheduler(Engine *engine, EngineCloned done, void *arg)
{
        Clone *clone = command_new(&clone_ops, NULL, arg);

        clone->done = done;
        inbox_put(&engine->inbox, &clone->command);
}
