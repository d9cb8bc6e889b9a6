/* Why a step of a run was reused from the cache, or why it ran: its fingerprint and its files, compared with those of an
 * earlier entry. */
#include <errno.h>
#include <string.h>

#include "api/v1/internal.h"
#include "base/cancel.h"
#include "base/err.h"
#include "base/word.h"
#include "model/pipeline-record.h"
#include "pipeline/run.h"
#include "pipeline/step-path.h"

enum {
        NODES_PAGE = 1000,
        FILES_MAX = 20,  /* files that differ, in an answer */
        FILES_NAMED = 3, /* ... in its message */
};

/* A step, with its own entry and the one that it is compared with; each may be NULL. */
typedef struct {
        RunText *text;
        RunNodeRecord *node;
        CacheEntry *own, *other;
        json_t *body, *reuse; /* of `own`; of the node; or NULL */
        json_t *files;        /* that differ between the directories of the two runs; or NULL */
        guint n_files;        /* so many do; `files` has the first ones */
} Why;

static void why_clear(Why *why)
{
        g_clear_pointer(&why->text, run_text_unref);
        run_node_record_free(why->node);
        cache_entry_free(why->own);
        cache_entry_free(why->other);
        json_decref(why->body);
        json_decref(why->reuse);
        json_decref(why->files);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Why, why_clear)

/* ---- the step ---- */

/* The step that is meant. */
typedef struct {
        const char *text;
        StepPath path;
        bool known;         /* the definition has it: `path` is set */
        bool loops, inside; /* it is a loop without a number; it is inside of one */
} Wanted;

/* True if it stands for all items of a loop. */
static bool is_loop_part(const Definition *definition, const StepPart *part)
{
        return part->number == (guint32)STEP_ANY &&
               definition->components[component_target(definition, part->component)].loops;
}

static Wanted wanted_of(const Definition *definition, const char *text, GError **why)
{
        Wanted wanted = { .text = text };
        gsize last;

        wanted.known = step_path_parse(definition, text, &wanted.path, why);
        if (!wanted.known)
                return wanted;
        last = wanted.path.n - 1;
        wanted.loops = is_loop_part(definition, &wanted.path.parts[last]);
        for (gsize i = 0; i < last; i++)
                wanted.inside |= is_loop_part(definition, &wanted.path.parts[i]);
        return wanted;
}

static void no_step(const RunRecord *run, const Definition *definition, const char *step, GError **error)
{
        g_autoptr(GError) why = NULL;
        const char *hint = NULL;

        if (!wanted_of(definition, step, &why).known)
                hint = strchr(why->message, '\n');
        err_set(error, ERR_NOT_FOUND,
                "run '%s' has no step '%.200s' that has begun%s\n`paddle run show %s` shows its steps.",
                run->id, step, hint ? hint : "", run->id);
}

/* True if the part "trial-0" of a path is "trial" or an item of it. */
static bool is_same_part(const char *part, gsize len, const char *name, gsize name_len)
{
        return len >= name_len && strncmp(part, name, name_len) == 0 &&
               (len == name_len || (part[name_len] == '-' && len > name_len + 1 &&
                                    strspn(part + name_len + 1, "0123456789") == len - name_len - 1));
}

/* True if `path` is "trial-0.train" for the step "trial.train". */
static bool is_item_of(const char *path, const char *step)
{
        for (;;) {
                gsize len = strcspn(path, "."), name_len = strcspn(step, ".");

                if (!is_same_part(path, len, step, name_len) || !path[len] != !step[name_len])
                        return false;
                if (!path[len])
                        return true;
                path += len + 1;
                step += name_len + 1;
        }
}

static void name_item(const Wanted *wanted, const char *path, GError **error)
{
        err_set(error, ERR_INVALID, "step: '%.200s' is %s loop: name one of its items, such as '%.200s'",
                wanted->text, wanted->inside ? "inside of a" : "a", path);
}

/* False: the request is not wanted any more. */
static bool go_on(const RunRecord *run, GError **error)
{
        return cancel_check() ||
               err_set_errno(error, ECANCELED, "cannot read the nodes of run '%s'", run->id);
}

/* One of a page with this path. */
static RunNodeRecord *find_on(Api *api, const RunText *text, const RunRecord *run, GHashTable *dags,
                              GPtrArray *page, const Wanted *wanted, GError **error)
{
        for (guint i = 0; i < page->len; i++) {
                const RunNodeRecord *node = page->pdata[i];
                g_autofree char *path =
                        go_on(run, error) ? run_node_path(api->store, text, dags, node, true, error) : NULL;

                if (path && strcmp(path, wanted->text) == 0)
                        return g_ptr_array_steal_index(page, i);
                if (path && (wanted->loops || wanted->inside) && is_item_of(path, wanted->text))
                        name_item(wanted, path, error);
                if (*error)
                        return NULL;
        }
        return NULL;
}

static RunNodeRecord *find_step(Api *api, const RunText *text, const RunRecord *run, const char *step,
                                GError **error)
{
        g_autoptr(GHashTable) dags = run_paths_new();
        const Wanted wanted = wanted_of(text->definition, step, NULL);
        RunNodeQuery query = { .run = run->seq, .limit = NODES_PAGE };
        RunNodeRecord *found = NULL;

        while (!found && !*error) {
                g_autoptr(GPtrArray) page = store_run_nodes(api->store, &query, &query.after, error);

                found = page ? find_on(api, text, run, dags, page, &wanted, error) : NULL;
                if (!page || query.after == 0)
                        break;
        }
        if (!found && !*error)
                no_step(run, text->definition, step, error);
        return found;
}

static const Component *component_of(const Why *why)
{
        const Definition *definition = why->text->definition;

        return &definition->components[component_target(definition, why->node->component)];
}

static bool find_node(Api *api, const RunRecord *run, const char *step, Why *ret, GError **error)
{
        ret->text = run_texts_get(api->run_texts, api->store, run, error);
        ret->node = ret->text ? find_step(api, ret->text, run, step, error) : NULL;
        return ret->node &&
               (!component_of(ret)->dag ||
                err_set(error, ERR_INVALID,
                        "step: '%.200s' of run '%s' is a DAG, whose steps are reused one by one\n"
                        "Name one of them: `paddle run show %s` shows them.",
                        step, run->id, run->id));
}

/* An entry that may have been deleted since; NULL then. */
static CacheEntry *entry_of(Api *api, const json_t *object, const char *name)
{
        gint64 seq = json_integer_value(json_object_get(object, name));

        return seq ? store_cache_entry(api->store, seq, NULL) : NULL;
}

static bool find_why(Api *api, const RunRecord *run, const char *step, Why *ret, GError **error)
{
        if (!find_node(api, run, step, ret, error))
                return false;
        if (ret->node->reuse) {
                ret->reuse = json_parse(ret->node->reuse, strlen(ret->node->reuse), NULL);
                ret->other = entry_of(api, ret->reuse, "entry");
                return true;
        }
        ret->own = store_cache_of_node(api->store, run->seq, ret->node->node, error);
        if (!ret->own)
                return !*error;
        ret->body = api_cache_body(ret->own);
        ret->other = entry_of(api, ret->body, "near");
        if (!ret->other && *ret->own->second)
                ret->other = store_cache_of_step(api->store, ret->own, run->name, error);
        return !*error;
}

/* ---- what differs ---- */

/* The directory that was sent with a run; the caller's. NULL: none. */
static char *package_of(Api *api, const char *run)
{
        g_autoptr(RunRecord) whole = store_run_by_id(api->store, run, true, NULL);
        g_autoptr(json_t) request =
                whole && whole->request ? json_parse(whole->request, strlen(whole->request), NULL) : NULL;

        return g_strdup(json_string_value(json_object_get(request, "package")));
}

/* A step may have a directory of its own instead; then nothing is compared. */
static void compare_files(Api *api, Why *why)
{
        const Definition *definition = why->text->definition;
        guint32 target = component_target(definition, why->node->component);
        g_autofree char *now = NULL, *was = NULL;

        if (!why->own || !why->other || component_extra(definition, target)->package)
                return;
        now = package_of(api, why->own->run_id);
        was = package_of(api, why->other->run_id);
        if (now && was && strcmp(now, was) != 0)
                why->files =
                        package_store_compare(api->packages, NULL, was, now, FILES_MAX, &why->n_files, NULL);
}

/* From the parts of the other entry to those of the step. */
static json_t *compare_parts(const json_t *now, const json_t *was)
{
        json_t *list = json_array(), *value;
        const char *name;

        json_object_foreach((json_t *)now, name, value) {
                const json_t *other = json_object_get(was, name);

                json_array_append_new(list, json_pack("{s:s, s:s}", "name", name, "change",
                                                      !other                     ? "new"
                                                      : json_equal(value, other) ? "same"
                                                                                 : "differs"));
        }
        json_object_foreach((json_t *)was, name, value)
                if (!json_object_get(now, name))
                        json_array_append_new(list, json_pack("{s:s, s:s}", "name", name, "change", "gone"));
        return list;
}

static json_t *parts_of(const Why *why)
{
        g_autoptr(json_t) other = why->other ? api_cache_body(why->other) : NULL;
        const json_t *was = json_object_get(other, "parts");

        if (!why->other)
                return json_array();
        return compare_parts(why->own ? json_object_get(why->body, "parts") : was, was);
}

/* ---- the message ---- */

/* "image, parameter lr and 3 more" */
static char *changed_names(const json_t *parts)
{
        enum { NAMED_MAX = 5 };
        GString *text = g_string_new(NULL);
        guint n = 0;
        size_t i;
        json_t *part;

        json_array_foreach(parts, i, part) {
                if (strcmp(json_string_value(json_object_get(part, "change")), "same") == 0)
                        continue;
                if (n++ < NAMED_MAX)
                        g_string_append_printf(text, "%s%s", text->len ? ", " : "",
                                               json_string_value(json_object_get(part, "name")));
        }
        if (n > NAMED_MAX)
                g_string_append_printf(text, " and %u more", n - NAMED_MAX);
        return g_string_free(text, FALSE);
}

/* The text of a pipeline is one of the parts unless contents are compared. */
static bool is_edited(const json_t *parts)
{
        size_t i;
        json_t *part;

        json_array_foreach(parts, i, part)
                if (strcmp(json_string_value(json_object_get(part, "name")), "source") == 0)
                        return strcmp(json_string_value(json_object_get(part, "change")), "same") != 0;
        return false;
}

/* ". package: fit.py differs, lib.py is new and 3 more files"; "": nothing is known. The caller's. */
static char *say_files(const Why *why)
{
        GString *text = g_string_new(why->n_files > 0 ? ". package: " : "");
        guint named = MIN(why->n_files, FILES_NAMED), left = why->n_files - named;

        for (guint i = 0; i < named; i++) {
                const json_t *file = json_array_get(why->files, i);
                const char *change = json_string_value(json_object_get(file, "change"));

                g_string_append_printf(text, "%s%s %s%s", i > 0 ? ", " : "",
                                       json_string_value(json_object_get(file, "path")),
                                       strcmp(change, "differs") == 0 ? "" : "is ", change);
        }
        if (left > 0) {
                g_autofree char *more = count_format(left, "more file");

                g_string_append_printf(text, " and %s", more);
        }
        return g_string_free(text, FALSE);
}

static char *say_missed(const Why *why, const json_t *parts)
{
        const char *miss = json_string_value(json_object_get(why->body, "miss"));
        g_autofree char *id = why->other ? numbered_id_format("cch", why->other->seq) : NULL;
        g_autofree char *names = changed_names(parts), *files = say_files(why);

        if (miss)
                return g_strdup_printf("the step was not reused: %s", miss);
        if (!why->other)
                return g_strdup_printf(
                        "the step was not reused: the cache has no earlier step '%s' of this pipeline",
                        why->own->step);
        if (!*names)
                return g_strdup_printf("the step was not reused: entry %s is the same, and was not there yet",
                                       id);
        return g_strdup_printf("the step was not reused: it differs from entry %s of run %s in: %s%s%s", id,
                               why->other->run_id, names, files,
                               is_edited(parts)
                                       ? ". source: the definition was edited, or is another stored version; "
                                         "`cache: {fingerprint: content}` ignores that"
                                       : "");
}

static char *say_kept(const RunNodeRecord *node)
{
        g_autofree char *run = node->made_id ? g_strdup_printf("run %s", node->made_id) : NULL;

        return g_strdup_printf("kept by a retry from %s: the cache was not asked",
                               run ? run : "an earlier run");
}

static char *say_not_submitted(const RunNodeRecord *node)
{
        if (node->state == NODE_SKIPPED)
                return g_strdup("the step was skipped: the cache was not asked");
        if (node->state == NODE_FAILED)
                return g_strdup_printf("the step failed before its job was submitted: %s",
                                       node->message ? node->message : "no reason is known");
        return g_strdup("the step was stopped before its job was submitted");
}

static const char *say_without_entry(const Why *why)
{
        const Definition *definition = why->text->definition;
        guint32 target = component_target(definition, why->node->component);
        bool global;

        if (why->node->dag == RUN_POST)
                return "a step of post_process does not use the cache";
        if (component_cache(definition, target, &global).enable != CACHE_ON)
                return "the cache is off for this step";
        return "the entry of this step was deleted, or has expired";
}

static char *say_why(const Why *why, const json_t *parts)
{
        const RunNodeRecord *node = why->node;

        if (node->message && why->reuse)
                return g_strdup(node->message);
        if (why->reuse)
                return g_strdup_printf("reused from run %s, step '%s'",
                                       json_string_value(json_object_get(why->reuse, "run")),
                                       json_string_value(json_object_get(why->reuse, "step")));
        if (node->made_by)
                return say_kept(node);
        if (why->own)
                return say_missed(why, parts);
        return node->job ? g_strdup(say_without_entry(why)) : say_not_submitted(node);
}

/* ---- the answer ---- */

static const char *result_of(const Why *why)
{
        if (why->reuse)
                return "reused";
        if (why->node->made_by)
                return "kept";
        return why->own || why->node->job ? "ran" : "none";
}

static json_t *format_why(const RunRecord *run, const char *step, const Why *why)
{
        json_t *parts = parts_of(why);
        g_autofree char *message = say_why(why, parts);
        g_autofree char *own = why->own ? numbered_id_format("cch", why->own->seq) : NULL;

        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s?, s:o, s:o, s:o}", "run", run->id, "step", step,
                         "state", node_state_name((NodeState)why->node->state), "result", result_of(why),
                         "message", message, "entry", own, "compared",
                         why->other ? api_format_cache_entry(why->other) : json_null(), "parts", parts,
                         "files", why->files ? json_incref(why->files) : json_array());
}

static void explain(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const char *step = http_request_query(request, "step");
        g_autoptr(RunRecord) run = api_find_run(api, request, http_request_param(request, "run"), VERB_SHOW);
        g_auto(Why) why = { 0 };
        g_autoptr(json_t) reply = NULL;
        g_autoptr(GError) error = NULL;

        if (!run)
                return;
        if (!step || !*step)
                err_set(&error, ERR_INVALID, "step: the path of the step is missing");
        else if (find_why(api, run, step, &why, &error)) {
                compare_files(api, &why);
                reply = format_why(run, step, &why);
        }
        if (reply)
                http_reply_json(request, 200, reply);
        else
                http_fail(request, error);
}

/* ---- routes ---- */

static const HttpParameter explain_query[] = {
        { "step", HTTP_STRING, "The path of the step, such as train, dag.train or train-3." },
        { 0 },
};

const HttpRoute cache_why_routes[] = {
        { "GET", "/v1/runs/{run}/cache", ACCESS_RUN, VERB_SHOW, explain,
          "Say why a step of a run was reused from the cache, or why it ran, part by part.",
          .query = explain_query, .reply = "CacheExplanation",
          .on_pool = true }, /* many nodes may be looked at */
        { 0 },
};
