/* Jobs of PaddlePaddle as PaddleJobs (doc/reference/paddle-operator.md, "PaddleJob"), for a cluster that runs
 * an operator of theirs. */
#include "runtime/kubernetes/pod/form-rows.h"

#include <string.h>

#include "podspec/objects.h"
#include "runtime/kubernetes/pod/gate.h"

/* Variables that the operator sets itself (doc/reference/paddle-operator.md, "Environment of a pod" and
 * "The ConfigMap of a job"), and variables of ours with addresses that its pods do not have. */
static const char *const told[] = { "POD_IP",
                                    "TRAINING_ROLE",
                                    "PADDLE_TRAINING_ROLE",
                                    "PADDLE_TRAINER_ID",
                                    "TRAINER_PORTS_NUM",
                                    "PADDLE_PORT",
                                    "PADDLE_PSERVERS_IP_PORT_LIST",
                                    "PADDLE_TRAINER_ENDPOINTS",
                                    "PADDLE_TRAINERS",
                                    "PADDLE_TRAINERS_NUM",
                                    "PADDLE_WITH_GLOO",
                                    "PADDLE_GLOO_RENDEZVOUS",
                                    "PADDLE_GLOO_HTTP_ENDPOINT",
                                    "PADDLE_CURRENT_ENDPOINT",
                                    "PADDLE_INIT_PSERVERS",
                                    "PADDLE_INIT_PORT",
                                    "PADDLE_INIT_TRAINER_ID",
                                    "MASTER_ADDR",
                                    "MASTER_PORT",
                                    "RANK",
                                    "LOCAL_RANK",
                                    NULL };

/* Variables that the operator does not set, made of variables that it sets: Kubernetes expands them. */
static const struct {
        const char *name, *text;
        bool servers; /* only where there are parameter servers */
} derived[] = {
        { "PADDLE_CURRENT_ENDPOINT", "$(POD_IP):$(PADDLE_PORT)", false },
        { "PADDLE_INIT_PORT", "$(PADDLE_PORT)", false },
        { "PADDLE_INIT_TRAINER_ID", "$(PADDLE_TRAINER_ID)", false },
        { "PADDLE_INIT_PSERVERS", "$(PADDLE_PSERVERS_IP_PORT_LIST)", true },
};

static void derive(json_t *container, bool servers)
{
        json_t *words = json_pack("[s]", "env");

        for (gsize i = 0; i < G_N_ELEMENTS(derived); i++)
                if (servers || !derived[i].servers)
                        json_array_append_new(words, json_sprintf("%s=%s", derived[i].name, derived[i].text));
        json_array_extend(words, json_object_get(container, "command"));
        json_object_set_new(container, "command", words);
}

/* Its ports are the operator's, so that nothing of ours can look whether they listen. */
static json_t *role_of(const Form *form, const json_t *pods, bool servers)
{
        const json_t *first = json_array_get(pods, 0);
        int n = (int)json_array_size(pods);
        g_autoptr(GHashTable) common = form_common_names(pods);
        json_t *template = form_template(form, first, n);
        json_t *container = gate_main_of(json_object_get(template, "spec"));

        for (const char *const *name = told; *name; name++)
                g_hash_table_remove(common, *name);
        json_object_set_new(container, "env", form_entries(first, common, true));
        json_object_del(container, "readinessProbe");
        derive(container, servers);
        return json_pack("{s:i, s:o}", "replicas", n, "template", template);
}

static json_t *paddle_job(const Form *form, const json_t *pods)
{
        g_autoptr(json_t) servers = form_pods_of(pods, "pserver"), workers = form_pods_of(pods, "trainer");
        bool has_servers = json_array_size(servers) > 0;
        json_t *made, *spec, *gang;

        if (!form_is_numbered(servers) || !form_is_numbered(workers))
                return NULL;
        made = form_whole_object(form, pods);
        spec = json_pack("{s:s, s:s}", "intranet", "PodIP", "cleanPodPolicy", "Never");
        if (has_servers) {
                json_object_set_new(spec, "withGloo", json_integer(1));
                json_object_set_new(spec, "ps", role_of(form, servers, true));
        }
        json_object_set_new(spec, "worker", role_of(form, workers, has_servers));
        gang = form_scheduling_policy(pods);
        if (gang)
                json_object_set_new(spec, "schedulingPolicy", gang);
        json_object_set_new(made, "spec", spec);
        return json_pack("[o]", made);
}

/* It writes a phase at its first look (doc/reference/paddle-operator.md, "Phases"). */
static FormWord says(const json_t *object, char **ret_text)
{
        const char *phase = kube_get_text(object, "status.phase");

        if (!phase || !*phase)
                return FORM_SILENT;
        *ret_text = g_strdup(phase);
        return strcmp(phase, "Failed") == 0 ? FORM_FAILED : FORM_WAITS;
}

/* The other objects of the operator are deleted with it, too. */
const Form form_paddle_job = { .kind = &kube_paddle_jobs,
                               .names_pods = true,
                               .whole = true,
                               .propagation = "Background",
                               .objects = paddle_job,
                               .operator= "paddle-operator",
                               .instead = "take 'form' out of the cluster's setting",
                               .says = says };
