/* Artifacts of runs over HTTP: list, delete. */
#include <string.h>

#include "api/v1/run-tree.h"
#include "api/v1/runs.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "model/filesystem.h"

enum { LIST_MAX = 1000, MARKER_PARTS = 5 };

/* The names of steps, of the artifacts of one run: its definition is compiled once. A page of several runs might need a thousand
 * definitions, so it has none. */
typedef struct {
        Store *store;
        RunText *text;     /* NULL: of several runs, or not understood any more */
        GHashTable *nodes; /* that were read */
} Steps;

static Steps steps_of(Api *api, const RunRecord *run)
{
        return (Steps){ .store = api->store,
                        .text = run ? run_texts_get(api->run_texts, api->store, run, NULL) : NULL,
                        .nodes = run_paths_new() };
}

static void steps_clear(Steps *steps)
{
        if (steps->text)
                run_text_unref(steps->text);
        g_clear_pointer(&steps->nodes, g_hash_table_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Steps, steps_clear)

/* "d-1.train"; NULL: unknown. The caller's. */
static char *step_of(const Steps *steps, const ArtifactRecord *artifact)
{
        const RunNodeRecord *node =
                steps->text ? run_find_node(steps->store, steps->nodes, artifact->run, artifact->node, NULL)
                            : NULL;

        return node ? run_node_path(steps->store, steps->text, steps->nodes, node, true, NULL) : NULL;
}

static json_t *format_artifact(const Steps *steps, const ArtifactRecord *artifact)
{
        g_autofree char *created = clock_format(artifact->created), *step = step_of(steps, artifact);

        return json_pack("{s:s, s:I, s:s?, s:s, s:s, s:s, s:s, s:s, s:s?, s:s}", "run", artifact->run_id,
                         "node", (json_int_t)artifact->node, "step", step, "name", artifact->name, "type",
                         artifact->output ? "output" : "input", "filesystem", artifact->fs, "path",
                         artifact->path, "user", artifact->user, "job", artifact->job_id, "created_at",
                         created);
}

/* ---- pages ---- */

static char *format_marker(const ArtifactRecord *last)
{
        return g_strdup_printf("%" G_GINT64_FORMAT ".%u.%d.%s.%s", last->run, last->node, last->output,
                               last->name, last->path);
}

static bool parse_marker(const char *text, ArtifactRecord *ret, GError **error)
{
        g_auto(GStrv) parts = g_strsplit(text, ".", MARKER_PARTS);
        gint64 node, output;

        if (g_strv_length(parts) != MARKER_PARTS ||
            !number_parse("after", parts[0], 1, G_MAXINT64, &ret->run, NULL) ||
            !number_parse("after", parts[1], 0, G_MAXUINT32, &node, NULL) ||
            !number_parse("after", parts[2], 0, 1, &output, NULL))
                return err_set(error, ERR_INVALID, "after: '%.80s' is not the marker of a page", text);
        ret->node = (guint32)node;
        ret->output = output != 0;
        ret->name = g_strdup(parts[3]);
        ret->path = g_strdup(parts[4]);
        return true;
}

typedef enum { TYPE_ANY, TYPE_INPUT, TYPE_OUTPUT } ArtifactType;

static bool query_type(HttpRequest *request, ArtifactType *ret, GError **error)
{
        const char *type = http_request_query(request, "type");

        *ret = !type ? TYPE_ANY : strcmp(type, "input") == 0 ? TYPE_INPUT : TYPE_OUTPUT;
        return !type || *ret == TYPE_INPUT || strcmp(type, "output") == 0 ||
               err_set(error, ERR_INVALID, "type: '%.40s' is neither input nor output", type);
}

static json_t *format_page(const Steps *steps, const GPtrArray *artifacts, ArtifactType type, guint limit)
{
        json_t *items = json_array();
        g_autofree char *next = artifacts->len == limit ? format_marker(artifacts->pdata[limit - 1]) : NULL;

        for (guint i = 0; i < artifacts->len; i++) {
                const ArtifactRecord *artifact = artifacts->pdata[i];

                if (type == TYPE_ANY || artifact->output == (type == TYPE_OUTPUT))
                        json_array_append_new(items, format_artifact(steps, artifact));
        }
        return json_pack("{s:o, s:s?}", "items", items, "next", next);
}

/* Of a run, which is the caller's, or of a file system of a user. False: the request has been answered. */
static bool query_place(Api *api, HttpRequest *request, ArtifactQuery *ret, RunRecord **ret_run)
{
        const char *id = http_request_query(request, "run");
        RunRecord *run = id ? api_find_run(api, request, id, VERB_SHOW) : NULL;

        *ret_run = run;
        ret->fs = http_request_query(request, "filesystem");
        ret->path = http_request_query(request, "path");
        if (id) {
                ret->run = run ? run->seq : 0;
                return run != NULL;
        }
        if (!ret->fs)
                ret->fs = FILESYSTEM_HOME;
        ret->user = api_whose(api, request);
        return ret->user != NULL;
}

/* A file system that was deleted may still have artifacts. */
static bool check_place(Api *api, const ArtifactQuery *query, const GPtrArray *artifacts, GError **error)
{
        return artifacts->len > 0 || query->after || !query->user ||
               api_check_filesystem(api, query->user, query->fs, error);
}

static void list_artifacts(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const char *after = http_request_query(request, "after");
        ArtifactQuery query = { 0 };
        g_autoptr(ArtifactRecord) last = g_new0(ArtifactRecord, 1);
        g_autoptr(GPtrArray) artifacts = NULL;
        g_autoptr(GError) error = NULL;
        g_autoptr(RunRecord) run = NULL;
        g_autoptr(json_t) reply = NULL;
        g_auto(Steps) steps = { 0 };
        ArtifactType type;
        gint64 limit;

        if (!http_request_query_int(request, "limit", 1, LIST_MAX, 100, &limit) ||
            !query_place(api, request, &query, &run))
                return;
        query.limit = (int)limit;
        query.after = after ? last : NULL;
        if (query_type(request, &type, &error) && (!after || parse_marker(after, last, &error)))
                artifacts = store_artifacts(api->store, &query, &error);
        if (!artifacts || !check_place(api, &query, artifacts, &error)) {
                http_fail(request, error);
                return;
        }
        steps = steps_of(api, run);
        reply = format_page(&steps, artifacts, type, (guint)limit);
        http_reply_json(request, 200, reply);
}

/* ---- delete ---- */

static void note_deleted(const RunRecord *run, bool repeated, const GError *error, void *arg)
{
        HttpRequest *request = arg;

        if (error)
                http_fail(request, error);
        else
                http_reply(request, 204, NULL, NULL, 0);
        http_request_unref(request);
}

static void delete_artifact(HttpRequest *request, void *arg)
{
        Api *api = arg;
        const char *path = http_request_query(request, "path");
        g_autoptr(GError) error = NULL;
        g_autoptr(RunRecord) run =
                api_find_run(api, request, http_request_param(request, "run"), VERB_DELETE);

        if (!run)
                return;
        if (!path || !*path) {
                err_set(&error, ERR_INVALID, "path: the path of the artifact is missing");
                http_fail(request, error);
                return;
        }
        engine_delete_artifact(api->engine, run->id, path, note_deleted, http_request_ref(request));
}

/* ---- routes ---- */

static const HttpParameter list_query[] = {
        { "run", HTTP_STRING, "Artifacts of this run." },
        { "filesystem", HTTP_STRING, "Without a run: artifacts on this file system. Default: home." },
        { "user", HTTP_STRING, "Whose file system (administrators)." },
        { "path", HTTP_STRING, "Only paths that begin with this." },
        { "type", HTTP_STRING, "input or output." },
        { "limit", HTTP_INTEGER, "At most this many, 1 to 1000." },
        { "after", HTTP_STRING, "Marker of the page before." },
        { 0 },
};

static const HttpParameter delete_query[] = {
        { "path", HTTP_STRING, "The path of the artifact, as it is listed." },
        { 0 },
};

const HttpRoute artifact_routes[] = {
        { "GET", "/v1/artifacts", ACCESS_RUN, VERB_LIST, list_artifacts,
          "List what steps of runs have written and read, by run or by path.", .query = list_query,
          .reply = "ArtifactList", .on_pool = true }, /* a definition may be compiled */
        { "DELETE", "/v1/artifacts/{run}", ACCESS_RUN, VERB_DELETE, delete_artifact,
          "Delete an artifact of a run that has ended: the file or directory, and its record.",
          .query = delete_query, .reply_status = 204 },
        { 0 },
};
