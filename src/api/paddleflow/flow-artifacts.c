/* Artifacts of runs (doc/reference/paddleflow-api.md, "Artifacts"): list, delete. Of their owner and of root.
 *
 * The list goes through the runs in the order of their creation. A page ends behind its last artifact, or where enough was
 * read; the next one begins there: "<run>.<node>.<output>.<name>". */
#include <string.h>

#include "api/paddleflow/internal.h"
#include "base/number.h"
#include "pipeline/definition.h"
#include "pipeline/step-job.h"

#define LIST "artifactEventList"

enum {
        READ_MAX = 1000,              /* artifacts that are read at once */
        RUNS_MAX = 4096,              /* runs that one page looks into */
        SCANS_MAX = 64,               /* pages of runs that it reads */
        TEXTS_MAX = 32 * 1024 * 1024, /* bytes of the definitions that it compiles */
        PARTS = 4,
};

/* ---- what is wanted ---- */

typedef struct {
        char **users, **fs, **runs, **types, **paths; /* NULL: all */
        RunQuery query;
} Filter;

static void filter_clear(Filter *filter)
{
        g_strfreev(filter->users);
        g_strfreev(filter->fs);
        g_strfreev(filter->runs);
        g_strfreev(filter->types);
        g_strfreev(filter->paths);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Filter, filter_clear)

static void take_filter(const Call *call, Filter *ret)
{
        ret->users = call->root ? call_query_list(call, "userFilter") : NULL;
        ret->fs = call_query_list(call, "fsFilter");
        ret->runs = call_query_list(call, "runFilter");
        ret->types = call_query_list(call, "typeFilter");
        ret->paths = call_query_list(call, "pathFilter");
        ret->query = (RunQuery){ .user = !call->root                                     ? call->user
                                         : ret->users && ret->users[0] && !ret->users[1] ? ret->users[0]
                                                                                         : NULL,
                                 .oldest_first = true,
                                 .limit = PADDLEFLOW_KEYS_MAX };
}

static bool is_run_wanted(const Filter *filter, const RunRecord *run)
{
        g_autofree char *id = filter->runs ? numbered_id_format("run", run->seq) : NULL;

        return page_has(filter->users, run->user) && page_has(filter->runs, id);
}

/* One of the paths, or below one that is a directory. */
static bool is_path_wanted(const Filter *filter, const char *path)
{
        bool found = !filter->paths;

        for (char **wanted = filter->paths; wanted && *wanted && !found; wanted++) {
                gsize len = strlen(*wanted);

                while (len > 0 && (*wanted)[len - 1] == '/')
                        len--;
                found = strncmp(path, *wanted, len) == 0 && (path[len] == '\0' || path[len] == '/');
        }
        return found;
}

/* The paths of a loop are joined by commas: one of them is enough. */
static bool is_wanted(const Filter *filter, const ArtifactRecord *artifact)
{
        g_auto(GStrv) paths = g_strsplit(artifact->path, ",", -1);
        bool found = false;

        for (char **path = paths; *path && !found; path++)
                found = is_path_wanted(filter, *path);
        return (found || !filter->paths) && page_has(filter->fs, artifact->fs) &&
               page_has(filter->types, artifact->output ? "output" : "input");
}

/* ---- a page ---- */

typedef struct {
        const Call *call;
        Filter filter;
        gint64 max;
        json_t *items;
        char *next, *last; /* markers: where the next page begins, or NULL; behind the last item */
        gsize bytes;       /* of definitions that were compiled */
        int runs;          /* that were looked into */
} Listing;

static void listing_clear(Listing *listing)
{
        filter_clear(&listing->filter);
        json_decref(listing->items);
        g_free(listing->next);
        g_free(listing->last);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Listing, listing_clear)

static char *place_of(const ArtifactRecord *artifact)
{
        return g_strdup_printf("%" G_GINT64_FORMAT ".%u.%d.%s", artifact->run, artifact->node,
                               artifact->output, artifact->name);
}

/* Behind all artifacts of the run. */
static char *place_behind(gint64 run)
{
        return g_strdup_printf("%" G_GINT64_FORMAT ".%u.1.", run, G_MAXUINT32);
}

static bool parse_place(const char *text, ArtifactRecord *ret)
{
        g_auto(GStrv) parts = g_strsplit(text, ".", PARTS);
        gint64 node = 0, output = 0;

        if (g_strv_length(parts) != PARTS || !number_parse("", parts[0], 1, G_MAXINT64, &ret->run, NULL) ||
            !number_parse("", parts[1], 0, G_MAXUINT32, &node, NULL) ||
            !number_parse("", parts[2], 0, 1, &output, NULL))
                return false;
        ret->node = (guint32)node;
        ret->output = output != 0;
        ret->name = g_strdup(parts[3]);
        return true;
}

/* A run while its artifacts are shown. */
typedef struct {
        RunRecord *run;         /* with its text once it is needed */
        Definition *definition; /* NULL: not needed yet, or not understood any more */
        gint64 node;            /* the one that `component` is of; 0: none */
        guint32 component;
} Shown;

static void shown_clear(Shown *shown)
{
        run_record_free(shown->run);
        definition_free(shown->definition);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Shown, shown_clear)

static void compile_once(Listing *listing, Shown *shown, const RunRecord *run)
{
        if (shown->run)
                return;
        shown->run = store_run_by_seq(listing->call->flow->store, run->seq, true, NULL);
        if (!shown->run || !shown->run->text)
                return;
        listing->bytes += strlen(shown->run->text);
        shown->definition = run_compile(shown->run, NULL);
}

/* The name of the step; "": the run was just deleted. */
static const char *step_of(Listing *listing, Shown *shown, const ArtifactRecord *artifact)
{
        const RunNodeQuery query = { .run = artifact->run, .after = (gint64)artifact->node - 1, .limit = 1 };
        gint64 next;

        if (!shown->definition)
                return "";
        if (shown->node != artifact->node) {
                g_autoptr(GPtrArray) nodes = store_run_nodes(listing->call->flow->store, &query, &next, NULL);
                const RunNodeRecord *node = nodes && nodes->len > 0 ? nodes->pdata[0] : NULL;

                shown->node = artifact->node;
                shown->component =
                        node && node->node == artifact->node ? node->component : (guint32)DEFINITION_NONE;
        }
        return shown->component < shown->definition->n_components
                       ? component_name(shown->definition, shown->component)
                       : "";
}

/* `md5` is empty: the file is not read. */
static json_t *show_artifact(Listing *listing, Shown *shown, const ArtifactRecord *artifact)
{
        const char *step = step_of(listing, shown, artifact);
        g_autofree char *run = numbered_id_format("run", artifact->run),
                        *created = time_text(artifact->created);
        g_autofree char *name = step_job_name(artifact->run_id, step, artifact->node);
        g_autofree char *job =
                artifact->job_id ? job_step_id(artifact->run, name, artifact->job_id) : g_strdup("");

        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "runID", run,
                         "fsname", artifact->fs, "username", artifact->user, "artifactPath", artifact->path,
                         "step", step, "jobID", job, "type", artifact->output ? "output" : "input",
                         "artifactName", artifact->name, "md5", "", "meta", "", "createTime", created,
                         "updateTime", created);
}

/* False: the page is full. */
static bool add(Listing *listing, Shown *shown, const RunRecord *run, const ArtifactRecord *artifact)
{
        bool full = (gint64)json_array_size(listing->items) == listing->max ||
                    (!shown->run && listing->bytes > TEXTS_MAX);

        if (full) {
                listing->next = g_steal_pointer(&listing->last);
                return false;
        }
        compile_once(listing, shown, run);
        json_array_append_new(listing->items, show_artifact(listing, shown, artifact));
        g_free(listing->last);
        listing->last = place_of(artifact);
        return true;
}

/* Those of a run behind `after` (NULL: all). False with an error. */
static bool add_run(Listing *listing, const RunRecord *run, const ArtifactRecord *after, GError **error)
{
        g_auto(Shown) shown = { 0 };
        g_autoptr(GPtrArray) found = NULL, before = NULL; /* `after` is in `before` */

        do {
                const ArtifactQuery query = { .run = run->seq, .after = after, .limit = READ_MAX };

                g_clear_pointer(&before, g_ptr_array_unref);
                before = g_steal_pointer(&found);
                found = store_artifacts(listing->call->flow->store, &query, error);
                for (guint i = 0; found && i < found->len; i++)
                        if (is_wanted(&listing->filter, found->pdata[i]) &&
                            !add(listing, &shown, run, found->pdata[i]))
                                return true;
                after = found && found->len > 0 ? found->pdata[found->len - 1] : NULL;
        } while (found && found->len == READ_MAX);
        return found != NULL;
}

/* Those of some runs, until the page is full. False with an error. */
static bool add_runs(Listing *listing, const GPtrArray *runs, const ArtifactRecord *after, GError **error)
{
        for (guint i = 0; i < runs->len && !listing->next; i++) {
                const RunRecord *run = runs->pdata[i];

                if (!is_run_wanted(&listing->filter, run))
                        continue;
                if (listing->runs++ == RUNS_MAX)
                        listing->next = place_behind(run->seq - 1); /* there may be more */
                else if (!add_run(listing, run, after->run == run->seq ? after : NULL, error))
                        return false;
        }
        return true;
}

static bool collect(Listing *listing, const ArtifactRecord *after, GError **error)
{
        RunQuery *query = &listing->filter.query;
        gint64 next = 0;
        int scans = 0;

        query->after_seq = after->run ? after->run - 1 : 0;
        listing->items = json_array();
        do {
                g_autoptr(GPtrArray) runs = store_runs(listing->call->flow->store, query, &next, error);

                if (!runs || !add_runs(listing, runs, after, error))
                        return false;
                query->after_seq = next;
        } while (next && !listing->next && ++scans < SCANS_MAX);
        if (next && !listing->next)
                listing->next = place_behind(next);
        return true;
}

static void list_now(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_auto(Listing) listing = { .call = &call };
        g_autofree char *marker = NULL;
        g_autoptr(ArtifactRecord) after = g_new0(ArtifactRecord, 1);
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        if (page_take_text(&call, LIST, &listing.max, &marker, &error) && marker &&
            !parse_place(marker, after))
                paddleflow_set(&error, CODE_InvalidMarker, "marker: it is none that this list gave");
        take_filter(&call, &listing.filter);
        if (!error && collect(&listing, after, &error))
                call_reply(&call, page_format_text(&call, LIST, listing.max, listing.next,
                                                   g_steal_pointer(&listing.items)));
        else
                call_fail(&call, error);
}

static void list_artifacts(HttpRequest *request, void *arg)
{
        paddleflow_defer(request, arg, list_now);
}

/* ---- delete ---- */

static const CodeMap codes[] = { { ERR_NOT_FOUND, CODE_ArtifactEventNotFound }, CODE_MAP_END };

static void drop_done(const RunRecord *run, bool repeated, const GError *error, void *arg)
{
        HttpRequest *request = arg;

        if (error)
                paddleflow_fail(request, g_error_copy(error), codes);
        else
                paddleflow_reply_empty(request);
        http_request_unref(request);
}

static bool check_query(const Call *call, GError **error)
{
        static const char *const needed[] = { "fsname", "runID", "path" };
        const char *user = call_query(call, "username");

        for (gsize i = 0; i < G_N_ELEMENTS(needed); i++)
                if (!*call_query(call, needed[i]))
                        return paddleflow_set(error, CODE_InvalidURI, "the query has no %s", needed[i]);
        return !*user || call->root || strcmp(user, call->user) == 0 ||
               paddleflow_set(error, CODE_AuthIllegalUser, "'%s' may not act for '%.60s'", call->user, user);
}

/* The run is of the user, and has written the path on the file system. */
static bool check_place(const Call *call, const RunRecord *run, GError **error)
{
        const char *user = call_query(call, "username"), *fs = call_query(call, "fsname"),
                   *path = call_query(call, "path");
        const ArtifactQuery query = { .run = run->seq, .path = path, .limit = READ_MAX };
        g_autoptr(GPtrArray) found = store_artifacts(call->flow->store, &query, error);

        if (!*user)
                user = call->user;
        for (guint i = 0; found && i < found->len; i++) {
                const ArtifactRecord *artifact = found->pdata[i];

                if (artifact->output && strcmp(artifact->path, path) == 0 && strcmp(artifact->fs, fs) == 0 &&
                    strcmp(artifact->user, user) == 0)
                        return true;
        }
        return found &&
               paddleflow_set(error, CODE_ArtifactEventNotFound,
                              "no step of the run has written '%.300s' to file system '%.80s' of '%.60s'\n"
                              "`paddleflow run listartifact` shows users, file systems and paths.",
                              path, fs, user);
}

static void drop_artifact(HttpRequest *request, void *arg)
{
        g_auto(Call) call;
        g_autoptr(RunRecord) run = NULL;
        GError *error = NULL;

        if (!call_begin(&call, request, arg))
                return;
        run = check_query(&call, &error) ? call_run(&call, call_query(&call, "runID"), &error) : NULL;
        if (run && check_place(&call, run, &error))
                engine_delete_artifact(call.flow->engine, run->id, call_query(&call, "path"), drop_done,
                                       http_request_ref(request));
        else
                call_fail(&call, error);
}

/* ---- routes ---- */

static const HttpParameter list_query[] = {
        { "userFilter", HTTP_STRING, "Only of these users, separated by commas (root)." },
        { "fsFilter", HTTP_STRING, "Only on these file systems." },
        { "runFilter", HTTP_STRING, "Only of runs of these ids." },
        { "typeFilter", HTTP_STRING, "input or output." },
        { "pathFilter", HTTP_STRING, "Only at these paths, and below them." },
        { "marker", HTTP_STRING, PAGE_MARKER },
        { "maxKeys", HTTP_INTEGER, PAGE_KEYS },
        { 0 },
};
static const HttpParameter drop_query[] = {
        { "username", HTTP_STRING, "Whose (root); else the caller's." },
        { "fsname", HTTP_STRING, "The file system that it is on." },
        { "runID", HTTP_STRING, "The run that has written it." },
        { "path", HTTP_STRING, "Its path, as it is listed." },
        { 0 },
};

const HttpRoute artifact_rows[] = {
        { "GET", PADDLEFLOW_BASE "/artifact", ACCESS_RUN, VERB_LIST, list_artifacts,
          "List what steps of runs have written and read.", .query = list_query, .reply = "ArtifactList" },
        { "DELETE", PADDLEFLOW_BASE "/artifact", ACCESS_RUN, VERB_DELETE, drop_artifact,
          "Delete what a step of a run that has ended has written: the file or directory, and its record.",
          .query = drop_query },
        { 0 },
};
