/* What many jobs have in common is kept once: sets of labels, classes of tasks, gangs, groups, shapes, and the
 * accounts of users in queues. Each is found in a table by its contents and lives as long as somebody refers
 * to it; an account also as long as its usage is not forgotten. */
#include "sched/state.h"

#include "base/keyed-hash.h"

static guint64 mix(guint64 h, guint64 v)
{
        h = (h ^ v) * 0x9E3779B97F4A7C15u;
        return h ^ (h >> 29);
}

static guint64 mix_resources(guint64 h, const Resources *r)
{
        for (int i = 0; i < RESOURCE_KINDS_MAX; i++)
                h = mix(h, (guint64)r->amount[i]);
        return h;
}

static guint64 mix_pointer(guint64 h, const void *pointer)
{
        return mix(h, (guint64)(guintptr)pointer);
}

/* ---- sets of labels ---- */

static guint label_set_hash(gconstpointer p)
{
        return keyed_hash(((const LabelSet *)p)->text);
}

static gboolean label_set_equal(gconstpointer a, gconstpointer b)
{
        return strcmp(((const LabelSet *)a)->text, ((const LabelSet *)b)->text) == 0;
}

static int compare_labels(gconstpointer a, gconstpointer b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, without duplicates. */
static char **labels_sorted(const char *const *labels)
{
        g_autoptr(GPtrArray) sorted = g_ptr_array_new();
        g_autoptr(GPtrArray) ret = g_ptr_array_new();

        for (; labels && *labels; labels++)
                g_ptr_array_add(sorted, (char *)*labels);
        g_ptr_array_sort(sorted, compare_labels);
        for (guint i = 0; i < sorted->len; i++)
                if (i == 0 || strcmp(sorted->pdata[i], sorted->pdata[i - 1]) != 0)
                        g_ptr_array_add(ret, g_strdup(sorted->pdata[i]));
        g_ptr_array_add(ret, NULL);
        return (char **)g_ptr_array_free(g_steal_pointer(&ret), FALSE);
}

static void label_set_free(LabelSet *set)
{
        g_free(set->text);
        g_strfreev(set->labels);
        g_free(set);
}

LabelSet *labels_intern(Scheduler *s, const char *const *labels)
{
        bool none = !labels || !*labels;
        g_auto(GStrv) sorted = none ? NULL : labels_sorted(labels);
        g_autofree char *text = none ? NULL : g_strjoinv("\n", sorted);
        LabelSet key = { .text = none ? (char *)"" : text }, *set = g_hash_table_lookup(s->label_sets, &key);

        if (!set) {
                set = g_new0(LabelSet, 1);
                set->text = none ? g_strdup("") : g_steal_pointer(&text);
                set->labels = none ? g_new0(char *, 1) : g_steal_pointer(&sorted);
                g_hash_table_add(s->label_sets, set);
        }
        set->refs++;
        return set;
}

LabelSet *labels_ref(LabelSet *set)
{
        set->refs++;
        return set;
}

void labels_unref(Scheduler *s, LabelSet *set)
{
        if (!set || --set->refs > 0)
                return;
        g_hash_table_remove(s->label_sets, set);
        label_set_free(set);
}

bool labels_carry(const LabelSet *have, const LabelSet *want)
{
        char **at = have->labels;

        for (char **label = want->labels; *label; label++) {
                while (*at && strcmp(*at, *label) < 0)
                        at++;
                if (!*at || strcmp(*at, *label) != 0)
                        return false;
        }
        return true;
}

/* ---- classes ---- */

static guint class_hash(gconstpointer p)
{
        const Class *class = p;
        guint64 h = mix_resources((guint64) class->cluster, &class->each);

        return (guint)mix_pointer(mix_pointer(h, class->job_labels), class->queue_labels);
}

static gboolean class_equal(gconstpointer a, gconstpointer b)
{
        const Class *x = a, *y = b;

        return x->cluster == y->cluster && x->job_labels == y->job_labels &&
               x->queue_labels == y->queue_labels && memcmp(&x->each, &y->each, sizeof x->each) == 0;
}

static Class *class_intern(Scheduler *s, const Gang *gang, const Resources *each)
{
        Class key = { .cluster = gang->cluster,
                      .job_labels = gang->job_labels,
                      .queue_labels = gang->queue_labels,
                      .each = *each };
        Class *class = g_hash_table_lookup(s->classes, &key);

        if (!class) {
                class = g_memdup2(&key, sizeof key);
                (void)labels_ref(class->job_labels);
                (void)labels_ref(class->queue_labels);
                class->mask = amounts_mask(each);
                class->gangs = g_ptr_array_new();
                g_hash_table_add(s->classes, class);
        }
        class->refs++;
        return class;
}

static void class_unref(Scheduler *s, Class *class)
{
        if (--class->refs > 0)
                return;
        g_hash_table_remove(s->classes, class);
        labels_unref(s, class->job_labels);
        labels_unref(s, class->queue_labels);
        class_clear_index(class);
        g_ptr_array_unref(class->gangs);
        g_free(class);
}

/* ---- gangs ---- */

static guint gang_hash(gconstpointer p)
{
        const Gang *gang = p;
        guint64 h = mix((guint64)gang->cluster, (guint64)gang->topology * 2 + gang->topology_required);

        h = mix_pointer(mix_pointer(h, gang->job_labels), gang->queue_labels);
        for (int i = 0; i < gang->n_roles; i++) {
                h = mix_resources(h, &gang->roles[i].each);
                h = mix(mix(h, (guint64)gang->roles[i].replicas), (guint64)gang->roles[i].min);
        }
        return (guint)h;
}

static bool role_equal(const SchedRole *a, const SchedRole *b)
{
        return a->replicas == b->replicas && a->min == b->min &&
               memcmp(&a->each, &b->each, sizeof a->each) == 0;
}

static gboolean gang_equal(gconstpointer a, gconstpointer b)
{
        const Gang *x = a, *y = b;

        if (x->cluster != y->cluster || x->topology != y->topology || x->n_roles != y->n_roles ||
            x->topology_required != y->topology_required || x->job_labels != y->job_labels ||
            x->queue_labels != y->queue_labels)
                return false;
        for (int i = 0; i < x->n_roles; i++)
                if (!role_equal(&x->roles[i], &y->roles[i]))
                        return false;
        return true;
}

/* Larger requests first: they are harder to place. */
static bool is_larger(const Resources *a, const Resources *b)
{
        static const int kinds[] = { RESOURCE_GPU, RESOURCE_CPU, RESOURCE_MEMORY };

        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
                if (a->amount[kinds[i]] != b->amount[kinds[i]])
                        return a->amount[kinds[i]] > b->amount[kinds[i]];
        for (int i = RESOURCE_STORAGE; i < RESOURCE_KINDS_MAX; i++)
                if (a->amount[i] != b->amount[i])
                        return a->amount[i] > b->amount[i];
        return false;
}

static void gang_order_roles(Gang *gang)
{
        for (int i = 0; i < gang->n_roles; i++) {
                int at = i;

                for (; at > 0 && is_larger(&gang->roles[i].each, &gang->roles[gang->order[at - 1]].each);
                     at--)
                        gang->order[at] = gang->order[at - 1];
                gang->order[at] = i;
        }
}

/* The gang of a job whose minimum is nothing is one task: a job that runs has something that runs. */
static void gang_sum_up(Scheduler *s, Gang *gang)
{
        for (int i = 0; i < gang->n_roles; i++) {
                const SchedRole *role = &gang->roles[i];

                gang->need[i] = role->min;
                gang->first[i] = gang->n_tasks;
                gang->n_tasks += role->replicas;
                gang->n_need += role->min;
        }
        for (int i = 0; i < gang->n_roles && gang->n_need == 0; i++)
                gang->n_need = gang->need[i] = MIN(1, gang->roles[i].replicas);
        for (int i = 0; i < gang->n_roles; i++) {
                amounts_add_times(&gang->need_total, &gang->roles[i].each, gang->need[i]);
                amounts_add_times(&gang->full_total, &gang->roles[i].each, gang->roles[i].replicas);
                gang->classes[i] = class_intern(s, gang, &gang->roles[i].each);
                if (gang->need[i] > 0 && !g_ptr_array_find(gang->classes[i]->gangs, gang, NULL))
                        g_ptr_array_add(gang->classes[i]->gangs, gang);
        }
        gang->mask = amounts_mask(&gang->need_total);
        gang->full_mask = amounts_mask(&gang->full_total);
}

static Gang *gang_intern(Scheduler *s, const Gang *key)
{
        Gang *gang = g_hash_table_lookup(s->gangs, key);

        if (gang)
                return gang;
        gang = g_new0(Gang, 1);
        gang->cluster = key->cluster;
        gang->job_labels = labels_ref(key->job_labels);
        gang->queue_labels = labels_ref(key->queue_labels);
        gang->topology = key->topology;
        gang->topology_required = key->topology_required;
        gang->n_roles = key->n_roles;
        gang->roles = g_memdup2(key->roles, sizeof *key->roles * (gsize)key->n_roles);
        gang->need = g_new0(int, key->n_roles);
        gang->first = g_new0(int, key->n_roles);
        gang->order = g_new0(int, key->n_roles);
        gang->classes = g_new0(Class *, key->n_roles);
        gang_order_roles(gang);
        gang_sum_up(s, gang);
        g_hash_table_add(s->gangs, gang);
        return gang;
}

static void gang_unref(Scheduler *s, Gang *gang)
{
        if (--gang->refs > 0)
                return;
        gang_open(gang);
        sim_forget(s, gang);
        g_hash_table_remove(s->gangs, gang);
        for (int i = 0; i < gang->n_roles; i++) {
                (void)g_ptr_array_remove(gang->classes[i]->gangs, gang);
                class_unref(s, gang->classes[i]);
        }
        labels_unref(s, gang->job_labels);
        labels_unref(s, gang->queue_labels);
        g_clear_pointer(&gang->future.slots, g_array_unref);
        g_clear_pointer(&gang->future.chosen, g_array_unref);
        g_free(gang->roles);
        g_free(gang->need);
        g_free(gang->first);
        g_free(gang->order);
        g_free(gang->classes);
        g_free(gang);
}

/* ---- groups ---- */

static guint group_hash(gconstpointer p)
{
        const Group *group = p;

        return (guint)mix_pointer(mix_pointer(0, group->queue), group->gang);
}

static gboolean group_equal(gconstpointer a, gconstpointer b)
{
        const Group *x = a, *y = b;

        return x->queue == y->queue && x->gang == y->gang;
}

static Group *group_intern(Scheduler *s, QueueNode *queue, Gang *gang)
{
        Group key = { .queue = queue, .gang = gang }, *group = g_hash_table_lookup(s->groups, &key);

        if (group)
                return group;
        group = g_new0(Group, 1);
        group->queue = queue;
        group->gang = gang;
        gang->refs++;
        group->shapes = g_ptr_array_new();
        group->index = -1;
        group->shortest = G_MAXINT64;
        memo_keep(&group->top_memo, MEMO_UNTIL_DROPPED);
        g_hash_table_add(s->groups, group);
        (void)group_hopeless(s, group); /* while it is at hand */
        return group;
}

static void group_unref(Scheduler *s, Group *group)
{
        if (--group->refs > 0)
                return;
        g_hash_table_remove(s->groups, group);
        if (group->noted)
                (void)g_ptr_array_remove_fast(group->queue->backfill.noted, group);
        g_ptr_array_unref(group->shapes);
        gang_unref(s, group->gang);
        g_free(group);
}

/* ---- accounts and arrays ---- */

static guint account_hash(gconstpointer p)
{
        const Account *account = p;

        return (guint)mix((guint64)account->queue, (guint64)account->user);
}

static gboolean account_equal(gconstpointer a, gconstpointer b)
{
        const Account *x = a, *y = b;

        return x->queue == y->queue && x->user == y->user;
}

Account *account_get(Scheduler *s, int queue, int user)
{
        Account key = { .queue = queue, .user = user }, *account = g_hash_table_lookup(s->accounts, &key);

        if (account)
                return account;
        account = g_memdup2(&key, sizeof key);
        g_hash_table_add(s->accounts, account);
        return account;
}

static guint array_hash(gconstpointer p)
{
        return (guint)mix(1, (guint64)((const Array *)p)->id);
}

static gboolean array_equal(gconstpointer a, gconstpointer b)
{
        return ((const Array *)a)->id == ((const Array *)b)->id;
}

static Array *array_get(Scheduler *s, int id)
{
        Array key = { .id = id }, *array = g_hash_table_lookup(s->arrays, &key);

        if (array)
                return array;
        array = g_memdup2(&key, sizeof key);
        g_hash_table_add(s->arrays, array);
        return array;
}

static void array_join(Array *array, int queue)
{
        array->spread = array->refs > 0 && (array->spread || array->queue != queue);
        array->queue = queue;
        array->refs++;
}

static void array_unref(Scheduler *s, Array *array)
{
        if (array && --array->refs == 0) {
                g_hash_table_remove(s->arrays, array);
                g_free(array);
        }
}

/* ---- shapes ---- */

static guint shape_hash(gconstpointer p)
{
        const Shape *shape = p;
        guint64 h = mix_pointer((guint64)shape->user, shape->group);

        h = mix(mix(h, (guint64)shape->priority), (guint64)shape->time_limit);
        h = mix(mix(h, (guint64)shape->grace), (guint64)shape->preemptable);
        return (guint)mix_pointer(mix(h, (guint64)shape->array_max), shape->array);
}

static gboolean shape_equal(gconstpointer a, gconstpointer b)
{
        const Shape *x = a, *y = b;

        return x->group == y->group && x->user == y->user && x->priority == y->priority &&
               x->time_limit == y->time_limit && x->grace == y->grace && x->preemptable == y->preemptable &&
               x->array == y->array && x->array_max == y->array_max;
}

static Shape *shape_make(Scheduler *s, const Shape *key)
{
        Shape *shape = g_memdup2(key, sizeof *key);

        shape->group->refs++;
        shape->account = account_get(s, shape->group->queue->id, shape->user);
        shape->account->refs++;
        if (shape->array)
                array_join(shape->array, shape->group->queue->id);
        shape->jobs = g_sequence_new(NULL);
        shape->index = -1;
        g_hash_table_add(s->shapes, shape);
        return shape;
}

Shape *shape_intern(Scheduler *s, const SchedJob *job)
{
        QueueNode *queue = queue_find(s, job->queue);
        LabelSet *labels = labels_intern(s, job->labels);
        Gang gang = { .cluster = queue->cluster,
                      .job_labels = labels,
                      .queue_labels = queue->labels,
                      .topology = job->topology,
                      .topology_required = job->topology >= 0 && job->topology_required,
                      .n_roles = job->n_roles,
                      .roles = (SchedRole *)job->roles };
        Shape key = { .group = group_intern(s, queue, gang_intern(s, &gang)),
                      .user = job->user,
                      .priority = job->priority,
                      .array = job->array > 0 ? array_get(s, job->array) : NULL,
                      .array_max = job->array > 0 ? job->array_max : 0,
                      .time_limit = job->time_limit_ms,
                      .grace = job->grace_ms,
                      .preemptable = job->preemptable };
        Shape *shape = g_hash_table_lookup(s->shapes, &key);

        if (!shape)
                shape = shape_make(s, &key);
        labels_unref(s, labels);
        shape->refs++;
        return shape;
}

void shape_unref(Scheduler *s, Shape *shape)
{
        if (--shape->refs > 0)
                return;
        g_hash_table_remove(s->shapes, shape);
        if (shape->group->top == shape) {
                shape->group->top = NULL;
                memo_drop(&shape->group->top_memo);
                memo_drop(&shape->group->queue->start.top_memo);
        }
        g_sequence_free(shape->jobs);
        shape->account->refs--;
        array_unref(s, shape->array);
        group_unref(s, shape->group);
        g_free(shape);
}

/* ---- all of them ---- */

void intern_init(Scheduler *s)
{
        s->label_sets = g_hash_table_new(label_set_hash, label_set_equal);
        s->classes = g_hash_table_new(class_hash, class_equal);
        s->gangs = g_hash_table_new(gang_hash, gang_equal);
        s->groups = g_hash_table_new(group_hash, group_equal);
        s->shapes = g_hash_table_new(shape_hash, shape_equal);
        s->accounts = g_hash_table_new_full(account_hash, account_equal, g_free, NULL);
        s->arrays = g_hash_table_new(array_hash, array_equal);
}

/* When no job, queue and node refers to any of them any more. */
void intern_clear(Scheduler *s)
{
        g_assert(g_hash_table_size(s->shapes) == 0 && g_hash_table_size(s->groups) == 0 &&
                 g_hash_table_size(s->gangs) == 0 && g_hash_table_size(s->classes) == 0 &&
                 g_hash_table_size(s->arrays) == 0 && g_hash_table_size(s->label_sets) == 0);
        g_hash_table_unref(s->label_sets);
        g_hash_table_unref(s->classes);
        g_hash_table_unref(s->gangs);
        g_hash_table_unref(s->groups);
        g_hash_table_unref(s->shapes);
        g_hash_table_unref(s->accounts);
        g_hash_table_unref(s->arrays);
}
