/* Options of paddle-operator (see options.h). */
#include "operator/options.h"

#include <string.h>

#include "base/err.h"
#include "model/resources.h"

enum { HELP_WIDTH = 100 };

#define FIELD(name) offsetof(OperatorOptions, name)

const Option operator_options[] = {
        { "metrics-bind-address", 0, OPTION_STRING, FIELD(metrics), "ADDR:PORT",
          "address that serves /metrics; 0: do not serve it", .fallback = ":8080" },
        { "health-probe-bind-address", 0, OPTION_STRING, FIELD(health), "ADDR:PORT",
          "address that serves /healthz and /readyz; 0: do not serve them", .fallback = ":8081" },
        { "leader-elect", 0, OPTION_BOOL, FIELD(leader_elect), NULL,
          "elect a leader: of several operators only one acts at a time" },
        { "leader-election-namespace", 0, OPTION_STRING, FIELD(leader_namespace), "NAME",
          "namespace of the leader's lease; default: the pod's own namespace" },
        { "namespace", 0, OPTION_STRING, FIELD(namespace), "NAME",
          "namespace whose jobs are handled; empty: all namespaces", .fallback = "" },
        { "scheduling", 0, OPTION_STRING, FIELD(scheduling), "NAME",
          "'volcano': schedule the pods of a job as a gang", .fallback = "" },
        { "initImage", 0, OPTION_STRING, FIELD(init_image), "IMAGE",
          "image of the init container that waits until the names of all peers resolve; it needs sh and one "
          "of nslookup, getent and ping; empty: no init container",
          .fallback = "docker.io/library/alpine:3.10" },
        { "init-requests", 0, OPTION_STRING, FIELD(init_requests_text), "LIST",
          "resources that the init container requests", .fallback = "cpu=10m,memory=10m" },
        { "init-limits", 0, OPTION_STRING, FIELD(init_limits_text), "LIST",
          "resource limits of the init container, for clusters with quotas on limits", .fallback = "" },
        { "etcd-server", 0, OPTION_STRING, FIELD(etcd_server), "URLS",
          "etcd of elastic jobs: pods get this address, and the number of workers is stored there",
          .fallback = "" },
        { "port-range", 0, OPTION_STRING, FIELD(port_range), "START,END",
          "ports for jobs that use the host network", .fallback = "35000,65000" },
        { "compat", 0, OPTION_STRING, FIELD(compat), "VERSION",
          "'v0.3.5': behave like that version: write ConfigMaps once, use its ports, keep the Services of "
          "deleted pods",
          .fallback = "" },
        { "kubeconfig", 0, OPTION_STRING, FIELD(kubeconfig), "FILE",
          "default: $KUBECONFIG, the pod's service account, $HOME/.kube/config", .fallback = "" },
        { "guard", 0, OPTION_STRING, FIELD(guard), "NAME",
          "ClusterRoleBinding of this operator: a finalizer keeps it, its role and its account until no job "
          "needs the operator any more, so that all can be deleted while jobs run",
          .fallback = "" },
        { "kube-api-qps", 0, OPTION_INT, FIELD(qps), "N", "requests per second to the API server",
          .fallback = "500", .min = 1, .max = 100000 },
        { "kube-api-burst", 0, OPTION_INT, FIELD(burst), "N", "requests that may exceed the rate in a burst",
          .fallback = "1000", .min = 1, .max = 100000 },
        { "zap-devel", 0, OPTION_BOOL, FIELD(zap_devel), NULL, "accepted for compatibility; no effect",
          .fallback = "true" },
        { "zap-encoder", 0, OPTION_STRING, FIELD(zap_encoder), "FORM", "format of log lines: console or json",
          .fallback = "console" },
        { "zap-log-level", 0, OPTION_STRING, FIELD(zap_level), "LEVEL",
          "error, info, debug, or a number above 0 for debug", .fallback = "info" },
        { "zap-stacktrace-level", 0, OPTION_STRING, FIELD(zap_stacktrace), "LEVEL",
          "accepted for compatibility; no effect", .fallback = "" },
        { "zap-time-encoding", 0, OPTION_STRING, FIELD(zap_time), "FORM",
          "accepted for compatibility; no effect", .fallback = "" },
        { "help", 'h', OPTION_BOOL, FIELD(help), NULL, "show this help" },
        { "man", 0, OPTION_BOOL, FIELD(man), NULL, "print the manual page" },
        { "version", 0, OPTION_BOOL, FIELD(version), NULL, "print the version" },
        { 0 },
};

/* "cpu=10m,memory=10m" as a tree; "": NULL. */
static bool read_list(const char *option, const char *text, json_t **ret, GError **error)
{
        g_auto(GStrv) items = g_strsplit(text, ",", -1);
        g_autoptr(json_t) list = json_object();

        for (char **item = items; *item; item++) {
                char *equals = strchr(g_strstrip(*item), '=');
                __int128 amount;

                if (!**item)
                        continue;
                if (!equals || equals == *item)
                        return err_set(error, ERR_USAGE, "%s: '%s' is not NAME=AMOUNT", option, *item);
                *equals = '\0';
                if (!quantity_parse_nano(option, equals + 1, &amount, NULL))
                        return err_set(error, ERR_USAGE, "%s: '%s' is no quantity such as 10m, 1 or 64Mi",
                                       option, equals + 1);
                json_object_set_new(list, *item, json_string(equals + 1));
        }
        *ret = json_object_size(list) ? json_incref(list) : NULL;
        return true;
}

static bool one_of(const char *option, const char *value, const char *const *words, GError **error)
{
        g_autofree char *known = NULL;

        if (!*value || g_strv_contains(words, value))
                return true;
        known = g_strjoinv("', '", (char **)words);
        return err_set(error, ERR_USAGE, "%s: '%s' is neither empty nor '%s'", option, value, known);
}

static bool check(OperatorOptions *options, GError **error)
{
        static const char *const schedulers[] = { "volcano", NULL }, *const versions[] = { "v0.3.5", NULL },
                                 *const encoders[] = { "console", "json", NULL };

        return one_of("--scheduling", options->scheduling, schedulers, error) &&
               one_of("--compat", options->compat, versions, error) &&
               one_of("--zap-encoder", options->zap_encoder, encoders, error) &&
               read_list("--init-requests", options->init_requests_text, &options->init_requests, error) &&
               read_list("--init-limits", options->init_limits_text, &options->init_limits, error);
}

/* Go takes one dash for two. */
static char **two_dashes(int argc, char **argv)
{
        char **line = g_new0(char *, (gsize)argc + 1);

        for (int i = 0; i < argc; i++) {
                bool one = argv[i][0] == '-' && argv[i][1] && argv[i][1] != '-' && argv[i][2];

                line[i] = g_strconcat(one ? "-" : "", argv[i], NULL);
        }
        return line;
}

bool operator_options_read(OperatorOptions *options, int argc, char **argv, GError **error)
{
        g_auto(GStrv) line = two_dashes(argc - 1, argv + 1);
        g_auto(GStrv) rest = NULL;

        options_set_defaults(operator_options, options);
        return options_parse(operator_options, options, argc - 1, line, true, &rest, error) &&
               check(options, error);
}

void operator_options_clear(OperatorOptions *options)
{
        options_clear(operator_options, options);
        g_clear_pointer(&options->init_requests, json_decref);
        g_clear_pointer(&options->init_limits, json_decref);
}

char *operator_help(void)
{
        g_autofree char *list = options_help(operator_options, HELP_WIDTH);

        return g_strconcat(
                "usage: paddle-operator [OPTION...]\n\n"
                "Runs PaddleJobs (batch.paddlepaddle.org/v1) on a Kubernetes cluster. Options may begin "
                "with one dash or two.\n\n",
                list, NULL);
}

char *operator_man(void)
{
        g_autofree char *list = options_man(operator_options);

        return g_strconcat(
                ".TH PADDLE-OPERATOR 8 \"\" \"paddle " PADDLE_VERSION "\"\n"
                ".SH NAME\npaddle-operator \\- runs PaddleJobs on a Kubernetes cluster\n"
                ".SH SYNOPSIS\n.B paddle-operator\n[\\fIOPTION\\fR...]\n"
                ".SH DESCRIPTION\nMakes the pods, services and configuration of the cluster's PaddleJobs, "
                "follows them, and writes what becomes of them into the jobs' status.\n",
                list, NULL);
}
