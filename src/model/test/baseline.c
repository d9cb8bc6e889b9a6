/* The fence around templates: expected values from Kubernetes' Pod Security Standards, "Baseline". */
#include "model/baseline.h"

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
        { "{'spec': {'volumes': [{'name': 'a', 'nfs': {'server': 's', 'path': '/'}}]}}", NULL },
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
        { "{'spec': {'nodeSelector': {'a': 'b'}, 'tolerations': [{'operator': 'Exists'}]}}", NULL },
        { "{'spec': {'serviceAccountName': 'admin'}}", "pod.spec.serviceAccountName" },
        { "{'spec': {'serviceAccount': 'admin'}}", "pod.spec.serviceAccount" },
        { "{'spec': {'serviceAccountName': 'default'}}", NULL },
        { "{'spec': {'priorityClassName': 'system-node-critical'}}", "pod.spec.priorityClassName" },
        { "{'spec': {'priorityClassName': 'high'}}", NULL },
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
        /* what nobody would count */
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

/* Every template of an origin counts, wherever it stands. */
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

/* By its claim or its secret every home could be had (doc/kubernetes.md, "Users' files in pods"). */
static void test_homes(void)
{
#define VOLUME(source) "{'spec': {'volumes': [{'name': 'a', " source "}]}}"
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
                  "pod.spec.volumes[0].cephfs.secretRef" },
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
                g_assert_true(baseline_check(template, &(BaselinePlace){ .setting = "a note" }, NULL));
        }
}

/* Nobody but the job has named the namespace: what lies there may be anybody's. */
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

/* What has another shape is not passed on for somebody else to read. */
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
        g_test_add_func("/baseline/origins", test_origins);
        g_test_add_func("/baseline/homes", test_homes);
        g_test_add_func("/baseline/elsewhere", test_elsewhere);
        g_test_add_func("/baseline/shapes", test_shapes);
        return g_test_run();
}
