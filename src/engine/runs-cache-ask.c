/* A step's question to the cache: fingerprints, files, and the look-up in the store (see runs-cache.h). */
#include <string.h>

#include "base/err.h"
#include "engine/run-files.h"
#include "engine/runs-cache.h"
#include "model/pipeline-record.h"
#include "pipeline/fingerprint.h"

#define EXPIRY_MAX_S (100LL * 366 * 24 * 3600) /* what is longer never ends */

/* Files of one file system. */
typedef struct {
        char *fs;
        json_t *paths; /* name of a part -> paths */
} CachePlace;

static void free_place(gpointer data)
{
        CachePlace *place = data;

        g_free(place->fs);
        json_decref(place->paths);
        g_free(place);
}

CacheAsk *cache_ask_ref(CacheAsk *ask)
{
        return g_atomic_rc_box_acquire(ask);
}

static void clear_ask(gpointer data)
{
        CacheAsk *ask = data;

        cache_entry_free(ask->wish);
        cache_entry_free(ask->found);
        json_decref(ask->parts);
        json_decref(ask->outputs);
        json_decref(ask->files);
        g_ptr_array_unref(ask->places);
        g_free(ask->miss);
        g_clear_error(&ask->failure);
}

void cache_ask_unref(CacheAsk *ask)
{
        g_atomic_rc_box_release_full(ask, clear_ask);
}

/* ---- the answer ---- */

typedef struct {
        Command command;
        CacheAsk *ask;
} Answer;

static bool apply_answer(Engine *engine, Command *command)
{
        if (!runs_take_answer(engine))
                return false;
        runs_cache_answered(engine, ((Answer *)command)->ask);
        return true;
}

static void free_answer(Command *command)
{
        cache_ask_unref(((Answer *)command)->ask);
}

static const CommandOps answer_ops = { .name = "answer of the cache",
                                       .size = sizeof(Answer),
                                       .is_observation = true,
                                       .apply = apply_answer,
                                       .free = free_answer };

/* Takes the reference. Any thread. */
static void post_answer(CacheAsk *ask)
{
        Answer *answer = command_new(&answer_ops, NULL, NULL);
        Engine *engine = ask->engine;

        answer->ask = ask;
        inbox_put(&engine->inbox, &answer->command);
}

static void post_failure(CacheAsk *ask, const char *class, const GError *error)
{
        g_autofree char *reason = runs_reason(class, error);

        g_clear_error(&ask->failure);
        err_set(&ask->failure, ERR_INVALID, "%s", reason);
        post_answer(ask);
}

/* ---- the look-up, on a thread of the pool ---- */

/* a retry runs again what failed in the runs before it, or what they took as failed. */
static bool failed_in_chain(CacheAsk *ask, const CacheEntry *entry)
{
        gint64 seq = ask->retry_of;

        for (int i = 0; seq && i < CACHE_CHAIN_MAX; i++) {
                g_autoptr(RunRecord) run = NULL;
                bool replayed = false;

                if (seq == entry->run)
                        return true;
                if (store_cache_replayed(ask->engine->store, seq, entry->run, entry->job, &replayed, NULL) &&
                    replayed)
                        return true;
                run = store_run_by_seq(ask->engine->store, seq, false, NULL);
                seq = run ? run->retry_of : 0;
        }
        return false;
}

/* Why an entry that matches is of no use, after its name; NULL: it is. */
static const char *refuse(CacheAsk *ask, const CacheEntry *entry)
{
        JobState state = (JobState)entry->job_state;

        if (entry->seq != ask->waited && !cache_entry_is_alive(entry, ask->now))
                return "has expired";
        if (!entry->job_id)
                return "has lost its job, which was deleted";
        if (state == JOB_CANCELLED || state == JOB_PREEMPTED)
                return "is of a step that was stopped";
        if (state == JOB_FAILED && failed_in_chain(ask, entry))
                return "is of a step that failed in a run that this one retries";
        return NULL;
}

/* Keeps the first reason, which is about the newest entry. Takes `why`. */
static void note_miss(CacheAsk *ask, gint64 seq, char *why)
{
        if (ask->near) {
                g_free(why);
                return;
        }
        ask->near = seq;
        ask->miss = why;
}

static void note_refusal(CacheAsk *ask, const CacheEntry *entry, const char *why)
{
        g_autofree char *id = numbered_id_format("cch", entry->seq);

        note_miss(ask, entry->seq, g_strdup_printf("entry %s %s", id, why));
}

static bool find_entry(CacheAsk *ask, GError **error)
{
        for (int looked = 0; looked < CACHE_LOOKED_MAX; looked += CACHE_PAGE) {
                const CacheLookup lookup = { .key = ask->wish->key,
                                             .second = ask->wish->second,
                                             .before = ask->before,
                                             .not_run = ask->run,
                                             .limit = CACHE_PAGE };
                g_autoptr(GPtrArray) page = store_cache_lookup(ask->engine->store, &lookup, error);

                if (!page)
                        return false;
                for (guint i = 0; i < page->len; i++) {
                        const CacheEntry *entry = page->pdata[i];
                        const char *why = refuse(ask, entry);

                        ask->before = entry->seq;
                        if (!why) {
                                ask->found = cache_entry_copy(entry);
                                return true;
                        }
                        note_refusal(ask, entry, why);
                }
                if (page->len < CACHE_PAGE)
                        return true;
        }
        return true;
}

/* ---- do its outputs still exist? ---- */

static json_t *outputs_of(const CacheEntry *entry)
{
        g_autoptr(json_t) body = json_parse(entry->body, strlen(entry->body), NULL);

        return json_incref(json_object_get(body, "outputs"));
}

/* An output that is gone; NULL: all are there. */
static const char *missing_output(const json_t *values)
{
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)values, name, value)
                if (!json_is_true(json_object_get(value, "exists")))
                        return name;
        return NULL;
}

static void note_exists(Engine *engine, const FilesTicket *ticket, const json_t *values, const GError *error)
{
        CacheAsk *ask = ticket->arg;
        const char *missing = values ? missing_output(values) : NULL;
        g_autofree char *lost = missing ? g_strdup_printf("lost its output '%s'", missing) : NULL;

        if (!engine) {
                cache_ask_unref(ask);
                return;
        }
        if (!error && !missing) {
                post_answer(ask);
                return;
        }
        cache_ask_next(ask, lost ? lost : "has outputs that cannot be looked at");
        cache_ask_unref(ask);
}

/* Takes the reference. */
static void check_outputs(CacheAsk *ask)
{
        g_autoptr(json_t) paths = outputs_of(ask->found);

        if (ask->found->job_state != JOB_SUCCEEDED || json_object_size(paths) == 0) {
                post_answer(ask);
                return;
        }
        run_files_post(ask->engine, &(FilesRequest){ .ticket = { .answered = note_exists, .arg = ask },
                                                     .kind = FILES_STAT,
                                                     .user = ask->wish->user,
                                                     .fs = ask->wish->fs,
                                                     .paths = g_steal_pointer(&paths) });
}

static void look_up(bool stopped, void *arg)
{
        CacheAsk *ask = arg;
        g_autoptr(GError) error = NULL;

        if (stopped) { /* the next start asks again */
                cache_ask_unref(ask);
                return;
        }
        if (!find_entry(ask, &error))
                post_failure(ask, "RE-04: ", error);
        else if (ask->found)
                check_outputs(ask);
        else
                post_answer(ask);
}

/* Takes the reference. */
static void push_look_up(CacheAsk *ask)
{
        if (!thread_pool_push(ask->engine->pool, NULL, look_up, ask, NULL))
                cache_ask_unref(ask); /* the server stops */
}

void cache_ask_next(CacheAsk *ask, const char *why)
{
        note_refusal(ask, ask->found, why);
        g_clear_pointer(&ask->found, cache_entry_free);
        push_look_up(cache_ask_ref(ask));
}

void cache_ask_again(CacheAsk *ask)
{
        ask->before = ask->found->seq + 1;
        g_clear_pointer(&ask->found, cache_entry_free);
        push_look_up(cache_ask_ref(ask));
}

/* ---- the second fingerprint ---- */

static void finish_keys(CacheAsk *ask)
{
        ask->wish->second = fingerprint_sum(ask->files);
        json_object_update(ask->parts, ask->files);
}

static void look_at_files(CacheAsk *ask);

static void note_files(Engine *engine, const FilesTicket *ticket, const json_t *values, const GError *error)
{
        CacheAsk *ask = ticket->arg;
        const char *name;
        json_t *value;

        if (!engine) {
                cache_ask_unref(ask);
                return;
        }
        if (error) {
                post_failure(ask, "RE-04: the fingerprint of its files: ", error);
                return;
        }
        json_object_foreach((json_t *)values, name, value)
                fingerprint_add(ask->files, name, json_string_value(value));
        look_at_files(ask);
}

/* One file system after the other, then the store. Takes the reference. Engine's thread. */
static void look_at_files(CacheAsk *ask)
{
        const CachePlace *place;

        if (ask->at == ask->places->len) {
                finish_keys(ask);
                push_look_up(ask);
                return;
        }
        place = ask->places->pdata[ask->at++];
        run_files_ask(ask->engine->files, &(FilesRequest){ .ticket = { .answered = note_files, .arg = ask },
                                                           .kind = ask->content ? FILES_DIGESTS : FILES_TIMES,
                                                           .user = ask->wish->user,
                                                           .fs = place->fs,
                                                           .paths = json_incref(place->paths),
                                                           .unnamed = true });
}

/* ---- what it asks ---- */

static json_t *paths_on(CacheAsk *ask, const char *fs)
{
        CachePlace *place;

        for (guint i = 0; i < ask->places->len; i++) {
                place = ask->places->pdata[i];
                if (strcmp(place->fs, fs) == 0)
                        return place->paths;
        }
        place = g_new(CachePlace, 1);
        *place = (CachePlace){ g_strdup(fs), json_object() };
        g_ptr_array_add(ask->places, place);
        return place->paths;
}

static void add_inputs(CacheAsk *ask, const json_t *inputs)
{
        const char *name;
        json_t *path;

        json_object_foreach((json_t *)inputs, name, path) {
                g_autofree char *part = g_strconcat("files of input ", name, NULL);

                json_object_set(paths_on(ask, ask->wish->fs), part, path);
        }
}

/* The root is "" for a file system, and "/" for people. */
static void add_scope(CacheAsk *ask, const char *fs, const char *paths)
{
        g_auto(GStrv) list = g_strsplit(*paths ? paths : "/", ",", -1);

        for (char **path = list; *path; path++) {
                g_autofree char *part = NULL;

                g_strstrip(*path);
                if (!**path)
                        continue;
                part = g_strdup_printf("files of %s:%s", fs, *path);
                json_object_set_new(paths_on(ask, fs), part, json_string(*path));
        }
}

static void add_scopes(CacheAsk *ask, const Definition *definition, const CacheOptions *options)
{
        for (guint32 k = 0; k < options->n_scopes; k++) {
                const CacheScope *scope = &definition->scopes[options->scopes + k];

                add_scope(ask, definition_text(definition, scope->name),
                          definition_text(definition, scope->path));
        }
}

/* As the job of the step gets them (pipeline/step-job.h). */
static void set_package(FingerprintStep *step, const RunPlan *plan, guint32 target)
{
        const Extra *extra = component_extra(plan->definition, target);
        const char *own = extra->package ? definition_text(plan->definition, extra->package) : NULL;
        const char *lines =
                extra->requirements ? definition_text(plan->definition, extra->requirements) : NULL;

        own = own && *own ? own : NULL;
        lines = lines && *lines ? lines : NULL;
        step->package = own ? own : plan->package;
        step->requirements = lines || own ? lines : plan->requirements;
}

/* Beside the parts of the first fingerprint, what an entry must be of: the file system, and the source unless contents
 * say all that counts. */
static void set_key(CacheAsk *ask)
{
        g_autofree char *place =
                g_strdup_printf("%zu:%s%s", strlen(ask->wish->user), ask->wish->user, ask->wish->fs);

        ask->wish->first = fingerprint_sum(ask->parts);
        fingerprint_add(ask->parts, "file system", place);
        if (!ask->content)
                fingerprint_add(ask->parts, "source", ask->wish->source);
        ask->wish->key = fingerprint_sum(ask->parts);
}

static bool set_question(CacheAsk *ask, LiveRun *live, guint32 target, const CacheOptions *options,
                         bool global, GError **error)
{
        const Definition *definition = live->plan->definition;
        g_auto(Rendered) rendered = { 0 };
        FingerprintStep step = { .definition = definition,
                                 .component = run_node(live->machine, ask->node)->component,
                                 .user = live->record->user,
                                 .content = options->content,
                                 .rendered = &rendered };

        if (!runs_render_key(live, ask->node, options->content, &rendered, error))
                return false;
        set_package(&step, live->plan, target);
        ask->parts = fingerprint_parts(&step);
        ask->outputs = json_incref(rendered.outputs);
        set_key(ask);
        add_inputs(ask, rendered.inputs);
        add_scopes(ask, definition, options);
        if (global)
                add_scopes(ask, definition, &definition->cache);
        return true;
}

static CacheEntry *new_wish(const LiveRun *live, guint32 node, const CacheOptions *options)
{
        const Definition *definition = live->plan->definition;
        CacheEntry *wish = g_new0(CacheEntry, 1);

        wish->run = live->record->seq;
        wish->node = node;
        wish->user = g_strdup(live->record->user);
        wish->fs = g_strdup(definition->has_main_fs ? definition_text(definition, definition->main_fs.name)
                                                    : "");
        wish->source = g_strdup(live->record->source ? live->record->source : "");
        wish->step = runs_node_path(live, node);
        wish->expiry_s = options->expiry_s == CACHE_NEVER_EXPIRES || options->expiry_s > EXPIRY_MAX_S
                                 ? CACHE_NEVER_EXPIRES
                                 : MAX(options->expiry_s, 0);
        return wish;
}

CacheAsk *cache_ask_new(const RunActor *actor, guint32 node)
{
        LiveRun *live = actor->live;
        const Definition *definition = live->plan->definition;
        guint32 target = component_target(definition, run_node(live->machine, node)->component);
        bool global;
        const CacheOptions options = component_cache(definition, target, &global);
        CacheAsk *ask = g_atomic_rc_box_new0(CacheAsk);

        ask->engine = actor->engine;
        ask->run = live->record->seq;
        ask->retry_of = live->record->retry_of;
        ask->node = node;
        ask->content = options.content;
        ask->before = G_MAXINT64;
        ask->files = json_object();
        ask->places = g_ptr_array_new_with_free_func(free_place);
        ask->wish = new_wish(live, node, &options);
        (void)set_question(ask, live, target, &options, global, &ask->failure);
        runs_charge_rendered(actor);
        runs_charge(actor, json_object_size(ask->parts) / RUN_PARTS_PER_STEP);
        return ask;
}

void cache_ask_begin(CacheAsk *ask, guint64 number, gint64 waited)
{
        g_autoptr(GError) error = g_steal_pointer(&ask->failure);

        ask->number = number;
        ask->now = ask->engine->batch.now;
        ask->waited = waited;
        if (error)
                post_failure(cache_ask_ref(ask), "RE-04: ", error);
        else
                look_at_files(cache_ask_ref(ask));
}
