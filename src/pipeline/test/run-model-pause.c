/* Where a naive run pauses, and how it goes on. */
#include "pipeline/test/run-model.h"

#include <string.h>

/* True if the last words name this thing, whose number counts only if one is given. */
static bool words_name(char *const *words, guint n, const Group *group, gint64 number)
{
        const Thing *dag = group->dag;
        g_auto(GStrv) parts = n > 0 ? g_strsplit(words[n - 1], "-", 2) : NULL;

        if (n == 0 || strcmp(parts[0], group->part->name) != 0)
                return false;
        if (parts[1] && g_ascii_strtoll(parts[1], NULL, 10) != number)
                return false;
        if (!dag->group)
                return n == 1;
        return words_name(words, n - 1, dag->group, dag->number);
}

static bool has_break(const Model *model, const Group *group, const char *when, gint64 number)
{
        for (guint i = 0; i < model->breaks->len; i++) {
                g_auto(GStrv) both = g_strsplit(model->breaks->pdata[i], " ", 2);
                g_auto(GStrv) words = g_strsplit(both[1], ".", -1);
                guint n = g_strv_length(words);

                if (strcmp(both[0], when) == 0 && (strchr(words[n - 1], '-') != NULL) == (number >= 0) &&
                    words_name(words, n, group, number))
                        return true;
        }
        return false;
}

static void pause_group(Model *model, Group *group, RunPauseKind kind, guint at)
{
        g_autofree char *path = group_path(group);

        g_queue_remove(&model->queue, group);
        group->pause = kind;
        group->at = at;
        g_queue_push_tail(&model->paused, group);
        g_ptr_array_add(model->actions, g_strconcat("pause ", path, NULL));
}

gint64 group_place(const Model *model, const Group *group)
{
        if (!group->started)
                return 0;
        if (!group_loops(model, group) && !group->part->body->dag && !group->part->body->looks &&
            (group->things->len == 0 || ((Thing *)group->things->pdata[0])->state == NODE_NONE))
                return 0; /* it waits for a slot */
        return group_loops(model, group) && group->count > 0 && group_next(group) < group->count
                       ? (gint64)group_next(group) + 1
                       : -1;
}

bool group_pauses_before(Model *model, Group *group)
{
        gint64 place = group_place(model, group);
        bool here = (group->pause == RUN_PAUSE_BEFORE && group->at == place) || model->stepping ||
                    has_break(model, group, "before", place - 1);

        if (model->stopping || place < 0 || group->passed > place || (place == 0 && group->part->disabled) ||
            !here)
                return false;
        pause_group(model, group, RUN_PAUSE_BEFORE, (guint)place);
        return true;
}

/* One that has ended since the last look. */
bool model_pauses_after(Model *model, Thing *dag)
{
        for (guint i = 0; i < dag->groups->len; i++) {
                Group *group = dag->groups->pdata[i];

                for (guint j = 0; j < group->things->len; j++) {
                        Thing *thing = group->things->pdata[j];

                        if (thing->groups && model_pauses_after(model, thing))
                                return true;
                }
                if (group->ended || !group_ended(group))
                        continue;
                group->ended = true;
                if (group_all_ok(group) && !model->stopping && !dag->stopping && !group->part->disabled &&
                    has_break(model, group, "after", -1))
                        pause_group(model, group, RUN_PAUSE_AFTER, 0);
                return true;
        }
        return false;
}

void group_goes_on(Model *model, Group *group, bool first)
{
        bool before = group->pause == RUN_PAUSE_BEFORE;

        g_queue_remove(&model->paused, group);
        group->pause = RUN_PAUSE_NONE;
        group->passed = before ? group->at + 1 : G_MAXUINT;
        if (before && first)
                g_queue_push_head(&model->queue, group);
        else if (before)
                g_queue_push_tail(&model->queue, group);
}

/* What was paused before a restart and has not come to its place again. */
static void forget_pauses(Model *model, Thing *dag)
{
        for (guint i = 0; dag && dag->groups && i < dag->groups->len; i++) {
                Group *group = dag->groups->pdata[i];

                if (group->pause && !g_queue_find(&model->paused, group)) {
                        group->passed = group->at + 1;
                        group->pause = RUN_PAUSE_NONE;
                }
                for (guint j = 0; j < group->things->len; j++)
                        forget_pauses(model, group->things->pdata[j]);
        }
}

static void some_go_on(Model *model, RunPauseKind kind, bool first)
{
        g_autoptr(GQueue) groups = g_queue_copy(&model->paused);

        for (GList *link = groups->head; link; link = link->next) {
                Group *group = link->data;

                if (group->pause != kind)
                        continue;
                group_goes_on(model, group, first);
                while (model_settle(model))
                        ;
        }
}

/* What depends on those that had paused after their end comes behind the others, in the order of the pauses. */
void model_continue(Model *model, bool first)
{
        forget_pauses(model, model->root);
        forget_pauses(model, model->post);
        some_go_on(model, RUN_PAUSE_BEFORE, first);
        some_go_on(model, RUN_PAUSE_AFTER, first);
}
