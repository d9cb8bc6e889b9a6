/* The restrictions of templates: expected values from Kubernetes' Pod Security Standards, "Baseline", and
 * from doc/guide/kubernetes.md, "What a template may ask for". */
#include "model/baseline.h"

#include <string.h>

#include "base/err.h"
#include "base/test/quoted.h"

#define CONTAINER(rest) "{'spec': {'containers': [{'name': 'main', " rest "}]}}"
#define SECURITY(rest) CONTAINER("'securityContext': {" rest "}")

static const BaselinePlace anywhere = { NULL };

static const struct {
        const char *template, *where; /* NULL: it is allowed */
} cases[] = {
        { "{}", NULL },
        { "{'spec': null, 'metadata': null}", NULL },
        { CONTAINER("'image': 'x', 'tty': true"), NULL },
        /* host namespaces */
        { "{'spec': {'hostNetwork': true}}", "pod.spec.hostNetwork" },
        { "{'spec': {'hostNetwork': false, 'hostPID': null}}", NULL },
        { "{'spec': {'hostNetwork': 'true'}}", "pod.spec.hostNetwork" },
        { "{'spec': {'hostPID': true}}", "pod.spec.hostPID" },
        { "{'spec': {'hostIPC': true}}", "pod.spec.hostIPC" },
        /* host path volumes */
        { "{'spec': {'volumes': [{'name': 'a', 'emptyDir': {}}, {'name': 'b', 'hostPath': {'path': '/'}}]}}",
          "pod.spec.volumes[1].hostPath" },
        { "{'spec': {'volumes': [{'name': 'a', 'hostPath': {}}]}}", "pod.spec.volumes[0].hostPath" },
        /* privileged containers, of all lists */
        { SECURITY("'privileged': true"), "pod.spec.containers[0].securityContext.privileged" },
        { SECURITY("'privileged': false, 'allowPrivilegeEscalation': true, 'runAsUser': 0"), NULL },
        { "{'spec': {'containers': [{'name': 'a'}], 'initContainers': [{'name': 'b', 'securityContext': "
          "{'privileged': true}}]}}",
          "pod.spec.initContainers[0].securityContext.privileged" },
        { "{'spec': {'ephemeralContainers': [{'name': 'a'}]}}", "pod.spec.ephemeralContainers" },
        /* capabilities */
        { SECURITY("'capabilities': {'add': ['NET_BIND_SERVICE', 'SYS_CHROOT', 'MKNOD'], 'drop': ['ALL']}"),
          NULL },
        { SECURITY("'capabilities': {'add': ['CHOWN', 'SYS_ADMIN']}"),
          "pod.spec.containers[0].securityContext.capabilities.add[1]" },
        { SECURITY("'capabilities': {'add': ['NET_RAW']}"),
          "pod.spec.containers[0].securityContext.capabilities.add[0]" },
        { SECURITY("'capabilities': {'add': 'ALL'}"),
          "pod.spec.containers[0].securityContext.capabilities.add" },
        /* host ports, probes */
        { CONTAINER("'ports': [{'containerPort': 80}, {'containerPort': 81, 'hostPort': 0}]"), NULL },
        { CONTAINER("'ports': [{'containerPort': 80, 'hostPort': 80}]"),
          "pod.spec.containers[0].ports[0].hostPort" },
        { CONTAINER("'livenessProbe': {'httpGet': {'port': 80, 'host': '169.254.169.254'}}"),
          "pod.spec.containers[0].livenessProbe.httpGet.host" },
        { CONTAINER("'lifecycle': {'preStop': {'tcpSocket': {'port': 80, 'host': 'h'}}}"),
          "pod.spec.containers[0].lifecycle.preStop.tcpSocket.host" },
        { CONTAINER("'livenessProbe': {'httpGet': {'port': 80, 'host': ''}}"), NULL },
        /* AppArmor, SELinux, /proc, seccomp, sysctls, Windows */
        { SECURITY("'appArmorProfile': {'type': 'Unconfined'}"),
          "pod.spec.containers[0].securityContext.appArmorProfile.type" },
        { SECURITY("'seLinuxOptions': {'type': 'container_t', 'level': 's0', 'user': ''}"), NULL },
        { SECURITY("'seLinuxOptions': {'type': 'spc_t'}"),
          "pod.spec.containers[0].securityContext.seLinuxOptions.type" },
        { "{'spec': {'securityContext': {'seLinuxOptions': {'role': 'r'}}}}",
          "pod.spec.securityContext.seLinuxOptions.role" },
        { SECURITY("'procMount': 'Unmasked'"), "pod.spec.containers[0].securityContext.procMount" },
        { SECURITY("'procMount': 'Default'"), NULL },
        { "{'spec': {'securityContext': {'seccompProfile': {'type': 'Unconfined'}}}}",
          "pod.spec.securityContext.seccompProfile.type" },
        { "{'spec': {'securityContext': {'seccompProfile': {'type': 'Localhost'}}}}", NULL },
        { "{'spec': {'securityContext': {'sysctls': [{'name': 'net.ipv4.tcp_syncookies', 'value': '1'}, "
          "{'name': 'kernel.msgmax', 'value': '1'}]}}}",
          "pod.spec.securityContext.sysctls[1].name" },
        { SECURITY("'windowsOptions': {'hostProcess': true}"),
          "pod.spec.containers[0].securityContext.windowsOptions.hostProcess" },
        /* a node, an account, a priority */
        { "{'spec': {'nodeName': 'n'}}", "pod.spec.nodeName" },
        { "{'spec': {'nodeSelector': {'a': 'b'}, 'tolerations': []}}", NULL },
        { "{'spec': {'serviceAccountName': 'admin'}}", "pod.spec.serviceAccountName" },
        { "{'spec': {'serviceAccount': 'admin'}}", "pod.spec.serviceAccount" },
        { "{'spec': {'serviceAccountName': 'default'}}", NULL },
        { "{'spec': {'priorityClassName': 'system-node-critical'}}", "pod.spec.priorityClassName" },
        { "{'spec': {'priorityClassName': 'high'}}", "pod.spec.priorityClassName" },
        { "{'spec': {'priorityClassName': 'low'}}", NULL },
        /* the platform's secrets and volumes */
        { "{'spec': {'volumes': [{'name': 'a', 'secret': {'secretName': 'mine'}}]}}", NULL },
        { "{'spec': {'volumes': [{'name': 'a', 'secret': {'secretName': 'paddle-registry-1'}}]}}",
          "pod.spec.volumes[0].secret.secretName" },
        { "{'spec': {'volumes': [{'name': 'a', 'projected': {'sources': [{'secret': {'name': 'j-1-1'}}]}}]}}",
          "pod.spec.volumes[0].projected.sources[0].secret" },
        { CONTAINER("'env': [{'name': 'A', 'valueFrom': {'secretKeyRef': {'name': 'j-1-1', 'key': 'k'}}}]"),
          "pod.spec.containers[0].env[0].valueFrom.secretKeyRef" },
        { CONTAINER("'envFrom': [{'secretRef': {'name': 'paddle-registry-1'}}]"),
          "pod.spec.containers[0].envFrom[0].secretRef" },
        { "{'spec': {'imagePullSecrets': [{'name': 'mine'}, {'name': 'paddle-registry-1'}]}}",
          "pod.spec.imagePullSecrets" },
        { "{'spec': {'imagePullSecrets': [{'name': 'mine'}]}}", NULL },
        { "{'spec': {'volumes': [{'name': 'a', 'configMap': {'name': 'mine'}}]}}", NULL },
        { "{'spec': {'volumes': [{'name': 'a', 'configMap': {'name': 'j-1-1-package'}}]}}",
          "pod.spec.volumes[0].configMap" },
        { "{'spec': {'volumes': [{'name': 'a', 'projected': {'sources': [{'configMap': {'name': "
          "'j-1-1-trainer'}}]}}]}}",
          "pod.spec.volumes[0].projected.sources[0].configMap" },
        { CONTAINER("'env': [{'name': 'A', 'valueFrom': {'configMapKeyRef': {'name': 'j-1-1-trainer', 'key': "
                    "'trainer-0'}}}]"),
          "pod.spec.containers[0].env[0].valueFrom.configMapKeyRef" },
        { CONTAINER("'envFrom': [{'configMapRef': {'name': 'j-1-1-trainer'}}]"),
          "pod.spec.containers[0].envFrom[0].configMapRef" },
        { CONTAINER("'volumeMounts': [{'name': 'homes', 'mountPath': '/all'}]"),
          "pod.spec.containers[0].volumeMounts[0].name" },
        { "{'spec': {'volumes': [{'name': 'a', 'emptyDir': {}}], 'containers': [{'name': 'main', "
          "'volumeMounts': [{'name': 'a', 'mountPath': '/a'}]}]}}",
          NULL },
        { "{'spec': {'volumes': [{'name': 'a', 'ephemeral': {'volumeClaimTemplate': {'spec': {'dataSource': "
          "{'kind': 'PersistentVolumeClaim', 'name': 'homes'}}}}}]}}",
          "pod.spec.volumes[0].ephemeral.volumeClaimTemplate.spec.dataSource" },
        /* containers that no quota counts */
        { "{'spec': {'containers': [{'name': 'main'}, {'name': 'beside'}]}}", "pod.spec.containers[1]" },
        { "{'spec': {'initContainers': [{'name': 'a', 'restartPolicy': 'Always'}]}}",
          "pod.spec.initContainers[0].restartPolicy" },
        { "{'spec': {'initContainers': [{'name': 'a', 'restartPolicy': ''}]}}",
          "pod.spec.initContainers[0].restartPolicy" },
        { "{'spec': {'initContainers': [{'name': 'a', 'resources': {'limits': {'cpu': '64'}}}]}}", NULL },
        { "{'spec': {'resources': {'limits': {'cpu': '64'}}}}", "pod.spec.resources" },
        { "{'spec': {'resourceClaims': [{'name': 'a', 'resourceClaimName': 'b'}]}}",
          "pod.spec.resourceClaims" },
        /* where the pods of a kind are */
        { "{'kind': 'PaddleJob', 'spec': {'ps': {'template': {}}, 'worker': {'template': {'spec': "
          "{'hostPID': true}}}}}",
          "spec.worker.template.spec.hostPID" },
        { "{'kind': 'MPIJob', 'spec': {'mpiReplicaSpecs': {'Launcher': {'template': {'spec': {'nodeName': "
          "'n'}}}}}}",
          "spec.mpiReplicaSpecs.Launcher.template.spec.nodeName" },
};

static void assert_denied(const GError *error, const char *where)
{
        g_autofree char *start = g_strdup_printf("extensionTemplate: %s: ", where);

        g_assert_true(err_is(error, ERR_DENIED));
        g_assert_true(g_str_has_prefix(error->message, start));
        g_assert_nonnull(strstr(error->message, "administrator"));
}

static void test_table(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) template = json_of(cases[i].template);
                g_autoptr(GError) error = NULL;
                bool good = baseline_check(template, &anywhere, &error);

                g_test_message("%zu: %s", i, cases[i].template);
                g_assert_true(good == !cases[i].where);
                if (!good)
                        assert_denied(error, cases[i].where);
        }
}

/* ---- lists of permitted values ---- */

#define POD(rest) "{'spec': {" rest "}}"
#define VOLUME(source) POD("'volumes': [{'name': 'a', " source "}]")
#define AFFINITY(rest) POD("'affinity': {" rest "}")
#define CLAIM(rest) VOLUME("'ephemeral': {'volumeClaimTemplate': {" rest "}}")
#define REQUIRED "'requiredDuringSchedulingIgnoredDuringExecution'"
#define PREFERRED "'preferredDuringSchedulingIgnoredDuringExecution'"

/* Fields and values that are not in a list, or permitted only with certain values. */
static const struct {
        const char *template, *where;
} list[] = {
        /* unknown fields, at every level */
        { "{'status': {}, 'kind': 'Pod', 'apiVersion': 'v1'}", NULL },
        { "{'extra': 1}", "pod.extra" },
        { "{'extra': null}", NULL },
        { "{'metadata': {'name': 'a', 'creationTimestamp': null}}", NULL },
        { "{'metadata': {'finalizers': ['a/b']}}", "pod.metadata.finalizers" },
        { "{'metadata': {'ownerReferences': [{'kind': 'Node', 'name': 'n'}]}}",
          "pod.metadata.ownerReferences" },
        { POD("'extra': {'hostPath': '/'}"), "pod.spec.extra" },
        { POD("'extra': false"), "pod.spec.extra" },
        { POD("'hostnameOverride': 'a'"), "pod.spec.hostnameOverride" },
        { POD("'schedulingGates': [{'name': 'a'}]"), "pod.spec.schedulingGates" },
        { POD("'readinessGates': [{'conditionType': 'a'}]"), "pod.spec.readinessGates" },
        { POD("'securityContext': {'extra': 'a'}"), "pod.spec.securityContext.extra" },
        { CONTAINER("'extra': 'a'"), "pod.spec.containers[0].extra" },
        { CONTAINER("'volumeDevices': [{'name': 'a', 'devicePath': '/dev/a'}]"),
          "pod.spec.containers[0].volumeDevices" },
        { CONTAINER("'env': [{'name': 'A', 'valueFrom': {'fileKeyRef': {'path': 'a'}}}]"),
          "pod.spec.containers[0].env[0].valueFrom.fileKeyRef" },
        { CONTAINER("'livenessProbe': {'extra': {'host': 'h'}}"),
          "pod.spec.containers[0].livenessProbe.extra" },
        { SECURITY("'extra': true"), "pod.spec.containers[0].securityContext.extra" },
        /* a value of another type, which the next reader might interpret in its own way */
        { POD("'hostname': {'a': 1}"), "pod.spec.hostname" },
        { POD("'affinity': 'a'"), "pod.spec.affinity" },
        { POD("'nodeSelector': {'a': {}}"), "pod.spec.nodeSelector.a" },
        { POD("'nodeSelector': ['a']"), "pod.spec.nodeSelector" },
        { POD("'hostAliases': {'ip': '1'}"), "pod.spec.hostAliases" },
        { CONTAINER("'stdin': ['a']"), "pod.spec.containers[0].stdin" },
        /* scheduling constraints and priorities */
        { POD("'tolerations': [{'operator': 'Exists'}]"), "pod.spec.tolerations[0]" },
        { POD("'tolerations': [{'key': '', 'operator': 'Exists'}]"), "pod.spec.tolerations[0]" },
        { POD("'tolerations': [{'key': 'node-role.kubernetes.io/control-plane'}]"),
          "pod.spec.tolerations[0]" },
        { POD("'runtimeClassName': 'host'"), "pod.spec.runtimeClassName" },
        { POD("'runtimeClassName': ''"), NULL },
        { POD("'priorityClassName': 'of-the-team'"), "pod.spec.priorityClassName" },
        { POD("'priority': 1000000"), "pod.spec.priority" },
        { POD("'priority': 0, 'preemptionPolicy': 'Never'"), NULL },
        { POD("'preemptionPolicy': 'PreemptLowerPriority'"), "pod.spec.preemptionPolicy" },
        { POD("'schedulerName': 'default-scheduler'"), NULL },
        { POD("'schedulerName': 'mine'"), "pod.spec.schedulerName" },
        { POD("'overhead': {'cpu': '1'}"), "pod.spec.overhead" },
        { POD("'topologySpreadConstraints': [{'maxSkew': 1, 'topologyKey': 'zone', "
              "'whenUnsatisfiable': "
              "'DoNotSchedule', 'labelSelector': {'matchLabels': {'a': 'b'}}}]"),
          NULL },
        { AFFINITY("'nodeAffinity': {" REQUIRED ": {'nodeSelectorTerms': [{'matchExpressions': [{'key': "
                   "'a', 'operator': 'In', 'values': ['b']}]}]}}"),
          NULL },
        { AFFINITY("'podAffinity': {" REQUIRED ": [{'topologyKey': 'zone', 'labelSelector': {}}]}"), NULL },
        { AFFINITY("'podAffinity': {" REQUIRED ": [{'topologyKey': 'zone', 'namespaceSelector': {}}]}"),
          "pod.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."
          "namespaceSelector" },
        { AFFINITY("'podAntiAffinity': {" REQUIRED ": [{'topologyKey': 'zone'}]}"),
          "pod.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution" },
        { AFFINITY("'podAntiAffinity': {" PREFERRED ": [{'weight': 1, 'podAffinityTerm': {'topologyKey': "
                   "'zone'}}]}"),
          NULL },
        { AFFINITY("'podAntiAffinity': {" PREFERRED ": [{'weight': 1, 'podAffinityTerm': {'namespaces': "
                   "['others']}}]}"),
          "pod.spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]."
          "podAffinityTerm.namespaces" },
        /* volumes: kinds that reach beyond the namespace */
        { VOLUME("'emptyDir': {'medium': 'Memory', 'sizeLimit': '1Gi'}"), NULL },
        { VOLUME("'downwardAPI': {'items': [{'path': 'a', 'fieldRef': {'fieldPath': "
                 "'metadata.name'}}]}"),
          NULL },
        { VOLUME("'nfs': {'server': 's', 'path': '/'}"), "pod.spec.volumes[0].nfs" },
        { VOLUME("'csi': {'driver': 'd'}"), "pod.spec.volumes[0].csi" },
        { VOLUME("'iscsi': {'iqn': 'i'}"), "pod.spec.volumes[0].iscsi" },
        { VOLUME("'rbd': {'image': 'i'}"), "pod.spec.volumes[0].rbd" },
        { VOLUME("'flexVolume': {'driver': 'd'}"), "pod.spec.volumes[0].flexVolume" },
        { VOLUME("'cephfs': {'path': '/'}"), "pod.spec.volumes[0].cephfs" },
        { VOLUME("'image': {'reference': 'r'}"), "pod.spec.volumes[0].image" },
        { VOLUME("'gitRepo': {'repository': 'r'}"), "pod.spec.volumes[0].gitRepo" },
        { VOLUME("'*': {}"), "pod.spec.volumes[0].*" },
        { VOLUME("'projected': {'sources': [{'clusterTrustBundle': {'path': 'a'}}]}"),
          "pod.spec.volumes[0].projected.sources[0].clusterTrustBundle" },
        { VOLUME("'projected': {'sources': [{'podCertificate': {'signerName': 'a'}}]}"),
          "pod.spec.volumes[0].projected.sources[0].podCertificate" },
        { CLAIM("'metadata': {'labels': {'a': 'b'}}, 'spec': {'accessModes': ['ReadWriteOnce'], "
                "'storageClassName': 'fast', 'resources': {'requests': {'storage': '1Gi'}}}"),
          NULL },
        { CLAIM("'metadata': {'annotations': {'pv.kubernetes.io/bind-completed': 'yes'}}"),
          "pod.spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.annotations" },
        { CLAIM("'spec': {'selector': {'matchLabels': {'of': 'others'}}}"),
          "pod.spec.volumes[0].ephemeral.volumeClaimTemplate.spec.selector" },
        { CLAIM("'spec': {'volumeName': 'pv-1'}"),
          "pod.spec.volumes[0].ephemeral.volumeClaimTemplate.spec.volumeName" },
        { CLAIM("'spec': {'dataSourceRef': {'kind': 'PersistentVolumeClaim', 'name': 'a', "
                "'namespace': "
                "'others'}}"),
          "pod.spec.volumes[0].ephemeral.volumeClaimTemplate.spec.dataSourceRef" },
        { "{'spec': {'volumes': [{'name': 'a', 'emptyDir': {}}], 'containers': [{'name': 'main', "
          "'volumeMounts': [{'name': 'a', 'mountPath': '/a', 'subPathExpr': '$(A)'}]}]}}",
          NULL },
        { "{'spec': {'volumes': [{'name': 'a', 'emptyDir': {}}], 'containers': [{'name': 'main', "
          "'volumeMounts': [{'name': 'a', 'mountPath': '/a', 'mountPropagation': "
          "'Bidirectional'}]}]}}",
          "pod.spec.containers[0].volumeMounts[0].mountPropagation" },
        /* calls of the node, in all containers and forms */
        { CONTAINER("'lifecycle': {'postStart': {'httpGet': {'port': 80, 'host': '10.0.0.1'}}}"),
          "pod.spec.containers[0].lifecycle.postStart.httpGet.host" },
        { CONTAINER("'startupProbe': {'tcpSocket': {'port': 80, 'host': '127.0.0.1'}}"),
          "pod.spec.containers[0].startupProbe.tcpSocket.host" },
        { CONTAINER("'readinessProbe': {'grpc': {'port': 80, 'host': 'h'}}"),
          "pod.spec.containers[0].readinessProbe.grpc.host" },
        { POD("'initContainers': [{'name': 'a', 'livenessProbe': {'httpGet': {'host': 'h'}}}]"),
          "pod.spec.initContainers[0].livenessProbe.httpGet.host" },
        { CONTAINER("'ports': [{'containerPort': 80, 'hostIP': '0.0.0.0'}]"),
          "pod.spec.containers[0].ports[0].hostIP" },
        { POD("'hostAliases': [{'ip': '127.0.0.1', 'hostnames': ['a']}], 'dnsPolicy': 'None', "
              "'dnsConfig': {'nameservers': ['1.1.1.1'], 'options': [{'name': 'ndots', 'value': "
              "'1'}]}"),
          NULL },
        /* devices and amounts that no quota counts */
        { CONTAINER("'resources': {'limits': {'nvidia.com/gpu': 1, 'hugepages-2Mi': '2Mi', "
                    "'ephemeral-storage': '1Gi', 'memory': '1Gi'}}"),
          NULL },
        { CONTAINER("'resources': {'limits': {'devices.kubevirt.io/kvm': 1}}"),
          "pod.spec.containers[0].resources.limits.devices.kubevirt.io/kvm" },
        { CONTAINER("'resources': {'claims': [{'name': 'a'}]}"), "pod.spec.containers[0].resources.claims" },
        { CONTAINER("'restartPolicy': 'Always'"), "pod.spec.containers[0].restartPolicy" },
        { SECURITY("'windowsOptions': {'gmsaCredentialSpecName': 'a'}"),
          "pod.spec.containers[0].securityContext.windowsOptions.gmsaCredentialSpecName" },
        /* labels and annotations that controllers in the cluster act on */
        { "{'metadata': {'labels': {'team': 'a', 'app.kubernetes.io/name': 'b'}, 'annotations': "
          "{'note': "
          "'c', 'paddleflow/job-ttl-seconds': '1'}}}",
          NULL },
        { "{'metadata': {'annotations': {'iam.amazonaws.com/role': 'admin'}}}",
          "pod.metadata.annotations.iam.amazonaws.com/role" },
        { "{'metadata': {'labels': {'sidecar.istio.io/inject': 'true'}}}",
          "pod.metadata.labels.sidecar.istio.io/inject" },
        /* all kinds use the same tables */
        { "{'kind': 'TFJob', 'spec': {'tfReplicaSpecs': {'PS': {'template': {'spec': "
          "{'runtimeClassName': "
          "'a'}}}}}}",
          "spec.tfReplicaSpecs.PS.template.spec.runtimeClassName" },
        { "{'kind': 'TFJob', 'spec': {'tfReplicaSpecs': {'Master': {'template': {'spec': {'extra': "
          "1}}}}}}",
          "spec.tfReplicaSpecs.Master.template.spec.extra" },
        { "{'kind': 'PyTorchJob', 'spec': {'pytorchReplicaSpecs': {'Worker': {'template': {'spec': "
          "{'tolerations': [{'operator': 'Exists'}]}}}}}}",
          "spec.pytorchReplicaSpecs.Worker.template.spec.tolerations[0]" },
        { "{'kind': 'PaddleJob', 'spec': {'paddleReplicaSpecs': {'Master': {'template': {'spec': "
          "{'schedulerName': 'mine'}}}}}}",
          "spec.paddleReplicaSpecs.Master.template.spec.schedulerName" },
};

static void test_list(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(list); i++) {
                g_autoptr(json_t) template = json_of(list[i].template);
                g_autoptr(GError) error = NULL;

                g_test_message("%s", list[i].template);
                g_assert_true(baseline_check(template, &anywhere, &error) == !list[i].where);
                if (list[i].where)
                        assert_denied(error, list[i].where);
        }
}

/* Values that the cluster's setting permits are accepted, and no others. */
static void test_allow(void)
{
        static const struct {
                const char *setting, *good, *bad; /* templates */
        } rows[] = {
                { "{\"allow\": {\"tolerations\": [\"team\"]}}",
                  POD("'tolerations': [{'key': 'team', 'operator': 'Exists'}]"),
                  POD("'tolerations': [{'key': 'team'}, {'operator': 'Exists'}]") },
                { "{\"allow\": {\"runtime_classes\": [\"gvisor\"]}}", POD("'runtimeClassName': 'gvisor'"),
                  POD("'runtimeClassName': 'runc'") },
                { "{\"allow\": {\"priority_classes\": [\"high\"]}}", POD("'priorityClassName': 'high'"),
                  POD("'priorityClassName': 'system-node-critical'") },
                { "{\"allow\": {\"volumes\": [\"nfs\"]}}", VOLUME("'nfs': {'server': 's', 'path': '/'}"),
                  VOLUME("'csi': {'driver': 'd'}") },
                { "{\"allow\": {\"volumes\": [\"hostPath\"]}}", VOLUME("'emptyDir': {}"),
                  VOLUME("'hostPath': {'path': '/'}") },
                { "{\"allow\": {\"volumes\": [\"csi\"]}}",
                  VOLUME("'csi': {'driver': 'd', 'nodePublishSecretRef': {'name': 'mine'}}"),
                  VOLUME("'csi': {'driver': 'd', 'nodePublishSecretRef': {'name': 'paddle-registry-1'}}") },
                { "{\"allow\": {\"service_accounts\": [\"spark\"]}}", POD("'serviceAccountName': 'spark'"),
                  POD("'serviceAccountName': 'admin'") },
                { "{\"allow\": {\"resources\": [\"example.com/fpga\"]}}",
                  CONTAINER("'resources': {'limits': {'example.com/fpga': 1}}"),
                  CONTAINER("'resources': {'limits': {'example.com/dsp': 1}}") },
                { "{\"allow\": {\"metadata\": [\"example.com/\"]}}",
                  "{'metadata': {'annotations': {'example.com/a': 'b'}}}",
                  "{'metadata': {'annotations': {'example.org/a': 'b'}}}" },
                { "{\"volcano\": true}", POD("'schedulerName': 'volcano'"),
                  POD("'schedulerName': 'default-scheduler'") },
                { "{\"volumes\": {\"local\": {\"host_path\": \"/h/%s\"}}}",
                  POD("'securityContext': {'fsGroup': 7}"), POD("'hostPID': true") },
                { "{\"volumes\": {\"local\": {\"claim\": \"homes\", \"sub_path\": \"%s\"}}}",
                  POD("'securityContext': {'runAsUser': 7}"), POD("'securityContext': {'fsGroup': 7}") },
                { "{\"volumes\": {\"local\": {\"claim\": \"homes\", \"sub_path\": \"%s\"}}}",
                  POD("'securityContext': {'runAsGroup': 0}"), POD("'securityContext': {'fsGroup': 0}") },
                { "{\"volumes\": {\"local\": {\"claim\": \"homes\", \"sub_path\": \"%s\"}}}",
                  SECURITY("'seLinuxOptions': {'type': ''}"),
                  SECURITY("'seLinuxOptions': {'level': 's0:c1'}") },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(json_t) good = json_of(rows[i].good), bad = json_of(rows[i].bad);
                g_autoptr(GError) error = NULL;
                const BaselinePlace place = { .setting = rows[i].setting };

                g_test_message("%s", rows[i].setting);
                g_assert_true(baseline_check(good, &place, NULL));
                g_assert_false(baseline_check(bad, &place, &error));
                g_assert_true(err_is(error, ERR_DENIED));
        }
}

/* Labels and annotations of a job become those of its pods. */
static void test_words(void)
{
        static const char *const good[] = { "a=b", "paddleflow/job-ttl-seconds=1", "example.com/a=", NULL };
        static const char *const bad[] = { "a=b", "vault.hashicorp.com/agent-inject=true", NULL };
        const BaselinePlace pods = { .setting = "{\"allow\": {\"metadata\": [\"example.com/\"]}}",
                                     .pods = true };
        g_autoptr(GError) error = NULL;

        g_assert_true(baseline_check_words("labels", NULL, &pods, NULL));
        g_assert_true(baseline_check_words("labels", (char *const *)good, &pods, NULL));
        g_assert_true(baseline_check_words("labels", (char *const *)bad, &anywhere, NULL));
        g_assert_false(baseline_check_words("annotations", (char *const *)bad, &pods, &error));
        g_assert_true(err_is(error, ERR_DENIED));
        g_assert_true(g_str_has_prefix(error->message, "annotations: 'vault.hashicorp.com/agent-inject'"));
}

/* Every template of an origin is checked, wherever it is. */
static void test_origins(void)
{
        static const struct {
                const char *origin;
                bool good;
        } origins[] = {
                { "{}", true },
                { "{'other': {'extensionTemplate': {'spec': {'hostPID': true}}}}", true },
                { "{'paddleflow': {'id': 'x', 'members': [{'role': 'worker'}]}}", true },
                { "{'paddleflow': {'extensionTemplate': {'spec': {'hostPID': true}}}}", false },
                { "{'paddleflow': {'defaultTemplate': {'spec': {'hostPID': true}}}}", false },
                { "{'paddleflow': {'extensionTemplate': {}, 'members': [{}, {'role': 'worker', "
                  "'extensionTemplate': {'spec': {'hostPID': true}}}]}}",
                  false },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(origins); i++) {
                g_autoptr(json_t) origin = json_of(origins[i].origin);
                g_autoptr(GError) error = NULL;

                g_test_message("%s", origins[i].origin);
                g_assert_true(baseline_check_origin(origin, &anywhere, &error) == origins[i].good);
                g_assert_true(origins[i].good || err_is(error, ERR_DENIED));
        }
        g_assert_true(baseline_check_origin(NULL, &anywhere, NULL));
}

/* With a claim or secret of homes, a template could read every user's home (doc/guide/kubernetes.md, "Users'
 * files in pods"). */
static void test_homes(void)
{
        static const char setting[] =
                "{\"volumes\": {\"one\": {\"claim\": \"homes\", \"sub_path\": \"of/%s\"}, \"two\": "
                "{\"claim\": "
                "\"of-%s\"}, \"three\": {\"cephfs_path\": \"/%s\", \"secret\": \"ceph\"}}}";
        static const struct {
                const char *template, *where;
        } rows[] = {
                { VOLUME("'persistentVolumeClaim': {'claimName': 'mine'}"), NULL },
                { VOLUME("'persistentVolumeClaim': {'claimName': 'homes'}"),
                  "pod.spec.volumes[0].persistentVolumeClaim.claimName" },
                { VOLUME("'persistentVolumeClaim': {'claimName': 'of-ann'}"),
                  "pod.spec.volumes[0].persistentVolumeClaim.claimName" },
                { VOLUME("'cephfs': {'path': '/', 'secretRef': {'name': 'ceph'}}"),
                  "pod.spec.volumes[0].cephfs" },
                { VOLUME("'secret': {'secretName': 'ceph'}"), "pod.spec.volumes[0].secret.secretName" },
                { VOLUME("'secret': {'secretName': 'homes'}"), NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(json_t) template = json_of(rows[i].template);
                g_autoptr(GError) error = NULL;

                g_test_message("%s", rows[i].template);
                g_assert_true(baseline_check(template, &(BaselinePlace){ .setting = setting }, &error) ==
                              !rows[i].where);
                if (rows[i].where)
                        assert_denied(error, rows[i].where);
                g_assert_true(strstr(rows[i].template, "'cephfs'") ||
                              baseline_check(template, &(BaselinePlace){ .setting = "a note" }, NULL));
        }
}

/* Only the job names the namespace, so its objects may belong to others. */
static void test_elsewhere(void)
{
        static const struct {
                const char *template, *where;
        } rows[] = {
                { VOLUME("'secret': {'secretName': 'any'}"), "pod.spec.volumes[0].secret.secretName" },
                { VOLUME("'configMap': {'name': 'any'}"), "pod.spec.volumes[0].configMap" },
                { VOLUME("'persistentVolumeClaim': {'claimName': 'any'}"),
                  "pod.spec.volumes[0].persistentVolumeClaim.claimName" },
                { VOLUME("'projected': {'sources': [{'serviceAccountToken': {'path': 't'}}]}"),
                  "pod.spec.volumes[0].projected.sources[0].serviceAccountToken" },
                { "{'spec': {'automountServiceAccountToken': true}}",
                  "pod.spec.automountServiceAccountToken" },
                { "{'spec': {'imagePullSecrets': [{'name': 'any'}]}}", "pod.spec.imagePullSecrets" },
                { "{'spec': {'automountServiceAccountToken': false}}", NULL },
                { VOLUME("'emptyDir': {}"), NULL },
                { CONTAINER("'env': [{'name': 'SECRET', 'value': 'x'}]"), NULL },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autoptr(json_t) template = json_of(rows[i].template);
                g_autoptr(GError) error = NULL;

                g_test_message("%s", rows[i].template);
                g_assert_true(baseline_check(template, &anywhere, NULL));
                g_assert_true(baseline_check(template, &(BaselinePlace){ .chosen = true }, &error) ==
                              !rows[i].where);
                if (rows[i].where)
                        assert_denied(error, rows[i].where);
        }
}

/* Values of another shape are not passed on for another program to interpret. */
static void test_shapes(void)
{
        static const char *const texts[] = { "{'spec': 7}", "{'spec': {'volumes': {'hostPath': {}}}}",
                                             "{'spec': {'containers': {'name': 'main'}}}" };

        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
                g_autoptr(json_t) template = json_of(texts[i]);
                g_autoptr(GError) error = NULL;

                g_assert_false(baseline_check(template, &anywhere, &error));
                g_assert_true(err_is(error, ERR_INVALID));
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/baseline/table", test_table);
        g_test_add_func("/baseline/list", test_list);
        g_test_add_func("/baseline/allow", test_allow);
        g_test_add_func("/baseline/words", test_words);
        g_test_add_func("/baseline/origins", test_origins);
        g_test_add_func("/baseline/homes", test_homes);
        g_test_add_func("/baseline/elsewhere", test_elsewhere);
        g_test_add_func("/baseline/shapes", test_shapes);
        return g_test_run();
}
