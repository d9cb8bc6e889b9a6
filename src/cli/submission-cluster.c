/* --cluster: selects one of a cluster's queues for the job (see submission.h). */
#include "cli/submission.h"

#include <string.h>

#include "base/err.h"
#include "cli/listing.h"

static bool has_below(const json_t *queues, const char *name)
{
        const json_t *queue;
        gsize i;

        json_array_foreach(queues, i, queue) {
                if (strcmp(text_of(queue, "parent"), name) == 0)
                        return true;
        }
        return false;
}

static bool takes_jobs(const json_t *queues, const json_t *queue, const char *cluster)
{
        return strcmp(text_of(queue, "cluster"), cluster) == 0 &&
               !json_is_true(json_object_get(queue, "closed")) && !has_below(queues, text_of(queue, "name"));
}

/* Borrowed, NULL-terminated. */
static GPtrArray *names_of(const json_t *queues, const char *cluster)
{
        GPtrArray *names = g_ptr_array_new();
        const json_t *queue;
        gsize i;

        json_array_foreach(queues, i, queue) {
                if (takes_jobs(queues, queue, cluster))
                        g_ptr_array_add(names, (gpointer)text_of(queue, "name"));
        }
        g_ptr_array_add(names, NULL);
        return names;
}

const char *submission_queue_of(const json_t *queues, const char *cluster, GError **error)
{
        g_autoptr(GPtrArray) names = names_of(queues, cluster);
        const char *const *list = (const char *const *)names->pdata;
        g_autofree char *words = NULL;

        for (const char *const *at = list; *at; at++)
                if (strcmp(*at, cluster) == 0 || !list[1])
                        return *at;
        if (list[0]) {
                words = g_strjoinv(", ", (char **)list);
                err_set(error, ERR_USAGE,
                        "--cluster: cluster '%s' has several queues that take jobs: %s\nName one with "
                        "--queue.",
                        cluster, words);
        } else {
                err_set(error, ERR_DENIED,
                        "--cluster: no queue of a cluster '%s' takes jobs of yours\n"
                        "'paddle queue list' shows the queues that do. An administrator can create one with 'paddle queue create %s --cluster %s'.",
                        cluster, cluster, cluster);
        }
        return NULL;
}

bool submission_put_cluster(Cli *cli, const Submission *s, json_t *spec, GError **error)
{
        g_autoptr(json_t) queues = NULL;
        const char *queue;

        if (!s->cluster)
                return true;
        queues = listing_items(cli->client, "/v1/queues", error);
        queue = queues ? submission_queue_of(queues, s->cluster, error) : NULL;
        if (queue)
                json_object_set_new(spec, "queue", json_string(queue));
        return queue != NULL;
}
