/* The client against a server that answers as the test says. */
#include "kube/client.h"

#include <glib/gstdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "kube/test/rogue.h"

typedef struct {
        int done, status, code; /* code -1: no error */
        char *message, *text, *reason;
        gint64 retry_after_ms;
        json_t *object;
} Answer;

static void take(const KubeReply *reply, void *arg)
{
        Answer *answer = arg;

        answer->done++;
        answer->status = reply->status;
        answer->code = reply->error ? reply->error->code : -1;
        answer->message = reply->error ? g_strdup(reply->error->message) : NULL;
        answer->reason = g_strdup(reply->reason);
        answer->text = reply->text ? g_strndup(reply->text, reply->text_len) : NULL;
        answer->object = reply->object ? json_incref(reply->object) : NULL;
        answer->retry_after_ms = reply->retry_after_ms;
}

static void answer_clear(Answer *answer)
{
        g_free(answer->message);
        g_free(answer->text);
        g_free(answer->reason);
        json_decref(answer->object);
        *answer = (Answer){ 0 };
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Answer, answer_clear)

static const KubeRequest read_pod = { .verb = KUBE_GET, .kind = &kube_pods, .namespace = "n", .name = "p" };

static Answer ask(KubeClient *client, const KubeRequest *request)
{
        Answer answer = { 0 };

        kube_send(client, request, take, &answer);
        g_assert_cmpint(answer.done, ==, 0);
        run_until(answer.done);
        return answer;
}

/* ---- What comes back ---- */

#define BUSY HEAD("429 Too Many Requests") "Retry-After: 1\r\nContent-Length: 2\r\n\r\n{}"
#define STATUS(line, body) HEAD(line) "Connection: close\r\n\r\n" body

static const RogueRow answers[] = {
        { "GET /api/v1/namespaces/n/pods/ok ", 0, ROGUE_REPLY, "{\"kind\":\"Pod\"}", 0 },
        { "GET /api/v1/namespaces/n/pods/bytes ", 0, ROGUE_BYTEWISE, STREAM "{\"kind\":\"Pod\"}", 0 },
        { "GET /api/v1/namespaces/n/pods/text ", 0, ROGUE_CLOSE,
          "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nok", 0 },
        { "/none ", 0, ROGUE_CLOSE,
          STATUS("404 Not Found", "{\"reason\":\"NotFound\",\"message\":\"pods \\\"none\\\" not found\"}"),
          0 },
        { "/taken ", 0, ROGUE_CLOSE, STATUS("409 Conflict", "{\"reason\":\"AlreadyExists\"}"), 0 },
        { "/quota ", 0, ROGUE_CLOSE, STATUS("403 Forbidden", "{\"message\":\"exceeded quota: q\"}"), 0 },
        { "/html ", 0, ROGUE_CLOSE, "HTTP/1.1 418 Tea\r\nContent-Type: text/html\r\n\r\n<p>tea", 0 },
        { "/broken ", 0, ROGUE_CLOSE, STREAM "{\"kind\":", 0 },
        { "/redirect ", 0, ROGUE_CLOSE, HEAD("302 Found") "Location: http://127.0.0.1:1/\r\n\r\n{}", 0 },
        { "/large ", 0, ROGUE_CLOSE, STREAM "{\"kind\":\"0123456789012345678901234567890123456789\"}", 0 },
        { NULL, 0, 0, NULL, 0 },
};

static void test_answers(void)
{
        static const struct {
                const char *name;
                int status, code;
                const char *message;
        } cases[] = {
                { "ok", 200, -1, NULL },
                { "bytes", 200, -1, NULL },
                { "text", 200, -1, NULL },
                { "none", 404, ERR_NOT_FOUND, "pods \"none\" not found" },
                { "taken", 409, ERR_EXISTS,
                  "GET /api/v1/namespaces/n/pods/taken: the API server answered 409 "
                  "AlreadyExists" },
                { "quota", 403, ERR_QUOTA, "exceeded quota: q" },
                { "html", 418, ERR_FAILED,
                  "GET /api/v1/namespaces/n/pods/html: the API server answered 418: <p>tea" },
                { "broken", 200, ERR_UNAVAILABLE, NULL },
                { "redirect", 302, ERR_FAILED, NULL },
                { "large", 0, ERR_TOO_LARGE, NULL },
        };
        KubeClientOptions options = { .body_max = 50 };
        Rogue rogue;

        rogue_start(&rogue, answers);
        KubeClient *client = rogue_client(&rogue, "", &options);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                KubeRequest request = read_pod;

                request.name = cases[i].name;
                if (strcmp(cases[i].name, "none") == 0)
                        continue; /* its Status is above the bound: below */
                g_auto(Answer) answer = ask(client, &request);
                g_assert_cmpint(answer.status, ==, cases[i].status);
                g_assert_cmpint(answer.code, ==, cases[i].code);
                if (cases[i].message)
                        g_assert_cmpstr(answer.message, ==, cases[i].message);
        }
        kube_client_free(client);
        client = rogue_client(&rogue, "", NULL);
        KubeRequest request = read_pod;
        request.name = "none";
        g_auto(Answer) none = ask(client, &request);
        g_assert_cmpstr(none.message, ==, "pods \"none\" not found");
        g_assert_cmpstr(none.reason, ==, "NotFound");
        request.name = "text";
        g_auto(Answer) text = ask(client, &request);
        g_assert_cmpstr(text.text, ==, "ok");
        g_assert_null(text.object);
        kube_client_free(client);
        rogue_stop(&rogue);
}

/* ---- What is repeated ---- */

static const RogueRow repeats[] = {
        { "GET /api/v1/namespaces/n/pods/busy ", 1, ROGUE_RAW, BUSY, 0 },
        { "GET /api/v1/namespaces/n/pods/sick ", 1, ROGUE_CLOSE, STATUS("503 Down", "{}"), 0 },
        { "GET /api/v1/namespaces/n/pods/sick ", 1, ROGUE_CLOSE, STATUS("502 Down", "{}"), 0 },
        { "GET /api/v1/namespaces/n/pods/sick ", 1, ROGUE_CLOSE, STATUS("504 Down", "{}"), 0 },
        { "GET /api/v1/namespaces/n/pods/cut ", 1, ROGUE_CLOSE,
          HEAD("200 OK") "Content-Length: 100\r\n\r\n{\"a", 0 },
        { "GET /api/v1/namespaces/n/pods/own ", 0, ROGUE_CLOSE, STATUS("500 Own", "{}"), 0 },
        { "GET /api/v1/namespaces/n/pods/dead ", 0, ROGUE_CLOSE, STATUS("503 Down", "{}"), 0 },
        { "POST /api/v1/namespaces/n/pods ", 1, ROGUE_RAW, BUSY, 0 },
        { "POST /api/v1/namespaces/n/pods ", 1, ROGUE_CLOSE,
          STATUS("503 Down", "{\"details\":{\"retryAfterSeconds\":7}}"), 0 },
        { "POST /api/v1/namespaces/n/pods ", 1, ROGUE_CLOSE, "", 0 },
        { "GET ", 0, ROGUE_REPLY, "{\"kind\":\"Pod\"}", 0 },
        { NULL, 0, 0, NULL, 0 },
};

static void test_repeats(void)
{
        static const struct {
                const char *name;
                int status, requests;
        } cases[] = {
                { "busy", 200, 2 }, { "sick", 200, 4 }, { "cut", 200, 2 },
                { "own", 500, 1 },  { "dead", 503, 4 },
        };
        KubeClientOptions options = { .retries = 3 };
        Rogue rogue;

        rogue_start(&rogue, repeats);
        g_autoptr(KubeClient) client = rogue_client(&rogue, "", &options);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                KubeRequest request = read_pod;
                gint64 began = g_get_monotonic_time();
                g_autofree char *line = g_strdup_printf("/%s ", cases[i].name);

                request.name = cases[i].name;
                g_auto(Answer) answer = ask(client, &request);
                g_assert_cmpint(answer.status, ==, cases[i].status);
                g_assert_cmpint(rogue_count(&rogue, line), ==, cases[i].requests);
                if (i == 0) /* Retry-After */
                        g_assert_cmpint(g_get_monotonic_time() - began, >=, 1000000);
        }
        g_autoptr(json_t) body = json_object();
        KubeRequest create = { .verb = KUBE_CREATE, .kind = &kube_pods, .namespace = "n", .body = body };
        g_auto(Answer) down = ask(client, &create); /* 429 is repeated, 503 is not */
        g_assert_cmpint(down.status, ==, 503);
        g_assert_cmpint(down.code, ==, ERR_UNAVAILABLE);
        g_assert_cmpint(down.retry_after_ms, ==, 7000);
        g_assert_cmpint(rogue_count(&rogue, "POST "), ==, 2);
        g_auto(Answer) cut = ask(client, &create);
        g_assert_cmpint(cut.status, ==, 0);
        g_assert_cmpint(cut.code, ==, ERR_UNAVAILABLE);
        g_assert_cmpint(rogue_count(&rogue, "POST "), ==, 3);
        KubeClientFigures figures;
        kube_client_figures(client, &figures);
        g_assert_cmpuint(figures.requests[KUBE_CREATE][5], ==, 1);
        g_assert_cmpuint(figures.requests[KUBE_CREATE][0], ==, 1);
        g_assert_cmpuint(figures.retries, ==, 1 + 3 + 1 + 3 + 1);
        g_clear_pointer(&client, kube_client_free);
        rogue_stop(&rogue);
}

/* ---- Nobody there, silence ---- */

static const RogueRow silent[] = {
        { "/pods/slow ", 0, ROGUE_HOLD, "", 0 },
        { "/log", 0, ROGUE_HOLD, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nline\n", 0 },
        { NULL, 0, 0, NULL, 0 },
};

static void test_unreachable(void)
{
        KubeClientOptions options = { .retries = 1 };
        Rogue rogue;

        rogue_start(&rogue, silent);
        g_autoptr(KubeClient) client = rogue_client(&rogue, "", &options);
        rogue_stop(&rogue);
        g_auto(Answer) answer = ask(client, &read_pod);
        g_assert_cmpint(answer.status, ==, 0);
        g_assert_cmpint(answer.code, ==, ERR_UNREACHABLE);
        g_assert_nonnull(strstr(answer.message, "cannot reach the API server 'http://127.0.0.1:"));
}

typedef struct {
        GString *text;
        Answer end;
} Stream;

static bool stream_data(const char *data, gsize len, void *arg)
{
        g_string_append_len(((Stream *)arg)->text, data, (gssize)len);
        return true;
}

static void stream_end(const KubeReply *reply, void *arg)
{
        take(reply, &((Stream *)arg)->end);
}

static bool take_data(const char *data, gsize len, void *arg)
{
        g_string_append_len(arg, data, (gssize)len);
        return true;
}

static void test_silence(void)
{
        KubeClientOptions options = { .timeout_ms = 50, .retries = 1 };
        KubeRequest request = read_pod;
        g_autoptr(GString) text = g_string_new(NULL);
        Rogue rogue;

        rogue_start(&rogue, silent);
        g_autoptr(KubeClient) client = rogue_client(&rogue, "", &options);
        request.name = "slow";
        g_auto(Answer) answer = ask(client, &request);
        g_assert_cmpint(answer.code, ==, ERR_TIMEOUT);
        rogue_wait(&rogue, "/slow", 2);
        g_assert_cmpint(rogue_count(&rogue, "/slow"), ==, 2);
        kube_stream(client, "/log", 1000, take_data, NULL, text); /* ends, and nobody asked to hear of it */
        run_until(text->len);
        g_assert_cmpstr(text->str, ==, "line\n");
        Stream stream = { .text = g_string_new(NULL) };
        kube_stream(client, "/log", 1000, stream_data, stream_end, &stream);
        run_until(stream.end.done);
        g_assert_cmpint(stream.end.code, ==, ERR_TIMEOUT);
        g_assert_cmpstr(stream.text->str, ==, "line\n");
        answer_clear(&stream.end);
        g_string_free(stream.text, TRUE);
        g_clear_pointer(&client, kube_client_free);
        rogue_stop(&rogue);
}

/* ---- Streams ---- */

static const RogueRow streams[] = {
        { "/cut", 0, ROGUE_BYTEWISE,
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 0 },
        { "/gone", 0, ROGUE_CLOSE, STATUS("410 Gone", "{\"reason\":\"Expired\",\"message\":\"too old\"}"),
          0 },
        { "/half", 0, ROGUE_CLOSE, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", 0 },
        { NULL, 0, 0, NULL, 0 },
};

static void test_streams(void)
{
        static const struct {
                const char *path, *text;
                int status, code;
        } cases[] = {
                { "/cut", "abcde", 200, -1 },
                { "/gone", "", 410, ERR_GONE },
                { "/half", "abc", 0, ERR_UNAVAILABLE },
        };
        Rogue rogue;

        rogue_start(&rogue, streams);
        g_autoptr(KubeClient) client = rogue_client(&rogue, "", NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                Stream stream = { .text = g_string_new(NULL) };

                kube_stream(client, cases[i].path, 0, stream_data, stream_end, &stream);
                run_until(stream.end.done);
                g_assert_cmpstr(stream.text->str, ==, cases[i].text);
                g_assert_cmpint(stream.end.status, ==, cases[i].status);
                g_assert_cmpint(stream.end.code, ==, cases[i].code);
                answer_clear(&stream.end);
                g_string_free(stream.text, TRUE);
        }
        g_clear_pointer(&client, kube_client_free);
        rogue_stop(&rogue);
}

/* ---- Credentials ---- */

static const RogueRow guarded[] = {
        { "Authorization: Bearer good\r\n", 0, ROGUE_REPLY, "{\"kind\":\"Pod\"}", 0 },
        { "GET ", 0, ROGUE_CLOSE, STATUS("401 Unauthorized", "{\"reason\":\"Unauthorized\"}"), 0 },
        { NULL, 0, 0, NULL, 0 },
};

static void write_text(const char *path, const char *text)
{
        g_assert_true(file_replace(path, text, strlen(text), 0700, false, NULL));
}

static void test_token_file(void)
{
        g_autofree char *dir = g_dir_make_tmp("kube-client-XXXXXX", NULL),
                        *path = g_build_filename(dir, "t", NULL);
        g_autofree char *user = g_strdup_printf("tokenFile: %s", path);
        Rogue rogue;

        rogue_start(&rogue, guarded);
        g_autoptr(KubeClient) client = rogue_client(&rogue, user, NULL);
        g_auto(Answer) none = ask(client, &read_pod);
        g_assert_cmpint(none.code, ==, ERR_NOT_FOUND);
        write_text(path, "bad\n");
        g_auto(Answer) bad = ask(client, &read_pod);
        g_assert_cmpint(bad.code, ==, ERR_UNAUTHENTICATED);
        g_assert_cmpint(rogue_count(&rogue, "GET "), ==, 2);
        write_text(path, "good\n");
        g_auto(Answer) good = ask(client, &read_pod);
        g_assert_cmpint(good.code, ==, -1);
        g_clear_pointer(&client, kube_client_free);
        rogue_stop(&rogue);
        g_assert_true(file_remove_tree(dir, NULL));
}

#define CREDENTIAL(token, expires)                                                                           \
        "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{"       \
        "\"token\":\"" token "\"" expires "}}"

static char *plugin_user(const char *path)
{
        return g_strdup_printf(
                "exec: {apiVersion: client.authentication.k8s.io/v1, command: %s, args: [a], env: "
                "[{name: E, value: v}], installHint: get it, provideClusterInfo: true}",
                path);
}

static int count_runs(const char *dir)
{
        g_autofree char *path = g_build_filename(dir, "runs", NULL), *text = NULL;
        gsize len = 0;

        return g_file_get_contents(path, &text, &len, NULL) ? (int)len : 0;
}

/* The plug-in is run once for many calls, and again when the server refuses what it said. */
static void test_plugin(void)
{
        g_autofree char *dir = g_dir_make_tmp("kube-client-XXXXXX", NULL),
                        *path = g_build_filename(dir, "p", NULL);
        g_autofree char *user = plugin_user(path);
        g_autofree char *script = g_strdup_printf(
                "#!/bin/sh\necho -n x >>%s/runs\n[ \"$E$1\" = va ] || exit 9\n"
                "case \"$KUBERNETES_EXEC_INFO\" in *'\"server\":\"http://127.0.0.1:'*) ;; *) exit 8;; "
                "esac\necho '" CREDENTIAL("good", "") "'\n",
                dir);
        Answer answers_of[10] = { 0 };
        int done = 0;
        Rogue rogue;

        write_text(path, script);
        rogue_start(&rogue, guarded);
        g_autoptr(KubeClient) client = rogue_client(&rogue, user, NULL);
        for (int i = 0; i < 10; i++)
                kube_send(client, &read_pod, take, &answers_of[i]);
        for (; done < 10; done++)
                run_until(answers_of[done].done);
        for (int i = 0; i < 10; i++) {
                g_assert_cmpstr(answers_of[i].message, ==, NULL);
                answer_clear(&answers_of[i]);
        }
        g_assert_cmpint(count_runs(dir), ==, 1);
        g_clear_pointer(&client, kube_client_free);
        rogue_stop(&rogue);
        g_assert_true(file_remove_tree(dir, NULL));
}

static void test_bad_plugins(void)
{
        static const struct {
                const char *script, *says;
        } cases[] = {
                { "echo no such thing >&2; exit 3", "it ended with status 3: no such thing\nget it" },
                { "kill -9 $$", "it ended with signal 9" },
                { "echo hello", "not valid JSON" },
                { "echo '{}'", "not ExecCredential" },
                { "echo '" CREDENTIAL("a b", "") "'", "blank" },
                { "echo '" CREDENTIAL("a", ",\"expirationTimestamp\":\"soon\"") "'", "'soon' is no time" },
                { "head -c 2000000 /dev/zero", "printed too much" },
        };
        g_autofree char *dir = g_dir_make_tmp("kube-client-XXXXXX", NULL),
                        *path = g_build_filename(dir, "p", NULL);
        g_autofree char *user = plugin_user(path);
        Rogue rogue;

        rogue_start(&rogue, guarded);
        for (gsize i = 0; i <= G_N_ELEMENTS(cases); i++) {
                const char *says = i < G_N_ELEMENTS(cases) ? cases[i].says : "does not start";
                g_autofree char *script =
                        i < G_N_ELEMENTS(cases) ? g_strdup_printf("#!/bin/sh\n%s\n", cases[i].script) : NULL;
                g_autoptr(KubeClient) client = rogue_client(&rogue, user, NULL);

                if (script)
                        write_text(path, script);
                else
                        unlink(path);
                g_auto(Answer) answer = ask(client, &read_pod);
                g_assert_cmpint(answer.code, ==, ERR_UNAUTHENTICATED);
                g_assert_nonnull(strstr(answer.message, says));
        }
        /* One that never ends does not outlive the client. */
        write_text(path, "#!/bin/sh\nexec sleep 1000\n");
        g_autoptr(KubeClient) client = rogue_client(&rogue, user, NULL);
        g_auto(Answer) answer = { 0 };
        kube_send(client, &read_pod, take, &answer);
        while (g_main_context_iteration(NULL, FALSE))
                ;
        g_clear_pointer(&client, kube_client_free);
        g_assert_cmpint(answer.done, ==, 0);
        rogue_stop(&rogue);
        g_assert_true(file_remove_tree(dir, NULL));
}

/* ---- Rate, order, cancelling ---- */

static const RogueRow plain[] = {
        { "/held ", 0, ROGUE_HOLD, "", 0 },
        { "GET ", 0, ROGUE_REPLY, "{\"kind\":\"Pod\"}", 0 },
        { NULL, 0, 0, NULL, 0 },
};

static void test_rate(void)
{
        KubeClientOptions options = { .rate = 100, .burst = 5 };
        Answer got[15] = { 0 };
        gint64 began = g_get_monotonic_time();
        Rogue rogue;

        rogue_start(&rogue, plain);
        g_autoptr(KubeClient) client = rogue_client(&rogue, "", &options);
        for (int i = 0; i < 15; i++)
                kube_send(client, &read_pod, take, &got[i]);
        for (int i = 0; i < 15; i++)
                run_until(got[i].done);
        g_assert_cmpint(g_get_monotonic_time() - began, >=, 99000); /* ten of a hundred a second */
        for (int i = 0; i < 15; i++)
                answer_clear(&got[i]);
        g_clear_pointer(&client, kube_client_free);
        rogue_stop(&rogue);
}

static void free_client(const KubeReply *reply, void *arg)
{
        KubeClient **client = arg;

        g_clear_pointer(client, kube_client_free);
}

/* Sent first, answered last; and by itself it needs nobody's leave. */
static void test_background(void)
{
        KubeClientOptions options = { .max_in_flight = 1 };
        KubeRequest behind = read_pod;
        Answer got[6] = { 0 };
        Rogue rogue;

        behind.background = true;
        rogue_start(&rogue, plain);
        g_autoptr(KubeClient) client = rogue_client(&rogue, "", &options);
        for (int i = 0; i < 6; i++)
                kube_send(client, i == 0 ? &behind : &read_pod, take, &got[i]);
        run_until(got[0].done);
        for (int i = 0; i < 6; i++) {
                g_assert_true(got[i].done);
                answer_clear(&got[i]);
        }
        kube_send(client, &behind, take, &got[0]);
        run_until(got[0].done);
        answer_clear(&got[0]);
        g_clear_pointer(&client, kube_client_free);
        rogue_stop(&rogue);
}

static void test_cancel(void)
{
        g_auto(Answer) one = { 0 }, two = { 0 };
        Rogue rogue;

        rogue_start(&rogue, plain);
        KubeClient *client = rogue_client(&rogue, "", NULL);
        KubeCall *call = kube_send(client, &read_pod, take, &one);
        kube_send(client, &read_pod, take, &two);
        kube_call_cancel(call);
        run_until(two.done);
        g_assert_cmpint(one.done, ==, 0);
        KubeRequest held = read_pod;
        held.name = "held";
        call = kube_send(client, &held, take, &one);
        while (!rogue_count(&rogue, "/held "))
                g_main_context_iteration(NULL, FALSE);
        kube_call_cancel(call); /* under way */
        /* The client may go within an answer, with others under way. */
        for (int i = 0; i < 5; i++)
                kube_send(client, &read_pod, free_client, &client);
        run_until(!client);
        g_assert_cmpint(one.done, ==, 0);
        rogue_stop(&rogue);
}

/* ---- Kinds ---- */

static const RogueRow kinds[] = {
        { "GET /apis/batch/v1 ", 0, ROGUE_REPLY,
          "{\"resources\":[{\"name\":\"jobs/"
          "status\",\"kind\":\"Job\",\"namespaced\":true},{\"name\":\"jobs\",\"kind\":"
          "\"Job\",\"namespaced\":true}]}",
          0 },
        { "GET /api/v1 ", 0, ROGUE_REPLY, "{\"resources\":[{\"name\":\"nodes\",\"kind\":\"Node\"},{},1]}",
          0 },
        { "GET ", 0, ROGUE_CLOSE, STATUS("404 Not Found", "{}"), 0 },
        { NULL, 0, 0, NULL, 0 },
};

static void note_kind(const KubeKind *kind, const GError *error, void *arg)
{
        if (kind)
                g_string_append_printf(arg, "%s/%s/%s/%d ", kind->group, kind->version, kind->plural,
                                       kind->cluster_scoped);
        else
                g_string_append_printf(arg, "%s ", error->message);
}

static void test_kinds(void)
{
        g_autoptr(GString) seen = g_string_new(NULL);
        Rogue rogue;

        rogue_start(&rogue, kinds);
        g_autoptr(KubeClient) client = rogue_client(&rogue, "", NULL);
        kube_kind_find(client, "batch/v1", "Job", note_kind, seen);
        kube_kind_find(client, "batch/v1", "Job", note_kind, seen);
        run_until(seen->len);
        g_assert_cmpstr(seen->str, ==, "batch/v1/jobs/0 batch/v1/jobs/0 ");
        g_string_truncate(seen, 0);
        kube_kind_find(client, "batch/v1", "Nope", note_kind, seen);
        g_assert_cmpstr(seen->str, ==, "the cluster serves no 'Nope' of 'batch/v1' ");
        g_assert_cmpint(rogue_count(&rogue, "/apis/batch/v1"), ==, 1);
        g_string_truncate(seen, 0);
        kube_kind_find(client, "v1", "Node", note_kind, seen);
        run_until(seen->len);
        g_assert_cmpstr(seen->str, ==, "/v1/nodes/1 ");
        g_string_truncate(seen, 0);
        kube_kind_find(client, "x/v1", "Y", note_kind, seen);
        run_until(seen->len);
        g_assert_cmpstr(seen->str, ==, "the cluster serves no 'Y' of 'x/v1' ");
        g_clear_pointer(&client, kube_client_free);
        rogue_stop(&rogue);
}

int main(int argc, char **argv)
{
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/kube/client/answers", test_answers);
        g_test_add_func("/kube/client/repeats", test_repeats);
        g_test_add_func("/kube/client/unreachable", test_unreachable);
        g_test_add_func("/kube/client/silence", test_silence);
        g_test_add_func("/kube/client/streams", test_streams);
        g_test_add_func("/kube/client/token-file", test_token_file);
        g_test_add_func("/kube/client/plugin", test_plugin);
        g_test_add_func("/kube/client/bad-plugins", test_bad_plugins);
        g_test_add_func("/kube/client/rate", test_rate);
        g_test_add_func("/kube/client/background", test_background);
        g_test_add_func("/kube/client/cancel", test_cancel);
        g_test_add_func("/kube/client/kinds", test_kinds);
        return g_test_run();
}
