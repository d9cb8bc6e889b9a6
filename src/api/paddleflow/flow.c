/* The object behind the routes, and all routes as one table (see flow.h). */
#include "api/paddleflow/internal.h"

#include <string.h>

enum { THREADS = 2, ASKERS = 4, LINE = 32 }; /* LINE: for each user */

static ThreadPool *pool_new(const char *name, int threads)
{
        return thread_pool_new(&(ThreadPoolConfig){
                .name = name, .threads = threads, .share = threads / 2, .waiting_max = LINE });
}

PaddleFlow *paddleflow_new(const PaddleFlowConfig *config, GError **error)
{
        g_autoptr(PaddleFlow) flow = g_new0(PaddleFlow, 1);

        flow->engine = config->engine;
        flow->store = config->store;
        flow->runtime = config->runtime;
        flow->auth = config->auth;
        flow->packages = config->packages;
        flow->skip_resource_check = config->skip_resource_check;
        flow->check_cluster = config->check_cluster;
        flow->node_name = g_strdup(config->node_name ? config->node_name : "localhost");
        flow->node_labels = g_strdupv((char **)config->node_labels);
        if (!key_open(flow, config->state_dir, error))
                return NULL;
        if (config->templates && !(flow->templates = templates_read(config->templates, error)))
                return NULL;
        flow->threads = pool_new("answers", THREADS);
        flow->askers = pool_new("questions to clusters", ASKERS);
        flow->way = yaml_way_new(flow->threads);
        flow->feed = feed_new(flow);
        flow->sampler = sampler_new(flow);
        return g_steal_pointer(&flow);
}

void paddleflow_stop(PaddleFlow *flow)
{
        yaml_way_close(flow->way);
        thread_pool_stop(flow->threads);
        thread_pool_stop(flow->askers);
        feed_stop(flow->feed);
        sampler_stop(flow->sampler);
}

void paddleflow_free(PaddleFlow *flow)
{
        if (!flow)
                return;
        yaml_way_unref(flow->way);
        thread_pool_free(flow->threads);
        thread_pool_free(flow->askers);
        feed_free(flow->feed);
        sampler_free(flow->sampler);
        templates_free(flow->templates);
        g_free(flow->node_name);
        g_strfreev(flow->node_labels);
        g_free(flow);
}

/* One table, since a face has one. */
static HttpRoute *join(void)
{
        static const HttpRoute *const parts[] = { user_rows,       grant_rows,    queue_rows,   flavour_rows,
                                                  cluster_rows,    node_rows,     pool_rows,    fs_rows,
                                                  job_rows,        run_rows,      run_log_rows, artifact_rows,
                                                  pipeline_rows,   schedule_rows, feed_rows,    log_rows,
                                                  statistics_rows, about_rows,    cache_rows };
        GArray *all = g_array_new(TRUE, FALSE, sizeof(HttpRoute));

        for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
                for (const HttpRoute *row = parts[i]; row->method; row++) {
                        HttpRoute route = *row;

                        route.body_max = row->body_max ? row->body_max : PADDLEFLOW_BODY_MAX;
                        g_array_append_val(all, route);
                }
        return (HttpRoute *)(void *)g_array_free(all, FALSE);
}

const HttpRoute *paddleflow_routes(void)
{
        static HttpRoute *routes;

        if (g_once_init_enter(&routes))
                g_once_init_leave(&routes, join());
        return routes;
}
