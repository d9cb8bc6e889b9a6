/* A bare client of an API server: makes the objects of standard input (a JSON list) as fast as the server
 * takes them, and says as JSON how long it took until all were accepted, until so many pods and services
 * existed, and until so many pods, or PaddleJobs, ran. The configuration is that of KUBECONFIG.
 *
 * usage: bench-kube NAMESPACE PODS SERVICES pods|jobs RUNNING */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "kube/cache.h"

enum { PATIENCE_S = 900, FAILURES_SHOWN = 3 };

typedef enum { SEEN_PODS, SEEN_SERVICES, SEEN_JOBS, SEEN_KINDS } Seen;

static const KubeKind *const kinds[SEEN_KINDS] = { &kube_pods, &kube_services, &kube_paddle_jobs };

typedef struct {
        KubeClient *client;
        GMainLoop *loop;
        json_t *objects;
        const char *namespace;
        KubeCache *cache[SEEN_KINDS];
        guint wanted[SEEN_KINDS]; /* of pods and services: so many exist */
        Seen running_of;
        guint running, wanted_running;
        size_t unanswered, failed;
        gint64 began_us, created_us, exist_us, running_us;
} Bench;

static gint64 since(const Bench *bench)
{
        return g_get_monotonic_time() - bench->began_us;
}

static void look(Bench *bench)
{
        if (!bench->created_us && !bench->unanswered)
                bench->created_us = since(bench);
        if (!bench->exist_us && kube_cache_size(bench->cache[SEEN_PODS]) >= bench->wanted[SEEN_PODS] &&
            kube_cache_size(bench->cache[SEEN_SERVICES]) >= bench->wanted[SEEN_SERVICES])
                bench->exist_us = since(bench);
        if (!bench->running_us && bench->running >= bench->wanted_running)
                bench->running_us = since(bench);
        if (bench->created_us && bench->exist_us && bench->running_us)
                g_main_loop_quit(bench->loop);
}

/* ---- making ---- */

static void on_made(const KubeReply *reply, void *arg)
{
        Bench *bench = arg;

        bench->unanswered--;
        if (reply->error && bench->failed++ < FAILURES_SHOWN)
                fprintf(stderr, "bench-kube: %s\n", reply->error->message);
        look(bench);
}

static void make_all(Bench *bench)
{
        static const KubeKind *const makes[] = { &kube_pods, &kube_services, &kube_config_maps,
                                                 &kube_paddle_jobs };
        const json_t *object;
        size_t i;

        bench->began_us = g_get_monotonic_time();
        bench->unanswered = json_array_size(bench->objects);
        json_array_foreach(bench->objects, i, object) {
                const char *kind = kube_get_text(object, "kind");
                KubeRequest request = { .verb = KUBE_CREATE, .namespace = bench->namespace, .body = object };

                for (gsize k = 0; k < G_N_ELEMENTS(makes); k++)
                        if (g_strcmp0(makes[k]->kind, kind) == 0)
                                request.kind = makes[k];
                g_assert(request.kind);
                kube_send(bench->client, &request, on_made, bench);
        }
}

/* ---- seeing ---- */

static bool runs(const json_t *object)
{
        return g_strcmp0(kube_get_text(object, "status.phase"), "Running") == 0;
}

static void on_changed(KubeCache *cache, const json_t *old, const json_t *new, void *arg)
{
        Bench *bench = arg;

        if (cache == bench->cache[bench->running_of])
                bench->running += (guint)runs(new) - (guint)runs(old);
        if (bench->began_us)
                look(bench);
}

/* A cluster without PaddleJobs never lists any. */
static bool is_watched(const Bench *bench, Seen seen)
{
        return seen != SEEN_JOBS || bench->running_of == SEEN_JOBS;
}

static void on_synced(KubeCache *cache, void *arg)
{
        Bench *bench = arg;

        for (Seen seen = SEEN_PODS; seen < SEEN_KINDS; seen++)
                if (is_watched(bench, seen) &&
                    (!bench->cache[seen] || !kube_cache_is_synced(bench->cache[seen])))
                        return;
        make_all(bench);
}

static void trim(json_t *object)
{
        json_object_del(object, "spec");
}

static void open_caches(Bench *bench)
{
        KubeCacheEvents events = { .changed = on_changed, .synced = on_synced, .arg = bench };

        for (Seen seen = SEEN_PODS; seen < SEEN_KINDS; seen++) {
                KubeCacheConfig config = { .kind = *kinds[seen],
                                           .namespace = bench->namespace,
                                           .trim = trim };

                if (is_watched(bench, seen))
                        bench->cache[seen] = kube_cache_new(bench->client, &config, &events);
        }
}

static gboolean on_patience(void *arg)
{
        Bench *bench = arg;

        fprintf(stderr, "bench-kube: after %d s %u of %u pods, %u of %u services, %u of %u run\n", PATIENCE_S,
                kube_cache_size(bench->cache[SEEN_PODS]), bench->wanted[SEEN_PODS],
                kube_cache_size(bench->cache[SEEN_SERVICES]), bench->wanted[SEEN_SERVICES], bench->running,
                bench->wanted_running);
        bench->failed++;
        g_main_loop_quit(bench->loop);
        return G_SOURCE_REMOVE;
}

static guint count(const char *text)
{
        return (guint)g_ascii_strtoull(text, NULL, 10);
}

static int run(Bench *bench, GError **error)
{
        g_autoptr(KubeConfig) config = kube_config_load(NULL, NULL, error);
        KubeClientOptions options = { .rate = 100000, .burst = 100000 };

        bench->client = config ? kube_client_new(config, &options, error) : NULL;
        if (!bench->client)
                return 1;
        bench->loop = g_main_loop_new(NULL, FALSE);
        open_caches(bench);
        g_timeout_add_seconds(PATIENCE_S, on_patience, bench);
        g_main_loop_run(bench->loop);
        printf("{\"created_s\": %.3f, \"exist_s\": %.3f, \"running_s\": %.3f, \"failed\": %zu}\n",
               (double)bench->created_us / 1e6, (double)bench->exist_us / 1e6,
               (double)bench->running_us / 1e6, bench->failed);
        for (Seen seen = SEEN_PODS; seen < SEEN_KINDS; seen++)
                kube_cache_free(bench->cache[seen]);
        kube_client_free(bench->client);
        g_main_loop_unref(bench->loop);
        return bench->failed > 0;
}

int main(int argc, char **argv)
{
        json_error_t at;
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) objects = NULL;
        int status;

        json_init();
        if (argc != 6) {
                fprintf(stderr, "usage: bench-kube NAMESPACE PODS SERVICES pods|jobs RUNNING\n");
                return 2;
        }
        objects = json_loadf(stdin, 0, &at);
        if (!json_is_array(objects)) {
                fprintf(stderr, "bench-kube: standard input is no JSON list: %s\n", at.text);
                return 2;
        }
        Bench bench = { .objects = objects,
                        .namespace = argv[1],
                        .wanted = { count(argv[2]), count(argv[3]) },
                        .running_of = strcmp(argv[4], "jobs") == 0 ? SEEN_JOBS : SEEN_PODS,
                        .wanted_running = count(argv[5]) };
        status = run(&bench, &error);
        if (error)
                fprintf(stderr, "bench-kube: %s\n", error->message);
        return status;
}
