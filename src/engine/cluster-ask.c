/* The command that asks the runtime of a cluster for something. The runtime answers, or it is answered here. */
#include "base/err.h"
#include "engine/state.h"

typedef struct {
        Command command;
        char *cluster;
        RuntimeAsk *ask; /* NULL: it was passed on or answered */
} ClusterAsk;

static bool apply_cluster_ask(Engine *engine, Command *command)
{
        ClusterAsk *wanted = (ClusterAsk *)command;
        const Cluster *cluster = catalog_cluster(engine->catalog, wanted->cluster);
        Runtime *runtime = slot_of_cluster(engine, cluster)->runtime;
        g_autoptr(GError) error = NULL;

        if (!wanted->ask)
                return true; /* its batch is applied again */
        if (cluster && runtime_ask(runtime, wanted->ask)) {
                wanted->ask = NULL;
                return true;
        }
        err_set(&error, ERR_UNAVAILABLE, "cluster '%s' is not connected", wanted->cluster);
        runtime_ask_answer(g_steal_pointer(&wanted->ask), NULL, error);
        return true;
}

static void free_cluster_ask(Command *command)
{
        ClusterAsk *wanted = (ClusterAsk *)command;

        g_free(wanted->cluster);
        runtime_ask_free(wanted->ask);
}

static const CommandOps cluster_ask_ops = { .name = "ask cluster",
                                            .size = sizeof(ClusterAsk),
                                            .apply = apply_cluster_ask,
                                            .free = free_cluster_ask };

void engine_ask(Engine *engine, const char *cluster, RuntimeAsk *ask)
{
        ClusterAsk *wanted = command_new(&cluster_ask_ops, NULL, NULL);

        wanted->cluster = g_strdup(cluster);
        wanted->ask = ask;
        inbox_put(&engine->inbox, &wanted->command);
}
