/* Signals into pods (see signals.h). The shell's own `kill` is used: few images have a program of that name.
 * The first process gets its signal by name, since -1 leaves it out. */
#include "runtime/kubernetes/signals.h"

#include "base/log.h"
#include "kube/exec.h"

enum { AT_ONCE_MAX = 1024 }; /* each is a connection of its own */

struct Signals {
        KubeClient *client;
        const char *cluster;
        GHashTable *sent; /* set of Sent */
};

typedef struct {
        Signals *signals;
        char *pod;
        KubeExec *exec;
} Sent;

static void sent_free(gpointer data)
{
        Sent *sent = data;

        kube_exec_cancel(sent->exec);
        g_free(sent->pod);
        g_free(sent);
}

Signals *signals_new(KubeClient *client, const char *cluster)
{
        Signals *signals = g_new0(Signals, 1);

        *signals = (Signals){ client, cluster, NULL };
        signals->sent = g_hash_table_new_full(g_direct_hash, g_direct_equal, sent_free, NULL);
        return signals;
}

void signals_free(Signals *signals)
{
        if (!signals)
                return;
        g_hash_table_unref(signals->sent);
        g_free(signals);
}

static void on_done(int exit_status, const GError *error, void *arg)
{
        Sent *sent = arg;

        if (error)
                log_warning("a member's warning signal did not reach its pod", "cluster",
                            sent->signals->cluster, "pod", sent->pod, "reason", error->message, NULL);
        sent->exec = NULL;
        g_hash_table_remove(sent->signals->sent, sent);
}

void signals_send(Signals *signals, const char *namespace, const char *pod, const char *container, int signo)
{
        g_autofree char *script = g_strdup_printf("kill -%d 1; kill -%d -1; :", signo, signo);
        const char *argv[] = { "sh", "-c", script, NULL };
        Sent *sent;
        KubeExecConfig config = {
                .namespace = namespace, .pod = pod, .container = container, .argv = argv, .done = on_done
        };

        if (g_hash_table_size(signals->sent) >= AT_ONCE_MAX) {
                log_warning("too many warning signals at once: one is left out", "cluster", signals->cluster,
                            "pod", pod, NULL);
                return;
        }
        sent = g_new0(Sent, 1);
        *sent = (Sent){ signals, g_strdup(pod), NULL };
        g_hash_table_add(signals->sent, sent);
        config.arg = sent;
        sent->exec = kube_exec(signals->client, &config);
}
