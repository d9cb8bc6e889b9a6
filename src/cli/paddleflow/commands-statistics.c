/* The commands of the older client about usage (see command.h). */
#include "cli/paddleflow/commands.h"

static const PaddleFlowParam job_word[] = { { "JOBID" }, { 0 } };
static const PaddleFlowParam statistics_options[] = {
        { "detail", "-d", PADDLEFLOW_FLAG, NULL, "values over time" },
        { "start", "-s", PADDLEFLOW_INT, "start", "from (unix time)" },
        { "end", "-e", PADDLEFLOW_INT, "end", "to (unix time)" },
        { "step", "-st", PADDLEFLOW_INT, "step", "seconds between two values" },
        { 0 },
};
static const PaddleFlowParam card_options[] = {
        { "queuename", "-q", PADDLEFLOW_WORDS, "queueNames", "queues: a,b", .required = true },
        { "starttime", "-s", PADDLEFLOW_TEXT, "startTime", "from: 2024-01-01 00:00:00", .required = true },
        { "endtime", "-e", PADDLEFLOW_TEXT, "endTime", "to", .required = true },
        { 0 },
};
static const PaddleFlowColumn metric_columns[] = {
        { "task", "task" }, { "metric", "metric" }, { "value", "value" }, { 0 }
};
static const PaddleFlowColumn card_columns[] = { { "queue name", "queue" },
                                                 { "device type", "device" },
                                                 { "card time", "queueTime" },
                                                 { "user name", "user" },
                                                 { "job count", "jobs" },
                                                 { "user card time", "userTime" },
                                                 { 0 } };

static json_t *series_rows(const json_t *reply)
{
        json_t *rows = json_array(), *task, *info;
        gsize i, j;

        json_array_foreach(json_object_get(reply, "result"), i, task) {
                json_array_foreach(json_object_get(task, "taskInfo"), j, info)
                        json_array_append_new(rows, json_pack("{s:O?, s:O?, s:O?}", "task",
                                                              json_object_get(task, "taskName"), "metric",
                                                              json_object_get(info, "metric"), "value",
                                                              json_object_get(info, "values")));
        }
        return rows;
}

static json_t *metric_rows(json_t *reply, GError **error)
{
        json_t *rows, *value;
        const char *metric;

        if (json_object_get(reply, "result"))
                return series_rows(reply);
        rows = json_array();
        json_object_foreach(json_object_get(reply, "metricsInfo"), metric, value)
                json_array_append_new(rows, json_pack("{s:s, s:s, s:O}", "task", "", "metric", metric,
                                                      "value", value));
        return rows;
}

static json_t *card_rows(json_t *reply, GError **error)
{
        json_t *rows = json_array(), *queue, *user;
        gsize i, j;

        json_array_foreach(json_object_get(reply, "data"), i, queue) {
                json_t *row = json_pack("{s:O?, s:O?, s:O?}", "queue", json_object_get(queue, "queueName"),
                                        "device", json_object_get(queue, "deviceType"), "queueTime",
                                        json_object_get(queue, "cardTime"));

                json_array_append_new(rows, row);
                json_array_foreach(json_object_get(queue, "detail"), j, user)
                        json_array_append_new(rows, json_pack("{s:O?, s:O?, s:O?, s:O?}", "queue",
                                                              json_object_get(queue, "queueName"), "user",
                                                              json_object_get(user, "userName"), "jobs",
                                                              json_object_get(user, "jobCount"), "userTime",
                                                              json_object_get(user, "totalCardTime")));
        }
        return rows;
}

const PaddleFlowCommand paddleflow_statistics_commands[] = {
        { "job", "Show the usage of a job.", job_word, statistics_options, "GET", "/statistics/job/{0}",
          .detail_path = "/statistics/jobDetail/{0}", .rows = metric_rows, .columns = metric_columns },
        { "card-time", "Show the GPU hours of queues.", NULL, card_options, "POST", "/statistics/cardTime",
          PADDLEFLOW_BODY, .rows = card_rows, .columns = card_columns },
        { 0 },
};
