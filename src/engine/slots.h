/* The runtimes of the engine, one for each cluster: this machine's, which all clusters of type Local share,
 * and one for every other cluster that a driver takes. Each is connected or away by itself; a job's slot is
 * that of its queue's cluster.
 *
 * Slots are the engine thread's. What readers of any thread may know of a cluster is a ClusterView. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "engine/engine.h"
#include "model/catalog.h"

typedef struct RuntimeSlot RuntimeSlot;

/* One opening of a slot's runtime: what observations come with. It lives as long as the engine, so that late
 * ones of an earlier opening are known as such. */
typedef struct {
        Engine *engine;
        RuntimeSlot *slot;
} Source;

struct RuntimeSlot {
        int id;     /* the scheduler's cluster; 0: this machine */
        char *name; /* of the cluster; "": this machine */
        Cluster *
                cluster; /* as it was when the runtime was opened, a reference; NULL: this machine, or none */
        Runtime *runtime;  /* NULL: there is none */
        Source *source;    /* of its present opening */
        Resources total;   /* of its usable nodes, with what others hold of them */
        Resources room;    /* without */
        Resources system;  /* of total: what the cluster's own hold */
        Resources most;    /* of all its nodes, usable or not */
        GPtrArray *list;   /* RuntimeNode, as last told; never changed, but replaced; or NULL */
        GHashTable *nodes; /* what the scheduler knows: name -> RuntimeNode */
        GHashTable *seen;  /* tasks reported since the runtime connected, until it is synced */
        bool connected;    /* synced now */
        bool synced;       /* in the batch that is open */
};

void slots_init(Engine *engine);
/* False with an error when this machine's runtime cannot be opened. */
bool slots_open(Engine *engine, GError **error);
void slots_close(Engine *engine);
void slots_free(Engine *engine); /* after slots_close, and when no input is left */

RuntimeSlot *slot_local(const Engine *engine);
/* Never NULL: one is made for a cluster that is new. `cluster` NULL: this machine's. */
RuntimeSlot *slot_of_cluster(Engine *engine, const Cluster *cluster);
RuntimeSlot *slot_of_queue(Engine *engine, const char *queue_name); /* of the catalog of the batch */
RuntimeSlot *slot_of(Engine *engine, const Job *job);
bool slot_is_local(const RuntimeSlot *slot);
bool slots_any_connected(const Engine *engine); /* or synced in this batch */

/* After a commit that changed the catalog: runtimes of clusters that came are opened, of those that went or
 * changed closed. */
void slots_settle(Engine *engine);

/* It has told all it knows, or is away, and why. Its queues start jobs, or do not. */
void slot_up(Engine *engine, RuntimeSlot *slot);
void slot_down(Engine *engine, RuntimeSlot *slot, const char *why);
/* Those that were synced in the batch that ends are connected, or not. False when there are none. */
bool slots_mark_synced(Engine *engine, bool connected);
/* Tells the scheduler of its nodes; true when their sum is another than before, or what can be shared of it.
 */
bool slot_take_nodes(Engine *engine, RuntimeSlot *slot);
/* As of share.h; `queue` NULL: one that has gone. */
SpecShare slot_share(const RuntimeSlot *slot, const Catalog *catalog, const Queue *queue, const Spec *spec);
/* What cgroups hold of members of a role of the job's attempt. */
void slot_hold(Engine *engine, const Job *job, int role, Resources *ret);
/* The scheduler's number for a node; one that is not known any more (or not yet) gets one, without room. */
int slot_node(Engine *engine, RuntimeSlot *slot, const char *name);
/* Its first node by name, of the usable ones if there are any; where it has none, one without room. */
int slot_any_node(Engine *engine, RuntimeSlot *slot);
/* The name of a node of a slot that is not this machine's; NULL: it is this machine. Borrowed. */
const char *slot_node_name(const Engine *engine, int id);

/* Reports, as the runtime would, that the start of a task failed before the runtime was asked. The failure is
 * permanent: there is no retry. */
void slot_fail_start(const RuntimeSlot *slot, const char *task, gint64 now, const GError *why);

/* ---- for any thread ---- */

typedef struct {
        Runtime *runtime; /* not for readers: slots.c alone calls it, under its lock */
        bool known;       /* a runtime is there */
        bool connected;   /* and has told all it knows */
        Resources total;  /* of its usable nodes */
        Resources room;   /* of these, without what others hold */
        Resources most;   /* of all nodes, usable or not */
        GPtrArray *nodes; /* RuntimeNode, a reference to a list that does not change; NULL: not told */
        char *why;        /* why there is none, or it is away; NULL: nothing to say */
} ClusterView;

/* `cluster` NULL: this machine. */
void cluster_view(const Engine *engine, const Cluster *cluster, ClusterView *ret);
void cluster_view_clear(ClusterView *view);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ClusterView, cluster_view_clear)
SpecShare cluster_view_share(const ClusterView *view, const Catalog *catalog, const Queue *queue,
                             const Spec *spec); /* as of share.h */
/* The scheduler's number for the cluster; one is made for a new one. */
int cluster_id(const Engine *engine, const Cluster *cluster);
