/* The search of a step for an entry: fingerprints, files, and the look-up in the store (see runs-cache.h). */
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

static void free_json(gpointer value)
{
        json_decref(value);
}

CacheSearch *cache_search_ref(CacheSearch *search)
{
        g_atomic_ref_count_inc(&search->refs);
        return search;
}

void cache_search_unref(CacheSearch *search)
{
        if (!g_atomic_ref_count_dec(&search->refs))
                return;
        cache_entry_free(search->wish);
        cache_entry_free(search->found);
        json_decref(search->parts);
        json_decref(search->outputs);
        json_decref(search->files);
        g_ptr_array_unref(search->sums);
        g_ptr_array_unref(search->places);
        files_group_unref(search->group);
        g_free(search->unknown);
        g_clear_pointer(&search->chain, g_array_unref);
        g_free(search->miss);
        g_free(search->reason);
        g_clear_error(&search->failure);
        g_free(search);
}

/* ---- the answer ---- */

typedef struct {
        Command command;
        CacheSearch *search;
} Answer;

static bool apply_answer(Engine *engine, Command *command)
{
        if (!runs_take_answer(engine))
                return false;
        runs_cache_take_answer(engine, ((Answer *)command)->search);
        return true;
}

static void free_answer(Command *command)
{
        cache_search_unref(((Answer *)command)->search);
}

static const CommandOps answer_ops = { .name = "answer of the cache",
                                       .size = sizeof(Answer),
                                       .is_observation = true,
                                       .apply = apply_answer,
                                       .free = free_answer };

/* Takes the reference. Any thread. */
static void post_answer(CacheSearch *search)
{
        Answer *answer = command_new(&answer_ops, NULL, NULL);
        Engine *engine = search->engine;

        answer->search = search;
        inbox_put(&engine->inbox, &answer->command);
}

static void post_failure(CacheSearch *search, const char *class, const GError *error)
{
        g_autofree char *reason = runs_reason(class, error);

        g_clear_error(&search->failure);
        err_set(&search->failure, ERR_INVALID, "%s", reason);
        post_answer(search);
}

/* ---- the look-up, on a thread of the pool ---- */

static bool has_run(const GArray *chain, gint64 seq)
{
        for (guint i = 0; i < chain->len; i++)
                if (g_array_index(chain, gint64, i) == seq)
                        return true;
        return false;
}

/* One of the runs took the result of the entry. Both the runs and those that took it are in order, so each of the two may be
 * long, but not both have to be read. */
static bool is_taken_by(CacheSearch *search, const CacheEntry *entry, bool *ret, GError **error)
{
        gint64 taker = -1;

        *ret = false;
        for (guint i = search->chain->len; i > 0 && taker != 0 && !*ret; i--) {
                gint64 run = g_array_index(search->chain, gint64, i - 1);

                if (taker < run &&
                    !store_cache_taker(search->engine->store, entry->run, entry->job, run, &taker, error))
                        return false;
                *ret = taker == run;
        }
        return true;
}

/* a retry runs again what failed in the runs before it, or what they took as failed. */
static bool failed_in_chain(CacheSearch *search, const CacheEntry *entry, bool *ret, GError **error)
{
        *ret = false;
        if (!search->retry_of)
                return true;
        if (!search->chain)
                search->chain =
                        store_run_chain(search->engine->store, search->retry_of, CACHE_CHAIN_MAX, error);
        if (!search->chain)
                return false;
        *ret = has_run(search->chain, entry->run);
        return *ret || is_taken_by(search, entry, ret, error);
}

/* For people; a job that has no reason, or was deleted meanwhile, has none. */
static void note_reason(CacheSearch *search, const CacheEntry *entry)
{
        g_autoptr(Job) job = store_job_by_seq(search->engine->store, entry->job, NULL);

        g_free(search->reason);
        search->reason = job ? g_strdup(job->reason) : NULL;
}

/* *ret: why an entry that matches is of no use, after its name; NULL: it is. */
static bool check_entry(CacheSearch *search, const CacheEntry *entry, const char **ret, GError **error)
{
        JobState state = (JobState)entry->job_state;
        bool failed = false;

        *ret = NULL;
        if (entry->seq != search->waited && !cache_entry_is_alive(entry, search->now))
                *ret = "has expired";
        else if (!entry->job_id)
                *ret = "has lost its job, which was deleted";
        else if (state == JOB_CANCELLED || state == JOB_PREEMPTED)
                *ret = "is of a step that was stopped";
        else if (state == JOB_FAILED && !failed_in_chain(search, entry, &failed, error))
                return false;
        if (failed)
                *ret = "is of a step that failed in a run that this one retries";
        else if (state == JOB_FAILED)
                note_reason(search, entry);
        return true;
}

/* Keeps the first reason, which is about the newest entry. Takes `why`. */
static void note_miss(CacheSearch *search, gint64 seq, char *why)
{
        if (search->near) {
                g_free(why);
                return;
        }
        search->near = seq;
        search->miss = why;
}

static void note_refusal(CacheSearch *search, const CacheEntry *entry, const char *why)
{
        g_autofree char *id = numbered_id_format("cch", entry->seq);

        note_miss(search, entry->seq, g_strdup_printf("entry %s %s", id, why));
}

/* The first entry of the page that is of use is `found`. */
static bool check_page(CacheSearch *search, const GPtrArray *page, GError **error)
{
        for (guint i = 0; i < page->len && !search->found && search->looked < CACHE_LOOKED_MAX; i++) {
                const CacheEntry *entry = page->pdata[i];
                const char *why;

                if (!check_entry(search, entry, &why, error))
                        return false;
                search->before = entry->seq;
                search->looked++;
                if (why)
                        note_refusal(search, entry, why);
                else
                        search->found = cache_entry_copy(entry);
        }
        return true;
}

static bool find_entry(CacheSearch *search, GError **error)
{
        bool more = true;

        while (more && !search->found && search->looked < CACHE_LOOKED_MAX) {
                const CacheLookup lookup = { .key = search->wish->key,
                                             .second = search->wish->second,
                                             .before = search->before,
                                             .not_run = search->run,
                                             .limit = CACHE_PAGE };
                g_autoptr(GPtrArray) page = store_cache_lookup(search->engine->store, &lookup, error);

                if (!page || !check_page(search, page, error))
                        return false;
                more = page->len == CACHE_PAGE;
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
        CacheSearch *search = ticket->arg;
        const char *missing = values ? missing_output(values) : NULL;
        g_autofree char *lost = missing ? g_strdup_printf("lost its output '%s'", missing) : NULL;

        if (!engine) {
                cache_search_unref(search);
                return;
        }
        if (!error && !missing) {
                post_answer(search);
                return;
        }
        cache_search_next(search, lost ? lost : "has outputs that cannot be looked at");
        cache_search_unref(search);
}

/* Takes the reference. */
static void check_outputs(CacheSearch *search)
{
        g_autoptr(json_t) paths = outputs_of(search->found);

        if (search->found->job_state != JOB_SUCCEEDED || json_object_size(paths) == 0) {
                post_answer(search);
                return;
        }
        run_files_post(search->engine, &(FilesRequest){ .ticket = { .answered = note_exists, .arg = search },
                                                        .kind = FILES_STAT,
                                                        .user = search->wish->user,
                                                        .fs = search->wish->fs,
                                                        .paths = g_steal_pointer(&paths) });
}

static void look_up(bool stopped, void *arg);

/* Takes the reference. */
static void push(CacheSearch *search, ThreadPoolFunc look)
{
        if (!thread_pool_push(search->engine->cache_readers, search->wish->user, look, search, NULL))
                cache_search_unref(search); /* the server stops */
}

static void push_look_up(CacheSearch *search)
{
        push(search, look_up);
}

static void look_up_again(bool stopped, void *arg)
{
        if (stopped)
                cache_search_unref(arg);
        else
                push_look_up(arg);
}

/* The store could not be read: what it holds is not known, so the step neither runs nor takes a result. */
static void note_unread(CacheSearch *search, const GError *error)
{
        if (++search->failed >= CACHE_READ_TRIES)
                post_failure(search, "RE-04: the cache cannot be read: ", error);
        else if (!thread_pool_push_after(search->engine->cache_readers, search->engine->cache_rest_ms,
                                         look_up_again, search))
                cache_search_unref(search); /* the server stops */
}

static void look_up(bool stopped, void *arg)
{
        CacheSearch *search = arg;
        g_autoptr(GError) error = NULL;

        if (stopped) /* the next start searches again */
                cache_search_unref(search);
        else if (!find_entry(search, &error))
                note_unread(search, error);
        else if (search->found)
                check_outputs(search);
        else
                post_answer(search);
}

void cache_search_next(CacheSearch *search, const char *why)
{
        note_refusal(search, search->found, why);
        g_clear_pointer(&search->found, cache_entry_free);
        push_look_up(cache_search_ref(search));
}

void cache_search_again(CacheSearch *search)
{
        search->before = search->found->seq + 1;
        g_clear_pointer(&search->found, cache_entry_free);
        push_look_up(cache_search_ref(search));
}

/* ---- the second fingerprint ---- */

/* There may be many files: not on the engine's thread. */
static void finish_keys(CacheSearch *search)
{
        const char *name;
        json_t *value;

        for (guint i = 0; i < search->sums->len; i++)
                json_object_foreach((json_t *)search->sums->pdata[i], name, value)
                        fingerprint_add(search->files, name, json_string_value(value));
        g_ptr_array_set_size(search->sums, 0);
        search->wish->second = fingerprint_sum(search->files);
        json_object_update(search->parts, search->files);
}

static void begin_look_up(bool stopped, void *arg)
{
        if (!stopped)
                finish_keys(arg);
        look_up(stopped, arg);
}

/* There is no second fingerprint: nothing is looked up, and no later step finds the entry. Takes the reference. */
static void finish_unknown(CacheSearch *search, const char *why)
{
        search->wish->second = g_strdup("");
        search->unknown =
                g_strconcat("its files cannot be compared with those of earlier steps: ", why, NULL);
        post_answer(search);
}

/* Borrowed; NULL: all are known. */
static const char *find_unknown(const json_t *values)
{
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)values, name, value)
                if (json_is_object(value))
                        return json_string_value(json_object_get(value, "unknown"));
        return NULL;
}

static void look_at_files(CacheSearch *search);

static void note_files(Engine *engine, const FilesTicket *ticket, const json_t *values, const GError *error)
{
        CacheSearch *search = ticket->arg;
        const char *unknown = find_unknown(values);

        if (!engine) {
                cache_search_unref(search);
                return;
        }
        if (error) {
                post_failure(search, "RE-04: the fingerprint of its files: ", error);
                return;
        }
        if (unknown) {
                finish_unknown(search, unknown);
                return;
        }
        g_ptr_array_add(search->sums,
                        json_deep_copy(values)); /* a thread reads them while this one frees `values` */
        look_at_files(search);
}

/* One file system after the other, then the store. Takes the reference. Engine's thread. */
static void look_at_files(CacheSearch *search)
{
        const CachePlace *place;

        if (search->at == search->places->len) {
                push(search, begin_look_up);
                return;
        }
        place = search->places->pdata[search->at++];
        run_files_ask(search->engine->files,
                      &(FilesRequest){ .ticket = { .answered = note_files, .arg = search },
                                       .kind = search->content ? FILES_DIGESTS : FILES_TIMES,
                                       .user = search->wish->user,
                                       .fs = place->fs,
                                       .paths = json_incref(place->paths),
                                       .group = files_group_ref(search->group),
                                       .unnamed = true });
}

/* ---- what it searches for ---- */

static json_t *paths_on(CacheSearch *search, const char *fs)
{
        CachePlace *place;

        for (guint i = 0; i < search->places->len; i++) {
                place = search->places->pdata[i];
                if (strcmp(place->fs, fs) == 0)
                        return place->paths;
        }
        place = g_new(CachePlace, 1);
        *place = (CachePlace){ g_strdup(fs), json_object() };
        g_ptr_array_add(search->places, place);
        return place->paths;
}

static void add_inputs(CacheSearch *search, const json_t *inputs)
{
        const char *name;
        json_t *path;

        json_object_foreach((json_t *)inputs, name, path) {
                g_autofree char *part = g_strconcat("files of input ", name, NULL);

                json_object_set(paths_on(search, search->wish->fs), part, path);
        }
}

/* The root is "" for a file system, and "/" for people. Returns how many parts the paths have. */
static guint add_scope(CacheSearch *search, const char *fs, const char *paths)
{
        g_auto(GStrv) list = g_strsplit(*paths ? paths : "/", ",", -1);

        for (char **path = list; *path; path++) {
                g_autofree char *part = NULL;

                g_strstrip(*path);
                if (!**path)
                        continue;
                part = g_strdup_printf("files of %s:%s", fs, *path);
                json_object_set_new(paths_on(search, fs), part, json_string(*path));
        }
        return g_strv_length(list);
}

/* Returns how many paths. */
static guint add_scopes(CacheSearch *search, const Definition *definition, const CacheOptions *options)
{
        guint n = 0;

        for (guint32 k = 0; k < options->n_scopes; k++) {
                const CacheScope *scope = &definition->scopes[options->scopes + k];

                n += add_scope(search, definition_text(definition, scope->name),
                               definition_text(definition, scope->path));
        }
        return n;
}

static gsize length_of(const char *text)
{
        return text ? strlen(text) : 0;
}

/* As the job of the step gets them (pipeline/step-job.h). They are charged like what is rendered. */
static void set_package(FingerprintStep *step, LiveRun *live, guint32 target)
{
        const RunPlan *plan = live->plan;
        const Extra *extra = component_extra(plan->definition, target);
        const char *own = extra->package ? definition_text(plan->definition, extra->package) : NULL;
        const char *lines =
                extra->requirements ? definition_text(plan->definition, extra->requirements) : NULL;

        own = own && *own ? own : NULL;
        lines = lines && *lines ? lines : NULL;
        step->package = own ? own : plan->package;
        step->requirements = lines || own ? lines : plan->requirements;
        live->memo.work += length_of(step->package) + length_of(step->requirements);
}

/* Beside the parts of the first fingerprint, what an entry must be of: the file system, and the source unless contents
 * say all that counts. */
static void set_key(CacheSearch *search)
{
        g_autofree char *place =
                g_strdup_printf("%zu:%s%s", strlen(search->wish->user), search->wish->user, search->wish->fs);

        search->wish->first = fingerprint_sum(search->parts);
        fingerprint_add(search->parts, "file system", place);
        if (!search->content)
                fingerprint_add(search->parts, "source", search->wish->source);
        search->wish->key = fingerprint_sum(search->parts);
}

/* Returns how many paths the scopes name; their number and length are limited (pipeline/check-files.c). */
static guint set_keys_and_files(CacheSearch *search, LiveRun *live, guint32 target,
                                const CacheOptions *options, bool global, GError **error)
{
        const Definition *definition = live->plan->definition;
        g_auto(Rendered) rendered = { 0 };
        FingerprintStep step = { .definition = definition,
                                 .component = run_node(live->machine, search->node)->component,
                                 .user = live->record->user,
                                 .content = options->content,
                                 .rendered = &rendered };

        if (!runs_render_key(live, search->node, options->content, &rendered, error))
                return 0;
        set_package(&step, live, target);
        search->parts = fingerprint_parts(&step);
        search->outputs = json_incref(rendered.outputs);
        set_key(search);
        add_inputs(search, rendered.inputs);
        return add_scopes(search, definition, options) +
               (global ? add_scopes(search, definition, &definition->cache) : 0);
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

CacheSearch *cache_search_new(const RunActor *actor, guint32 node)
{
        LiveRun *live = actor->live;
        const Definition *definition = live->plan->definition;
        guint32 target = component_target(definition, run_node(live->machine, node)->component);
        bool global;
        guint n_paths;
        const CacheOptions options = component_cache(definition, target, &global);
        CacheSearch *search = g_new0(CacheSearch, 1);

        g_atomic_ref_count_init(&search->refs);
        search->engine = actor->engine;
        search->run = live->record->seq;
        search->retry_of = live->record->retry_of;
        search->node = node;
        search->content = options.content;
        search->before = G_MAXINT64;
        search->files = json_object();
        search->sums = g_ptr_array_new_with_free_func(free_json);
        search->places = g_ptr_array_new_with_free_func(free_place);
        search->group = files_group_new();
        search->wish = new_wish(live, node, &options);
        n_paths = set_keys_and_files(search, live, target, &options, global, &search->failure);
        runs_charge_rendered(actor);
        runs_charge(actor, (json_object_size(search->parts) + n_paths) / RUN_PARTS_PER_STEP);
        return search;
}

void cache_search_begin(CacheSearch *search, guint64 number, gint64 waited)
{
        g_autoptr(GError) error = g_steal_pointer(&search->failure);

        search->number = number;
        search->now = search->engine->batch.now;
        search->waited = waited;
        if (error)
                post_failure(cache_search_ref(search), "RE-04: ", error);
        else
                look_at_files(cache_search_ref(search));
}
