/* Leases of TCP ports for members, outside the ephemeral range, so that no outgoing connection takes one
 * between lease and bind.
 *
 * The range is divided into blocks. A block belongs to one server of this machine, by flock on a file in a
 * common directory (of root: /run/paddle-ports, which members cannot enter; of others: /run/lock/paddle,
 * otherwise $XDG_RUNTIME_DIR/paddle, otherwise /tmp/paddle-ports). The kernel releases it when the server
 * dies. Ports of a block are used in turn, so that a released one rests. Each is tried with bind() before it
 * is leased, which detects members that outlive their server, and other programs. Not thread-safe. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { PORT_BLOCK = 200 };

typedef struct {
        const char *lock_dir;  /* NULL: the machine's */
        const char *proc_root; /* NULL: "/"; the root of proc/sys/net/ipv4/ip_local_port_range */
        guint32 seed;          /* selects the block to try first */
} PortsConfig;

typedef struct Ports Ports;
Ports *ports_new(const PortsConfig *config);
void ports_free(Ports *ports); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Ports, ports_free)

/* The range of all leases, inclusive. */
void ports_range(const Ports *ports, int *ret_first, int *ret_last);

/* All or none. ERR_UNAVAILABLE if fewer than `n` are free; ERR_DENIED if no lock file can be created. */
bool ports_lease(Ports *ports, const char *owner, int n, int *ret_ports, GError **error);
/* Marks ports as leased again, including those of other ranges (after a change of the system's settings).
 * Skips 0. */
void ports_keep(Ports *ports, const char *owner, int n, const int *kept);
void ports_release(Ports *ports, const char *owner);
