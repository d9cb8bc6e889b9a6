/* Requests for jobs (see job-request.h): their checks, and where the job waits. */
#include "jobspec/job-request.h"

#include <string.h>

#include "base/err.h"

enum { ALWAYS_RETRY = 1000 };

void job_request_init(JobRequest *request)
{
        *request = (JobRequest){ .mode = "" };
        request->members = g_array_new(FALSE, TRUE, sizeof(JobMember));
}

void job_request_clear(JobRequest *request)
{
        g_clear_pointer(&request->members, g_array_unref);
}

JobMember *job_request_add(JobRequest *request)
{
        const JobMember member = { .flavour = "", .image = "", .command = "" };

        g_array_append_val(request->members, member);
        return &g_array_index(request->members, JobMember, request->members->len - 1);
}

bool job_priority_parse(const char *word, int *ret, GError **error)
{
        static const struct {
                const char *word;
                int priority;
        } words[] = { { "LOW", -100 }, { "NORMAL", 0 }, { "HIGH", 100 } };

        if (!*word)
                return true;
        for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
                if (g_ascii_strcasecmp(words[i].word, word) != 0)
                        continue;
                *ret = words[i].priority;
                return true;
        }
        return err_set(error, ERR_INVALID, "priority '%.40s' is not one of LOW, NORMAL, HIGH", word);
}

int job_restart_retries(const char *policy)
{
        return strcmp(policy, "Always") == 0 || strcmp(policy, "OnFailure") == 0 ? ALWAYS_RETRY : 0;
}

/* ---- all members together ---- */

static bool add_up(const JobRequest *request, Resources *ret, GError **error)
{
        *ret = (Resources){ 0 };
        for (guint i = 0; i < request->members->len; i++) {
                const JobMember *member = &g_array_index(request->members, JobMember, i);

                if (!resources_add(ret, &member->each, member->replicas))
                        return err_set(error, ERR_QUOTA,
                                       "together the members ask for more than can be counted");
        }
        return true;
}

bool job_request_check_sum(const Catalog *catalog, const JobRequest *request, GError **error)
{
        Resources most = queue_max(catalog, request->queue), sum;

        if (!add_up(request, &sum, error))
                return false;
        for (int kind = 0; kind < resource_kinds(); kind++) {
                g_autofree char *asked = quantity_format(kind, sum.amount[kind]);
                g_autofree char *limit = quantity_format(kind, most.amount[kind]);

                if (sum.amount[kind] > most.amount[kind])
                        return err_set(error, ERR_QUOTA, "%s of %s are more than the %s of queue '%s'", asked,
                                       resource_name(kind), limit, request->queue->object.name);
        }
        return true;
}

bool job_request_check_counts(JobRequest *request, GError **error)
{
        memset(request->counts, 0, sizeof request->counts);
        for (guint i = 0; i < request->members->len; i++) {
                const JobMember *member = &g_array_index(request->members, JobMember, i);

                request->counts[member->role] += member->replicas;
        }
        return paddleflow_counts_check(request->framework, request->counts, &request->mode, error);
}

void job_request_put_place(const JobRequest *request, const char *name, json_t *spec)
{
        json_object_set_new(spec, "name", json_string(name));
        json_object_set_new(spec, "queue", json_string(request->queue->object.name));
        json_object_set_new(spec, "priority", json_integer(request->priority));
        if (request->queue->namespace)
                json_object_set_new(spec, "namespace", json_string(request->queue->namespace));
}
