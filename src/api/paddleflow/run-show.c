/* The whole of a run (doc/reference/paddleflow-api.md, "A run as it is shown"): a tree of its nodes, each with what it
 * was given. Of a node only numbers are kept (Entry); its object is made when its turn comes, so that a run of 100,000
 * nodes needs 5 MB and not a tree of 100 MB. A small run is answered at once, a large one as a stream. */
#include <string.h>

#include "api/paddleflow/internal.h"
#include "pipeline/definition.h"
#include "pipeline/render.h"
#include "pipeline/run.h"
#include "pipeline/step-job.h"

enum {
        ROWS = 20000, /* nodes that are read at once */
        CHILDREN_MAX = 100000,
        USERS_MAX = 100,    /* ids of runs that took results from the cache */
        PAGE_NODES = 256,   /* nodes whose texts are read at once */
        AT_ONCE_MAX = 1000, /* nodes of a small run */
        PULL_BYTES = 48 * 1024,
        LEVELS = DEFINITION_DEPTH_MAX + 2,
};

typedef struct {
        guint32 node, dag, component, number;
        gint64 started, finished;
        const char *maker; /* id of the run whose result a retry kept, in Show.makers; NULL: the run's own */
        guint8 state;      /* NodeState */
        bool inner;        /* a DAG that has begun */
} Entry;

/* An instance of a DAG whose components are being written. */
typedef struct {
        guint32 node, at;  /* `at`: the component whose turn it is */
        guint32 end;       /* behind the last one */
        guint entry, last; /* its entries that are still to be written; both 0: it has not begun */
        bool begun;        /* the brackets of `at` are open */
        bool any;          /* a component was written: a comma is due */
        RenderDag render;
        guint32 list_of; /* the component of `list`; 0: none */
        json_t *list;    /* of its loop */
} Level;

typedef struct {
        PaddleFlow *flow;
        RunRecord *run; /* owned, with its text */
        char *id;
        json_t *request;
        Definition *definition;
        GHashTable *lists; /* of render_lists */
        RenderContext context;
        GArray *entries; /* Entry, by DAG, component, number */
        GStringChunk *makers;
        GHashTable *taken;  /* node -> json_t: what its row says in `reuse`, of results from the cache */
        GHashTable *rests;  /* (dag, component) -> NodeState of nodes that never were made */
        GHashTable *paused; /* a set of (dag, component): what is paused before it has nodes */
        json_t *control;    /* as in RunRecord; or NULL */
        GPtrArray *page;    /* RunNodeRecord: some nodes with their texts */
        Level levels[LEVELS];
        guint n;
        enum { HEAD, RUNTIME, POST_PROCESS, ENDED } stage;
} Show;

/* ---- what is known of the nodes ---- */

static int compare(gconstpointer a, gconstpointer b)
{
        const Entry *one = a, *other = b;

        if (one->dag != other->dag)
                return one->dag < other->dag ? -1 : 1;
        if (one->component != other->component)
                return one->component < other->component ? -1 : 1;
        return one->number < other->number ? -1 : one->number > other->number;
}

static void add_entry(Show *show, const RunNodeRecord *node)
{
        json_t *reuse = node->reuse ? json_parse(node->reuse, strlen(node->reuse), NULL) : NULL;
        const Entry entry = { .node = node->node,
                              .dag = node->dag,
                              .component = node->component,
                              .number = node->number,
                              .started = node->started,
                              .finished = node->finished,
                              .maker = node->made_id && !reuse
                                               ? g_string_chunk_insert_const(show->makers, node->made_id)
                                               : NULL,
                              .state = node->state,
                              .inner = node->inner };

        if (reuse)
                g_hash_table_insert(show->taken, GUINT_TO_POINTER(node->node), reuse);
        /* Rows from a run of another version of the language. */
        if (node->component < show->definition->n_components)
                g_array_append_val(show->entries, entry);
}

static bool read_nodes(Show *show, GError **error)
{
        RunNodeQuery query = { .run = show->run->seq, .limit = ROWS };
        gint64 next;

        do {
                g_autoptr(GPtrArray) nodes = store_run_nodes(show->flow->store, &query, &next, error);

                if (!nodes)
                        return false;
                for (guint i = 0; i < nodes->len; i++)
                        add_entry(show, nodes->pdata[i]);
                query.after = next;
        } while (next);
        g_array_sort(show->entries, compare);
        return true;
}

/* Older clients know no such state: it is pending. */
static void add_pause(Show *show, const RunChildRecord *child)
{
        gint64 key = run_child_key(child->dag, child->component);

        if (child->pause == RUN_PAUSE_BEFORE && child->pause_at == 0 &&
            child->pause_epoch >= json_integer_value(json_object_get(show->control, "epoch")))
                g_hash_table_add(show->paused, g_memdup2(&key, sizeof key));
}

static bool read_rests(Show *show, GError **error)
{
        g_autoptr(GPtrArray) children =
                store_run_children(show->flow->store, show->run->seq, CHILDREN_MAX, error);

        for (guint i = 0; children && i < children->len; i++) {
                const RunChildRecord *child = children->pdata[i];
                gint64 key = run_child_key(child->dag, child->component);

                if (child->rest)
                        g_hash_table_insert(show->rests, g_memdup2(&key, sizeof key),
                                            GINT_TO_POINTER(child->rest));
                add_pause(show, child);
        }
        return children != NULL;
}

/* The first entry that does not come before (dag, component). */
static guint find_entry(const Show *show, guint32 dag, guint32 component)
{
        guint low = 0, high = show->entries->len;

        while (low < high) {
                guint middle = low + (high - low) / 2;
                const Entry *entry = &g_array_index(show->entries, Entry, middle);

                if (entry->dag < dag || (entry->dag == dag && entry->component < component))
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* The row of a node with its texts; NULL: it was deleted meanwhile. Neighbours often come next. */
static const RunNodeRecord *find_row(Show *show, guint32 node)
{
        const RunNodeQuery query = { .run = show->run->seq, .after = (gint64)node - 1, .limit = PAGE_NODES };
        gint64 next;

        for (int tries = 0; tries < 2; tries++) {
                for (guint i = 0; show->page && i < show->page->len; i++)
                        if (((const RunNodeRecord *)show->page->pdata[i])->node == node)
                                return show->page->pdata[i];
                g_clear_pointer(&show->page, g_ptr_array_unref);
                show->page = tries == 0 ? store_run_nodes(show->flow->store, &query, &next, NULL) : NULL;
        }
        return NULL;
}

/* ---- what a node was given ---- */

/* The list of a loop in this DAG. */
static const json_t *list_of(Show *show, Level *level, guint32 component)
{
        g_autoptr(json_t) parameters = NULL;
        const char *input = NULL;

        if (level->list_of == component)
                return level->list;
        json_decref(level->list);
        level->list = NULL;
        level->list_of = component;
        parameters = render_parameters(&show->context, &level->render, component, NULL);
        if (parameters)
                level->list = render_loop(&show->context, component, parameters, &input, NULL);
        return level->list;
}

static const json_t *item_of(Show *show, Level *level, const Entry *entry)
{
        bool loops = show->definition->components[component_target(show->definition, entry->component)].loops;

        return loops ? json_array_get(list_of(show, level, entry->component), entry->number) : NULL;
}

/* ---- paths of artifacts ---- */

/* NULL: it was never made. */
static const Entry *entry_of(const Show *show, guint32 dag, guint32 component, guint32 number)
{
        const Entry wanted = { .dag = dag, .component = component, .number = number };
        guint at;

        return g_array_binary_search(show->entries, &wanted, compare, &at)
                       ? &g_array_index(show->entries, Entry, at)
                       : NULL;
}

/* The node of an instance of a DAG. False: it was never made. */
static bool node_of(const Show *show, const RenderDag *dag, guint32 *ret)
{
        const Entry *entry;
        guint32 outer;

        *ret = dag->component == DEFINITION_POST ? RUN_POST : RUN_ROOT;
        if (!dag->parent)
                return true;
        entry = node_of(show, dag->parent, &outer) ? entry_of(show, outer, dag->component, dag->seq) : NULL;
        if (entry)
                *ret = entry->node;
        return entry != NULL;
}

/* How many instances of a component have outputs: a loop without items is one node, which was skipped. */
static guint32 instances_of(const RenderContext *context, const RenderDag *dag, guint32 component)
{
        const Show *show = context->arg;
        guint32 target = component_target(show->definition, component), node, n;
        guint first;

        if (!show->definition->components[target].loops || !node_of(show, dag, &node))
                return 1;
        first = find_entry(show, node, component);
        n = find_entry(show, node, component + 1) - first;
        return n == 1 && g_array_index(show->entries, Entry, first).state == NODE_SKIPPED ? 0 : MAX(n, 1);
}

static const json_t *find_taken(const Show *show, guint32 node)
{
        return g_hash_table_lookup(show->taken, GUINT_TO_POINTER(node));
}

/* A member of `reuse`, or of the object in it that is called `group`; or NULL. */
static const char *taken_text(const Show *show, guint32 node, const char *group, const char *name)
{
        const json_t *taken = find_taken(show, node);

        return json_string_value(json_object_get(group ? json_object_get(taken, group) : taken, name));
}

/* A result that a retry kept, or the cache gave, is where the run that made it has put it. */
static char *kept_output(const RenderContext *context, const RenderDag *dag, guint32 component, guint32 seq,
                         const char *name)
{
        const Show *show = context->arg;
        RenderContext maker = *context;
        const Entry *entry;
        guint32 node;

        entry = node_of(show, dag, &node) ? entry_of(show, node, component, seq) : NULL;
        if (entry && entry->node && find_taken(show, entry->node))
                return g_strdup(taken_text(show, entry->node, "outputs", name));
        if (!entry || !entry->maker)
                return NULL;
        maker.run_id = entry->maker;
        return render_output_path(&maker, dag, component, seq, name);
}

/* ---- the objects ---- */

static const char *state_word(NodeState state)
{
        return state == NODE_STOPPING ? "terminating" : node_state_name(state);
}

static char *dag_id(const Show *show, guint32 node)
{
        return g_strdup_printf("dag-%s-%016x", show->id, node);
}

/* "run-000001-train", "run-000001-train-2" of a loop. */
static char *display_name(const Show *show, const Entry *entry)
{
        const char *name = component_name(show->definition, entry->component);

        return entry->number ? g_strdup_printf("%s-%s-%u", show->id, name, entry->number)
                             : g_strdup_printf("%s-%s", show->id, name);
}

static char *dependencies(const Show *show, guint32 i)
{
        const Component *component = &show->definition->components[i];
        GString *text = g_string_new(NULL);

        for (guint32 k = component->dependencies; k < component[1].dependencies; k++)
                g_string_append_printf(text, "%s%s", text->len > 0 ? "," : "",
                                       component_name(show->definition, show->definition->links[k]));
        return g_string_free(text, FALSE);
}

static json_t *take_map(json_t **map)
{
        return *map ? g_steal_pointer(map) : json_object();
}

/* Parameters of a step are text. */
static json_t *texts_of(const json_t *values)
{
        json_t *texts = json_object(), *value;
        const char *name;

        json_object_foreach((json_t *)values, name, value) {
                g_autofree char *text = render_text(value);

                json_object_set_new(texts, name, json_string(text));
        }
        return texts;
}

/* A file system is one of the run's user; `name` is a text of the definition. */
static json_t *show_mount(const Show *show, const StepMount *mount)
{
        const Definition *definition = show->definition;
        const char *name = definition_text(definition, mount->name);
        g_autofree char *id = filesystem_id(show->run->user, name);

        return json_pack("{s:s, s:s, s:s, s:s, s:b}", "id", id, "name", name, "mountPath",
                         definition_text(definition, mount->mount_path), "subPath",
                         definition_text(definition, mount->sub_path), "readOnly", mount->read_only);
}

static void add_mounts(const Show *show, json_t *list, guint32 first, guint32 n)
{
        for (guint32 i = first; i < first + n; i++)
                json_array_append_new(list, show_mount(show, &show->definition->mounts[i]));
}

/* The step's own, then those of the definition. */
static json_t *show_mounts(const Show *show, guint32 component)
{
        const Definition *definition = show->definition;
        const Extra *extra = component_extra(definition, component);
        json_t *list = extra->n_mounts || definition->n_extra_mounts ? json_array() : json_null();

        add_mounts(show, list, extra->mounts, extra->n_mounts);
        add_mounts(show, list, definition->extra_mounts, definition->n_extra_mounts);
        return list;
}

static void add_scopes(const Show *show, json_t *list, const CacheOptions *cache)
{
        for (guint32 i = 0; i < cache->n_scopes; i++) {
                const CacheScope *scope = &show->definition->scopes[cache->scopes + i];
                const char *name = definition_text(show->definition, scope->name);
                const char *path = definition_text(show->definition, scope->path);
                g_autofree char *id = filesystem_id(show->run->user, name);

                json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", name, "id", id, "path",
                                                      *path ? path : "/"));
        }
}

static json_t *show_cache(const Show *show, guint32 component)
{
        bool global;
        const CacheOptions cache = component_cache(show->definition, component, &global);
        g_autofree char *expiry = g_strdup_printf("%" G_GINT64_FORMAT, cache.expiry_s);
        json_t *scopes = json_array();

        add_scopes(show, scopes, &cache);
        if (global)
                add_scopes(show, scopes, &show->definition->cache);
        return json_pack("{s:b, s:s, s:o}", "enable", cache.enable == CACHE_ON, "maxExpiredTime", expiry,
                         "fsScope", scopes);
}

static const char *image_of(const Show *show, guint32 target)
{
        guint32 image = show->definition->components[target].image;

        return definition_text(show->definition, image ? image : show->definition->image);
}

/* What both kinds have. A step must not have `entryPoints`, by which clients know a DAG, and a DAG must. */
static json_t *show_common(const Show *show, const Entry *entry, const char *end_states, Rendered *rendered)
{
        g_autofree char *parent = dag_id(show, entry->dag), *deps = dependencies(show, entry->component);
        const char *state = state_word((NodeState)entry->state);
        bool ended = strstr(end_states, state) != NULL;
        g_autofree char *started = time_text(entry->started),
                        *finished = time_text(ended ? entry->finished : 0);

        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:{s:o, s:o}}", "parentDagID", parent, "deps", deps,
                         "startTime", started, "endTime", finished, "status", state, "artifacts", "input",
                         take_map(&rendered->inputs), "output", take_map(&rendered->outputs));
}

/* The id of the step's job; "": there is none, or it was deleted. A job that a retry kept has that of the run that made it,
 * where the node had another number. */
static char *step_job_id(const Show *show, const RunNodeRecord *row, const char *step)
{
        g_autofree char *name = NULL;
        g_autoptr(Job) job = NULL;

        if (!row || !row->job_id)
                return g_strdup("");
        if (row->made_by) {
                job = store_job_by_id(show->flow->store, row->job_id, NULL);
                return job ? job_flow_id(job) : g_strdup("");
        }
        name = step_job_name(show->run->id, step, row->node);
        return job_step_id(show->run->seq, name, row->job_id);
}

static json_t *show_step(Show *show, const Entry *entry, Rendered *rendered)
{
        const Definition *definition = show->definition;
        const char *step = component_name(definition, entry->component);
        guint32 target = component_target(definition, entry->component);
        const RunNodeRecord *row = entry->node ? find_row(show, entry->node) : NULL;
        bool cached = row && row->reuse;
        g_autofree char *name = display_name(show, entry), *job = step_job_id(show, row, step);
        g_autofree char *maker = cached ? numbered_id_format("run", row->made_by) : g_strdup("");
        json_t *object = show_common(show, entry, "failed succeeded terminated", rendered);
        g_autoptr(json_t) rest =
                json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:o, s:s, s:s, s:s}", "jobID",
                          cached ? "" : job, "name", name, "type", "step", "stepName", step, "command",
                          rendered->command
                                  ? rendered->command
                                  : definition_text(definition, definition->components[target].command.text),
                          "parameters", texts_of(rendered->parameters), "env", take_map(&rendered->env),
                          "extraFS", show_mounts(show, target), "dockerEnv", image_of(show, target), "cache",
                          show_cache(show, target), "jobMessage", row && row->message ? row->message : "",
                          "cacheRunID", maker, "cacheJobID", cached ? job : "");

        json_object_update(object, rest);
        return object;
}

static json_t *show_dag(Show *show, const Entry *entry, Rendered *rendered)
{
        const RunNodeRecord *row = entry->node ? find_row(show, entry->node) : NULL;
        g_autofree char *id = dag_id(show, entry->node), *display = display_name(show, entry);
        g_autofree char *name = g_strconcat("dag-", display, NULL);
        json_t *object = show_common(show, entry, "cancelled failed succeeded skipped", rendered);
        g_autoptr(json_t) rest =
                json_pack("{s:s, s:s, s:s, s:s, s:o, s:s}", "id", id, "name", name, "type", "dag", "dagName",
                          component_name(show->definition, entry->component), "parameters",
                          take_map(&rendered->parameters), "message",
                          row && row->message ? row->message : "");

        json_object_update(object, rest);
        return object;
}

/* ---- writing ---- */

/* Without its closing brace. */
static void write_open(GString *out, const json_t *object)
{
        g_autofree char *text = json_format(object);

        g_string_append_len(out, text, (gssize)strlen(text) - 1);
}

static void push(Show *show, guint32 node, guint32 holder, RenderDag render)
{
        const Component *component = &show->definition->components[holder];

        show->levels[show->n++] = (Level){
                .node = node, .at = component->children, .end = component[1].children, .render = render
        };
}

static void pop(Show *show)
{
        json_decref(show->levels[--show->n].list);
}

/* One that has no node: it was cancelled, stopped while it waited, or is paused. Nothing: it may still begin. */
static bool make_rest(const Show *show, const Level *level, Entry *ret)
{
        gint64 key = run_child_key(level->node, level->at);
        int rest = GPOINTER_TO_INT(g_hash_table_lookup(show->rests, &key));

        *ret = (Entry){ .dag = level->node, .component = level->at, .state = (guint8)rest };
        return rest != NODE_NONE || g_hash_table_contains(show->paused, &key);
}

/* A DAG with components goes on in a level of its own. */
static void write_entry(Show *show, const Entry *entry, GString *out)
{
        Level *level = &show->levels[show->n - 1];
        guint32 target = component_target(show->definition, entry->component);
        bool dag = show->definition->components[target].dag;
        const json_t *item = item_of(show, level, entry);
        RenderContext context = show->context;
        g_auto(Rendered) rendered = { 0 };
        g_autoptr(json_t) object = NULL;

        if (entry->maker) /* as it ran */
                context.run_id = entry->maker;
        (void)render_instance(&context, &level->render, entry->component, entry->number, item, NULL,
                              &rendered, NULL);
        object = dag ? show_dag(show, entry, &rendered) : show_step(show, entry, &rendered);
        write_open(out, object);
        if (dag)
                g_string_append(out, ",\"entryPoints\":{");
        if (dag && entry->inner && show->n < LEVELS)
                push(show, entry->node, target,
                     (RenderDag){ &level->render, entry->component, entry->number, item });
        else
                g_string_append(out, dag ? "}}" : "}");
}

static void open_component(Show *show, Level *level, GString *out)
{
        g_string_append_printf(out, "%s\"%s\":%s", level->any ? "," : "",
                               component_name(show->definition, level->at),
                               show->stage == RUNTIME ? "[" : "");
        level->any = level->begun = true;
}

static void close_component(const Show *show, Level *level, GString *out)
{
        if (level->begun && show->stage == RUNTIME)
                g_string_append_c(out, ']');
        level->begun = false;
        level->entry = level->last = 0;
        level->at++;
}

/* The entries of the component whose turn it is. */
static void find_entries(const Show *show, Level *level)
{
        level->entry = find_entry(show, level->node, level->at);
        level->last = find_entry(show, level->node, level->at + 1);
        if (show->stage == POST_PROCESS) /* an object, not a list */
                level->last = MIN(level->last, level->entry + 1);
}

static void write_level(Show *show, GString *out)
{
        Level *level = &show->levels[show->n - 1];
        Entry rest;

        if (!level->begun) {
                find_entries(show, level);
                if (level->entry < level->last || make_rest(show, level, &rest))
                        open_component(show, level, out);
                if (level->begun && level->entry == level->last)
                        write_entry(show, &rest, out);
        } else if (level->entry < level->last) {
                const Entry *entry = &g_array_index(show->entries, Entry, level->entry);

                if (level->entry > find_entry(show, level->node, level->at))
                        g_string_append_c(out, ',');
                level->entry++;
                write_entry(show, entry, out);
                return;
        }
        if (level->entry == level->last)
                close_component(show, level, out);
}

static json_t *show_fs_options(const Show *show)
{
        const Definition *definition = show->definition;
        json_t *main_fs = definition->has_main_fs ? show_mount(show, &definition->main_fs) : json_object();
        json_t *extra = definition->n_extra_mounts ? json_array() : NULL;

        add_mounts(show, extra, definition->extra_mounts, definition->n_extra_mounts);
        return json_pack("{s:o, s:o*}", "mainFS", main_fs, "extraFS", extra);
}

static const char *said(const Show *show, const char *name, const char *otherwise)
{
        const char *text = json_string_value(json_object_get(show->request, name));

        return text ? text : otherwise;
}

/* Of the runs that took results of this one from the cache; the caller's. */
static char *users_of(const Show *show)
{
        g_autoptr(GArray) seqs = store_cache_users(show->flow->store, show->run->seq, USERS_MAX, NULL);
        GString *text = g_string_new(NULL);

        for (guint i = 0; seqs && i < seqs->len; i++) {
                g_autofree char *id = numbered_id_format("run", g_array_index(seqs, gint64, i));

                g_string_append_printf(text, "%s%s", i ? "," : "", id);
        }
        return g_string_free(text, FALSE);
}

static void write_head(Show *show, GString *out)
{
        const RunRecord *run = show->run;
        const Definition *definition = show->definition;
        json_t *parameters = json_object_get(show->request, "parameters");
        g_autofree char *created = time_text(run->created), *cached = users_of(show),
                        *updated = time_text(run->finished ? run->finished : run->created);
        g_autofree char *schedule = run_schedule(run);
        g_autoptr(json_t) head = json_pack(
                "{s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:O?, s:s, s:{s:s}, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, "
                "s:s}",
                "runID", show->id, "name", run->name, "source", run->source ? run->source : "", "username",
                run->user, "fsName", run->fs ? run->fs : "", "fsOptions", show_fs_options(show),
                "description", run->note ? run->note : "", "parameters", parameters, "runYaml", run->text,
                "failureOptions", "strategy",
                said(show, "failure_strategy", definition->continues ? "continue" : "fail_fast"), "dockerEnv",
                said(show, "image", definition_text(definition, definition->image)), "disabled",
                said(show, "disabled", ""), "scheduleID", schedule, "runMsg",
                run->message ? run->message : "", "status", run_word(run), "runCachedIDs", cached,
                "createTime", created, "activateTime", created, "updateTime", updated);

        write_open(out, head);
        g_string_append(out, ",\"runtime\":{");
        push(show, RUN_ROOT, DEFINITION_ROOT, (RenderDag){ .component = DEFINITION_ROOT });
        show->stage = RUNTIME;
}

static void end_level(Show *show, GString *out)
{
        pop(show);
        if (show->n > 0) { /* a DAG ends, and so does its object */
                g_string_append(out, "}}");
        } else if (show->stage == RUNTIME) {
                g_string_append(out, "},\"postProcess\":{");
                push(show, RUN_POST, DEFINITION_POST, (RenderDag){ .component = DEFINITION_POST });
                show->stage = POST_PROCESS;
        } else {
                g_string_append(out, "}}");
                show->stage = ENDED;
        }
}

/* One part more; false: that was all. */
static bool write_some(Show *show, GString *out)
{
        if (show->stage == HEAD)
                write_head(show, out);
        else if (show->levels[show->n - 1].at == show->levels[show->n - 1].end)
                end_level(show, out);
        else
                write_level(show, out);
        return show->stage != ENDED;
}

/* ---- answers ---- */

static void show_free(void *arg)
{
        Show *show = arg;

        while (show->n > 0)
                pop(show);
        g_clear_pointer(&show->page, g_ptr_array_unref);
        g_clear_pointer(&show->lists, g_hash_table_unref);
        g_hash_table_unref(show->rests);
        g_hash_table_unref(show->paused);
        json_decref(show->control);
        g_array_unref(show->entries);
        g_string_chunk_free(show->makers);
        g_hash_table_unref(show->taken);
        definition_free(show->definition);
        json_decref(show->request);
        run_record_free(show->run);
        g_free(show->id);
        g_free(show);
}

Definition *run_compile(const RunRecord *run, GError **error)
{
        g_autofree char *id = numbered_id_format("run", run->seq);
        g_autofree char *problem = NULL;
        g_autoptr(json_t) request = NULL;
        g_auto(Problems) problems = { 0 };
        DefinitionRequest wanted;
        Definition *ret;

        if (!run->text || !run->request) {
                paddleflow_set(error, CODE_RunNotFound, "run '%s' was just deleted", id);
                return NULL;
        }
        request = json_parse(run->request, strlen(run->request), NULL);
        definition_request_read(request, &wanted);
        problems_init(&problems);
        ret = definition_parse(run->text, strlen(run->text), &wanted, &problems);
        if (ret)
                return ret;
        problem = problem_format(problems_first(&problems));
        paddleflow_set(error, CODE_InternalError, "the definition of run '%s' is not understood any more: %s",
                       id, problem);
        return NULL;
}

/* Takes the run. */
static Show *show_new(PaddleFlow *flow, RunRecord *run)
{
        Show *show = g_new0(Show, 1);

        show->flow = flow;
        show->run = run;
        show->id = numbered_id_format("run", run->seq);
        show->request = json_parse(run->request, strlen(run->request), NULL);
        show->makers = g_string_chunk_new(256);
        show->taken = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)json_decref);
        show->entries = g_array_new(FALSE, FALSE, sizeof(Entry));
        show->rests = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
        show->paused = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
        show->control = run->control ? json_parse_own(run->control, strlen(run->control), NULL) : NULL;
        return show;
}

static bool prepare(Show *show, GError **error)
{
        show->definition = run_compile(show->run, error);
        if (!show->definition)
                return false;
        show->lists = render_lists(show->definition);
        show->context = (RenderContext){ .definition = show->definition,
                                         .run_id = show->run->id,
                                         .user = show->run->user,
                                         .instances = instances_of,
                                         .output = kept_output,
                                         .arg = show,
                                         .edits = json_object_get(show->control, "parameters"),
                                         .lists = show->lists };
        return read_nodes(show, error) && read_rests(show, error);
}

static StreamState pull(GString *out, void *arg)
{
        Show *show = arg;

        while (out->len < PULL_BYTES)
                if (!write_some(show, out))
                        return STREAM_END;
        return STREAM_MORE;
}

static void reply_at_once(HttpRequest *request, Show *show)
{
        g_autoptr(GString) out = g_string_new(NULL);

        while (write_some(show, out))
                ;
        http_reply(request, 200, "application/json", out->str, out->len);
        show_free(show);
}

void run_show(const Call *call, const RunRecord *run)
{
        Show *show;
        GError *error = NULL;
        RunRecord *own = store_run_by_seq(call->flow->store, run->seq, true, &error);

        if (own && (!own->text || !own->request)) {
                paddleflow_set(&error, CODE_RunNotFound, "the run was just deleted");
                g_clear_pointer(&own, run_record_free);
        }
        if (!own) {
                paddleflow_fail(call->request, error, NULL);
                return;
        }
        show = show_new(call->flow, own);
        if (!prepare(show, &error)) {
                paddleflow_fail(call->request, error, NULL);
                show_free(show);
        } else if (show->entries->len <= AT_ONCE_MAX) {
                reply_at_once(call->request, show);
        } else {
                (void)http_stream(call->request,
                                  &(HttpStream){ "application/json", pull, show_free, NULL, show });
        }
}
