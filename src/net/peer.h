/* The other end of a connection: its address, and the holder for which the connection is counted. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/types.h>

enum { PEER_HOLDER_MAX = INET6_ADDRSTRLEN + 4 }; /* an address and "/64", or "uid N" */

typedef struct {
        char address[INET6_ADDRSTRLEN]; /* "unix" on the Unix socket */
        int port;                       /* 0 on the Unix socket */
        uid_t uid;                      /* of the peer on the Unix socket, else -1 */
        pid_t pid;                      /* of the peer on the Unix socket, else 0 */
        bool local;                     /* on the Unix socket */
        bool ordinary; /* by TCP from this machine, from the process of a person or a job: not of a service,
                          as a proxy would be */
        char holder[PEER_HOLDER_MAX];
} Peer;

/* Reads the other end of this socket. Fields that the kernel does not report are empty. */
void peer_read(int fd, Peer *ret);

/* The holder for which a connection from this address is counted, as a text:
 *
 *     the Unix socket                "uid 1000"
 *     this machine, by TCP           "uid 1000" when the kernel knows whose socket the other end is: every
 *                                    local user may use any address of 127.0.0.0/8. Root's count by address.
 *     IPv4                           the address, also where IPv6 carries it (::ffff:10.0.0.1)
 *     IPv6                           its first 64 bits: one network, often one machine
 *
 * `uid` is (uid_t)-1 if unknown. Pure. */
void peer_holder(const char *address, uid_t uid, char ret[PEER_HOLDER_MAX]);
