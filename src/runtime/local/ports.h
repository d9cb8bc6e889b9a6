/* Leases of TCP ports for members, outside the ephemeral range, so that no outgoing connection takes one
 * between lease and bind.
 *
 * The range is cut into blocks. A block belongs to one server of this machine, by flock on a file that all of
 * them find (of root: /run/paddle-ports, which members cannot enter; of others: /run/lock/paddle, else
 * $XDG_RUNTIME_DIR/paddle, else /tmp/paddle-ports); the kernel gives it back when the server dies. Within a
 * block, ports go round, so that a released one rests before it is used again, and each is tried with bind()
 * before it is leased, so that members that outlive their server and programs of others are left alone. Not
 * thread-safe. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { PORT_BLOCK = 200 };

typedef struct {
        const char *lock_dir;  /* NULL: the machine's */
        const char *proc_root; /* NULL: "/"; where proc/sys/net/ipv4/ip_local_port_range is read */
        guint32 seed;          /* which block is tried first */
} PortsConfig;

typedef struct Ports Ports;
Ports *ports_new(const PortsConfig *config);
void ports_free(Ports *ports); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Ports, ports_free)

/* The range that leases come from, inclusive. */
void ports_range(const Ports *ports, int *ret_first, int *ret_last);

/* All or none. ERR_UNAVAILABLE when there are not `n` free ones; ERR_DENIED when no lock file can be made. */
bool ports_lease(Ports *ports, const char *owner, int n, int *ret_ports, GError **error);
/* Marks ports as leased again; those of other ranges (after a change of the system's settings) count as well.
 * 0 is skipped. */
void ports_keep(Ports *ports, const char *owner, int n, const int *kept);
void ports_release(Ports *ports, const char *owner);
