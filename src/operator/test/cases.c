/* The cases of doc/reference/paddle-operator.md, "Conformance cases", that need no server, by their ids, and
 * a test for each defect of the older operator (D1..D19). */
#include "operator/test/world.h"

#include <string.h>

#include "base/err.h"

#define POD "{\"spec\": {\"containers\": [{\"name\": \"c\", \"image\": \"i\"}]}}"
#define WORKERS(n) "{\"worker\": {\"replicas\": " #n ", \"template\": " POD "}}"
#define PS(p, w)                                                                                             \
        "{\"ps\": {\"replicas\": " #p ", \"template\": " POD "}, \"worker\": {\"replicas\": " #w             \
        ", \"template\": " POD "}}"
#define WITH(member, n) "{" member ", \"worker\": {\"replicas\": " #n ", \"template\": " POD "}}"
#define PS_WITH(member)                                                                                      \
        "{" member ", \"ps\": {\"replicas\": 2, \"template\": " POD "}, \"worker\": {\"replicas\": 2, "      \
        "\"template\": " POD "}}"
#define BY_WORKERS(clean) PS_WITH("\"successPolicy\": \"AllWorkers\", \"cleanPodPolicy\": \"" clean "\"")
#define TEMPLATE(text) "{\"worker\": {\"replicas\": 1, \"template\": {\"spec\": " text "}}}"
#define SPEC(text) "spec {\"spec\": " text "};"

typedef struct {
        const char *id, *spec, *story;
} Case;

static const Case creation[] = {
        { "B1", WORKERS(2),
          "go; pods=j-worker-0 j-worker-1; services=j-worker-0 j-worker-1; map=-; job.status.phase=Pending;"
          "job.status.mode=Collective; job.status.worker.pending=2" },
        { "B2", PS(2, 2),
          "go; pods=j-ps-0 j-ps-1 j-worker-0 j-worker-1; services=j-ps-0 j-ps-1 j-worker-0 j-worker-1;"
          "job.status.mode=PS" },
        { "B3", WORKERS(2),
          "go; pod:worker-1.spec.containers[0].env=[{\"name\": \"POD_IP\", \"valueFrom\": {\"fieldRef\": "
          "{\"fieldPath\": \"status.podIP\"}}}, {\"name\": \"PADDLE_TRAINER_ID\", \"value\": \"1\"}, "
          "{\"name\": "
          "\"TRAINING_ROLE\", \"value\": \"TRAINER\"}, {\"name\": \"PADDLE_TRAINING_ROLE\", \"value\": "
          "\"TRAINER\"}];"
          "pod:worker-0.spec.containers[0].env[1].value=0;"
          "pod:worker-0.spec.containers[0].envFrom=[{\"configMapRef\": {\"name\": \"j\"}}]" },
        { "B4", PS(2, 1),
          "go; pod:ps-1.spec.containers[0].env[2].value=PSERVER; "
          "pod:ps-1.spec.containers[0].env[3].value=PSERVER;"
          "pod:ps-1.spec.containers[0].env[1].value=1" },
        { "B5", WORKERS(1),
          "go; pod:worker-0.metadata.ownerReferences=[{\"apiVersion\": \"batch.paddlepaddle.org/v1\", "
          "\"kind\": "
          "\"PaddleJob\", \"name\": \"j\", \"uid\": \"11111111-2222\", \"controller\": true, "
          "\"blockOwnerDeletion\": true}];"
          "pod:worker-0.metadata.labels={\"paddle-res-name\": \"j-worker-0\", \"paddle-res-type\": "
          "\"worker\"};"
          "pod:worker-0.metadata.annotations={\"paddle-resource\": \"worker\"}" },
        { "B6", WORKERS(1),
          "go; pod:worker-0.spec.hostname=j-worker-0; pod:worker-0.spec.subdomain=j-worker-0" },
        { "B7", WORKERS(1),
          "go; service:worker-0.spec.clusterIP=None; service:worker-0.spec.publishNotReadyAddresses=true;"
          "service:worker-0.spec.selector={\"paddle-res-name\": \"j-worker-0\"};"
          "service:worker-0.spec.ports[0]={\"name\": \"p-0\", \"port\": 36000, \"targetPort\": 36000, "
          "\"protocol\": \"TCP\"};"
          "service:worker-0.spec.ports[19]={\"name\": \"p-19\", \"port\": 36019, \"targetPort\": 36019, "
          "\"protocol\": \"TCP\"}; service:worker-0.spec.ports[20]=-" },
        { "B8",
          TEMPLATE("{\"containers\": [{\"name\": \"c\", \"env\": [{\"name\": \"A\", \"value\": \"1\"}, "
                   "{\"name\": \"TRAINING_ROLE\", \"value\": \"X\"}]}]}"),
          "go; pod:worker-0.spec.containers[0].env[0].name=A; pod:worker-0.spec.containers[0].env[1].value=X;"
          "pod:worker-0.spec.containers[0].env[2].name=POD_IP; "
          "pod:worker-0.spec.containers[0].env[4].name=TRAINING_ROLE" },
        { "B9", PS(2, 1),
          "go; pod:ps-0.spec.initContainers[0].name=coord-paddle; pod:ps-0.spec.initContainers[1]=-;"
          "pod:ps-0.spec.initContainers[0].image=docker.io/library/alpine:3.10;"
          "pod:ps-0.spec.initContainers[0].imagePullPolicy=IfNotPresent;"
          "pod:ps-0.spec.initContainers[0].resources={\"requests\": {\"cpu\": \"10m\", \"memory\": "
          "\"10m\"}}" },
        { "B9-last",
          TEMPLATE("{\"containers\": [{\"name\": \"c\"}], \"initContainers\": [{\"name\": \"mine\"}]}"),
          "go; pod:worker-0.spec.initContainers[0].name=mine; "
          "pod:worker-0.spec.initContainers[1].name=coord-paddle" },
        { "B10",
          TEMPLATE("{\"containers\": [{\"name\": \"c\"}], \"initContainers\": [{\"name\": \"mine\"}]}"),
          "rules bare; go; pod:worker-0.spec.initContainers=[{\"name\": \"mine\"}]" },
        { "B11", WORKERS(1), "go; all coord; go; job.status.mode=Single; map.data.PADDLE_TRAINERS_NUM=1" },
        { "B12", "{\"ps\": {\"replicas\": 1, \"template\": " POD "}}",
          "go; all coord; go; job.status.mode=PS; map.data.PADDLE_PSERVERS_IP_PORT_LIST=~10.0.0.0:;"
          "map.data.PADDLE_TRAINERS=-; map.data.PADDLE_TRAINERS_NUM=-; map.data.PADDLE_TRAINER_ENDPOINTS=-" },
        { "B13",
          TEMPLATE("{\"containers\": [{\"name\": \"c\", \"resources\": {\"limits\": {\"nvidia.com/gpu\": "
                   "1}}, \"volumeMounts\": [{\"name\": \"d\", \"mountPath\": \"/dev/shm\"}]}], \"volumes\": "
                   "[{\"name\": \"d\", \"emptyDir\": {\"medium\": \"Memory\"}}], \"newer\": {\"x\": 1}}"),
          "go; pod:worker-0.spec.volumes=[{\"name\": \"d\", \"emptyDir\": {\"medium\": \"Memory\"}}];"
          "pod:worker-0.spec.containers[0].resources.limits={\"nvidia.com/gpu\": 1};"
          "pod:worker-0.spec.containers[0].volumeMounts[0].mountPath=/dev/shm; pod:worker-0.spec.newer.x=1" },
        { "B14", WORKERS(1), "go; job.metadata.finalizers=[\"finalizers.paddlepaddle.org\"]" },
        { "B14-beside", WORKERS(1),
          "spec {\"metadata\": {\"finalizers\": [\"a/b\"]}}; go; "
          "job.metadata.finalizers=[\"a/b\", \"finalizers.paddlepaddle.org\"]" },
        { "B18", WORKERS(1),
          "spec {\"metadata\": {\"name\": "
          "\"j23456789012345678901234567890123456789012345678901234567890\"}}; go;"
          "pods=; services=; job.status.phase=Pending; warnings=2; warning=~is the most; end=park" },
        { "B18-dot", WORKERS(1),
          "spec {\"metadata\": {\"name\": \"j.1\"}}; go; pods=; job.status.phase=Pending; end=park" },
        { "B18-digit", WORKERS(1),
          "spec {\"metadata\": {\"name\": \"1j\"}}; go; pods=; services=; end=park; warning=~begin with a "
          "letter" },
        { "A6",
          "{\"worker\": {\"replicas\": 1, \"template\": {\"metadata\": {\"name\": \"x\", \"labels\": {\"l\": "
          "\"1\", \"paddle-res-type\": \"mine\"}, \"annotations\": {\"a\": \"2\"}}, \"spec\": "
          "{\"containers\": [{\"name\": \"c\"}]}}}}",
          "go; pod:worker-0.metadata.labels={\"l\": \"1\", \"paddle-res-name\": \"j-worker-0\", "
          "\"paddle-res-type\": \"worker\"}; pod:worker-0.metadata.annotations={\"a\": \"2\", "
          "\"paddle-resource\": \"worker\"}; pod:worker-0.metadata.name=j-worker-0" },
        { "order", PS(1, 1),
          "go; log=patch PaddleJob j, status PaddleJob j, create Pod j-ps-0, create Service j-ps-0, create "
          "Pod "
          "j-worker-0, create Service j-worker-0, status PaddleJob j" },
        { "D8",
          "{\"heter\": {\"replicas\": 1, \"template\": " POD "}, \"worker\": {\"replicas\": 1, "
          "\"template\": " POD "}}",
          "go; pod:heter-0.spec.containers[0].env[2].value=HETER; all coord; go; "
          "map.data.PADDLE_HETER_ENDPOINTS=~10.0.2.0:" },
        { "D8-trainer",
          "{\"heter\": {\"replicas\": 1, \"template\": " POD "}, \"worker\": {\"replicas\": 1, "
          "\"template\": " POD "}}",
          "spec {\"metadata\": {\"annotations\": {\"paddle-heter-protocol\": \"trainer\"}}}; go; "
          "pod:heter-0.spec.containers[0].env[2].value=HETER_TRAINER; all coord; go; "
          "map.data.PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST=~10.0.2.0:" },
        { 0 },
};

static const Case config_map[] = {
        { "C1", WORKERS(2),
          "go; spec {\"metadata\": {\"uid\": \"11111111-2222\"}}; all coord; go;"
          "map.data.TRAINER_PORTS_NUM=20; map.data.PADDLE_TRAINERS=10.0.1.0,10.0.1.1; "
          "map.data.PADDLE_TRAINERS_NUM=2; map.data.PADDLE_TRAINER_ENDPOINTS=~10.0.1.0:; "
          "map.metadata.labels={\"paddle-res-name\": \"j\"}; map.data.PADDLE_PSERVERS_IP_PORT_LIST=-; "
          "map.data.PADDLE_HETER_ENDPOINTS=-; map.metadata.name=j" },
        { "C3", WORKERS(2),
          "go; pod worker-0 coord; go; map=-; pod worker-1 coord; go; map.metadata.name=j" },
        { "C4", WORKERS(2),
          "go; pod worker-1 coord; go; pod worker-0 coord; go; map.data.PADDLE_TRAINERS=10.0.1.0,10.0.1.1" },
        { "C5", PS_WITH("\"intranet\": \"Service\", \"withGloo\": 1"),
          "go; all coord; go; map.data.PADDLE_PSERVERS_IP_PORT_LIST=j-ps-0:36000,j-ps-1:36000; "
          "map.data.PADDLE_TRAINERS=j-worker-0,j-worker-1; map.data.PADDLE_GLOO_HTTP_ENDPOINT=j-ps-0:36018; "
          "map.data.PADDLE_TRAINER_ENDPOINTS=j-worker-0:36000,j-worker-1:36000" },
        { "C6 D6", PS_WITH("\"intranet\": \"Service\""), "go; all coord; go; map.data.PADDLE_PORT=36000" },
        { "C8", WITH("\"withGloo\": 1", 2), "go; all coord; go; map.data.PADDLE_WITH_GLOO=-" },
        { "C9", PS_WITH("\"withGloo\": 0"),
          "go; all coord; go; map.data.PADDLE_WITH_GLOO=-; map.data.PADDLE_GLOO_RENDEZVOUS=-" },
        { "C10", WORKERS(1), "go; all running; go; lost map; map=-; go; map.data.PADDLE_TRAINERS=10.0.1.0" },
        { "D5-scale", WORKERS(1),
          "go; all running; go; map.data.PADDLE_TRAINERS_NUM=1; " SPEC(
                  "{\"worker\": {\"replicas\": 2}}") "go; pod worker-1 running; go; "
                                                     "map.data.PADDLE_TRAINERS_NUM=2; "
                                                     "map.data.PADDLE_TRAINERS=10.0.1.0,10.0.1.1" },
        { "D5-compat", WORKERS(1),
          "rules compat; go; all running; go; " SPEC(
                  "{\"worker\": {\"replicas\": 2}}") "go; pod worker-1 running; go; "
                                                     "map.data.PADDLE_TRAINERS_NUM=1" },
        { "C12", "{\"heter\": {\"replicas\": 2, \"template\": " POD "}}",
          "go; all coord; go; job.status.mode=Single; map.data.PADDLE_HETER_ENDPOINTS=~10.0.2.1:" },
        { "D12", WITH("\"intranet\": \"Host\"", 1),
          "port 35020; go; job.metadata.annotations.host-port=35020; all coord; go; "
          "map.data.PADDLE_PORT=35020;"
          "port 35060; go; writes=0; lost map; go; map.data.PADDLE_PORT=35020" },
        { "D15-map", WORKERS(1),
          "go; foreign ConfigMap j; all coord; go; map.data=-; warning=~ConfigMap j; end=retry" },
        { 0 },
};

static const Case network[] = {
        { "N1", WITH("\"intranet\": \"Service\"", 1),
          "go; pod:worker-0.spec.containers[0].env[0]={\"name\": \"POD_IP\", \"value\": \"j-worker-0\"};"
          "pod:worker-0.spec.containers[0].ports=[{\"containerPort\": 36000}]" },
        { "N2", WITH("\"intranet\": \"Host\"", 1),
          "go; pod:worker-0.spec.hostNetwork=true; pod:worker-0.spec.restartPolicy=Never;"
          "pod:worker-0.spec.containers[0].env[0].valueFrom.fieldRef.fieldPath=status.podIP; "
          "pod:worker-0.spec.containers[0].ports=-" },
        { "N3", WITH("\"intranet\": \"Host\"", 1),
          "go; pod:worker-0.spec.dnsPolicy=ClusterFirstWithHostNet" },
        { "N3-said",
          "{\"intranet\": \"Host\", \"worker\": {\"replicas\": 1, \"template\": {\"spec\": "
          "{\"dnsPolicy\": \"Default\", \"containers\": [{\"name\": \"c\"}]}}}}",
          "go; pod:worker-0.spec.dnsPolicy=Default" },
        { "N4", WITH("\"intranet\": \"bogus\"", 1),
          "go; pod:worker-0.spec.containers[0].env[0].valueFrom.fieldRef.fieldPath=status.podIP; "
          "pod:worker-0.spec.hostNetwork=-; pod:worker-0.spec.dnsPolicy=-" },
        { "N5", PS(1, 1), "go; pod:worker-0.spec.restartPolicy=Never; pod:ps-0.spec.restartPolicy=Never" },
        { "N6", PS_WITH("\"intranet\": \"Service\""),
          "go; pod:worker-0.spec.restartPolicy=OnFailure; pod:ps-0.spec.restartPolicy=Never" },
        { "N7", TEMPLATE("{\"restartPolicy\": \"Always\", \"containers\": [{\"name\": \"c\"}]}"),
          "go; pod:worker-0.spec.restartPolicy=Always" },
        { "N8",
          "{\"elastic\": 1, \"worker\": {\"replicas\": 1, \"template\": {\"spec\": {\"restartPolicy\": "
          "\"Never\", \"containers\": [{\"name\": \"c\"}]}}}}",
          "go; pod:worker-0.spec.restartPolicy=OnFailure" },
        { 0 },
};

static const Case phases[] = {
        { "E1", WORKERS(2),
          "go; job.status.phase=Pending; job.status.worker.pending=2; job.status.startTime=-" },
        { "E2", WORKERS(2),
          "go; all coord; go; job.status.phase=Starting; job.status.worker.starting=2; "
          "job.status.worker.pending=-" },
        { "E3", WORKERS(2),
          "go; all running; go; job.status.phase=Running; job.status.worker.running=2; "
          "job.status.startTime=2023-11-14T22:13:20Z" },
        { "E4", WORKERS(2),
          "go; all running; go; later; pod worker-1 unready; go; job.status.phase=Starting; "
          "job.status.startTime=2023-11-14T22:13:20Z" },
        { "E5", WORKERS(2),
          "go; all running; go; pod worker-1 unready; go; later; pod worker-1 running; go; "
          "job.status.phase=Running; job.status.startTime=2023-11-14T22:13:20Z" },
        { "E6", WORKERS(2),
          "go; all running; go; pod worker-1 succeeded; go; job.status.phase=Running; "
          "job.status.worker.succeeded=1; job.status.worker.running=1" },
        { "E7", WITH("\"cleanPodPolicy\": \"Never\"", 2),
          "go; all running; go; later; all succeeded; go; job.status.phase=Completed; "
          "job.status.completionTime=2023-11-14T22:14:20Z; pods=j-worker-0 j-worker-1; "
          "job.status.worker.refs[1].name=j-worker-1" },
        { "E8", PS(1, 1), "go; all running; go; pod worker-0 succeeded; go; job.status.phase=Running" },
        { "workers-decide", BY_WORKERS("OnCompletion"),
          "go; all running; go; pod worker-0 succeeded; go; job.status.phase=Running; pod worker-1 "
          "succeeded; "
          "go; job.status.phase=Completed; pods=; services=" },
        { "workers-decide-and-ps-stays", BY_WORKERS("Never"),
          "go; all running; go; pod worker-0 succeeded; pod worker-1 succeeded; go; "
          "job.status.phase=Completed; job.status.ps.running=2" },
        { "workers-decide-but-ps-fails", BY_WORKERS("Never"),
          "go; all running; go; pod ps-0 failed; pod worker-0 succeeded; pod worker-1 succeeded; go; "
          "job.status.phase=Failed" },
        { "E9", WORKERS(2),
          "go; all running; go; pod worker-0 failed; go; job.status.phase=Failed; "
          "job.status.completionTime=2023-11-14T22:13:20Z; job.status.worker.failed=1" },
        { "E10", PS(1, 1), "go; pod ps-0 coord; go; job.status.phase=Starting" },
        { "E11", PS(1, 1), "go; pod ps-0 coord; pod worker-0 failed; go; job.status.phase=Failed" },
        { "node-gone", PS(1, 1), /* its pod fails before it is deleted, and comes anew */
          "go; all running; go; pod ps-0 orphaned; go; job.status.phase=Running; job.status.ps.failed=-; "
          "gone ps-0; go; pods=j-worker-0 j-ps-0; job.status.phase=Pending; all running; go; "
          "job.status.phase=Running" },
        { "node-full", WORKERS(2), /* its kubelet ended the pod, and nobody deletes it */
          "go; all running; go; pod worker-0 evicted; go; job.status.phase=Failed" },
        { "E12 D10", PS(0, 1),
          "go; all running; go; job.status.phase=Running; map.data.PADDLE_TRAINERS=10.0.1.0; "
          "map.data.PADDLE_PSERVERS_IP_PORT_LIST=; all succeeded; go; job.status.phase=Completed" },
        { "E13", "{}", "go; job.status.phase=Pending; end=park; warning=~none of the roles; writes=2" },
        { "E14", PS(0, 1), "go; job.status.ps=-; job.status.worker.pending=1; job.status.worker.failed=-" },
        { "E15", WORKERS(1),
          "go; job.status.worker.refs[0].kind=Pod; job.status.worker.refs[0].apiVersion=v1; "
          "job.status.worker.refs[0].name=j-worker-0; job.status.worker.refs[0].namespace=n; "
          "job.status.worker.refs[0].uid=~uid-j-worker-0; job.status.worker.refs[0].fieldPath=-; "
          "job.status.worker.refs[1]=-" },
        { "E16", WORKERS(2),
          "go; all running; go; pod worker-1 unknown; go; job.status.phase=Running; "
          "job.status.worker.running=1; "
          "job.status.worker.refs[1].name=j-worker-1; job.status.worker.unknown=-" },
        { "E17 D19", WORKERS(2), "go; all running; go; later; go; writes=0" },
        { "E17-ref", WORKERS(1), "go; all running; go; pod worker-0 running; go; writes=0" },
        { "no-status", WORKERS(1), /* a pod that runs and reports no container counts as running */
          "go; pod worker-0 running; spec {\"x\": 1}; go; job.status.phase=Running" },
        { "unknown-word", WORKERS(1),
          "spec {\"status\": {\"phase\": \"Succeed\", \"elastic\": \"DONE\"}}; go; "
          "job.status.phase=Pending; job.status.elastic=DONE" },
        { "going", WORKERS(2), /* a kubelet lets a pod fail that is being deleted */
          "go; all running; go; pod worker-1 failed; going worker-1; go; job.status.phase=Running; gone "
          "worker-1; "
          "go; job.status.phase=Pending; pods=j-worker-0 j-worker-1" },
        { 0 },
};

static const Case cleaning[] = {
        { "G1", WORKERS(2),
          "go; all running; go; all succeeded; go; pods=; services=; map.metadata.name=j; "
          "job.status.worker=-; "
          "job.status.phase=Completed; job.status.mode=Collective" },
        { "G1-order", WORKERS(1),
          "go; all running; go; all succeeded; go; log=status PaddleJob j, delete Pod j-worker-0, status "
          "PaddleJob "
          "j, delete Service j-worker-0" },
        { "G2", WORKERS(1),
          "go; all running; go; all failed; go; pods=j-worker-0; services=j-worker-0; writes=1" },
        { "G3", WITH("\"cleanPodPolicy\": \"OnCompletion\"", 1),
          "go; all running; go; all succeeded; go; pods=; services=" },
        { "G3-failed", WITH("\"cleanPodPolicy\": \"OnCompletion\"", 1),
          "go; all failed; go; pods=j-worker-0" },
        { "G3-OnFailure", WITH("\"cleanPodPolicy\": \"OnFailure\"", 1),
          "go; all failed; go; pods=; services=" },
        { "G3-OnFailure-completed", WITH("\"cleanPodPolicy\": \"OnFailure\"", 1),
          "go; all succeeded; go; pods=j-worker-0" },
        { "G4", WITH("\"cleanPodPolicy\": \"Never\"", 1), "go; all succeeded; go; pods=j-worker-0" },
        { "G4-failed", WITH("\"cleanPodPolicy\": \"Never\"", 1), "go; all failed; go; pods=j-worker-0" },
        { "A3", WITH("\"cleanPodPolicy\": \"OnFailed\"", 1),
          "go; all succeeded; go; pods=j-worker-0; job.status.phase=Completed" },
        { "A3-failed", WITH("\"cleanPodPolicy\": \"OnFailed\"", 1), "go; all failed; go; pods=j-worker-0" },
        { "G5", WITH("\"cleanPodPolicy\": \"Always\"", 2),
          "go; all running; go; pod worker-1 failed; go; pods=; services=; job.status.phase=Failed" },
        { "G6 D9", WITH("\"cleanPodPolicy\": \"Never\"", 1),
          "go; all succeeded; go; gone worker-0; go; pods=; job.status.phase=Completed; "
          "job.status.worker=-" },
        { "D9-replicas", WITH("\"cleanPodPolicy\": \"Never\"", 1),
          "go; all succeeded; go; " SPEC("{\"worker\": {\"replicas\": 3}}") "go; pods=j-worker-0; "
                                                                            "job.status.phase=Completed" },
        { "G7", WORKERS(2),
          "go; all running; go; gone worker-0; go; pods=j-worker-1 j-worker-0; "
          "pod:worker-0.spec.containers[0].env[1].value=0" },
        { "G8", WORKERS(1),
          "go; spec {\"metadata\": {\"finalizers\": [\"x/y\", \"finalizers.paddlepaddle.org\"], "
          "\"deletionTimestamp\": \"2026-01-01T00:00:00Z\"}}; go; job.status.phase=Terminating; "
          "job.metadata.finalizers=[\"x/y\"]; pods=j-worker-0; gone worker-0; go; pods=; writes=0" },
        { "G9", WORKERS(2),
          "go; all running; go; " SPEC(
                  "{\"worker\": {\"replicas\": 3}}") "go; pods=j-worker-0 j-worker-1 j-worker-2; "
                                                     "services=j-worker-0 j-worker-1 j-worker-2; "
                                                     "job.status.phase=Pending; pod worker-2 running; go; "
                                                     "job.status.phase=Running" },
        { "G10 D13", WORKERS(3),
          "go; all running; go; " SPEC(
                  "{\"worker\": {\"replicas\": 2}}") "go; pods=j-worker-0 j-worker-1; services=j-worker-0 "
                                                     "j-worker-1; job.status.phase=Running" },
        { "G10-failed", WORKERS(2), /* what is no longer asked for cannot fail the job */
          "go; all running; go; pod worker-1 failed; " SPEC(
                  "{\"worker\": {\"replicas\": 1}}") "go; pods=j-worker-0; job.status.phase=Running" },
        { "D13-compat", WORKERS(2),
          "rules compat; go; all running; go; " SPEC(
                  "{\"worker\": {\"replicas\": 1}}") "go; pods=j-worker-0; services=j-worker-0 j-worker-1" },
        { "G11", WORKERS(2),
          "spec {\"metadata\": {\"finalizers\": [\"finalizers.paddlepaddle.org\"], \"deletionTimestamp\": "
          "\"2026-01-01T00:00:00Z\"}}; go; pods=; services=; job.status.phase=Terminating; "
          "job.metadata.finalizers=[]" },
        { 0 },
};

/* What neighbours have and the older operator had not (doc/guide/operator.md, "More than the older operator
 * knows"): off unless said. */
static const Case additions[] = {
        { "ttl", WITH("\"ttlSecondsAfterFinished\": 90, \"cleanPodPolicy\": \"Never\"", 1),
          "go; again=0; all running; go; again=0; all succeeded; go; pods=j-worker-0; again=90000; later; "
          "go; writes=0; "
          "again=30000; later; go; log=delete PaddleJob j, status PaddleJob j, patch PaddleJob j; "
          "job.status.phase=Terminating; job.metadata.finalizers=[]" },
        { "ttl-failed", WITH("\"ttlSecondsAfterFinished\": 0", 1),
          "go; all failed; go; log=~delete PaddleJob j" },
        { "ttl-not-said", WORKERS(1), "go; all failed; go; later; go; writes=0; again=0" },
        { "deadline", WITH("\"activeDeadlineSeconds\": 100", 2),
          "go; later; later; go; job.status.phase=Pending; all running; go; again=100000; later; go; "
          "again=40000; "
          "writes=0; pod worker-1 succeeded; later; go; job.status.phase=Failed; warnings=1; "
          "warning=~100 s; pods=j-worker-1; services=j-worker-1; "
          "job.status.completionTime=2023-11-14T22:17:20Z" },
        { "deadline-not-reached", WITH("\"activeDeadlineSeconds\": 100", 2),
          "go; all running; go; pod worker-1 failed; go; job.status.phase=Failed; warnings=0; later; later; "
          "go; "
          "pods=j-worker-0 j-worker-1" },
        { "deadline-and-done", WITH("\"activeDeadlineSeconds\": 60, \"cleanPodPolicy\": \"Never\"", 1),
          "go; all running; go; later; all succeeded; go; job.status.phase=Completed; warnings=0" },
        { "deadline-and-workers-done",
          PS_WITH("\"successPolicy\": \"AllWorkers\", \"activeDeadlineSeconds\": 60, "
                  "\"cleanPodPolicy\": \"Never\""),
          "go; all running; go; later; pod worker-0 succeeded; pod worker-1 succeeded; go; "
          "job.status.phase=Completed; warnings=0" },
        { "deadline-and-ps-failed",
          PS_WITH("\"successPolicy\": \"AllWorkers\", \"activeDeadlineSeconds\": 60"),
          "go; all running; go; later; pod ps-0 failed; pod worker-0 succeeded; pod worker-1 succeeded; go; "
          "job.status.phase=Failed" },
        { "suspend", WORKERS(2),
          "go; all running; go; job.status.startTime=2023-11-14T22:13:20Z; " SPEC(
                  "{\"suspend\": true}") "go; pods=; services=; job.status.phase=Pending; "
                                         "job.status.startTime=-; later; go; writes=0; " SPEC("{\"suspend\": "
                                                                                              "false}") "go; "
                                                                                                        "pods"
                                                                                                        "=j-"
                                                                                                        "work"
                                                                                                        "er-"
                                                                                                        "0 "
                                                                                                        "j-"
                                                                                                        "work"
                                                                                                        "er-"
                                                                                                        "1; "
                                                                                                        "serv"
                                                                                                        "ices"
                                                                                                        "=j-"
                                                                                                        "work"
                                                                                                        "er-"
                                                                                                        "0 "
                                                                                                        "j-"
                                                                                                        "work"
                                                                                                        "er-"
                                                                                                        "1; "
                                                                                                        "all "
                                                                                                        "runn"
                                                                                                        "ing;"
                                                                                                        " go;"
                                                                                                        " job"
                                                                                                        ".sta"
                                                                                                        "tus."
                                                                                                        "phas"
                                                                                                        "e="
                                                                                                        "Runn"
                                                                                                        "ing;"
                                                                                                        " job"
                                                                                                        ".sta"
                                                                                                        "tus."
                                                                                                        "star"
                                                                                                        "tTim"
                                                                                                        "e="
                                                                                                        "2023"
                                                                                                        "-11-"
                                                                                                        "14T2"
                                                                                                        "2:"
                                                                                                        "14:"
                                                                                                        "20"
                                                                                                        "Z" },
        { "suspend-first", WITH("\"suspend\": true", 1),
          "go; pods=; services=; job.status.phase=Pending; warnings=0" },
        { "suspend-group", WORKERS(1),
          "rules volcano; go; group Inqueue; go; pods=j-worker-0; " SPEC(
                  "{\"suspend\": true}") "go; pods=; group=-; go; writes=0" },
        { "suspend-ended", WITH("\"cleanPodPolicy\": \"Never\"", 1),
          "go; all running; go; all succeeded; go; " SPEC(
                  "{\"suspend\": true}") "go; pods=j-worker-0; job.status.phase=Completed; "
                                         "job.status.startTime=2023-11-14T22:13:20Z" },
        { "clean-All", WITH("\"cleanPodPolicy\": \"All\"", 2),
          "go; all running; go; pod worker-1 failed; go; pods=; services=" },
        { "clean-None", WITH("\"cleanPodPolicy\": \"None\"", 1), "go; all succeeded; go; pods=j-worker-0" },
        { "clean-Running", WITH("\"cleanPodPolicy\": \"Running\"", 3),
          "go; all running; go; pod worker-1 failed; pod worker-2 succeeded; go; pods=j-worker-1 j-worker-2; "
          "services=j-worker-1 j-worker-2; go; writes=0" },
        { 0 },
};

static const Case elastic[] = {
        { "H1", WITH("\"elastic\": 1", 3),
          "go; pod:worker-0.spec.containers[0].env[4]={\"name\": \"PADDLE_ELASTIC_JOB_ID\", \"value\": "
          "\"n-j\"}; "
          "pod:worker-0.spec.containers[0].env[5]={\"name\": \"PADDLE_ELASTIC_NP\", \"value\": \"3\"}; "
          "pod:worker-0.spec.containers[0].env[6]={\"name\": \"PADDLE_ELASTIC_TIMEOUT\", \"value\": \"60\"}; "
          "pod:worker-0.spec.containers[0].env[7]=-; pod:worker-0.spec.containers[0].envFrom=-; "
          "pod:worker-0.spec.restartPolicy=OnFailure" },
        { "H1-zero", WITH("\"elastic\": 0", 3),
          "go; pod:worker-0.spec.containers[0].env[5].value=3; pod:worker-0.spec.restartPolicy=OnFailure" },
        { "H2", WITH("\"elastic\": 1", 2),
          "rules etcd; go; pod:worker-1.spec.containers[0].env[7]={\"name\": \"PADDLE_ELASTIC_SERVER\", "
          "\"value\": \"http://e:2379\"}" },
        { "H3", WITH("\"elastic\": 1", 3),
          "rules etcd; go; np 3; go; writes=0; " SPEC(
                  "{\"worker\": {\"replicas\": 5}}") "go; np=5; log=~scale np /paddle/n-j/np; "
                                                     "pods=j-worker-0 j-worker-1 j-worker-2 j-worker-3 "
                                                     "j-worker-4" },
        { "H3-down", WITH("\"elastic\": 1", 3),
          "rules etcd; go; np 3; " SPEC(
                  "{\"worker\": {\"replicas\": 2}}") "go; np=2; log=~delete Pod j-worker-2; pods=j-worker-0 "
                                                     "j-worker-1" },
        { "H3-without-flag", WITH("\"elastic\": 1", 3), "np 2; go; np=2" },
        { "H4", WITH("\"elastic\": 1", 3),
          "rules etcd; go; " SPEC("{\"worker\": {\"replicas\": 5}}") "go; np=-" },
        { "elastic-range",
          "{\"elastic\": 1, \"worker\": {\"replicas\": 9, \"requests\": 1, \"limits\": 3, "
          "\"template\": " POD "}}",
          "go; pods=j-worker-0 j-worker-1 j-worker-2; pod:worker-0.spec.containers[0].env[5].value=1:3; all "
          "running; "
          "go; pod worker-2 failed; go; job.status.phase=Running; pod worker-1 failed; go; "
          "job.status.phase=Running; pod worker-0 failed; go; job.status.phase=Failed" },
        { "elastic-least", /* fewer than it needs are asked for; the gang is those */
          "{\"elastic\": 1, \"worker\": {\"replicas\": 1, \"requests\": 2, \"limits\": 3, \"template\": " POD
          "}}",
          "rules volcano; go; group.spec.minMember=2; group Inqueue; go; pods=j-worker-0 j-worker-1; "
          "pod:worker-0.spec.containers[0].env[5].value=2:3" },
        { "elastic-gang",
          "{\"elastic\": 1, \"worker\": {\"replicas\": 3, \"requests\": 1, \"limits\": 3, \"template\": " POD
          "}}",
          "rules volcano; go; group.spec.minMember=1; group Inqueue; go; pods=j-worker-0 j-worker-1 "
          "j-worker-2" },
        { "bounds-without-elastic",
          "{\"worker\": {\"replicas\": 3, \"requests\": 1, \"limits\": 2, \"template\": " POD "}}",
          "go; pods=j-worker-0 j-worker-1 j-worker-2" },
        { "elastic-completes",
          "{\"elastic\": 1, \"cleanPodPolicy\": \"Never\", \"worker\": {\"replicas\": 3, "
          "\"requests\": 1, \"limits\": 3, \"template\": " POD "}}",
          "go; all running; go; pod worker-2 failed; go; pod worker-1 succeeded; pod worker-0 succeeded; go; "
          "job.status.phase=Completed" },
        { "H5",
          "{\"schedulingPolicy\": {\"queue\": \"default\"}, \"ps\": {\"replicas\": 2, \"template\": "
          "{\"spec\": "
          "{\"containers\": [{\"name\": \"c\", \"resources\": {\"requests\": {\"cpu\": \"200m\"}}}]}}}, "
          "\"worker\": {\"replicas\": 2, \"template\": {\"spec\": {\"containers\": [{\"name\": \"c\", "
          "\"resources\": {\"requests\": {\"cpu\": \"300m\"}}}]}}}}",
          "rules volcano; go; pods=; group.metadata.name=j; group.spec={\"minMember\": 4, \"minResources\": "
          "{\"cpu\": \"1\"}, \"queue\": \"default\"}" },
        { "H6", WORKERS(1), "rules volcano; go; group Pending; go; pods=; writes=0" },
        { "H7", WITH("\"schedulingPolicy\": {\"queue\": \"q\"}", 1),
          "rules volcano; go; group Inqueue; go; pods=j-worker-0; pod:worker-0.spec.schedulerName=volcano; "
          "pod:worker-0.metadata.annotations={\"paddle-resource\": \"worker\", "
          "\"scheduling.k8s.io/group-name\": "
          "\"j\", \"volcano.sh/task-spec\": \"worker\", \"volcano.sh/job-name\": \"j\", "
          "\"volcano.sh/job-version\": "
          "\"0\", \"volcano.sh/queue-name\": \"q\"}" },
        { "H7-running", WORKERS(1), "rules volcano; go; group Running; go; pods=j-worker-0" },
        { "H8", WORKERS(1),
          "rules volcano; go; group Inqueue; go; "
          "pod:worker-0.metadata.annotations={\"paddle-resource\": \"worker\", "
          "\"scheduling.k8s.io/group-name\": "
          "\"j\", \"volcano.sh/task-spec\": \"worker\", \"volcano.sh/job-name\": \"j\", "
          "\"volcano.sh/job-version\": "
          "\"0\", \"volcano.sh/queue-name\": \"\"}; group.spec.queue=-; group.spec.minResources={}" },
        { "H9", TEMPLATE("{\"schedulerName\": \"default-scheduler\", \"containers\": [{\"name\": \"c\"}]}"),
          "rules volcano; go; group=-; pods=j-worker-0; pod:worker-0.spec.schedulerName=default-scheduler" },
        { "H10", WITH("\"cleanPodPolicy\": \"Never\"", 1),
          "rules volcano; go; group Inqueue; go; all running; go; all succeeded; go; group=-; "
          "pods=j-worker-0; "
          "log=~delete PodGroup j; go; writes=0" },
        { "H11", TEMPLATE("{\"schedulerName\": \"volcano\", \"containers\": [{\"name\": \"c\"}]}"),
          "go; group=-; pods=j-worker-0; pod:worker-0.spec.schedulerName=volcano; "
          "pod:worker-0.metadata.annotations={\"paddle-resource\": \"worker\"}" },
        { "H12",
          WITH("\"schedulingPolicy\": {\"minResources\": {\"memory\": \"1Gi\"}, \"minAvailable\": 1, "
               "\"priorityClass\": \"p\"}",
               2),
          "rules volcano; go; group.spec={\"minMember\": 1, \"minResources\": {\"memory\": \"1Gi\"}, "
          "\"priorityClassName\": \"p\"}" },
        { "gang-lost-member", WORKERS(2), /* Volcano waits for whoever makes the lost member again */
          "rules volcano; go; group Running; go; all running; go; group Unknown; gone worker-1; go; "
          "pods=j-worker-0 j-worker-1" },
        { "given-group", WORKERS(1), /* it waits for the group, and neither makes nor takes it */
          "rules volcano; spec {\"metadata\": {\"annotations\": {\"scheduling.k8s.io/group-name\": \"j\"}}}; "
          "go; group=-; pods=; foreign PodGroup j; go; pods=; warnings=0; group Inqueue; go; "
          "pods=j-worker-0; all running; go; all succeeded; go; job.status.phase=Completed; "
          "group.metadata.name=j" },
        { "given-to-another", WORKERS(1), /* by a name that is not its own */
          "rules volcano; spec {\"metadata\": {\"annotations\": {\"scheduling.k8s.io/group-name\": \"k\"}}}; "
          "go; group.metadata.name=j" },
        { "D15-group", WORKERS(1),
          "rules volcano; foreign PodGroup j; go; pods=; warning=~PodGroup j; end=retry" },
        { "volcano-no-quantity",
          TEMPLATE("{\"containers\": [{\"name\": \"c\", \"resources\": {\"requests\": "
                   "{\"cpu\": \"many\"}}}]}"),
          "rules volcano; go; group=-; pods=; end=park; warning=~'many'" },
        { 0 },
};

static const Case robustness[] = {
        { "I1 D1", TEMPLATE("{\"containers\": []}"),
          "go; pods=; end=park; job.status.phase=Pending; "
          "warning=create failed Pod j: spec.worker.template.spec.containers is empty" },
        { "I2 D2", "{\"elastic\": 1, \"ps\": {\"replicas\": 1, \"template\": " POD "}}",
          "go; pods=; end=park; warning=~spec.elastic needs spec.worker" },
        { "D3", PS(1, 1),
          "go; all running; go; " SPEC("{\"ps\": null}") "go; pods=j-worker-0; services=j-worker-0; "
                                                         "map.data.PADDLE_PSERVERS_IP_PORT_LIST=-; "
                                                         "job.status.ps=-; job.status.mode=Single" },
        { "I3 D4", "{\"worker\": {\"replicas\": 1}}",
          "go; pods=; end=park; job.metadata.finalizers=[\"finalizers.paddlepaddle.org\"]; "
          "warning=create failed Pod j: spec.worker.template is missing; go; writes=0" },
        { "I4", "{\"worker\": {\"replicas\": -1, \"template\": " POD "}}",
          "go; pods=; end=park; job.status.phase=Pending; warning=~-1" },
        { "I4-huge", "{\"worker\": {\"replicas\": 2000000000, \"template\": " POD "}}",
          "go; pods=; end=park; warning=~2000000000" },
        { "running-then-wrong", WORKERS(2), /* what runs is left alone */
          "go; all running; go; " SPEC(
                  "{\"worker\": {\"replicas\": -1}}") "go; pods=j-worker-0 j-worker-1; end=park; "
                                                      "job.status.phase=Running" },
        { "D14", WORKERS(2),
          "foreign Pod j-worker-1; go; log=~create Pod j-worker-0; end=retry; warning=~Pod j-worker-1" },
        { "D15-service", WORKERS(1),
          "foreign Service j-worker-0; go; end=retry; warning=~Service j-worker-0" },
        { "free-fields", TEMPLATE("{\"containers\": [{\"name\": \"c\", \"env\": 5}]}"),
          "go; pods=; end=park; warning=~containers[0].env is not a list" },
        { "wrong-types", "{\"worker\": 5, \"ps\": [], \"elastic\": \"yes\", \"withGloo\": {}}",
          "go; pods=; end=park" },
        { 0 },
};

static void test_case(const void *data)
{
        const Case *one = data;
        g_autoptr(World) world = world_new(one->spec);

        world_tell(world, one->story);
}

static void add_cases(const Case *cases)
{
        for (; cases->id; cases++) {
                g_autofree char *path = g_strconcat("/operator/", cases->id, NULL);

                g_test_add_data_func(path, cases, test_case);
        }
}

/* ---- those that need more than a story ---- */

static gint64 port_of(const World *world)
{
        const char *text = kube_get_text(world->state, "map.data.PADDLE_PORT");

        return text ? g_ascii_strtoll(text, NULL, 10) : -1;
}

static void tell_uid(World *world, int i)
{
        g_autofree char *change = g_strdup_printf("spec {\"metadata\": {\"uid\": \"%08x-1\"}}", i * 7919);

        world_tell(world, change);
}

/* 36000 <= P < 56000, the same in every list, and not always the same. */
static void test_c2(void)
{
        g_autoptr(GHashTable) ports = g_hash_table_new(g_direct_hash, g_direct_equal);

        for (int i = 0; i < 200; i++) {
                g_autoptr(World) world = world_new(WORKERS(1));
                g_autofree char *endpoint = NULL;

                tell_uid(world, i);
                world_tell(world, "go; all coord; go");
                g_assert_cmpint(port_of(world), >=, 36000);
                g_assert_cmpint(port_of(world), <, 56000);
                endpoint =
                        g_strdup_printf("map.data.PADDLE_TRAINER_ENDPOINTS=10.0.1.0:%d", (int)port_of(world));
                world_tell(world, endpoint);
                g_hash_table_add(ports, GINT_TO_POINTER((int)port_of(world)));
        }
        g_assert_cmpuint(g_hash_table_size(ports), >, 150);
}

static void test_c7_d7(void)
{
        for (int compat = 0; compat < 2; compat++) {
                g_autoptr(World) world = world_new(PS_WITH("\"withGloo\": 1"));
                g_autofree char *endpoint = NULL;

                world_tell(world, compat ? "rules compat; go; all coord; go" : "go; all coord; go");
                endpoint = g_strdup_printf("map.data.PADDLE_GLOO_HTTP_ENDPOINT=10.0.0.0:%d",
                                           (int)port_of(world) + (compat ? 0 : 18));
                world_tell(world, endpoint);
                world_tell(world, "map.data.PADDLE_WITH_GLOO=1; map.data.PADDLE_GLOO_RENDEZVOUS=3");
        }
}

/* The port of a ConfigMap that is there stays: an operator that starts anew, or the older one made it. */
static void test_e18_port(void)
{
        g_autoptr(World) world = world_new(WORKERS(2));

        world_tell(world, "go; all coord; go");
        json_object_set_new(kube_get(world->state, "map.data"), "PADDLE_PORT", json_string("40001"));
        world_tell(world, "go; map.data.PADDLE_PORT=40001; "
                          "map.data.PADDLE_TRAINER_ENDPOINTS=10.0.1.0:40001,10.0.1.1:40001; go; writes=0");
}

static void set_address(World *world, const char *pod, const char *ip)
{
        json_object_set_new(kube_get(json_object_get(json_object_get(world->state, "pods"), pod), "status"),
                            "podIP", json_string(ip));
}

/* A pod that came anew has another address, and the list says it. */
static void test_c11_d5(void)
{
        for (int compat = 0; compat < 2; compat++) {
                g_autoptr(World) world = world_new(WORKERS(2));

                world_tell(world, compat ? "rules compat" : "");
                world_tell(
                        world,
                        "go; all running; go; map.data.PADDLE_TRAINERS=10.0.1.0,10.0.1.1; gone worker-1; go; "
                        "pod worker-1 running");
                set_address(world, "j-worker-1", "10.9.9.9");
                world_tell(world, compat ? "go; map.data.PADDLE_TRAINERS=10.0.1.0,10.0.1.1"
                                         : "go; map.data.PADDLE_TRAINERS=10.0.1.0,10.9.9.9");
        }
}

static void test_d11(void)
{
        g_autoptr(World) world = world_new(WORKERS(1));
        g_autofree char *endpoint = NULL;

        world_tell(world, "go; all running");
        json_object_set_new(kube_get(json_object_get(json_object_get(world->state, "pods"), "j-worker-0"),
                                     "status"),
                            "podIP", json_string("fd00::1"));
        world_tell(world, "go; map.data.PADDLE_TRAINERS=[fd00::1]");
        endpoint = g_strdup_printf("map.data.PADDLE_TRAINER_ENDPOINTS=[fd00::1]:%d", (int)port_of(world));
        world_tell(world, endpoint);
}

/* Pods of a job of the same name before this one are not counted, and their names are waited for. */
static void test_d16(void)
{
        g_autoptr(World) world = world_new(WORKERS(1));
        json_t *owner;

        world_tell(world, "go; all running; go");
        world_tell(world, "spec {\"metadata\": {\"uid\": \"other\", \"finalizers\": null}, \"status\": "
                          "null}; lost map; "
                          "go; job.status.worker=-; job.status.phase=Pending; end=retry; warnings=0; map=-");
        owner = kube_get(json_object_get(json_object_get(world->state, "pods"), "j-worker-0"),
                         "metadata.ownerReferences[0]");
        g_assert_cmpstr(json_string_value(json_object_get(owner, "uid")), ==, "11111111-2222");
        json_object_clear(json_object_get(world->state, "services"));
        world_tell(world, "gone worker-0; go; job.status.worker.pending=1; end=done");
}

/* Others have PaddleJobs, too, and call their pods alike: those do not go by themselves. */
static void test_d14_kubeflow(void)
{
        static const char *const versions[] = { "kubeflow.org/v1", "batch.paddlepaddle.org/v2" };

        for (gsize i = 0; i < G_N_ELEMENTS(versions); i++) {
                g_autoptr(World) world = world_new(WORKERS(1));

                world_tell(world, "foreign Pod j-worker-0");
                json_object_set_new(
                        kube_get(json_object_get(json_object_get(world->state, "pods"), "j-worker-0"),
                                 "metadata"),
                        "ownerReferences",
                        json_pack("[{s:s, s:s, s:s, s:s, s:b}]", "apiVersion", versions[i], "kind",
                                  "PaddleJob", "name", "j", "uid", "another", "controller", 1));
                world_tell(world, i == 0 ? "go; end=retry; warning=~create failed Pod j-worker-0: one that "
                                           "belongs to somebody else"
                                         : "go; end=retry; warnings=0");
        }
}

/* What stands in one pod's way holds up none of the others. */
static void test_many_and_a_foreign_one(void)
{
        g_autoptr(World) world = world_new(WORKERS(1000));

        world_tell(world, "rules bare; foreign Pod j-worker-0");
        (void)world_pass(world);
        g_assert_cmpint(world->end, ==, PLAN_AGAIN);
        g_assert_cmpuint(json_object_size(json_object_get(world->state, "services")), ==, PLAN_PODS_MAX + 1);
        world_settle(world);
        g_assert_cmpint(world->end, ==, PLAN_RETRY);
        g_assert_cmpuint(json_object_size(json_object_get(world->state, "pods")), ==, 1000);
}

/* A thousand pods come in several passes, each of a bounded size. */
static void test_many(void)
{
        g_autoptr(World) world = world_new(WORKERS(1000));

        world_tell(world, "rules bare");
        (void)world_pass(world);
        g_assert_cmpint(world->end, ==, PLAN_AGAIN);
        g_assert_cmpuint(json_object_size(json_object_get(world->state, "pods")), ==, PLAN_PODS_MAX);
        world_settle(world);
        g_assert_cmpuint(json_object_size(json_object_get(world->state, "pods")), ==, 1000);
        g_assert_cmpuint(json_object_size(json_object_get(world->state, "services")), ==, 1000);
        world_tell(world, "all running; go; job.status.worker.running=1000; "
                          "job.status.worker.refs[999].name=j-worker-999; "
                          "job.status.worker.refs[10].name=j-worker-10");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        add_cases(creation);
        add_cases(config_map);
        add_cases(network);
        add_cases(phases);
        add_cases(cleaning);
        add_cases(additions);
        add_cases(elastic);
        add_cases(robustness);
        g_test_add_func("/operator/C2", test_c2);
        g_test_add_func("/operator/C7 D7", test_c7_d7);
        g_test_add_func("/operator/C11 D5", test_c11_d5);
        g_test_add_func("/operator/E18-port", test_e18_port);
        g_test_add_func("/operator/D11", test_d11);
        g_test_add_func("/operator/D16", test_d16);
        g_test_add_func("/operator/D14-kubeflow", test_d14_kubeflow);
        g_test_add_func("/operator/many", test_many);
        g_test_add_func("/operator/many-and-a-foreign-one", test_many_and_a_foreign_one);
        return g_test_run();
}
