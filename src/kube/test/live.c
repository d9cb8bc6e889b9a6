/* The client against a real API server, driven by t/kube/test_client*.py: one verb a run, what happens as
 * lines on standard output. Not a unit test. The configuration is that of KUBECONFIG. */
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/event.h"
#include "kube/exec.h"
#include "kube/lease.h"

enum { MANY = 500, PATIENCE_MS = 120000 };

typedef struct {
        KubeClient *client;
        GMainLoop *loop;
        char **args; /* after the verb */
        int failed;
} Live;

static void say(const char *format, ...) G_GNUC_PRINTF(1, 2);

static void say(const char *format, ...)
{
        va_list args;

        va_start(args, format);
        vprintf(format, args);
        va_end(args);
        putchar('\n');
        fflush(stdout);
}

/* ---- One request, waited for ---- */

typedef struct {
        bool done;
        int status;
        ErrCode code;
        char *message, *reason;
        json_t *object;
} Answer;

static void answer_clear(Answer *answer)
{
        g_free(answer->message);
        g_free(answer->reason);
        json_decref(answer->object);
        *answer = (Answer){ 0 };
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Answer, answer_clear)

static void on_answer(const KubeReply *reply, void *arg)
{
        Answer *answer = arg;

        answer->done = true;
        answer->status = reply->status;
        answer->reason = g_strdup(reply->reason);
        answer->object = reply->object ? json_incref(reply->object) : NULL;
        if (reply->error) {
                answer->code = reply->error->code;
                answer->message = g_strdup(reply->error->message);
        }
}

static Answer ask(Live *live, const KubeRequest *request)
{
        Answer answer = { 0 };

        kube_send(live->client, request, on_answer, &answer);
        while (!answer.done)
                g_main_context_iteration(NULL, TRUE);
        return answer;
}

static bool expect(Live *live, const char *what, const Answer *answer, int status)
{
        bool ok = answer->status == status;

        live->failed += !ok;
        say("%s %s %d%s%s", ok ? "ok" : "FAILED", what, answer->status, answer->message ? ": " : "",
            answer->message ? answer->message : "");
        return ok;
}

/* ---- Verbs ---- */

static json_t *config_map(const char *namespace, const char *name)
{
        return json_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s}}, s:{s:s, s:s}}", "apiVersion", "v1", "kind",
                         "ConfigMap", "metadata", "name", name, "namespace", namespace, "labels", "made-by",
                         "live", "data", "a", "1", "b", "2");
}

typedef struct {
        int left, failed;
} Count;

static void on_counted(const KubeReply *reply, void *arg)
{
        Count *count = arg;

        count->left--;
        if (reply->error) {
                count->failed++;
                say("FAILED: %s", reply->error->message);
        }
}

/* TCP connections that this process has open. */
static int connections(void)
{
        g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
        int count = 0;

        for (const char *name; (name = g_dir_read_name(dir));) {
                struct sockaddr_storage address;
                socklen_t len = sizeof address;
                int fd = (int)g_ascii_strtoll(name, NULL, 10);

                if (getpeername(fd, (struct sockaddr *)&address, &len) == 0 &&
                    (address.ss_family == AF_INET || address.ss_family == AF_INET6))
                        count++;
        }
        return count;
}

/* create-many NS [COUNT]: all at once, over one connection. */
static void create_many(Live *live)
{
        int many = live->args[1] ? (int)g_ascii_strtoll(live->args[1], NULL, 10) : MANY;
        Count count = { many, 0 };
        gint64 began = g_get_monotonic_time();

        for (int i = 0; i < many; i++) {
                g_autofree char *name = g_strdup_printf("many-%d", i);
                g_autoptr(json_t) body = config_map(live->args[0], name);
                KubeRequest request = { .verb = KUBE_CREATE,
                                        .kind = &kube_config_maps,
                                        .namespace = live->args[0],
                                        .body = body };

                kube_send(live->client, &request, on_counted, &count);
        }
        while (count.left)
                g_main_context_iteration(NULL, TRUE);
        live->failed += count.failed;
        say("over %d connections", connections());
        say("created %d in %.0f ms", many - count.failed, (double)(g_get_monotonic_time() - began) / 1000);
}

/* list NS: in pages of 100. */
static void list(Live *live)
{
        g_autofree char *resume = NULL;
        size_t seen = 0, pages = 0;

        do {
                KubeRequest request = { .verb = KUBE_LIST,
                                        .kind = &kube_config_maps,
                                        .namespace = live->args[0],
                                        .label_selector = "made-by=live",
                                        .limit = 100,
                                        .resume = resume };
                g_auto(Answer) answer = ask(live, &request);
                const char *next = kube_get_text(answer.object, "metadata.continue");

                live->failed += answer.status != 200;
                seen += json_array_size(json_object_get(answer.object, "items"));
                pages++;
                g_free(resume);
                resume = next && *next ? g_strdup(next) : NULL;
        } while (resume);
        say("listed %" G_GSIZE_FORMAT " in %" G_GSIZE_FORMAT " pages", seen, pages);
}

static void patch(Live *live, const char *what, KubePatch patch, const char *text, const char *path,
                  const char *expected)
{
        g_autoptr(json_t) body = json_parse(text, strlen(text), NULL);
        KubeRequest request = { .verb = KUBE_PATCH,
                                .kind = &kube_config_maps,
                                .namespace = live->args[0],
                                .name = "one",
                                .patch = patch,
                                .field_manager = patch == PATCH_APPLY ? "live" : NULL,
                                .force = patch == PATCH_APPLY,
                                .body = body };
        g_auto(Answer) answer = ask(live, &request);
        const char *got = kube_get_text(answer.object, path);

        if (expect(live, what, &answer, 200) && g_strcmp0(got, expected) != 0) {
                live->failed++;
                say("FAILED %s: '%s' is not '%s'", what, got ? got : "", expected ? expected : "");
        }
}

static void delete_with_conditions(Live *live, const char *uid)
{
        KubeRequest request = { .verb = KUBE_DELETE,
                                .kind = &kube_config_maps,
                                .namespace = live->args[0],
                                .name = "one",
                                .delete_uid = "00000000-0000-0000-0000-000000000000" };
        g_auto(Answer) other = ask(live, &request);
        expect(live, "delete another", &other, 409);
        request.delete_uid = uid;
        g_auto(Answer) same = ask(live, &request);
        expect(live, "delete it", &same, 200);
        g_auto(Answer) gone = ask(live, &request);
        expect(live, "delete it again", &gone, 404);
}

/* write NS: create, conflicts, patches, deletes. */
static void write_one(Live *live)
{
        g_autoptr(json_t) body = config_map(live->args[0], "one");
        KubeRequest create = {
                .verb = KUBE_CREATE, .kind = &kube_config_maps, .namespace = live->args[0], .body = body
        };
        g_auto(Answer) made = ask(live, &create), twice = ask(live, &create);

        expect(live, "create", &made, 201);
        expect(live, "create again", &twice, 409);
        live->failed += twice.code != ERR_EXISTS;
        patch(live, "merge", PATCH_MERGE, "{\"data\":{\"a\":\"9\",\"b\":null}}", "data.a", "9");
        patch(live, "json", PATCH_JSON, "[{\"op\":\"add\",\"path\":\"/data/c\",\"value\":\"3\"}]", "data.c",
              "3");
        patch(live, "strategic", PATCH_STRATEGIC, "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}",
              "metadata.labels.x", "y");
        patch(live, "apply", PATCH_APPLY,
              "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"one\"},\"data\":{\"d\":"
              "\"4\"}}",
              "data.d", "4");
        KubeRequest replace = { .verb = KUBE_REPLACE,
                                .kind = &kube_config_maps,
                                .namespace = live->args[0],
                                .name = "one",
                                .body = made.object };
        g_auto(Answer) stale = ask(live, &replace);
        expect(live, "replace an old version", &stale, 409);
        live->failed += stale.code != ERR_CONFLICT;
        delete_with_conditions(live, kube_uid(made.object));
}

static const char stateful_set[] = "{\"metadata\":{\"name\":\"set\"},\"spec\":{\"replicas\":0,"
                                   "\"serviceName\":\"s\",\"selector\":{\"matchLabels\":"
                                   "{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},"
                                   "\"spec\":{\"containers\":[{\"name\":\"c\","
                                   "\"image\":\"i\"}]}}}}";

/* The answer to a patch of a sub-resource; `path` of it must be `number` then. */
static void patch_part(Live *live, const char *part, const char *text, const char *path, gint64 number)
{
        g_autoptr(json_t) body = json_parse(text, strlen(text), NULL);
        KubeRequest request = { .verb = KUBE_PATCH,
                                .kind = &kube_stateful_sets,
                                .namespace = live->args[0],
                                .name = "set",
                                .subresource = part,
                                .body = body };
        g_auto(Answer) answer = ask(live, &request);

        if (expect(live, part, &answer, 200) && kube_get_int(answer.object, path, -1) != number) {
                live->failed++;
                say("FAILED %s: not %d", path, (int)number);
        }
}

/* parts NS: scale and status of a StatefulSet. */
static void parts(Live *live)
{
        g_autoptr(json_t) body = json_parse(stateful_set, sizeof stateful_set - 1, NULL);
        KubeRequest request = {
                .verb = KUBE_CREATE, .kind = &kube_stateful_sets, .namespace = live->args[0], .body = body
        };
        g_auto(Answer) made = ask(live, &request);

        expect(live, "create", &made, 201);
        patch_part(live, "scale", "{\"spec\":{\"replicas\":2}}", "spec.replicas", 2);
        patch_part(live, "status", "{\"status\":{\"replicas\":7,\"collisionCount\":5}}",
                   "status.collisionCount", 5);
        request = (KubeRequest){ .verb = KUBE_DELETE,
                                 .kind = &kube_stateful_sets,
                                 .namespace = live->args[0],
                                 .name = "set",
                                 .propagation = "Foreground",
                                 .has_grace = true };
        g_auto(Answer) gone = ask(live, &request);
        expect(live, "delete", &gone, 200);
}

/* get PATH: a raw one. */
static void get(Live *live)
{
        KubeRequest request = { .verb = KUBE_GET, .path = live->args[0] };
        g_auto(Answer) answer = ask(live, &request);
        g_autofree char *text = answer.object ? json_format(answer.object) : NULL;
        GError error = { .domain = ERR_DOMAIN, .code = (int)answer.code };

        if (answer.message)
                say("%d %s %s", answer.status, err_row(&error)->word, answer.message);
        else
                say("%d ok %s", answer.status, text ? text : "");
}

/* ---- Watching ---- */

static void on_changed(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        say("%s %s", !old ? "added" : !new ? "deleted" : "modified", kube_name(new ? new : old));
}

static void on_synced(KubeCache *cache, void *arg)
{
        say("synced %u", kube_cache_size(cache));
}

static void on_trouble(KubeCache *cache, const GError *error, gint64 retry_ms, void *arg)
{
        if (error)
                say("trouble %s %s", err_row(error)->word, error->message);
        else
                say("well");
}

static gboolean on_input(int fd, GIOCondition condition, void *arg)
{
        Live *live = arg;
        char c;

        if (read(fd, &c, 1) > 0)
                return G_SOURCE_CONTINUE;
        g_main_loop_quit(live->loop);
        return G_SOURCE_REMOVE;
}

/* watch NS: until standard input ends. */
static void watch(Live *live)
{
        KubeCacheConfig config = { .kind = kube_config_maps,
                                   .namespace = live->args[0],
                                   .label_selector = "made-by=live",
                                   .idle_ms = live->args[1] ? g_ascii_strtoll(live->args[1], NULL, 10) : 0,
                                   .page = 100 };
        KubeCacheEvents events = { .changed = on_changed, .synced = on_synced, .trouble = on_trouble };
        g_autoptr(KubeCache) cache = kube_cache_new(live->client, &config, &events);

        g_unix_fd_add(STDIN_FILENO, G_IO_IN | G_IO_HUP, on_input, live);
        g_main_loop_run(live->loop);
        say("size %u", kube_cache_size(cache));
}

static bool on_accepted(const char *data, gsize len, void *arg)
{
        *(bool *)arg = true;
        return true;
}

/* streams NS COUNT: that many watches at once, and a request beside them. */
static void streams(Live *live)
{
        g_autofree char *base = kube_path(&kube_config_maps, live->args[0], NULL, NULL);
        g_autofree char *path = g_strconcat(base, "?watch=1", NULL);
        int count = (int)g_ascii_strtoll(live->args[1], NULL, 10);
        g_autofree bool *accepted = g_new0(bool, count);
        KubeRequest request = { .verb = KUBE_GET, .path = "/version" };

        for (int i = 0; i < count; i++)
                kube_stream(live->client, path, 0, on_accepted, NULL, &accepted[i]);
        for (int i = 0; i < count; i++)
                while (!accepted[i])
                        g_main_context_iteration(NULL, TRUE);
        g_auto(Answer) answer = ask(live, &request);
        expect(live, "version", &answer, 200);
        say("%d streams over %d connections", count, connections());
        g_clear_pointer(&live->client, kube_client_free);
}

static void on_kind(const KubeKind *kind, const GError *error, void *arg)
{
        Live *live = arg;

        if (kind)
                say("%s%s%s%s", kind->plural, *kind->group ? " " : "", kind->group,
                    kind->cluster_scoped ? " cluster" : "");
        else
                say("%s %s", err_row(error)->word, error->message);
        g_main_loop_quit(live->loop);
}

/* kind VERSION KIND */
static void find_kind(Live *live)
{
        kube_kind_find(live->client, live->args[0], live->args[1], on_kind, live);
        g_main_loop_run(live->loop);
}

/* ---- Events ---- */

static gboolean on_late(void *arg)
{
        *(bool *)arg = true;
        return G_SOURCE_REMOVE;
}

static void pause_ms(guint ms)
{
        bool late = false;

        g_timeout_add(ms, on_late, &late);
        while (!late)
                g_main_context_iteration(NULL, TRUE);
}

/* Waits until the namespace has `count` events whose counts add up to `sum`. */
static bool wait_events(Live *live, size_t count, gint64 sum)
{
        gint64 until = g_get_monotonic_time() + (gint64)PATIENCE_MS * 1000, found = 0;

        while (g_get_monotonic_time() < until) {
                KubeRequest request = { .verb = KUBE_LIST,
                                        .kind = &kube_events,
                                        .namespace = live->args[0],
                                        .field_selector = "source=live" };
                g_auto(Answer) answer = ask(live, &request);
                json_t *items = json_object_get(answer.object, "items"), *item;
                size_t i;

                found = 0;
                json_array_foreach(items, i, item) {
                        found += kube_get_int(item, "count", 0);
                }
                if (json_array_size(items) == count && found == sum)
                        return true;
                pause_ms(20);
        }
        return false;
}

/* events NS: 10 equal ones, one other, then more than the rate allows. */
static void events(Live *live)
{
        g_autoptr(json_t) object = config_map(live->args[0], "subject");
        g_autoptr(KubeRecorder) recorder = kube_recorder_new(live->client, "live");

        for (int i = 0; i < 10; i++)
                kube_event(recorder, object, EVENT_NORMAL, "Created", "created %s", "it");
        kube_event(recorder, object, EVENT_WARNING, "Other", "%s", "another");
        say("%s aggregated", wait_events(live, 2, 11) ? "ok" : "FAILED");
        for (int i = 0; i < 30; i++)
                kube_event(recorder, object, EVENT_NORMAL, "Created", "created %s", "it");
        say("%s limited", wait_events(live, 2, 25) ? "ok" : "FAILED");
}

/* ---- Lease ---- */

static void on_gained(void *arg)
{
        say("gained");
}

static void on_lost(void *arg)
{
        say("lost");
}

static void on_released(void *arg)
{
        Live *live = arg;

        say("released");
        g_main_loop_quit(live->loop);
}

/* lease NS NAME IDENTITY: until standard input ends; then gives it back. On a busy machine a renewal may take
 * seconds: nobody is to lose it for that. */
static void lease(Live *live)
{
        KubeLeaseConfig config = { .namespace = live->args[0],
                                   .name = live->args[1],
                                   .identity = live->args[2],
                                   .duration_ms = 8000,
                                   .renew_deadline_ms = 6000,
                                   .retry_ms = 400,
                                   .gained = on_gained,
                                   .lost = on_lost };
        KubeLease *held = kube_lease_new(live->client, &config);

        g_unix_fd_add(STDIN_FILENO, G_IO_IN | G_IO_HUP, on_input, live);
        g_main_loop_run(live->loop);
        kube_lease_release(held, on_released, live);
        g_main_loop_run(live->loop);
}

/* ---- Exec and logs ---- */

static void on_output(int fd, const char *data, gsize len, void *arg)
{
        (void)write(fd, data, len);
}

static void on_exit_status(int status, const GError *error, void *arg)
{
        Live *live = arg;

        if (error)
                say("%s %s", err_row(error)->word, error->message);
        else
                say("exit %d", status);
        g_main_loop_quit(live->loop);
}

static gboolean on_typed(int fd, GIOCondition condition, void *arg)
{
        char text[4096];
        ssize_t len = read(fd, text, sizeof text);

        if (len > 0 && kube_exec_write(arg, text, (gsize)len))
                return G_SOURCE_CONTINUE;
        kube_exec_close_input(arg);
        return G_SOURCE_REMOVE;
}

/* exec NS POD CONTAINER WORD...: with our standard input. */
static void execute(Live *live)
{
        KubeExecConfig config = { .namespace = live->args[0],
                                  .pod = live->args[1],
                                  .container = live->args[2],
                                  .argv = (const char *const *)live->args + 3,
                                  .input = true,
                                  .output = on_output,
                                  .done = on_exit_status,
                                  .arg = live };
        KubeExec *exec = kube_exec(live->client, &config);

        g_unix_fd_add(STDIN_FILENO, G_IO_IN | G_IO_HUP, on_typed, exec);
        g_main_loop_run(live->loop);
}

static bool on_log(const char *data, gsize len, void *arg)
{
        return write(STDOUT_FILENO, data, len) == (ssize_t)len;
}

static void on_log_end(const KubeReply *reply, void *arg)
{
        on_exit_status(0, reply->error, arg);
}

/* log NS POD CONTAINER: followed to its end. */
static void follow(Live *live)
{
        g_autofree char *base = kube_path(&kube_pods, live->args[0], live->args[1], "log");
        g_autofree char *path = g_strdup_printf("%s?follow=true&container=%s", base, live->args[2]);

        kube_stream(live->client, path, 0, on_log, on_log_end, live);
        g_main_loop_run(live->loop);
}

static const struct {
        const char *name;
        int args; /* at least */
        void (*run)(Live *live);
} verbs[] = {
        { "create-many", 1, create_many },
        { "list", 1, list },
        { "write", 1, write_one },
        { "streams", 2, streams },
        { "parts", 1, parts },
        { "exec", 4, execute },
        { "log", 3, follow },
        { "get", 1, get },
        { "watch", 1, watch },
        { "kind", 2, find_kind },
        { "events", 1, events },
        { "lease", 3, lease },
};

static int run(const char *verb, char **args)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(KubeConfig) config = kube_config_load(NULL, NULL, &error);
        Live live = { .args = args, .loop = g_main_loop_new(NULL, FALSE) };

        if (config)
                live.client = kube_client_new(config, NULL, &error);
        if (!live.client) {
                say("FAILED %s", error->message);
                live.failed++;
        }
        for (gsize i = 0; live.client && i < G_N_ELEMENTS(verbs); i++)
                if (strcmp(verbs[i].name, verb) == 0 && (int)g_strv_length(args) >= verbs[i].args)
                        verbs[i].run(&live);
        kube_client_free(live.client);
        g_main_loop_unref(live.loop);
        return live.failed ? 1 : 0;
}

int main(int argc, char **argv)
{
        json_init();
        return argc > 1 ? run(argv[1], argv + 2) : 2;
}
