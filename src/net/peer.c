/* Who is at the other end of a connection (see peer.h). The owner of a socket on this machine comes from the
 * kernel's table of sockets, asked for one entry by both ends (sock_diag(7)): no privilege is needed, and
 * the answer takes microseconds. */
#include "net/peer.h"

#include <arpa/inet.h>
#include <glib.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"

enum { FIRST_ORDINARY = 1000 }; /* uids below are of services, on all distributions */

typedef struct {
        int family;
        guint8 bytes[16]; /* 4 of them for IPv4 */
        int port;
} End;

static const guint8 mapped[12] = { [10] = 0xff, [11] = 0xff }; /* RFC 4291, 2.5.5.2 */

/* IPv4 that IPv6 carries is IPv4. */
static bool read_end(const struct sockaddr_storage *address, End *ret)
{
        const struct sockaddr_in *v4 = (const void *)address;
        const struct sockaddr_in6 *v6 = (const void *)address;

        *ret = (End){ .family = address->ss_family };
        if (address->ss_family == AF_INET) {
                memcpy(ret->bytes, &v4->sin_addr, 4);
                ret->port = ntohs(v4->sin_port);
        } else if (address->ss_family == AF_INET6) {
                memcpy(ret->bytes, &v6->sin6_addr, 16);
                ret->port = ntohs(v6->sin6_port);
                if (memcmp(ret->bytes, mapped, sizeof mapped) == 0) {
                        ret->family = AF_INET;
                        memmove(ret->bytes, ret->bytes + sizeof mapped, 4);
                }
        }
        return address->ss_family == AF_INET || address->ss_family == AF_INET6;
}

static bool is_same_machine(const End *peer, const End *own)
{
        static const guint8 loopback[16] = { [15] = 1 };
        gsize len = peer->family == AF_INET ? 4 : 16;

        return (peer->family == own->family && memcmp(peer->bytes, own->bytes, len) == 0) ||
               (peer->family == AF_INET ? peer->bytes[0] == 127 : memcmp(peer->bytes, loopback, 16) == 0);
}

/* ---- whose socket the other end is ---- */

typedef struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 request;
} Question;

static void put_question(const End *peer, const End *own, Question *ret)
{
        *ret = (Question){ .head = { .nlmsg_len = sizeof *ret,
                                     .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                                     .nlmsg_flags = NLM_F_REQUEST },
                           .request = { .sdiag_family = (guint8)peer->family,
                                        .sdiag_protocol = IPPROTO_TCP,
                                        .idiag_states = ~0u } };
        ret->request.id.idiag_sport = htons((guint16)peer->port);
        ret->request.id.idiag_dport = htons((guint16)own->port);
        memcpy(ret->request.id.idiag_src, peer->bytes, sizeof ret->request.id.idiag_src);
        memcpy(ret->request.id.idiag_dst, own->bytes, sizeof ret->request.id.idiag_dst);
        ret->request.id.idiag_cookie[0] = ret->request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
}

/* The owner of the socket that is `peer` there, and connected to `own`. */
static uid_t find_owner(const End *peer, const End *own)
{
        fd_auto int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
        struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
        union {
                struct nlmsghdr head;
                char bytes[1024]; /* the entry, and attributes */
        } answer;
        Question question;

        put_question(peer, own, &question);
        if (fd < 0 ||
            sendto(fd, &question, sizeof question, 0, (struct sockaddr *)&kernel, sizeof kernel) < 0)
                return (uid_t)-1;
        ssize_t len = recv(fd, &answer, sizeof answer, MSG_DONTWAIT); /* the kernel answered in sendto */
        if (len < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg)) ||
            answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
                return (uid_t)-1;
        return ((const struct inet_diag_msg *)NLMSG_DATA(&answer.head))->idiag_uid;
}

/* ---- */

void peer_holder(const char *address, uid_t uid, char ret[PEER_HOLDER_MAX])
{
        bool local = strcmp(address, "unix") == 0;
        struct in6_addr v6;

        if (uid != (uid_t)-1 && (local || uid != 0)) {
                g_snprintf(ret, PEER_HOLDER_MAX, "uid %u", uid);
        } else if (inet_pton(AF_INET6, address, &v6) != 1) {
                g_strlcpy(ret, address, PEER_HOLDER_MAX);
        } else if (memcmp(&v6, mapped, sizeof mapped) == 0) {
                (void)inet_ntop(AF_INET, v6.s6_addr + sizeof mapped, ret, PEER_HOLDER_MAX);
        } else {
                memset(v6.s6_addr + 8, 0, 8);
                (void)inet_ntop(AF_INET6, &v6, ret, INET6_ADDRSTRLEN);
                g_strlcat(ret, "/64", PEER_HOLDER_MAX);
        }
}

static void read_tcp(int fd, const struct sockaddr_storage *address, Peer *ret)
{
        struct sockaddr_storage local;
        socklen_t len = sizeof local;
        uid_t owner = (uid_t)-1;
        End peer, own;

        if (!read_end(address, &peer))
                return;
        ret->port = peer.port;
        /* As the socket has it: a mapped address stays one. */
        (void)inet_ntop(address->ss_family,
                        address->ss_family == AF_INET
                                ? (const void *)&((const struct sockaddr_in *)address)->sin_addr
                                : (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr,
                        ret->address, sizeof ret->address);
        if (getsockname(fd, (struct sockaddr *)&local, &len) == 0 && read_end(&local, &own) &&
            is_same_machine(&peer, &own))
                owner = find_owner(&peer, &own);
        ret->ordinary = owner != (uid_t)-1 && owner >= FIRST_ORDINARY && owner != geteuid();
        peer_holder(ret->address, owner, ret->holder);
}

static void read_unix(int fd, Peer *ret)
{
        struct ucred ucred;
        socklen_t len = sizeof ucred;

        ret->local = true;
        g_strlcpy(ret->address, "unix", sizeof ret->address);
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ucred, &len) == 0) {
                ret->uid = ucred.uid;
                ret->pid = ucred.pid;
        }
        peer_holder(ret->address, ret->uid, ret->holder);
}

void peer_read(int fd, Peer *ret)
{
        struct sockaddr_storage address;
        socklen_t len = sizeof address;

        *ret = (Peer){ .uid = (uid_t)-1 };
        if (getpeername(fd, (struct sockaddr *)&address, &len) != 0)
                return;
        if (address.ss_family == AF_UNIX)
                read_unix(fd, ret);
        else
                read_tcp(fd, &address, ret);
}
