/* paddle-operator: reads its options, connects to the cluster, waits for the lease if there are several, runs
 * the controller until SIGTERM or SIGINT: then the passes under way end, the lease is given back, and the
 * jobs run on. With --guard nothing is done before the operator holds its own rights, and when these are
 * being deleted it lets the jobs go (wipe.h), then its rights (guard.h). */
#include <glib-unix.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/id.h"
#include "base/json.h"
#include "base/log.h"
#include "base/number.h"
#include "base/timer.h"
#include "kube/client.h"
#include "kube/lease.h"
#include "operator/controller.h"
#include "operator/guard.h"
#include "operator/options.h"
#include "operator/probe.h"
#include "operator/training_controller.h"
#include "operator/wipe.h"

#define LEASE_NAME                                                                                           \
        "b2a304f2.paddlepaddle.org" /* as the older operator's, so that the two exclude each other */

/* A pod has 30 s: 10 s after SIGTERM all has ended, but when jobs must be let go. LINGER_MS: whoever deletes
 * the Deployment first deletes the rights in the next moment. */
enum { STOP_MS = 8000, LEAVE_MS = 28000, LINGER_MS = 2000 };

typedef struct {
        OperatorOptions options;
        GMainLoop *loop;
        KubeConfig *cluster;
        KubeClient *client;
        Controller *controller;
        TrainingController *training;
        KubeLease *lease; /* or NULL */
        Guard *guard;     /* or NULL */
        Wipe *wipe;       /* when leaving */
        Timer *deadline, *linger;
        char *identity;
        HttpServer *metrics, *health;
        ProbeSource source;
        bool stopping, stopped, leaving;
        int status;
} Operator;

/* ---- start ---- */

static bool open_log(const OperatorOptions *options, GError **error)
{
        LogLevel level = LOG_INFO;
        gint64 number;

        if (number_parse("--zap-log-level", options->zap_level, 0, 127, &number, NULL))
                level = number > 0 ? LOG_DEBUG : LOG_INFO;
        else if (!log_level_parse(options->zap_level, &level, error))
                return err_prefix(error, "--zap-log-level: ");
        log_open(level, strcmp(options->zap_encoder, "json") == 0);
        return true;
}

static const char *or_null(const char *text)
{
        return text && *text ? text : NULL;
}

static bool connect_cluster(Operator *op, GError **error)
{
        KubeClientOptions options = { .agent = "paddle-operator/" PADDLE_VERSION,
                                      .rate = (double)op->options.qps,
                                      .burst = (int)op->options.burst };

        op->cluster = kube_config_load(or_null(op->options.kubeconfig), NULL, error);
        if (!op->cluster)
                return false;
        op->client = kube_client_new(op->cluster, &options, error);
        return op->client != NULL;
}

static bool open_controller(Operator *op, GError **error)
{
        const OperatorOptions *options = &op->options;
        ControllerConfig config = {
                .client = op->client,
                .namespace = or_null(options->namespace),
                .port_range = options->port_range,
                .rules = { .compat = *options->compat != '\0',
                           .volcano = strcmp(options->scheduling, "volcano") == 0,
                           .init_image = options->init_image,
                           .init_requests = options->init_requests,
                           .init_limits = options->init_limits,
                           .etcd_server = options->etcd_server },
        };

        op->controller = controller_new(&config, error);
        if (op->controller)
                op->training = training_controller_new(op->client, config.namespace);
        return op->controller != NULL;
}

static void lead(Operator *op)
{
        controller_lead(op->controller);
        training_lead(op->training);
}

static void on_gained(void *arg)
{
        Operator *op = arg;

        op->source.leads = true;
        log_info("this operator leads", "identity", op->identity, NULL);
        lead(op);
}

/* Somebody else may lead already: nothing more may be written. */
static void on_lost(void *arg)
{
        Operator *op = arg;

        op->source.leads = false;
        if (op->stopping)
                return;
        log_error("the lease is lost; exiting", "lease", LEASE_NAME, NULL);
        op->status = 1;
        g_main_loop_quit(op->loop);
}

static char *make_identity(void)
{
        char host[HOST_NAME_MAX + 1] = "";
        g_autofree char *uuid = g_uuid_string_random();

        (void)gethostname(host, sizeof host - 1); /* the uuid alone would do */
        return g_strconcat(host, "_", uuid, NULL);
}

/* The lease's namespace; NULL: it is not known. */
static const char *lease_home(const Operator *op)
{
        const char *home = or_null(op->options.leader_namespace);
        bool in_cluster = strcmp(op->cluster->context, "in-cluster") == 0;

        return home ? home : in_cluster ? op->cluster->namespace : NULL;
}

static bool check_lease(const Operator *op, GError **error)
{
        if (!op->options.leader_elect || lease_home(op))
                return true;
        return err_set(error, ERR_USAGE,
                       "--leader-elect: not running in-cluster, so that no namespace is known for the lease\n"
                       "Say it by --leader-election-namespace.");
}

static void begin_to_lead(Operator *op)
{
        if (!op->options.leader_elect) {
                lead(op);
                return;
        }
        op->source.elects = true;
        op->identity = make_identity();
        op->lease = kube_lease_new(op->client, &(KubeLeaseConfig){ .namespace = lease_home(op),
                                                                   .name = LEASE_NAME,
                                                                   .identity = op->identity,
                                                                   .gained = on_gained,
                                                                   .lost = on_lost,
                                                                   .arg = op });
}

static bool open_probes(Operator *op, GError **error)
{
        GError *why = NULL;

        op->source.controller = op->controller;
        op->source.training = op->training;
        op->source.client = op->client;
        op->source.host = op->cluster->server;
        op->metrics = probe_serve_metrics(op->options.metrics, &op->source, &why);
        if (why) {
                g_propagate_prefixed_error(error, why, "--metrics-bind-address: ");
                return false;
        }
        op->health = probe_serve_health(op->options.health, &why);
        if (why) {
                g_propagate_prefixed_error(error, why, "--health-probe-bind-address: ");
                return false;
        }
        return true;
}

/* ---- stop ---- */

static void on_let_go(void *arg)
{
        Operator *op = arg;

        log_info("this operator was taken away; its jobs run on without it", NULL);
        g_main_loop_quit(op->loop);
}

static void on_wiped(void *arg)
{
        Operator *op = arg;

        guard_release(op->guard, on_let_go, op);
}

static void on_lingered(void *arg)
{
        const Operator *op = arg;

        g_main_loop_quit(op->loop);
}

/* Another operator has the lease: this one writes no more to jobs. */
static void on_released(void *arg)
{
        Operator *op = arg;

        op->stopped = true;
        if (op->leaving)
                op->wipe = wipe_new(op->client, or_null(op->options.namespace), on_wiped, op);
        else if (!op->guard)
                g_main_loop_quit(op->loop);
        else if (!guard_is_leaving(op->guard))
                timer_set(&op->linger, NULL, LINGER_MS, on_lingered, op);
}

static void on_stopped(void *arg)
{
        Operator *op = arg;
        KubeLease *lease = g_steal_pointer(&op->lease);

        if (lease)
                kube_lease_release(lease, on_released, op);
        else
                on_released(op);
}

static void on_jobs_stopped(void *arg)
{
        Operator *op = arg;

        training_stop(op->training, on_stopped, op);
}

static void on_deadline(void *arg)
{
        const Operator *op = arg;

        log_warning("what was under way has not ended in time; the next operator will finish it", NULL);
        g_main_loop_quit(op->loop);
}

static void set_deadline(Operator *op, gint64 ms)
{
        timer_set(&op->deadline, NULL, ms, on_deadline, op);
}

static void stop(Operator *op)
{
        if (op->stopping)
                return;
        op->stopping = true;
        if (op->controller)
                controller_stop(op->controller, on_jobs_stopped, op);
        else
                g_main_loop_quit(op->loop);
}

static gboolean on_signal(void *arg)
{
        Operator *op = arg;

        if (op->stopping)
                return G_SOURCE_CONTINUE;
        log_info("stopping; jobs run on", NULL);
        set_deadline(op, op->guard && guard_is_leaving(op->guard) ? LEAVE_MS : STOP_MS);
        stop(op);
        return G_SOURCE_CONTINUE;
}

/* ---- guard ---- */

static void on_held(void *arg)
{
        Operator *op = arg;

        if (!op->stopping)
                begin_to_lead(op);
}

static void on_leaving(void *arg)
{
        Operator *op = arg;

        log_info("this operator is being taken away: letting the jobs go", "guard", op->options.guard, NULL);
        op->leaving = true;
        set_deadline(op, LEAVE_MS);
        timer_clear(&op->linger);
        if (op->stopped)
                on_released(op);
        else
                stop(op);
}

static bool operator_open(Operator *op, GError **error)
{
        if (!connect_cluster(op, error) || !check_lease(op, error) || !open_controller(op, error) ||
            !open_probes(op, error))
                return false;
        if (*op->options.guard)
                op->guard = guard_new(&(GuardConfig){ .client = op->client,
                                                      .binding = op->options.guard,
                                                      .held = on_held,
                                                      .leaving = on_leaving,
                                                      .arg = op });
        else
                begin_to_lead(op);
        return true;
}

static void operator_close(Operator *op)
{
        http_server_free(op->metrics);
        http_server_free(op->health);
        wipe_free(op->wipe);
        guard_free(op->guard);
        kube_lease_free(op->lease);
        training_controller_free(op->training);
        controller_free(op->controller);
        kube_client_free(op->client);
        kube_config_free(op->cluster);
        g_free(op->identity);
}

/* ---- run ---- */

static void serve(Operator *op)
{
        g_autofree char *metrics = g_strdup_printf("%d", op->metrics ? http_server_port(op->metrics) : 0);
        g_autofree char *health = g_strdup_printf("%d", op->health ? http_server_port(op->health) : 0);

        log_info("serving", "cluster", op->cluster->server, "namespace",
                 *op->options.namespace ? op->options.namespace : "(all)", "metrics_port", metrics,
                 "health_port", health, "version", PADDLE_VERSION, NULL);
        g_main_loop_run(op->loop);
}

/* --help and its like; true when one was asked for. */
static bool answer_question(const OperatorOptions *options)
{
        g_autofree char *text = options->help      ? operator_help()
                                : options->man     ? operator_man()
                                : options->version ? g_strdup("paddle-operator " PADDLE_VERSION "\n")
                                                   : NULL;

        if (text)
                fputs(text, stdout);
        return text != NULL;
}

static int fail(const GError *error)
{
        bool usage = err_is(error, ERR_USAGE);
        g_autofree char *help = usage ? operator_help() : NULL;

        fprintf(stderr, "paddle-operator: %s\n", error->message);
        if (help)
                fprintf(stderr, "%s", help);
        return usage ? 2 : 1;
}

static int run(Operator *op, int argc, char **argv)
{
        g_autoptr(GError) error = NULL;
        bool opened;

        if (!operator_options_read(&op->options, argc, argv, &error))
                return fail(error);
        if (answer_question(&op->options))
                return 0;
        if (!open_log(&op->options, &error))
                return fail(error);
        op->loop = g_main_loop_new(NULL, FALSE);
        g_unix_signal_add(SIGTERM, on_signal, op);
        g_unix_signal_add(SIGINT, on_signal, op);
        opened = operator_open(op, &error);
        if (opened)
                serve(op);
        operator_close(op);
        g_main_loop_unref(op->loop);
        return opened ? op->status : fail(error);
}

int main(int argc, char **argv)
{
        Operator op = { 0 };
        int status;

        json_init();
        signal(SIGPIPE, SIG_IGN);
        status = run(&op, argc, argv);
        operator_options_clear(&op.options);
        return status;
}
