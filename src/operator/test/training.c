/* TrainingJobs: stories of a small cluster, whose expected values come from doc/guide/trainingjob.md. A story
 * is commands separated by ';':
 *   go                      passes until nothing is left to do
 *   ready ROLE N            so many pods of the ReplicaSet are ready
 *   trainers A S F          of the Job: active, succeeded, failed
 *   pods ROLE PHASE...      its pods, one phase each; a phase with '-' before it: on its way out
 *   set WHAT JSON           merge patch by somebody else, of job, master, pserver or trainer
 *   gone ROLE               somebody deletes the ReplicaSet or Job
 *   foreign ROLE            somebody else's object has the name
 *   refuse                  the server refuses what is made next, for good
 *   PATH=VALUE              must hold. PATH begins with job, status, master, pserver, trainer, or is one of
 *                           members (roles that there are), log, warning, end. VALUE: text or JSON, '-'
 * absent, ~TEXT contains TEXT; env of a role: ROLE:NAME=VALUE */
#include <string.h>

#include "base/err.h"
#include "operator/test/training_world.h"
#include "operator/test/tree.h"
#include "operator/training_members.h"
#include "podspec/objects.h"

#define TRAINER(min, max)                                                                                    \
        "\"trainer\": {\"entrypoint\": \"python t.py\", \"workspace\": \"/w\", \"min-instance\": " #min      \
        ", \"max-instance\": " #max "}"
#define PSERVER(n) "\"pserver\": {\"min-instance\": " #n ", \"max-instance\": " #n "}"
#define PLAIN "{" TRAINER(2, 2) ", " PSERVER(1) "}"
#define TOLERANT "{\"fault_tolerant\": true, " TRAINER(2, 2) ", " PSERVER(1) "}"
#define ELASTIC "{\"fault_tolerant\": true, " TRAINER(2, 6) ", " PSERVER(1) "}"
#define WITH(text) "{" text ", " TRAINER(2, 2) ", " PSERVER(1) "}"
#define BARE(text) "{" text "}"
#define CPU(text) "\"trainer\": {\"min-instance\": 1, \"resources\": " text "}"
#define UP_TO_PSERVER "go; ready master 1; go;"
#define UP "go; ready pserver 1; go;"
#define UP_TOLERANT "go; ready master 1; go; ready pserver 1; go;"
#define POD_SPEC "spec.template.spec"
#define FIRST POD_SPEC ".containers[0]"
#define OWNED_PSERVER(version)                                                                               \
        "foreign pserver; set pserver {\"metadata\": {\"ownerReferences\": [{\"apiVersion\": \"" version     \
        "\", \"kind\": \"TrainingJob\", \"name\": \"j\", \"uid\": \"old\", \"controller\": true}]}};"
#define FT_SENTENCE "max-instances should equal to min-instances when fault_tolerant is disabled"

typedef struct {
        const char *id, *spec, *story;
} Case;

static const Case objects[] = {
        { "32-plain", PLAIN, UP "members=pserver trainer" },
        { "32-tolerant", TOLERANT,
          UP_TOLERANT "members=master pserver trainer; master." POD_SPEC ".containers[1].name=j-etcd;"
                      "master." POD_SPEC ".containers[1].image=quay.io/coreos/etcd:v3.2.1;"
                      "master." POD_SPEC ".containers[1].command=~etcd0;"
                      "master." POD_SPEC ".containers[1].ports=[{\"name\": \"etcd-port\", "
                      "\"containerPort\": 2379}]; "
                      "master." POD_SPEC ".containers[1].env[0].name=POD_IP" },
        { "kinds", TOLERANT,
          UP_TOLERANT "master.kind=ReplicaSet; master.apiVersion=apps/v1; master.metadata.name=j-master;"
                      "pserver.kind=ReplicaSet; pserver.metadata.name=j-pserver; trainer.kind=Job; "
                      "trainer.apiVersion=batch/v1; trainer.metadata.name=j-trainer" },
        { "labels", TOLERANT,
          UP_TOLERANT "master.spec.template.metadata.labels.paddle-job-master=j;"
                      "pserver.spec.template.metadata.labels.paddle-job-pserver=j;"
                      "trainer.spec.template.metadata.labels.paddle-job=j;"
                      "master.spec.selector.matchLabels={\"paddle-job-master\": \"j\"};"
                      "pserver.spec.selector.matchLabels={\"paddle-job-pserver\": \"j\"}" },
        { "owner", PLAIN,
          UP "trainer.metadata.ownerReferences=[{\"apiVersion\": \"paddlepaddle.org/v1\", \"kind\": "
             "\"TrainingJob\", \"name\": \"j\", \"uid\": \"11111111-2222\", \"controller\": true, "
             "\"blockOwnerDeletion\": true}]" },
        { "names", TOLERANT,
          UP_TOLERANT "master." FIRST ".name=j; pserver." FIRST ".name=j; trainer." FIRST ".name=trainer;"
                      "pserver." POD_SPEC ".containers[1]=-; trainer." POD_SPEC ".containers[1]=-" },
        { "policies", PLAIN,
          UP "trainer." POD_SPEC ".restartPolicy=Never; trainer." FIRST ".imagePullPolicy=Always;"
             "pserver." POD_SPEC ".restartPolicy=Always; pserver." FIRST ".imagePullPolicy=-" },
        { "policy-said", WITH("\"imagePullPolicy\": \"Never\", \"imagePullSecrets\": [{\"name\": \"s\"}]"),
          UP "trainer." FIRST ".imagePullPolicy=Never; pserver." FIRST ".imagePullPolicy=Never;"
             "trainer." POD_SPEC ".imagePullSecrets=[{\"name\": \"s\"}]" },
        { "ports", TOLERANT,
          UP_TOLERANT "master." FIRST ".ports=[{\"name\": \"master-port\", \"containerPort\": 8080}];"
                      "pserver." FIRST ".ports=[{\"name\": \"jobport-0\", \"containerPort\": 7164}, "
                      "{\"name\": \"jobport-1\", \"containerPort\": 7165}]; trainer." FIRST ".ports=-" },
        { "ports-said", WITH("\"port\": 8000, \"ports_num\": 2, \"ports_num_for_sparse\": 1"),
          UP "pserver." FIRST ".ports[2]={\"name\": \"jobport-2\", \"containerPort\": 8002};"
             "pserver." FIRST ".ports[3]=-; trainer:PADDLE_INIT_PORT=8000; trainer:PADDLE_INIT_PORTS_NUM=2;"
             "trainer:PADDLE_INIT_PORTS_NUM_FOR_SPARSE=1" },
        { "commands", PLAIN,
          UP "pserver." FIRST ".command=[\"paddle_k8s\", \"start_pserver\"];"
             "trainer." FIRST ".command=[\"paddle_k8s\", \"start_trainer\", \"v2\"]" },
        { "commands-tolerant", TOLERANT,
          UP_TOLERANT "master." FIRST ".command=[\"paddle_k8s\", \"start_master\"];"
                      "pserver." FIRST ".command=[\"paddle_k8s\", \"start_new_pserver\"];"
                      "trainer." FIRST ".command=[\"paddle_k8s\", \"start_new_trainer\"]" },
        { "counts", WITH("\"x\": 1"),
          UP "pserver.spec.replicas=1; trainer.spec.parallelism=2; trainer.spec.completions=2" },
        { "counts-elastic", ELASTIC,
          UP_TOLERANT "master.spec.replicas=1; trainer.spec.parallelism=2; trainer.spec.completions=-" },
        { "image", PLAIN, UP "trainer." FIRST ".image=paddlepaddle/paddlecloud-job" },
        { "image-said", WITH("\"image\": \"a/b:1\""),
          UP "trainer." FIRST ".image=a/b:1; pserver." FIRST ".image=a/b:1" },
        { "master-resources", TOLERANT,
          UP_TO_PSERVER "master." FIRST ".resources={\"requests\": {\"cpu\": \"1\", \"memory\": \"500Mi\"}, "
                        "\"limits\": {\"cpu\": \"2\", \"memory\": \"1Gi\"}}" },
        { "resources",
          "{\"trainer\": {\"min-instance\": 1, \"resources\": {\"limits\": {\"cpu\": \"4\"}}}, \"pserver\": "
          "{\"min-instance\": 1, \"resources\": {\"requests\": {\"cpu\": 2}}}}",
          UP "trainer." FIRST ".resources={\"limits\": {\"cpu\": \"4\"}};"
             "pserver." FIRST ".resources={\"requests\": {\"cpu\": 2}}" },
        { "volumes",
          WITH("\"volumes\": [{\"name\": \"v\"}], \"VolumeMounts\": [{\"name\": \"v\", \"mountPath\": "
               "\"/d\"}]"),
          UP "trainer." POD_SPEC ".volumes=[{\"name\": \"v\"}]; trainer." FIRST
             ".volumeMounts=[{\"name\": \"v\", \"mountPath\": \"/d\"}]; pserver." FIRST
             ".volumeMounts[0].name=v" },
        { "external-etcd",
          "{\"fault_tolerant\": true, \"master\": {\"etcd-endpoint\": \"http://e:2379\"}, " TRAINER(
                  1, 1) ", " PSERVER(1) "}",
          UP_TOLERANT "master." POD_SPEC ".containers[1]=-; master:ETCD_ENDPOINT=http://e:2379;"
                      "trainer:ETCD_ENDPOINT=http://e:2379" },
        { "host-network",
          "{\"host_network\": true, \"fault_tolerant\": true, " TRAINER(2, 6) ", " PSERVER(3) "}",
          "go; master.spec.replicas=0; master.metadata.annotations={\"port-manager/hostnetwork\": \"true\", "
          "\"port-manager/rc.replicas\": \"1\"}; master." POD_SPEC ".hostNetwork=true;"
          "master." POD_SPEC ".dnsPolicy=ClusterFirstWithHostNet; ready master 1; go;"
          "pserver.metadata.annotations={\"port-manager/hostnetwork\": \"true\", "
          "\"port-manager/rc.replicas\": \"3\"}; ready pserver 2; go; members=master pserver; "
          "ready pserver 3; go; trainer.spec.parallelism=0; "
          "trainer.metadata.annotations={\"port-manager/hostnetwork\": \"true\", "
          "\"port-manager/parallelism\": \"2\"}; status.phase=running; trainers 0 0 0; go; "
          "status.phase=running" },
        { "no-host-network", PLAIN, UP "pserver.metadata.annotations=-; pserver." POD_SPEC ".hostNetwork=-" },
        { "no-pserver", BARE(TRAINER(2, 2)),
          "go; members=trainer; trainer:PSERVERS=0; status.phase=running" },
        { "backoff", TOLERANT, UP_TOLERANT "trainer.spec.backoffLimit=2147483647" },
        { "backoff-plain", PLAIN, UP "trainer.spec.backoffLimit=0" },
};

static const Case environment[] = {
        { "table", "{\"fault_tolerant\": true, " TRAINER(2, 6) ", " PSERVER(3) "}",
          "go; ready master 1; go; ready pserver 3; go;"
          "trainer:PADDLE_JOB_NAME=j; trainer:TRAINERS=2; trainer:PSERVERS=3; trainer:TOPOLOGY=python t.py;"
          "trainer:ENTRY=python t.py; trainer:TRAINER_PACKAGE=/w; trainer:PADDLE_INIT_PORT=7164;"
          "trainer:PADDLE_INIT_TRAINER_COUNT=1; trainer:PADDLE_INIT_PORTS_NUM=1;"
          "trainer:PADDLE_INIT_PORTS_NUM_FOR_SPARSE=1; trainer:PADDLE_INIT_NUM_GRADIENT_SERVERS=2;"
          "trainer:PADDLE_INIT_NUM_PASSES=1; trainer:PADDLE_INIT_USE_GPU=0; trainer:LD_LIBRARY_PATH=-;"
          "trainer:NAMESPACE=metadata.namespace; trainer:POD_IP=status.podIP;"
          "trainer:PADDLE_CLOUD_USERNAME=-; trainer:PADDLE_CLOUD_CURRENT_DATACENTER=-;"
          "trainer:PADDLE_INIT_NICS=-; trainer:TRAIN_LIST=-; trainer:OUTPUT=-; trainer:ETCD_ENDPOINT=-" },
        { "all-roles", TOLERANT,
          UP_TOLERANT "master:TRAINERS=2; pserver:PADDLE_INIT_NUM_GRADIENT_SERVERS=2; "
                      "pserver:POD_IP=status.podIP; master:ENTRY=python t.py" },
        { "passes", WITH("\"passes\": 7"), UP "trainer:PADDLE_INIT_NUM_PASSES=7" },
        { "passes-in-trainer", "{\"trainer\": {\"min-instance\": 1, \"passes\": 5}}",
          "go; trainer:PADDLE_INIT_NUM_PASSES=5" },
        { "passes-twice", "{\"passes\": 3, \"trainer\": {\"min-instance\": 1, \"passes\": 5}}",
          "go; trainer:PADDLE_INIT_NUM_PASSES=3" },
        { "cpu", BARE(CPU("{\"requests\": {\"cpu\": 4}}")), "go; trainer:PADDLE_INIT_TRAINER_COUNT=4" },
        { "cpu-part", BARE(CPU("{\"requests\": {\"cpu\": \"2500m\"}}")),
          "go; trainer:PADDLE_INIT_TRAINER_COUNT=3" },
        { "cpu-limit", BARE(CPU("{\"limits\": {\"cpu\": \"2\"}}")),
          "go; trainer:PADDLE_INIT_TRAINER_COUNT=2" },
        { "gpu", BARE(CPU("{\"requests\": {\"cpu\": 4}, \"limits\": {\"nvidia.com/gpu\": 2}}")),
          "go; trainer:PADDLE_INIT_TRAINER_COUNT=2; trainer:PADDLE_INIT_USE_GPU=1;"
          "trainer:LD_LIBRARY_PATH=/usr/local/cuda/lib64" },
        { "33-older-gpu", BARE(CPU("{\"limits\": {\"alpha.kubernetes.io/nvidia-gpu\": \"1\"}}")),
          "go; trainer:PADDLE_INIT_TRAINER_COUNT=1; trainer:PADDLE_INIT_USE_GPU=1;"
          "trainer." FIRST ".resources={\"limits\": {\"nvidia.com/gpu\": \"1\"}}" },
        { "gpu-0", BARE(CPU("{\"limits\": {\"nvidia.com/gpu\": 0}}")), "go; trainer:PADDLE_INIT_USE_GPU=0" },
};

static const Case life[] = {
        { "creating", TOLERANT,
          "go; members=master; status.phase=creating; status.reason=; status.scale_status={};"
          "log=status TrainingJob j, create ReplicaSet j-master, status TrainingJob j" },
        { "order", TOLERANT,
          "go; ready master 0; go; members=master; ready master 1; go; members=master pserver;"
          "status.phase=creating; ready pserver 1; go; members=master pserver trainer; "
          "status.phase=running" },
        { "order-of-all", "{" TRAINER(1, 1) ", " PSERVER(2) "}",
          "go; ready pserver 1; go; members=pserver; ready pserver 2; go; members=pserver trainer" },
        { "71-tolerant", TOLERANT,
          UP_TOLERANT "trainers 1 1 0; go; status.phase=running; trainers 0 1 0; go; status.phase=succeeded;"
                      "status.reason=Success!; members=trainer" },
        { "71-plain", PLAIN,
          UP "trainers 1 0 1; go; status.phase=failed; status.reason=at least one trainer failed!;"
             "members=trainer; trainer.spec.parallelism=0; warning=Failed: at least one trainer failed!" },
        { "tolerant-failed", TOLERANT,
          UP_TOLERANT "trainers 2 0 1; go; status.phase=running; trainers 2 0 2; go; status.phase=failed;"
                      "status.reason=all trainer have failed!; members=trainer; trainer.spec.parallelism=0" },
        { "tolerant-more-failed", TOLERANT, UP_TOLERANT "trainers 2 0 3; go; status.phase=failed" },
        { "tolerant-scaled", ELASTIC,
          UP_TOLERANT
          "set trainer {\"spec\": {\"parallelism\": 4}}; trainers 4 0 3; go; status.phase=running;"
          "trainer.spec.parallelism=4; trainers 4 0 4; go; status.phase=failed" },
        { "plain-succeeded", PLAIN,
          UP "trainers 1 1 0; go; status.phase=running; trainers 0 2 0; go; status.phase=succeeded;"
             "status.reason=all trainer have succeeded!; members=trainer; trainer.spec.parallelism=2" },
        { "plain-active", PLAIN, UP "trainers 1 2 0; go; status.phase=running" },
        { "final", PLAIN,
          UP "trainers 0 2 0; go; trainers 1 0 1; go; status.phase=succeeded; "
             "status.reason=all trainer have succeeded!; set job {\"spec\": {\"trainer\": {\"min-instance\": "
             "3}}}; go; status.phase=succeeded; log=" },
        { "released-in-two-steps", PLAIN,
          UP "trainers 0 2 0; go; log=status TrainingJob j, delete ReplicaSet j-pserver, status TrainingJob "
             "j" },
        { "steady", TOLERANT, UP_TOLERANT "go; log=" },
        { "65", "{" TRAINER(1, 2) ", " PSERVER(1) "}",
          "go; members=; status.phase=failed; status.reason=" FT_SENTENCE "; warning=Failed: " FT_SENTENCE },
        { "64", ELASTIC, UP_TOLERANT "status.phase=running" },
        { "no-trainer", BARE(PSERVER(1)),
          "go; members=; status.phase=failed; status.reason=~spec.trainer.min-instance is 0; "
          "status.reason=~1 to 10000" },
        { "too-many", "{" TRAINER(10001, 10001) "}", "go; status.phase=failed; status.reason=~10001" },
        { "max-below-min", "{" TRAINER(3, 2) "}",
          "go; status.phase=failed; status.reason=~max-instance is 2" },
        { "no-max", "{\"trainer\": {\"min-instance\": 2}}",
          "go; status.phase=running; trainer.spec.completions=2" },
        { "port", WITH("\"port\": 65535"), "go; status.phase=failed; status.reason=~spec.port is 65535" },
        { "port-last", WITH("\"port\": 65534"), "go; status.phase=creating" },
        { "ports", WITH("\"ports_num\": 5000"), "go; status.phase=failed; status.reason=~5000" },
        { "refused", TOLERANT,
          UP_TO_PSERVER "members=master pserver; ready pserver 1; refuse; go; status.phase=failed; "
                        "status.reason=refused by the server; members=" },
        { "refused-first", PLAIN, "refuse; go; status.phase=failed; members=" },
        { "deletion", TOLERANT,
          UP_TOLERANT
          "set job {\"metadata\": {\"deletionTimestamp\": \"2026-01-01T00:00:00Z\"}}; gone pserver;"
          "go; log=; members=master trainer" },
        { "made-again", TOLERANT,
          UP_TOLERANT "gone master; go; members=master pserver trainer; status.phase=running" },
        { "trainers-made-again", TOLERANT,
          UP_TOLERANT "gone trainer; go; members=master pserver trainer; status.phase=running" },
        { "rule-of-another", PLAIN,
          UP "set trainer {\"status\": {\"conditions\": [{\"type\": \"Failed\", \"status\": \"True\", "
             "\"message\": \"was too slow\"}]}}; go; status.phase=failed; status.reason=was too slow; "
             "trainer.spec.parallelism=2" },
        { "foreign", PLAIN,
          "foreign pserver; go; members=pserver; status.phase=creating; end=retry; "
          "warning=~belongs to somebody else; warning=~ReplicaSet j-pserver; gone pserver; go; "
          "pserver.kind=ReplicaSet; end=done" },
        { "predecessor", PLAIN, OWNED_PSERVER("paddlepaddle.org/v1") "go; warning=-; end=retry" },
        { "another-group", PLAIN,
          OWNED_PSERVER("kubeflow.org/v1") "go; warning=~belongs to somebody else; end=retry" },
        { "unknown-phase", PLAIN, "set job {\"status\": {\"phase\": \"x\"}}; go; status.phase=creating" },
        { "wrong-types",
          "{\"image\": 1, \"port\": \"x\", \"fault_tolerant\": \"no\", \"volumes\": {}, \"VolumeMounts\": 3, "
          "\"pserver\": [], \"master\": true, \"trainer\": {\"min-instance\": 1, \"resources\": 4, "
          "\"entrypoint\": {}}}",
          "go; members=trainer; trainer." FIRST ".image=paddlepaddle/paddlecloud-job; "
          "trainer:PADDLE_INIT_PORT=7164; trainer:ENTRY=" },
};

#define ROLE(type, state, counts)                                                                            \
        "{\"training_resource_type\": \"" type "\", \"state\": \"" state "\", \"resource_states\": " counts  \
        "}"

static const Case statuses[] = {
        { "new", TOLERANT,
          "go; status.replica_statuses[0]=" ROLE(
                  "MASTER", "starting", "{}") ";"
                                              "status.replica_statuses[1]=" ROLE(
                                                      "PSERVER", "",
                                                      "{}") ";"
                                                            "status.replica_statuses[2]=" ROLE(
                                                                    "TRAINER", "",
                                                                    "{}") "; status.replica_statuses[3]=-" },
        { "no-master", PLAIN,
          "go; status.replica_statuses[0].training_resource_type=PSERVER;"
          "status.replica_statuses[1].training_resource_type=TRAINER; status.replica_statuses[2]=-" },
        { "starting", PLAIN,
          "go; pods pserver Pending; go; status.replica_statuses[0]=" ROLE("PSERVER", "starting",
                                                                           "{\"starting\": 1}") },
        { "counts", TOLERANT,
          UP_TOLERANT "pods pserver Running -Running; pods trainer Running Failed Failed Succeeded Pending; "
                      "trainers 2 1 1; go;"
                      "status.replica_statuses[1]=" ROLE(
                              "PSERVER", "running",
                              "{\"running\": 1}") ";"
                                                  "status.replica_statuses[2]=" ROLE(
                                                          "TRAINER", "running",
                                                          "{\"starting\": 1, \"running\": 1, \"failed\": 2, "
                                                          "\"succeeded\": 1}") },
        { "trainers-starting", PLAIN,
          UP "pods trainer Pending Pending; go; status.replica_statuses[1]=" ROLE("TRAINER", "starting",
                                                                                  "{\"starting\": 2}") },
        { "end", PLAIN,
          UP
          "pods trainer Succeeded Succeeded; trainers 0 2 0; go;"
          "status.replica_statuses[0]=" ROLE("PSERVER", "",
                                             "{}") ";"
                                                   "status.replica_statuses[1]=" ROLE("TRAINER", "succeeded",
                                                                                      "{\"succeeded\": 2}") },
        { "end-failed", PLAIN,
          UP "pods trainer Failed Running; trainers 1 0 1; go; status.replica_statuses[1].state=failed" },
        { "unknown", PLAIN, UP "pods trainer Unknown; go; status.replica_statuses[1].resource_states={}" },
        { "others-fields", PLAIN,
          "set job {\"status\": {\"mine\": 1, \"scale_status\": {\"at\": 2}}}; go; status.mine=1; "
          "log=~status TrainingJob j" },
};

/* ---- stories ---- */

static json_t *parse(const char *text)
{
        json_error_t at;
        json_t *value = json_loads(text, JSON_DECODE_ANY, &at);

        if (!value)
                g_error("%s: %s", text, at.text);
        return value;
}

static void set_pods(TrainingWorld *world, const char *role, char **phases)
{
        json_t *pods = json_object_get(world->state, "pods");

        for (; *phases; phases++) {
                bool going = **phases == '-';
                json_t *pod = json_pack("{s:{s:s, s:[{s:s, s:b}]}, s:{s:s}}", "metadata", "namespace", "n",
                                        "ownerReferences", "uid", kube_uid(training_find(world, role)),
                                        "controller", 1, "status", "phase", *phases + going);

                if (going)
                        json_object_set_new(json_object_get(pod, "metadata"), "deletionTimestamp",
                                            json_string("2026-01-01T00:00:00Z"));
                json_array_append_new(pods, pod);
        }
}

static char *members_of(const TrainingWorld *world)
{
        GString *names = g_string_new(NULL);

        for (TrainingRole role = TRAINING_MASTER; role < TRAINING_ROLES; role++)
                if (training_find(world, training_role_name(role)))
                        g_string_append_printf(names, "%s%s", names->len ? " " : "",
                                               training_role_name(role));
        return g_string_free(names, FALSE);
}

/* A value, or the path of a field. */
static char *show_env(const json_t *object, const char *name)
{
        const json_t *env = kube_get(object, FIRST ".env"), *item;
        size_t i;

        json_array_foreach(env, i, item) {
                const char *field = kube_get_text(item, "valueFrom.fieldRef.fieldPath");

                if (strcmp(kube_get_text(item, "name"), name) == 0)
                        return g_strdup(field ? field : kube_get_text(item, "value"));
        }
        return g_strdup("-");
}

static char *shown(const TrainingWorld *world, const char *path)
{
        static const char *const ends[] = { "done", "park", "retry", "again" };
        const char *dot = strchr(path, '.'), *colon = strchr(path, ':');
        g_autofree char *full = NULL;

        if (strcmp(path, "members") == 0)
                return members_of(world);
        if (strcmp(path, "log") == 0)
                return g_strdup(world->log->str);
        if (strcmp(path, "warning") == 0)
                return g_strdup(world->warning ? world->warning : "-");
        if (strcmp(path, "end") == 0)
                return g_strdup(ends[world->end]);
        if (colon && !dot) {
                full = g_strndup(path, (gsize)(colon - path));
                return show_env(training_find(world, full), colon + 1);
        }
        full = g_strconcat(g_str_has_prefix(path, "status.") ? "job." : "", path, NULL);
        return tree_show(kube_get(world->state, full));
}

static void expect(const TrainingWorld *world, const char *text)
{
        g_autofree char *path = tree_expected_path(text), *value = shown(world, path);

        if (tree_expect(text, value))
                return;
        g_test_message("log: %s", world->log->str);
        g_test_fail();
}

static void make_foreign(TrainingWorld *world, const char *role)
{
        g_autofree char *name = g_strconcat("j-", role, NULL);

        json_object_set_new(world->state, role, podspec_object(&kube_services, "n", name, NULL));
}

static void change(TrainingWorld *world, const char *what, const char *text)
{
        g_autoptr(json_t) patch = parse(text);

        tree_merge(training_find(world, what), patch);
}

static int number(const char *text)
{
        return (int)g_ascii_strtoll(text, NULL, 10);
}

static void tell(TrainingWorld *world, const char *text)
{
        g_auto(GStrv) words = g_strsplit(text, " ", -1);
        guint n = g_strv_length(words);
        const char *verb = words[0];

        if (strcmp(verb, "go") == 0)
                training_settle(world);
        else if (strcmp(verb, "refuse") == 0)
                world->refuses = true;
        else if (strcmp(verb, "ready") == 0 && n == 3)
                training_ready(world, words[1], number(words[2]));
        else if (strcmp(verb, "trainers") == 0 && n == 4)
                training_count(world, number(words[1]), number(words[2]), number(words[3]));
        else if (strcmp(verb, "pods") == 0)
                set_pods(world, words[1], words + 2);
        else if (strcmp(verb, "set") == 0)
                change(world, words[1], text + strlen("set  ") + strlen(words[1]));
        else if (strcmp(verb, "gone") == 0)
                g_assert_cmpint(json_object_del(world->state, words[1]), ==, 0);
        else if (strcmp(verb, "foreign") == 0)
                make_foreign(world, words[1]);
        else
                expect(world, text);
}

static void run_case(gconstpointer data)
{
        const Case *test = data;
        g_autoptr(TrainingWorld) world = training_world_new(test->spec);
        g_auto(GStrv) parts = g_strsplit(test->story, ";", -1);

        for (char **part = parts; *part; part++)
                if (*g_strstrip(*part))
                        tell(world, *part);
        training_settle(world);
        g_assert_cmpuint(world->writes, ==, 0);
}

static void add(const char *folder, const Case *cases, gsize count)
{
        for (gsize i = 0; i < count; i++) {
                g_autofree char *path = g_strdup_printf("/operator/training/%s/%s", folder, cases[i].id);

                g_test_add_data_func(path, &cases[i], run_case);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        add("objects", objects, G_N_ELEMENTS(objects));
        add("environment", environment, G_N_ELEMENTS(environment));
        add("life", life, G_N_ELEMENTS(life));
        add("status", statuses, G_N_ELEMENTS(statuses));
        return g_test_run();
}
