/* A pair after a pair_restart, and one that is retried. */
#include "pipeline/test/run-pair.h"

#include "pipeline/run-retry.h"

/* A new run from what was stored: nodes after the nodes of their DAGs, loops before their nodes. */
static Run *restored(const Pair *pair)
{
        Run *to = run_new(pair->definition, 100 * 1000);
        GHashTableIter iter;
        gpointer value;

        for (guint32 i = RUN_POST + 1; i < run_nodes(pair->run); i++) {
                const StoredLoop *loop = g_hash_table_lookup(pair->loops, GUINT_TO_POINTER(i));
                const StoredNode *row = g_hash_table_lookup(pair->nodes, GUINT_TO_POINTER(i));

                if (loop)
                        run_restore_loop(to, loop->dag_node, loop->component, i, loop->count);
                if (row)
                        run_restore_node(to, i, row->dag_node, &row->node, row->inner);
        }
        run_set_breaks(to, pair->breaks);
        run_restore_steps(to, run_is_stepping(pair->run), run_epoch(pair->run));
        g_hash_table_iter_init(&iter, pair->pauses);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const StoredPause *row = value;

                run_restore_pause(to, row->dag_node, row->component, &row->pause);
        }
        run_restored(to, run_is_stopping(pair->run), pair->model.forced);
        run_keep(to);
        return to;
}

/* Its pause must be one of the model's. */
static void list_pause(Pair *pair, guint32 child)
{
        Model *model = &pair->model;
        g_autofree char *path = pair_child_path(pair, child);
        Group *group = group_find(model->root, path);

        if (!group)
                group = group_find(model->post, path);
        g_assert_cmpint(group->pause, ==, run_pause_of(pair->run, child)->kind);
        g_assert_true(group->pause == RUN_PAUSE_AFTER || group_place(model, group) == group->at);
        g_queue_push_tail(&model->paused, group);
}

/* In the order of the run. */
static void pair_queue_all(Pair *pair)
{
        Model *model = &pair->model;

        model->asks = 0;
        g_queue_clear(&model->queue);
        g_queue_clear_full(&model->waiting, g_free);
        g_queue_clear(&model->paused);
        for (guint32 child = run_paused_first(pair->run); child != (guint32)RUN_NONE;
             child = run_pause_of(pair->run, child)->next)
                list_pause(pair, child);
        for (guint32 d = 0; d < run_dags(pair->run); d++) {
                guint32 node = run_dag(pair->run, d)->node;
                g_autofree char *path = node > RUN_POST ? pair_node_path(pair, node) : NULL;
                Thing *thing = node == RUN_ROOT ? model->root : node == RUN_POST ? model->post : NULL;

                if (path)
                        thing = thing_find(model->root, path);
                if (thing) /* else post_process, which the model begins below */
                        model_queue_again(model, thing);
        }
        if (model->post && run_node(pair->run, RUN_POST)->inner == (guint32)RUN_NONE)
                model_queue_again(model, model->post); /* it begins again */
}

void pair_restart(Pair *pair)
{
        Model *model = &pair->model;
        Run *old = pair->run;

        pair->run = restored(pair);
        run_free(old);
        model_forget_asked(model, model->root);
        model_forget_asked(model, model->post);
        pair_queue_all(pair);
        for (guint i = 0; i < model->open->len;) {
                if (g_str_has_prefix(model->open->pdata[i], "job "))
                        i++;
                else
                        g_ptr_array_remove_index(model->open, i);
        }
        pair_work(pair);
        while (model_follow(model))
                ;
        pair_compare(pair, "restart");
        pair_store(pair);
}

/* ---- a retry ---- */

/* "c3.c5", a random component; the caller's. */
static char *random_path(Pair *pair)
{
        const Part *at = pair->plan.root;
        g_autoptr(GString) path = g_string_new(NULL);

        do {
                at = at->body->children
                             ->pdata[g_rand_int_range(pair->plan.rand, 0, (gint32)at->body->children->len)];
                g_string_append_printf(path, "%s%s", path->len ? "." : "", at->name);
        } while (at->body->children->len > 0 && plan_chance(&pair->plan, 50));
        return g_string_free(g_steal_pointer(&path), FALSE);
}

static void free_row(gpointer row)
{
        run_node_record_free(row);
}

/* The rows of the earlier run, as a server has them. */
static void read_rows(const Pair *pair, GPtrArray *nodes, GPtrArray *children)
{
        for (guint32 i = RUN_POST + 1; i < run_nodes(pair->run); i++) {
                const StoredLoop *loop = g_hash_table_lookup(pair->loops, GUINT_TO_POINTER(i));
                const StoredNode *row = g_hash_table_lookup(pair->nodes, GUINT_TO_POINTER(i));

                if (loop) {
                        RunChildRecord child = { .dag = loop->dag_node,
                                                 .component = loop->component,
                                                 .first = i,
                                                 .count = loop->count };

                        g_ptr_array_add(children, g_memdup2(&child, sizeof child));
                }
                if (row) {
                        RunNodeRecord *node = g_new0(RunNodeRecord, 1);

                        *node = (RunNodeRecord){ .node = i,
                                                 .dag = row->dag_node,
                                                 .component = row->node.component,
                                                 .number = row->node.number,
                                                 .state = row->node.state,
                                                 .culprit = row->node.culprit,
                                                 .inner = row->inner,
                                                 .job = row->node.job };
                        g_ptr_array_add(nodes, node);
                }
        }
}

/* What a server stores when it begins the new run. */
static void write_rows(Pair *pair, const RunKept *kept)
{
        g_hash_table_remove_all(pair->nodes);
        g_hash_table_remove_all(pair->loops);
        g_hash_table_remove_all(pair->pauses);
        g_clear_pointer(&pair->breaks, run_breaks_unref);
        pair->rests = 0;
        for (guint i = 0; i < kept->children->len; i++) {
                const RunChildRecord *child = kept->children->pdata[i];
                StoredLoop loop = { child->dag, child->component, child->count };

                g_hash_table_replace(pair->loops, GUINT_TO_POINTER(child->first),
                                     g_memdup2(&loop, sizeof loop));
        }
        for (guint i = 0; i < kept->nodes->len; i++) {
                const RunNodeRecord *node = kept->nodes->pdata[i];
                StoredNode row = { .node = { .component = node->component,
                                             .number = node->number,
                                             .state = node->state,
                                             .culprit = node->culprit,
                                             .job = node->job },
                                   .dag_node = node->dag,
                                   .inner = node->inner };

                g_assert_true(node->state == NODE_RUNNING ? node->made_by == 0 : node->made_by == 7);
                g_hash_table_replace(pair->nodes, GUINT_TO_POINTER(node->node), g_memdup2(&row, sizeof row));
        }
}

static void restore_rows(Pair *pair, const RunKept *kept)
{
        Run *to = run_new(pair->definition, 100 * 1000);
        guint loops = 0;

        for (guint i = 0; i <= kept->nodes->len; i++) {
                const RunNodeRecord *node = i < kept->nodes->len ? kept->nodes->pdata[i] : NULL;

                for (; loops < kept->children->len; loops++) {
                        const RunChildRecord *child = kept->children->pdata[loops];

                        if (node && child->first > node->node)
                                break;
                        run_restore_loop(to, child->dag, child->component, child->first, child->count);
                }
                if (node)
                        run_restore_node(to, node->node, node->dag,
                                         &(RunNode){ .component = node->component,
                                                     .number = node->number,
                                                     .state = node->state,
                                                     .job = node->job },
                                         node->inner);
        }
        run_restored(to, false, false);
        run_keep(to);
        run_free(pair->run);
        pair->run = to;
}

void pair_retry(Pair *pair)
{
        g_autofree char *from = plan_chance(&pair->plan, 50) ? random_path(pair) : NULL;
        g_autoptr(GPtrArray) nodes = g_ptr_array_new_with_free_func(free_row),
                             children = g_ptr_array_new_with_free_func(g_free);
        StepPath path;
        g_auto(RunKept) kept = { 0 };
        g_autoptr(GError) error = NULL;
        const RunRetry wish = { .was = pair->definition,
                                .now = pair->definition,
                                .run = 7,
                                .nodes = nodes,
                                .children = children,
                                .from = from ? &path : NULL };

        read_rows(pair, nodes, children);
        if (from)
                g_assert_true(run_retry_from(pair->definition, from, &path, &error));
        g_assert_true(run_retry(&wish, &kept, &error));
        write_rows(pair, &kept);
        restore_rows(pair, &kept);
        model_retry(&pair->model, from);
        pair_queue_all(pair);
        pair_work(pair);
        while (model_follow(&pair->model))
                ;
        pair_compare(pair, from ? from : "retry");
        pair_store(pair);
}
