/* What jobs report, over HTTP: of one job, or of an array a row for each of its jobs with its parameters. */
#include "api/v1/internal.h"

#include <string.h>

#include "base/err.h"
#include "model/array.h"
#include "model/results.h"
#include "model/sweep.h"

enum { PAGE_MAX = 1000, LOOKED_MAX = 64 };

json_t *api_format_results(Api *api, const Job *job)
{
        g_auto(GStrv) results = g_strdupv(job->results);

        /* what members that run have reported is not in the job yet */
        for (int i = 0, looked = 0; i < job->n_members && looked < LOOKED_MAX; i++) {
                const Member *member = &job->members[i];
                g_autofree char *text = NULL;
                g_auto(GStrv) before = NULL;

                if (job_state_is_final(job->state) || member->finished || !member->started)
                        continue;
                looked++;
                text = engine_report(api->engine, job, member);
                if (!text)
                        continue;
                before = results;
                results = results_merge(before, text, i, job->attempt);
        }
        return results_format(results);
}

static json_t *format_parameters(const Job *job)
{
        g_auto(GStrv) values = sweep_values(job->spec, job->array_index);
        json_t *parameters = json_object();

        for (char **pair = values; pair && *pair; pair++) {
                g_autofree char *name = g_strndup(*pair, (gsize)(strchr(*pair, '=') - *pair));

                json_object_set_new(parameters, name, json_string(strchr(*pair, '=') + 1));
        }
        return parameters;
}

static json_t *format_row(Api *api, const Job *job)
{
        g_autofree char *name = element_name(job);

        return json_pack("{s:s, s:s, s:o, s:s, s:o, s:o}", "id", job->id, "name", name, "index",
                         job->array_index < 0 ? json_null() : json_integer(job->array_index), "state",
                         job_state_name(job->state), "parameters", format_parameters(job), "results",
                         api_format_results(api, job));
}

static void list_results(HttpRequest *request, void *arg)
{
        Api *api = arg;
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) jobs = NULL;
        g_autoptr(json_t) items = json_array(), reply = NULL;
        gint64 limit, after, array, next = 0;
        g_autoptr(Job) job = NULL;

        if (!http_request_query_int(request, "limit", 1, PAGE_MAX, PAGE_MAX, &limit) ||
            !http_request_query_int(request, "after", 1, G_MAXINT64, 0, &after) ||
            !(job = api_job_or_array(api, request, &array)))
                return;
        if (array) {
                const JobQuery query = { .array_seq = array, .before_seq = after, .limit = (int)limit };

                jobs = store_jobs(api->store, &query, &next, &error);
                if (!jobs) {
                        http_fail(request, error);
                        return;
                }
        }
        for (guint i = 0; jobs && i < jobs->len; i++)
                json_array_append_new(items, format_row(api, jobs->pdata[i]));
        if (!array)
                json_array_append_new(items, format_row(api, job));
        reply = json_pack("{s:O, s:o}", "items", items, "next",
                          next ? json_sprintf("%" G_GINT64_FORMAT, next) : json_null());
        http_reply_json(request, 200, reply);
}

static const HttpParameter list_results_query[] = {
        { "user", HTTP_STRING, WHOSE_JOB },
        { "limit", HTTP_INTEGER, "At most this many, 1 to 1000." },
        { "after", HTTP_STRING, "Marker of the page before." },
        { 0 },
};

const HttpRoute result_routes[] = {
        { "GET", "/v1/jobs/{job}/results", ACCESS_JOB, VERB_SHOW, list_results,
          "What a job reported, or each job of an array with its parameters.", .query = list_results_query,
          .reply = "ResultList", .on_pool = true },
        { 0 },
};
