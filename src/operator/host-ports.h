/* Ports of jobs on their hosts: each job has JOB_PORTS of them from its base on, and no other job has one of
 * these. Reserved here, recorded in an annotation of the job, so that the next operator finds them. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct HostPorts HostPorts;

enum { PORTS_EXHAUSTED = 40000 }; /* the base of whoever comes too late */

/* `range`: "35000,65000". ERR_USAGE for another form. */
HostPorts *host_ports_new(const char *range, GError **error);
void host_ports_free(HostPorts *ports);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostPorts, host_ports_free)

gint64 host_ports_reserve(HostPorts *ports,
                          const char *uid); /* the same for the same uid until it is released */
/* The job has this base, whoever gave it, and not the one before. */
void host_ports_note(HostPorts *ports, const char *uid, gint64 base);
void host_ports_release(HostPorts *ports, const char *uid);
