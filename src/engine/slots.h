/* The runtimes of the engine, one for each cluster: this machine's, which all clusters of type Local share,
 * and one for every other cluster that a driver supports. Each is connected or disconnected independently. A
 * job's slot is that of its queue's cluster.
 *
 * Slots belong to the engine's thread. A ClusterView is what readers of any thread may see of a cluster. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "engine/engine.h"
#include "model/catalog.h"

typedef struct RuntimeSlot RuntimeSlot;

/* One connection of a slot's runtime, which comes with each observation. It lives as long as the engine, so
 * that late observations of an earlier connection can be recognized and dropped. */
typedef struct {
        Engine *engine;
        RuntimeSlot *slot;
} Source;

struct RuntimeSlot {
        int id;            /* the scheduler's cluster; 0: this machine */
        char *name;        /* of the cluster; "": this machine */
        Cluster *cluster;  /* as it was when the runtime was opened, a reference; NULL: this machine, or no
                            cluster */
        Runtime *runtime;  /* NULL: there is none */
        Source *source;    /* its current connection */
        Resources total;   /* of its usable nodes, including what others use of them */
        Resources room;    /* the same without what others use */
        Resources system;  /* the part of total that the cluster's own pods use */
        Resources most;    /* of all its nodes, usable or not */
        GPtrArray *list;   /* RuntimeNode, as last reported; never changed, only replaced; or NULL */
        GHashTable *nodes; /* nodes that the scheduler knows: name -> RuntimeNode */
        GHashTable *seen;  /* tasks reported since the runtime connected, until it is synced */
        bool connected;    /* synced now */
        bool synced;       /* in the open batch */
};

void slots_init(Engine *engine);
/* False with an error if this machine's runtime cannot be opened. */
bool slots_open(Engine *engine, GError **error);
void slots_close(Engine *engine);
void slots_free(Engine *engine); /* call it after slots_close, when no command is left */

RuntimeSlot *slot_local(const Engine *engine);
/* Never NULL: a new cluster gets a new slot. `cluster` NULL: this machine's. */
RuntimeSlot *slot_of_cluster(Engine *engine, const Cluster *cluster);
RuntimeSlot *slot_of_queue(Engine *engine, const char *queue_name); /* of the catalog of the batch */
RuntimeSlot *slot_of(Engine *engine, const Job *job);
bool slot_is_local(const RuntimeSlot *slot);
bool slots_any_connected(const Engine *engine); /* or synced in this batch */

/* Call it after a commit that changed the catalog: opens the runtimes of new clusters, and closes those of
 * deleted or changed ones. */
void slots_settle(Engine *engine);

/* slot_up: the runtime has reported everything, and its queues start jobs. slot_down: it is disconnected, and
 * why; its queues do not start jobs. */
void slot_up(Engine *engine, RuntimeSlot *slot);
void slot_down(Engine *engine, RuntimeSlot *slot, const char *why);
/* Marks the slots that were synced in the ending batch as connected, or not. False: there are none. */
bool slots_mark_synced(Engine *engine, bool connected);
/* Passes the slot's nodes to the scheduler. True if their sum has changed, or the part that can be shared. */
bool slot_take_nodes(Engine *engine, RuntimeSlot *slot);
/* As in share.h; `queue` NULL: it was deleted. */
SpecShare slot_share(const RuntimeSlot *slot, const Catalog *catalog, const Queue *queue, const Spec *spec);
/* The cgroup limits of members of a role of the job's attempt. */
void slot_hold(Engine *engine, const Job *job, int role, Resources *ret);
/* The scheduler's number for a node. A node that is not known (any more, or yet) gets one, without
 * capacity. */
int slot_node(Engine *engine, RuntimeSlot *slot, const char *name);
/* The slot's first node by name, of the usable ones if there are any. If it has none, one without
 * capacity. */
int slot_any_node(Engine *engine, RuntimeSlot *slot);
/* The name of a node of a slot other than this machine's; NULL: it is this machine. Borrowed. */
const char *slot_node_name(const Engine *engine, int id);

/* Reports, as the runtime would, that the start of a task failed before the runtime was called. The failure
 * is permanent: there is no retry. */
void slot_fail_start(const RuntimeSlot *slot, const char *task, gint64 now, const GError *why);

/* ---- for any thread ---- */

typedef struct {
        Runtime *runtime; /* not for readers: only slots.c calls it, under its lock */
        bool known;       /* a runtime exists */
        bool connected;   /* and has reported everything that it knows */
        Resources total;  /* of its usable nodes */
        Resources room;   /* the part of these that others do not use */
        Resources most;   /* of all nodes, usable or not */
        GPtrArray *nodes; /* RuntimeNode, a reference to a list that does not change; NULL: not reported */
        char *why;        /* why there is no runtime, or it is disconnected; NULL: no reason */
} ClusterView;

/* `cluster` NULL: this machine. */
void cluster_view(const Engine *engine, const Cluster *cluster, ClusterView *ret);
void cluster_view_clear(ClusterView *view);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ClusterView, cluster_view_clear)
/* What is wrong with the nodes of a connected cluster; NULL: all of them can be used. */
char *cluster_view_unusable(const Cluster *cluster, const ClusterView *view);
SpecShare cluster_view_share(const ClusterView *view, const Catalog *catalog, const Queue *queue,
                             const Spec *spec); /* as of share.h */
/* As building_wants (state.h), in the cluster of the job. */
bool cluster_build_wants(Engine *engine, const Catalog *catalog, const Job *job, PreparationKind kind,
                         Resources *ret);
/* The scheduler's number for the cluster; a new cluster gets one. */
int cluster_id(const Engine *engine, const Cluster *cluster);
