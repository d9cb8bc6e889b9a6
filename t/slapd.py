"""A directory of the test's own: OpenLDAP's slapd on the loopback, with a few people."""

import base64
import contextlib
import hashlib
import socket
import subprocess

from conftest import PATIENCE, wait_for

BASE = "dc=example,dc=org"
PEOPLE = f"ou=people,{BASE}"
READER, READER_PASSWORD = f"cn=reader,{BASE}", "reads names"

# Anonymous binds with a name or without a password succeed here, as RFC 4513 allows: who takes that for a log-in is wrong.
CONFIG = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {folder}/pid
allow bind_anon_cred bind_anon_dn
TLSCertificateFile {certificate}
TLSCertificateKeyFile {key}
database mdb
suffix "{base}"
rootdn "cn=admin,{base}"
directory {folder}/data
maxsize 16777216
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="{reader}" read by * none
"""


def hashed(password):
    salt = hashlib.sha1(password.encode()).digest()[:8]
    return "{SSHA}" + base64.b64encode(hashlib.sha1(password.encode() + salt).digest() + salt).decode()


def entry(dn, *classes, **attributes):
    lines = [f"dn: {dn}", *(f"objectClass: {name}" for name in classes)]
    return "\n".join(lines + [f"{name}: {value}" for name, value in attributes.items()]) + "\n\n"


def person(name, password, unit=PEOPLE):
    return entry(f"uid={name},{unit}", "inetOrgPerson", uid=name, cn=name, sn=name, userPassword=hashed(password))


def free_port():
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Slapd:
    """`people`: {name: password}, `others`: the same in a unit of their own, where names are taken once more. `referral`: the
    URL to which the entry uid=away refers."""

    def __init__(self, folder, authority, people, others=(), referral=None):
        self.folder = folder
        (folder / "data").mkdir(parents=True)
        pair = authority.issue("slapd", "slapd", names=["IP:127.0.0.1"])
        (folder / "slapd.conf").write_text(
            CONFIG.format(folder=folder, base=BASE, reader=READER, certificate=pair[0], key=pair[1])
        )
        self.fill(people, others, referral)
        self.ports = free_port(), free_port()
        self.plain, self.tls = f"ldap://127.0.0.1:{self.ports[0]}", f"ldaps://127.0.0.1:{self.ports[1]}"
        self.process = None

    def fill(self, people, others, referral):
        text = entry(BASE, "dcObject", "organization", dc="example", o="example")
        text += entry(
            READER, "organizationalRole", "simpleSecurityObject", cn="reader", userPassword=hashed(READER_PASSWORD)
        )
        for unit, members in ((PEOPLE, people), (f"ou=others,{BASE}", others)):
            text += entry(unit, "organizationalUnit", ou=unit.split(",")[0][3:])
            text += "".join(person(name, password, unit) for name, password in dict(members).items())
        if referral:
            text += entry(
                f"uid=away,{PEOPLE}", "referral", "extensibleObject", uid="away", ref=f"{referral}/uid=away,{PEOPLE}"
            )
        (self.folder / "people.ldif").write_text(text)
        done = subprocess.run(
            ["/usr/sbin/slapadd", "-f", self.folder / "slapd.conf", "-l", self.folder / "people.ldif"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                ["/usr/sbin/slapd", "-f", self.folder / "slapd.conf", "-h", f"{self.plain} {self.tls}", "-d", "stats"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        wait_for(self.is_ready, PATIENCE, "slapd")
        return self

    def is_ready(self):
        assert self.process.poll() is None, self.log()
        return all(socket.socket().connect_ex(("127.0.0.1", port)) == 0 for port in self.ports)

    def log(self):
        return (self.folder / "log").read_text()

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
