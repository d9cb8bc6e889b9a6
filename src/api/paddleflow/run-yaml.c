/* Definitions that requests bring, and file systems that they name (doc/reference/paddleflow-api.md, "Runs"). */
#include <string.h>

#include "api/paddleflow/internal.h"

/* As strict as the older server: whole groups of four, and padding at the end only. */
static bool is_base64(const char *text)
{
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        gsize len = strlen(text), n = strspn(text, digits), padding = strspn(text + n, "=");

        return len > 0 && len % 4 == 0 && n + padding == len && padding <= 2;
}

char *yaml_take(const char *base64, Code wrong, GError **error)
{
        g_autofree guchar *bytes = NULL;
        gsize len;

        if (!is_base64(base64)) {
                paddleflow_set(error, wrong, "the definition is not in base64");
                return NULL;
        }
        bytes = g_base64_decode(base64, &len);
        if (memchr(bytes, '\0', len) || !g_utf8_validate((const char *)bytes, (gssize)len, NULL)) {
                paddleflow_set(error, wrong, "the definition is not text in UTF-8");
                return NULL;
        }
        return g_strndup((const char *)bytes, len);
}

bool yaml_check_fs(const Call *call, const char *user, const char *fs, Code missing, GError **error)
{
        if (*user && !catalog_user(call->catalog, user))
                return paddleflow_set(error, CODE_UserNotExist, "there is no user '%.60s'", user);
        return !*fs || catalog_filesystem(call->catalog, *user ? user : call->user, fs) ||
               paddleflow_set(error, missing, "user '%.60s' has no file system '%.80s'%s",
                              *user ? user : call->user, fs,
                              strcmp(fs, "home") == 0 ? "\nThe definition can name the home of its user: "
                                                        "fs_options: {main_fs: {name: home}}."
                                                      : "");
}

/* ---- definitions on file systems ---- */

enum { READ_MAX = 16 * 1024 * 1024 };

struct YamlWay {
        gatomicrefcount refs;
        GMutex lock;
        ThreadPool *threads; /* NULL: closed */
};

typedef struct {
        HttpRequest *request;
        PaddleFlow *flow;
        YamlWay *way;
        YamlThen then;
        char *path, *text;
} Reading;

YamlWay *yaml_way_new(ThreadPool *threads)
{
        YamlWay *way = g_new0(YamlWay, 1);

        g_atomic_ref_count_init(&way->refs);
        g_mutex_init(&way->lock);
        way->threads = threads;
        return way;
}

void yaml_way_close(YamlWay *way)
{
        g_mutex_lock(&way->lock);
        way->threads = NULL;
        g_mutex_unlock(&way->lock);
}

static YamlWay *way_ref(YamlWay *way)
{
        g_atomic_ref_count_inc(&way->refs);
        return way;
}

void yaml_way_unref(YamlWay *way)
{
        if (!way || !g_atomic_ref_count_dec(&way->refs))
                return;
        g_mutex_clear(&way->lock);
        g_free(way);
}

static void reading_free(Reading *reading)
{
        http_request_unref(reading->request);
        yaml_way_unref(reading->way);
        g_free(reading->path);
        g_free(reading->text);
        g_free(reading);
}

static void go_on(bool stopped, void *arg)
{
        Reading *reading = arg;
        GError *error = NULL;

        if (stopped) {
                err_set(&error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
                paddleflow_fail(reading->request, error, NULL);
        } else {
                reading->then(reading->request, reading->flow, reading->text);
        }
        reading_free(reading);
}

static bool push(Reading *reading, GError **error)
{
        const char *user = http_request_caller(reading->request)->user;
        YamlWay *way = reading->way;
        bool pushed;

        g_mutex_lock(&way->lock);
        pushed = way->threads
                         ? thread_pool_push(way->threads, user, go_on, reading, error)
                         : err_set(error, ERR_UNAVAILABLE, "the server is stopping\nTry again in a moment.");
        g_mutex_unlock(&way->lock);
        return pushed;
}

/* On the engine's thread. */
static void note_text(const char *text, const GError *failure, void *arg)
{
        Reading *reading = arg;
        GError *error = NULL;

        if (failure) {
                paddleflow_set(&error, CODE_ReadYamlFileFailed, "the definition '%.300s' cannot be read: %s",
                               reading->path, failure->message);
        } else {
                reading->text = g_strdup(text);
                if (push(reading, &error))
                        return;
        }
        paddleflow_fail(reading->request, error, NULL);
        reading_free(reading);
}

const char *yaml_path(const char *path)
{
        return *path ? path : "./run.yaml";
}

void yaml_read(const Call *call, const char *user, const char *fs, const char *path, YamlThen then)
{
        Reading *reading = g_new0(Reading, 1);

        *reading = (Reading){ .request = http_request_ref(call->request),
                              .flow = call->flow,
                              .way = way_ref(call->flow->way),
                              .then = then,
                              .path = g_strdup(path) };
        engine_read_file(call->flow->engine, user, fs, path, READ_MAX, note_text, reading);
}
