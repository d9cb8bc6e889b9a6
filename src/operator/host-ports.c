/* Ports of jobs on their hosts (see host-ports.h). */
#include "operator/host-ports.h"

#include "base/err.h"
#include "base/number.h"
#include "operator/paddlejob.h"

struct HostPorts {
        gint64 start, end, last;
        GHashTable *bases;  /* uid -> base */
        GHashTable *owners; /* base -> how many jobs say that it is theirs */
};

HostPorts *host_ports_new(const char *range, GError **error)
{
        g_auto(GStrv) parts = g_strsplit(range, ",", -1);
        gint64 start, end;
        HostPorts *ports;

        if (g_strv_length(parts) != 2 ||
            !number_parse("--port-range", parts[0], 1, G_MAXUINT16, &start, NULL) ||
            !number_parse("--port-range", parts[1], 1, G_MAXUINT16, &end, NULL) ||
            end - start < 2 * JOB_PORTS) {
                err_set(error, ERR_USAGE,
                        "--port-range: '%s' is not START,END with room for %d ports, such as 35000,65000",
                        range, 2 * JOB_PORTS);
                return NULL;
        }
        ports = g_new0(HostPorts, 1);
        *ports = (HostPorts){ .start = start, .end = end, .last = start };
        ports->bases = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        ports->owners = g_hash_table_new(g_direct_hash, g_direct_equal);
        return ports;
}

void host_ports_free(HostPorts *ports)
{
        if (!ports)
                return;
        g_hash_table_unref(ports->bases);
        g_hash_table_unref(ports->owners);
        g_free(ports);
}

static void count(HostPorts *ports, gint64 base, int change)
{
        gpointer key = GINT_TO_POINTER((int)base);
        int n = GPOINTER_TO_INT(g_hash_table_lookup(ports->owners, key)) + change;

        if (n > 0)
                g_hash_table_insert(ports->owners, key, GINT_TO_POINTER(n));
        else
                g_hash_table_remove(ports->owners, key);
}

/* Others' bases need not lie on our steps: another --port-range, or another operator, gave them. */
static bool is_free(const HostPorts *ports, gint64 base)
{
        for (gint64 near = base - JOB_PORTS + 1; near < base + JOB_PORTS; near++)
                if (g_hash_table_contains(ports->owners, GINT_TO_POINTER((int)near)))
                        return false;
        return true;
}

/* The next base after the last one whose ports are free; searches the range once. */
static gint64 find_free(HostPorts *ports)
{
        gint64 base = ports->last;

        for (gint64 tried = 0; tried <= (ports->end - ports->start) / JOB_PORTS; tried++) {
                base += JOB_PORTS;
                if (base + JOB_PORTS - 1 > ports->end)
                        base = ports->start;
                if (!is_free(ports, base))
                        continue;
                ports->last = base;
                return base;
        }
        return PORTS_EXHAUSTED;
}

gint64 host_ports_reserve(HostPorts *ports, const char *uid)
{
        gint64 base = GPOINTER_TO_INT(g_hash_table_lookup(ports->bases, uid));

        if (base)
                return base;
        base = find_free(ports);
        host_ports_note(ports, uid, base);
        return base;
}

void host_ports_note(HostPorts *ports, const char *uid, gint64 base)
{
        gint64 before = GPOINTER_TO_INT(g_hash_table_lookup(ports->bases, uid));

        if (before == base)
                return;
        if (before)
                count(ports, before, -1);
        count(ports, base, 1);
        g_hash_table_insert(ports->bases, g_strdup(uid), GINT_TO_POINTER((int)base));
}

void host_ports_release(HostPorts *ports, const char *uid)
{
        gint64 base = GPOINTER_TO_INT(g_hash_table_lookup(ports->bases, uid));

        if (base)
                count(ports, base, -1);
        g_hash_table_remove(ports->bases, uid);
}
