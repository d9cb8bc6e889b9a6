/* Following arrays (see follow-array.h).
 *
 *   array changes ──▶ which elements have started? ──▶ a thread for each, at most 32 ──▶ one text
 *
 * Elements that end before a thread is free are shown later: none is left out. */
#include "cli/follow-array.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/number.h"
#include "base/text-cut.h"
#include "base/thread-pool.h"
#include "cli/listing.h"
#include "cli/retry.h"
#include "cli/summary.h"
#include "cli/table.h"

enum {
        AT_ONCE = 32,
        SMALL = 1000,    /* elements; of larger arrays only active ones are listed */
        SOON_MS = 200,   /* between two checks of a small array */
        LATER_MS = 1000, /* ... of a larger one */
        WAIT_MS = 5000,  /* for a change */
};

static const char started[] = "starting,running,preempting,stopping,succeeded,failed,cancelled,preempted";
static const char active[] = "starting,running,preempting,stopping";

typedef struct {
        Cli *cli;
        const FollowOptions *options;
        FollowShared shared;
        ThreadPool *pool; /* NULL: one after another */
        GHashTable *seen; /* ids of elements */
        bool gave_up;     /* elements that wait are not followed */
        GError *failed;   /* the first error; protected by the lock */
        int width;
} ArrayFollow;

typedef struct {
        ArrayFollow *follow;
        char *id, *name;
} Element;

static void element_free(Element *element)
{
        g_free(element->id);
        g_free(element->name);
        g_free(element);
}

bool is_array(const json_t *job)
{
        return json_is_object(json_object_get(job, "elements"));
}

bool is_element(const json_t *job)
{
        return json_object_get(json_object_get(job, "array"), "index") != NULL;
}

char *element_text(const json_t *job)
{
        const json_t *array = json_object_get(job, "array");

        if (!is_element(job) || !is_set(array, "name"))
                return g_strdup(text_of(job, "name"));
        return g_strdup_printf("%s[%d]", text_of(array, "name"), (int)int_of(array, "index"));
}

/* ---- one element ---- */

/* Each thread has its own connection. */
static void follow_element(Element *element)
{
        ArrayFollow *follow = element->follow;
        Cli own = *follow->cli;
        FollowOptions options = *follow->options;
        g_autoptr(GError) error = NULL;

        if (follow->pool)
                own.client = NULL;
        options.job = element->id;
        options.element = element->name;
        options.shared = &follow->shared;
        if (!follow_job(&own, &options, NULL, &error)) {
                g_mutex_lock(&follow->shared.lock);
                if (!follow->failed)
                        follow->failed = g_steal_pointer(&error);
                g_mutex_unlock(&follow->shared.lock);
        }
        if (follow->pool)
                http_client_free(own.client);
}

static void run_element(bool stopped, void *arg)
{
        Element *element = arg;

        if (!stopped || !element->follow->gave_up)
                follow_element(element);
        element_free(element);
}

static void begin_element(ArrayFollow *follow, const json_t *job)
{
        Element *element;

        if (!g_hash_table_add(follow->seen, g_strdup(text_of(job, "id"))) || int_of(job, "attempt") == 0)
                return;
        element = g_new0(Element, 1);
        *element = (Element){ follow, g_strdup(text_of(job, "id")), element_text(job) };
        if (follow->pool)
                (void)thread_pool_push(follow->pool, NULL, run_element, element,
                                       NULL); /* any number may wait */
        else
                run_element(false, element);
}

/* ---- selection ---- */

/* The server lists the newest first. */
static bool begin_those(ArrayFollow *follow, const char *id, const char *states, GError **error)
{
        g_autofree char *path = g_strdup_printf("/v1/jobs?array=%s&state=%s", id, states);
        g_autoptr(json_t) items = listing_items(follow->cli->client, path, error);

        for (gsize i = json_array_size(items); i-- > 0;)
                begin_element(follow, json_array_get(items, i));
        return items != NULL;
}

static void say_stage(ArrayFollow *follow, const json_t *array, gint64 begin, char **said)
{
        g_autofree char *time = duration_format(clock_monotonic_ms() - begin);
        g_autofree char *counts = summary_elements(array);
        g_autofree char *line = g_strdup_printf("%8s  %-11s  %s", time, text_of(array, "state"), counts);
        g_autofree char *key = g_strdup_printf("%s %d", text_of(array, "state"),
                                               (int)int_of(json_object_get(array, "elements"), "failed"));

        if (!follow->options->stages || g_strcmp0(key, *said) == 0)
                return;
        g_free(*said);
        *said = g_steal_pointer(&key);
        cli_say(follow->cli, "%s", line);
}

/* The array after its next change; retries while the server is unreachable. */
static bool next_state(ArrayFollow *follow, const char *id, json_t **array, GError **error)
{
        g_autofree char *suffix = g_strdup_printf("?wait_ms=%d&revision=%" G_GINT64_FORMAT, WAIT_MS,
                                                  int_of(*array, "revision"));
        g_autofree char *path = job_path(id, suffix);
        Retry retry;

        retry_join(&retry, "`paddle logs -f` shows the log again from its beginning.", &follow->shared.voice);
        for (;;) {
                g_autoptr(json_t) now = NULL;
                GError *cause = NULL;

                if (http_call_json(follow->cli->client, "GET", path, NULL, &now, &cause)) {
                        json_decref(*array);
                        *array = g_steal_pointer(&now);
                        if (retry_succeeded(&retry))
                                cli_say(follow->cli, "paddle: connected again");
                        return true;
                }
                if (!retry_after(&retry, follow->cli, cause, error))
                        return false;
        }
}

static bool watch(ArrayFollow *follow, const json_t *first, GError **error)
{
        g_autoptr(json_t) array = json_incref((json_t *)first);
        const char *id = text_of(first, "id");
        gint64 begin = clock_monotonic_ms();
        g_autofree char *said = NULL;

        for (;;) {
                bool over = job_is_final(array);
                bool small = int_of(json_object_get(array, "elements"), "total") <= SMALL;

                say_stage(follow, array, begin, &said);
                if (!begin_those(follow, id, over || small ? started : active, error))
                        return false;
                if (over)
                        return true;
                g_usleep((gulong)(small ? SOON_MS : LATER_MS) * 1000);
                if (!next_state(follow, id, &array, error))
                        return false;
        }
}

/* ---- all ---- */

/* "sw[99] trainer-0". */
static int prefix_width(const json_t *array)
{
        const json_t *about = json_object_get(array, "array");
        g_autofree char *last =
                g_strdup_printf("%s[%d] ", text_of(about, "name"), (int)MAX(int_of(about, "size") - 1, 0));
        g_autoptr(json_t) job =
                json_pack("{s:O*}", "roles", json_object_get(json_object_get(array, "spec"), "roles"));

        return MIN(text_columns(last) + follow_member_width(job), 40);
}

bool follow_array(Cli *cli, const json_t *array, const FollowOptions *options, GError **error)
{
        ArrayFollow follow = { .cli = cli, .options = options };
        bool ok;

        g_mutex_init(&follow.shared.lock);
        follow.shared.prefixer = follow_prefixer(cli, options, prefix_width(array));
        follow.shared.live = follow_live(cli, options);
        follow.seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        if (options->follow) {
                follow.pool = thread_pool_new(&(ThreadPoolConfig){ .name = "elements", .threads = AT_ONCE });
                ok = watch(&follow, array, error);
                follow.gave_up = !ok;
                thread_pool_free(follow.pool);
        } else {
                ok = begin_those(&follow, text_of(array, "id"), started, error);
        }
        g_hash_table_unref(follow.seen);
        log_prefixer_free(follow.shared.prefixer);
        live_lines_free(follow.shared.live);
        g_mutex_clear(&follow.shared.lock);
        if (ok && follow.failed) {
                g_propagate_error(error, g_steal_pointer(&follow.failed));
                ok = false;
        }
        g_clear_error(&follow.failed);
        return ok;
}

bool follow_array_to_end(Cli *cli, const json_t *array, GError **error)
{
        FollowOptions options = { .tail = -1, .whole = true, .follow = true, .stages = true };
        g_autoptr(json_t) ended = NULL;
        g_autofree char *line = NULL, *failed = NULL;

        follow_catch_interrupt(text_of(array, "name"));
        if (!follow_array(cli, array, &options, error) ||
            !wait_for_job(cli, text_of(array, "id"), &ended, error))
                return false;
        line = summary_line(ended, cli->terminal.err_colour);
        failed = summary_failed(ended);
        cli_say(cli, "\n%s%s%s", line, *failed ? "\n\n" : "", failed);
        if (is_set(json_object_get(ended, "spec"), "sweep"))
                cli_say(cli, "`paddle results %s` shows what they reported; --sort NAME puts the best first.",
                        text_of(ended, "name"));
        cli->status = job_succeeded(ended) ? 0 : 1;
        return true;
}
