/* The operator's own HTTP server: /metrics, /healthz and /readyz. */
#pragma once

#include <glib.h>

#include "kube/client.h"
#include "net/server.h"
#include "operator/controller.h"
#include "operator/training_controller.h"

/* The text of /metrics; on the main loop. */
typedef struct {
        Controller *controller;
        TrainingController *training;
        KubeClient *client;
        bool elects, leads;
        char *host; /* of the API server */
} ProbeSource;

char *probe_metrics(const ProbeSource *source, gsize *ret_len); /* the caller's */

typedef struct {
        const guint64 *buckets; /* one more than there are bounds: the last one has none */
        int bounds;
        double (*bound_s)(int bucket); /* in seconds, ascending */
        double sum_s;
} ProbeHistogram;

/* Appends one series of a histogram in Prometheus' text format. `labels`: such as name="a", at least one. */
void probe_put_histogram(GString *out, const char *name, const char *labels, const ProbeHistogram *histogram);

/* `address`: ":8080" means all of this machine's; "0" or "": none, and NULL without an error. */
HttpServer *probe_serve_metrics(const char *address, ProbeSource *source, GError **error);
HttpServer *probe_serve_health(const char *address, GError **error);
