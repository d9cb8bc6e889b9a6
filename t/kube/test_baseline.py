"""What a template may ask for (doc/guide/kubernetes.md), beside what the API server's own admission says of the same pod: level "baseline"."""

import json

import pytest

from kube.cluster import ApiError


def pod(**spec):
    return {"containers": [{"name": "main", "image": "x"}], **spec}


def main(**about):
    return {"containers": [{"name": "main", "image": "x", **about}]}


def first(**about):
    return pod(initContainers=[{"name": "first", "image": "x", **about}])


def secure(**context):
    """Of the pod, of its container, of one before that."""
    return [pod(securityContext=context), main(securityContext=context), first(securityContext=context)]


def contained(**context):
    return [main(securityContext=context), first(securityContext=context)]


def volume(**source):
    return pod(volumes=[{"name": "a", **source}])


def capability(name):
    return contained(capabilities={"add": [name]})


SYSCTLS = "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range kernel.msgmax"
CAPABILITIES = (
    "AUDIT_WRITE CHOWN KILL MKNOD NET_BIND_SERVICE SETFCAP SYS_CHROOT NET_RAW NET_ADMIN SYS_ADMIN SYS_PTRACE BPF ALL"
)
PODS = [
    pod(),
    pod(hostNetwork=True),
    pod(hostNetwork=False),
    pod(hostPID=True),
    pod(hostIPC=True),
    pod(shareProcessNamespace=True),
    volume(hostPath={"path": "/"}),
    volume(emptyDir={}),
    volume(projected={"sources": [{"serviceAccountToken": {"path": "t"}}]}),
    *contained(privileged=True),
    *contained(privileged=False, allowPrivilegeEscalation=True, runAsUser=0),
    *[one for name in CAPABILITIES.split() for one in capability(name)],
    *contained(capabilities={"drop": ["ALL"]}),
    main(ports=[{"containerPort": 80}]),
    main(ports=[{"containerPort": 80, "hostPort": 80}]),
    first(ports=[{"containerPort": 80, "hostPort": 0}]),
    first(ports=[{"containerPort": 80, "hostPort": 80}]),
    *secure(appArmorProfile={"type": "Unconfined"}),
    *secure(appArmorProfile={"type": "RuntimeDefault"}),
    *secure(appArmorProfile={"type": "Localhost", "localhostProfile": "mine"}),
    *secure(seccompProfile={"type": "Unconfined"}),
    *secure(seccompProfile={"type": "RuntimeDefault"}),
    *secure(seccompProfile={"type": "Localhost", "localhostProfile": "mine"}),
    *[
        one
        for kind in ("container_t", "container_init_t", "container_kvm_t", "spc_t")
        for one in secure(seLinuxOptions={"type": kind})
    ],
    *secure(seLinuxOptions={"level": "s0"}),
    *secure(seLinuxOptions={"user": "u"}),
    *secure(seLinuxOptions={"role": "r"}),
    *contained(procMount="Default"),
    main(securityContext={"procMount": "Unmasked"}) | {"hostUsers": False},
    *[pod(securityContext={"sysctls": [{"name": name, "value": "1"}]}) for name in SYSCTLS.split()],
    main(livenessProbe={"httpGet": {"port": 80}}),
]


# Baseline lets these pass. They are not in the list of what a template of a user may say.
BEYOND = [
    volume(nfs={"server": "s", "path": "/"}),
    volume(csi={"driver": "d"}),
    pod(tolerations=[{"operator": "Exists"}]),
    pod(tolerations=[{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}]),
    pod(schedulerName="mine"),
    pod(priorityClassName="high"),
    main(ports=[{"containerPort": 80, "hostIP": "127.0.0.1"}]),
    main(resources={"limits": {"example.com/device": "1"}}),
    pod(
        affinity={
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]
            }
        }
    ),
]


def is_admitted(kube, spec):
    """One that is no pod at all is nobody's to ask for."""
    try:
        kube.api.create(kube.path("pods") + "?dryRun=All", {"metadata": {"generateName": "a-"}, "spec": spec})
    except ApiError as error:
        assert error.status in (403, 422), error
        assert error.status == 422 or "baseline" in str(error), error
        return False
    return True


@pytest.fixture
def token(server):
    assert server.post("/v1/users", {"name": "ann"}).status == 201
    return server.post("/v1/tokens", {"user": "ann"}).json["token"]


def is_taken(server, token, spec):
    job = {"command": ["true"], "origin": {"paddleflow": {"extensionTemplate": {"spec": spec}}}}
    reply = server.post("/v1/jobs?dry_run=true", job, headers={"Authorization": f"Bearer {token}"})
    assert reply.status in (200, 403), (spec, reply.body)
    assert reply.status == 200 or "administrator" in reply.body.decode()
    return reply.status == 200


def test_baseline(server, kube, token):
    labels = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}}
    kube.api.patch(f"/api/v1/namespaces/{kube.name}", labels)
    differ = [spec for spec in PODS if is_taken(server, token, spec) != is_admitted(kube, spec)]
    assert not differ, "\n".join(json.dumps(spec) for spec in differ)
    assert not [spec for spec in BEYOND if is_taken(server, token, spec)]
