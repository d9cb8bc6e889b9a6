/* The commands of the older client about queues and grants (see command.h). */
#include "cli/paddleflow/commands.h"

#include <string.h>

static const PaddleFlowParam queue_word[] = { { "QUEUENAME" }, { 0 } };
static const PaddleFlowParam queue_list_options[] = {
        MAXSIZE,
        MARKER,
        { 0 },
};
static const PaddleFlowParam queue_create_words[] = {
        { "NAME", .key = "name" },
        { "NAMESPACE", .key = "namespace" },
        { "MAXCPU", .key = "maxResources.cpu" },
        { "MAXMEM", .key = "maxResources.mem" },
        { 0 },
};
/* clang-format off */
#define QUEUE_OPTIONS                                                                                        \
        { "maxscalar", NULL, PADDLEFLOW_MAP, "maxResources.scalarResources", "max of other resources: a=1,b=2" },  \
        { "mincpu", NULL, PADDLEFLOW_TEXT, "minResources.cpu", "min of cpu" },                                     \
        { "minmem", NULL, PADDLEFLOW_TEXT, "minResources.mem", "min of memory" },                                  \
        { "minscalar", NULL, PADDLEFLOW_MAP, "minResources.scalarResources", "min of other resources" },           \
        { "policy", NULL, PADDLEFLOW_WORDS, "schedulingPolicy", "scheduling policies: a,b" },                      \
        { "location", NULL, PADDLEFLOW_MAP, "location", "node labels: a=1,b=2" }
/* clang-format on */
static const PaddleFlowParam queue_create_options[] = {
        QUEUE_OPTIONS,
        { "quota", NULL, PADDLEFLOW_TEXT, "quotaType", "elasticQuota or volcanoCapabilityQuota" },
        { "clustername", NULL, PADDLEFLOW_TEXT, "clusterName", "cluster of the queue" },
        { 0 },
};
static const PaddleFlowParam queue_update_options[] = {
        { "maxcpu", NULL, PADDLEFLOW_TEXT, "maxResources.cpu", "max of cpu" },
        { "maxmem", NULL, PADDLEFLOW_TEXT, "maxResources.mem", "max of memory" },
        QUEUE_OPTIONS,
        { 0 },
};
static const PaddleFlowColumn queue_list_columns[] = {
        { "name", "name" },
        { "status", "status" },
        { "namespace", "namespace" },
        { "cluster name", "clusterName" },
        { "quota type", "quotaType" },
        { "max resources", "maxResources" },
        { "min resources", "minResources" },
        { "create time", "createTime" },
        { "update time", "updateTime" },
        { 0 },
};
static const PaddleFlowColumn queue_show_columns[] = {
        { "name", "name" },
        { "status", "status" },
        { "namespace", "namespace" },
        { "cluster name", "clusterName" },
        { "quota type", "quotaType" },
        { "create time", "createTime" },
        { "update time", "updateTime" },
        { "max resources", "maxResources" },
        { "min resources", "minResources" },
        { "used resources", "usedResources" },
        { "idle resources", "idleResources" },
        { "location", "location" },
        { "scheduling policy", "schedulingPolicy" },
        { 0 },
};
static const PaddleFlowParam grant_words[] = {
        { "USERNAME", .key = "username" },
        { "QUEUENAME", .key = "resourceID" },
        { 0 },
};
static const PaddleFlowParam grant_list_options[] = {
        MAXSIZE,
        { "username", "-u", PADDLEFLOW_TEXT, "username", "grants of this user" },
        { 0 },
};
static const PaddleFlowColumn grant_columns[] = { { "user name", "userName" },
                                                  { "resource type", "resourceType" },
                                                  { "resource id", "resourceID" },
                                                  { 0 } };

/* The older server forgets a min that lacks one of the two. */
static bool need_whole_min(json_t *body, char *const *words, GError **error)
{
        const json_t *min = json_object_get(body, "minResources");

        if (!json_object_get(min, "cpu") || !json_object_get(min, "mem"))
                json_object_del(body, "minResources");
        if (!json_object_get(body, "clusterName"))
                json_object_set_new(body, "clusterName", json_null());
        return true;
}

/* Only the queues' are this group's. */
static json_t *queue_grants(json_t *reply, GError **error)
{
        json_t *rows = json_array(), *grant;
        gsize i;

        json_array_foreach(json_object_get(reply, "grantList"), i, grant) {
                const char *type = json_string_value(json_object_get(grant, "resourceType"));

                if (type && strcmp(type, "queue") == 0)
                        json_array_append(rows, grant);
        }
        return rows;
}

const PaddleFlowCommand paddleflow_queue_commands[] = {
        { "list", "List queues.", NULL, queue_list_options, "GET", "/queue", .items = "queueList",
          .columns = queue_list_columns, .marker = true },
        { "show", "Show a queue.", queue_word, NULL, "GET", "/queue/{0}", .columns = queue_show_columns },
        { "create", "Create a queue.", queue_create_words, queue_create_options, "POST", "/queue",
          PADDLEFLOW_BODY, .prepare = need_whole_min, .done = "queue[{0}] create success" },
        { "update", "Change a queue.", queue_word, queue_update_options, "PUT", "/queue/{0}", PADDLEFLOW_BODY,
          .done = "queue[{0}] update success" },
        { "delete", "Delete a queue.", queue_word, NULL, "DELETE", "/queue/{0}",
          .done = "queue[{0}] delete success" },
        { "grant", "Let a user use a queue.", grant_words, NULL, "POST", "/grant", PADDLEFLOW_BODY,
          .fixed = "{\"resourceType\": \"queue\"}", .done = "user[{0}] is granted queue[{1}]" },
        { "ungrant", "Revoke a grant.", grant_words, NULL, "DELETE", "/grant", PADDLEFLOW_QUERY,
          .fixed = "{\"resourceType\": \"queue\"}", .done = "user[{0}] is ungranted queue[{1}]" },
        { "grantlist", "List grants on queues.", NULL, grant_list_options, "GET", "/grant",
          .rows = queue_grants, .columns = grant_columns },
        { 0 },
};
