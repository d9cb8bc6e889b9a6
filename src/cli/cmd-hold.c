/* paddle hold, release, requeue, set: actions on existing jobs. */
#include <string.h>

#include "base/err.h"
#include "cli/field.h"
#include "cli/listing.h"
#include "cli/verbs.h"

/* The path of a verb (Verb.row), and its messages for a waiting job, and for one whose processes are being
 * stopped. */
typedef struct {
        const char *suffix, *waits, *stops;
} Post;

static const Option plain_options[] = {
        COMMON_OPTIONS,
        { 0 },
};

static bool post(Cli *cli, const char *job, void *body, GError **error)
{
        const Post *row = cli->verb->row;
        g_autofree char *path = job_path(job, row->suffix);
        g_autoptr(json_t) reply = NULL;
        const char *state;
        bool stops;

        if (!http_call_json(cli->client, "POST", path, body, &reply, error))
                return false;
        state = text_of(reply, "state");
        stops = strcmp(state, "stopping") == 0 || strcmp(state, "preempting") == 0;
        cli_say(cli, stops ? row->stops : row->waits, text_of(reply, "name"), text_of(reply, "id"), job);
        return true;
}

static bool for_each(Cli *cli, char *const *words, CliEach *act, const json_t *body, GError **error)
{
        return cli_client(cli, error) &&
               cli_each(cli, words, g_strv_length((char **)words), act, (void *)body, error);
}

static bool run_post(Cli *cli, const void *options, char *const *words, GError **error)
{
        return for_each(cli, words, post, NULL, error);
}

/* Arguments: name, id, and the word that the user typed. */
static const Post
        hold = { "/hold", "%s (%s) is held; `paddle release %s` lets it go on",
                 "%s (%s) is being stopped, and will be held then; `paddle release %s` lets it go on" },
        release = { "/release", "%s (%s) is released: it waits in its queue",
                    "%s (%s) is being stopped, and will go back to its queue then" },
        requeue = { "/requeue", "%s (%s) waits in its queue",
                    "%s (%s) is being stopped, and will go back to its queue then" };

const Verb verb_hold = {
        .name = "hold",
        .args = "JOB...",
        .summary = "Keep jobs from starting until they are released",
        .about = "A waiting job is suspended at once and blocks no other job. A running job is stopped "
                 "first: its processes get its warning signal and its grace time. This does not count as a "
                 "retry.",
        .examples = "paddle hold $(paddle list --label team=b --state queued -o name)",
        .options = plain_options,
        .size = sizeof(Common),
        .min_words = 1,
        .max_words = -1,
        .words = WORDS_JOBS,
        .run = run_post,
        .row = &hold,
};

const Verb verb_release = {
        .name = "release",
        .args = "JOB...",
        .summary = "Let held jobs start again",
        .options = plain_options,
        .size = sizeof(Common),
        .min_words = 1,
        .max_words = -1,
        .words = WORDS_JOBS,
        .run = run_post,
        .row = &release,
};

const Verb verb_requeue = {
        .name = "requeue",
        .args = "JOB...",
        .summary = "Stop running jobs and put them back into their queues",
        .options = plain_options,
        .size = sizeof(Common),
        .min_words = 1,
        .max_words = -1,
        .words = WORDS_JOBS,
        .run = run_post,
        .row = &requeue,
};

/* ---- set ---- */

#define JOB_FIELDS(ROW)                                                                                      \
        ROW(0, "queue", TEXT, "queue", "NAME", "move it to this queue, while it waits")                      \
        ROW(1, "priority", TEXT, "priority", "N",                                                            \
            "-1000 to 1000, or very-low, low, normal, high, very-high")                                      \
        ROW(2, "label", LABELS, "labels", "K=V", "set a label; K= removes it")                               \
        ROW(3, "annotation", LABELS, "annotations", "K=V", "set an annotation; K= removes it")

static const Field job_fields[] = { JOB_FIELDS(FIELD_ROW){ 0 } };
static const Option set_options[] = { JOB_FIELDS(FIELD_OPTION) COMMON_OPTIONS, { 0 } };

/* A numeric priority is sent as a number. */
static void adapt_priority(json_t *body)
{
        const char *priority = json_string_value(json_object_get(body, "priority"));
        gint64 number;

        if (priority && g_ascii_string_to_signed(priority, 10, G_MININT32, G_MAXINT32, &number, NULL))
                json_object_set_new(body, "priority", json_integer(number));
}

/* The job's labels with `changes` applied; empty labels are removed. */
static json_t *merged(const json_t *have, const json_t *changes)
{
        json_t *map = json_is_object(have) ? json_deep_copy(have) : json_object(), *value;
        const char *key;

        json_object_foreach((json_t *)changes, key, value) {
                if (*json_string_value(value))
                        json_object_set(map, key, value);
                else
                        json_object_del(map, key);
        }
        return map;
}

/* The server replaces all labels; the user changes single ones. */
static json_t *body_for(Cli *cli, const char *name, const json_t *body, GError **error)
{
        static const char *const maps[] = { "labels", "annotations" };
        g_autofree char *path = job_path(name, "");
        g_autoptr(json_t) job = NULL, own = json_copy((json_t *)body);

        if (!json_object_get(body, maps[0]) && !json_object_get(body, maps[1]))
                return g_steal_pointer(&own);
        if (!http_call_json(cli->client, "GET", path, NULL, &job, error))
                return NULL;
        for (gsize i = 0; i < G_N_ELEMENTS(maps); i++)
                if (json_object_get(body, maps[i]))
                        json_object_set_new(own, maps[i],
                                            merged(json_object_get(job, maps[i]),
                                                   json_object_get(body, maps[i])));
        return g_steal_pointer(&own);
}

static bool change(Cli *cli, const char *job, void *body, GError **error)
{
        g_autoptr(json_t) own = body_for(cli, job, body, error), reply = NULL;
        g_autofree char *path = job_path(job, "");

        if (!own || !http_call_json(cli->client, "PATCH", path, own, &reply, error))
                return false;
        cli_say(cli, "%s (%s) is changed; it is %s", text_of(reply, "name"), text_of(reply, "id"),
                text_of(reply, "state"));
        return true;
}

static bool run_set(Cli *cli, const void *options, char *const *words, GError **error)
{
        const FieldTarget *target = options;
        g_autoptr(json_t) body = json_object();
        bool any = false;

        if (!fields_put(job_fields, target, body, &any, error))
                return false;
        if (!any)
                return err_set(error, ERR_USAGE,
                               "nothing to change\nGive --priority, --queue, --label or --annotation.");
        adapt_priority(body);
        return for_each(cli, words, change, body, error);
}

const Verb verb_set = {
        .name = "set",
        .args = "JOB...",
        .summary = "Change priority, queue or labels of jobs",
        .about = "Queue and priority can be changed while a job waits, labels and annotations at any time. "
                 "Other labels are kept.",
        .examples = "paddle set digits --priority high\n"
                    "paddle set digits --queue urgent --label reason=deadline",
        .options = set_options,
        .size = sizeof(FieldTarget),
        .min_words = 1,
        .max_words = -1,
        .words = WORDS_JOBS,
        .run = run_set,
};
