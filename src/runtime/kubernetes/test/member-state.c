/* The state machine of a member, explored: one member, and every order in which engine, API server,
 * controllers, kubelet, third parties, nodes, the log and the connection can act. Each state is reached once. In
 * each the rules hold (`fail_if`). From each there is a way to the end without another order of the engine and
 * without a third party. The rules are those of runtime/runtime.h and doc/internals/kubernetes.md ("Pods, ends
 * and logs").
 *
 * Pure: member-state.c decides. This file stands for task.c, which carries out the actions, and for the cluster.
 * The cache lags behind the API server by any time, and shows the latest state of a pod. Some things happen once
 * only (`Luck`), so that the walk ends. Members of an OWNER_JOB that wait for each other's logs are not modelled:
 * there is one member.
 *
 * Under a sanitizer the walk ends after the first states. */
#include "runtime/kubernetes/member-state.h"

#include <signal.h>
#include <string.h>

#include "base/test/sanitized.h"

enum { STATES_MAX = 6000000, STATES_SANITIZED = 150000 };

/* How the member's pod is created. */
typedef enum {
        KIND_PLAIN,   /* by the server */
        KIND_SET,     /* by a StatefulSet, which recreates it under its name until the set is deleted */
        KIND_JOB,     /* by a Job, which may create it twice */
        KIND_WHOLE,   /* by an operator's object, whose pods are deleted with it */
        KIND_PASSING, /* the same, and the end of the pod is not the end of the member */
        KINDS
} Kind;

typedef enum { POD_NONE, POD_PENDING, POD_RUNNING, POD_ENDED } PodPhase;
typedef struct {
        guint8 phase;
        guint8 uid; /* of the first pod 1, ... */
        guint8 deleting, began;
} Pod;

typedef enum { CREATION_NONE, CREATION_SENT, CREATION_IDLE, CREATION_DONE } Creation;
typedef enum { LOG_NONE, LOG_OPENING, LOG_FLOWS } Log;
typedef enum { ENGINE_NEW, ENGINE_RUNS, ENGINE_STOPS, ENGINE_TOLD, ENGINE_FORGOT, ENGINE_GONE } Engine;

/* What happens a limited number of times. */
typedef enum {
        LUCK_DELETED,    /* a third party deletes a pod */
        LUCK_NODE,       /* the node dies */
        LUCK_DUPLICATE,  /* a Job's controller creates a second pod */
        LUCK_RESTART,    /* the server is killed and started again */
        LUCK_DISCONNECT, /* the connection is lost */
        LUCK_AGAIN,      /* the engine starts the member a second time, under the same name */
        LUCK_LOST_REPLY, /* the reply to a creation is lost */
        LUCKS
} Luck;

/* All that makes two states different: bytes, compared as such. */
typedef struct {
        /* The server: its memory. */
        guint8 stage, removal, stop, told;
        guint8 creation, doubtful, record_ended, set_coming, log, log_last, end_held, given_up, again,
                located;
        guint8 deleting_owner, undoing, searching, connected, node_seen;
        Pod seen, seen_other; /* the cache */
        guint8 has_other;     /* the name of the second pod is known */
        /* On disk. */
        guint8 log_uid; /* of the pod whose lines the log has; 0: none */
        /* The cluster. */
        guint8 owner, created_once, node_dead;
        Pod pod, other;
        guint8 uids;
        /* The engine. */
        guint8 engine, stopped, killed, ended, expired, excused;
        guint8 refused; /* the start's namespace cannot be looked at */
        guint8 luck[LUCKS];
} World;

static Kind kind;
static const char *broken; /* the rule that does not hold; NULL: all do */

static void fail_if(bool wrong, const char *rule)
{
        if (wrong && !broken)
                broken = rule;
}

/* ---- the server's part: facts and actions, as in task.c ---- */

static bool is_coming(const World *w)
{
        return w->creation != CREATION_NONE || w->set_coming;
}

static MemberFacts facts_of(const World *w, const Pod *gone)
{
        const Pod *pod = gone ? gone : &w->seen;
        bool there = w->seen.phase != POD_NONE;
        static const MemberOwner owners[KINDS] = { OWNER_NONE, OWNER_ROLE, OWNER_ROLE, OWNER_JOB, OWNER_JOB };

        return (MemberFacts){
                .pod = there,
                .deleting = pod->deleting,
                .placed = pod->phase >= POD_RUNNING,
                .started = pod->began,
                .ready = pod->phase == POD_RUNNING,
                .ended = pod->phase == POD_ENDED,
                .preempted = pod->deleting,
                .passing = kind == KIND_PASSING,
                .over = pod->phase == POD_ENDED,
                .replaced = there && kind != KIND_PLAIN && w->log_uid && w->log_uid != pod->uid,
                .unreachable = there && pod->deleting && w->node_seen,
                .given_up = w->given_up,
                .owner = there ? owners[kind] : OWNER_UNKNOWN,
                .creating = w->creation != CREATION_NONE,
                .created = w->creation == CREATION_DONE,
                .idle = w->creation == CREATION_IDLE,
                .doubtful = w->doubtful,
                .coming = is_coming(w),
                .located = w->located,
                .duplicate = w->has_other && w->seen_other.phase && !w->seen_other.deleting,
                .log = w->log != LOG_NONE,
                .start_pending = w->again,
        };
}

static void step(World *w, MemberEvent event, const Pod *gone);

static void create(World *w)
{
        w->located = true;
        if (w->refused) { /* orders.c: its caller refuses it, and creates nothing */
                step(w, ON_FAILED, NULL);
                return;
        }
        if (kind == KIND_PLAIN) {
                fail_if(w->pod.phase && !w->pod.deleting && w->connected && w->seen.uid == w->pod.uid,
                        "a pod that is there is not created again");
                w->creation = CREATION_SENT;
        } else {
                w->set_coming = true;
        }
}

/* The engine hears of the end. */
static void tell_end(World *w, guint how, const Pod *pod)
{
        fail_if(w->record_ended, "an end is told once while the connection lasts");
        w->ended = w->record_ended = true;
        if (how & DO_END_LOST)
                fail_if(!w->excused && w->engine == ENGINE_RUNS,
                        "a member is lost only if something happened to its pod");
        if (how & DO_END_OWN)
                fail_if(pod->phase != POD_ENDED && w->seen.phase != POD_ENDED,
                        "the end of a pod is told when the pod has ended");
        if (how & (DO_END_OWN | DO_END_STOPPED))
                fail_if(pod->uid == w->pod.uid && w->pod.phase == POD_RUNNING && !w->node_dead,
                        "no end is told while the program runs");
        if (how & (DO_END_OWN | DO_END_LOST))
                fail_if(kind == KIND_PASSING && !w->stopped,
                        "a member whose pods come and go ends when it is stopped");
        if (how & DO_END_STOPPED)
                fail_if(!w->stopped, "only a member that was stopped ends so");
        if (w->engine == ENGINE_RUNS || w->engine == ENGINE_STOPS || w->engine == ENGINE_FORGOT)
                w->engine = ENGINE_TOLD; /* FORGOT: a task that no job knows; it is forgotten once more */
}

static void delete (World *w, Pod *pod, const Pod *seen, bool force)
{
        if (pod->phase == POD_NONE || pod->uid != seen->uid)
                return;
        if (kind == KIND_SET && !force && w->owner && !w->pod.deleting)
                fail_if(true, "the owner goes before the pod");
        pod->deleting = true;
        if (force || pod->phase != POD_RUNNING)
                *pod = (Pod){ 0 };
}

static void delete_pod(World *w, bool force)
{
        bool ran_out =
                w->seen.phase == POD_ENDED && !w->excused && !w->stopped && !w->seen.deleting && !w->given_up;

        fail_if(ran_out && kind != KIND_PASSING && !w->expired && !w->again && w->engine != ENGINE_GONE,
                "a pod that ended by itself stays until it expires");
        fail_if(!force && w->stop == STOP_GRACE && w->stage == STAGE_STOPPING && w->log == LOG_OPENING,
                "no pod of a stopped member is deleted before its log is followed");
        if (force)
                w->given_up = true;
        delete (w, &w->pod, &w->seen, force);
}

static void take_other(World *w)
{
        Pod pod = w->other, seen = w->seen_other;

        w->other = w->pod;
        w->pod = pod;
        w->seen_other = (Pod){ 0 };
        w->seen = seen;
        w->has_other = false;
        step(w, ON_POD, NULL);
}

/* A restart would begin so, too. */
static void forget_task(World *w)
{
        w->stage = w->removal = w->stop = w->told = 0;
        w->creation = w->doubtful = w->record_ended = w->log = w->log_last = w->end_held = w->given_up =
                w->again = 0;
        w->located = w->has_other = 0;
}

static void release(World *w, MemberEvent event)
{
        bool again = w->again && event != ON_CONNECTED;

        fail_if(w->seen.phase != POD_NONE, "a record stays as long as its pod");
        w->again = false;
        if (again) {
                step(w, ON_START, NULL);
                return;
        }
        forget_task(w);
}

static guint reached_stages, reached_removals, reached_actions, reached_events;

static void tell(World *w, guint todo, const Pod *pod)
{
        if (todo & (DO_TELL_PLACED | DO_TELL_STARTED | DO_TELL_READY))
                fail_if(w->record_ended, "nothing is told after the end");
        if (todo & DO_TELL_STARTED)
                fail_if(!pod->began, "a start is told of a program that has begun");
        if (todo & DO_FOLLOW && w->log == LOG_NONE) {
                fail_if(kind != KIND_PLAIN && kind != KIND_PASSING && w->stop == STOP_NONE && w->log_uid &&
                                w->log_uid != pod->uid,
                        "a second pod does not go on as the first");
                w->log = LOG_OPENING;
                w->log_uid = pod->uid;
        }
}

static void step(World *w, MemberEvent event, const Pod *gone)
{
        MemberStatus status = { (MemberStage)w->stage, (MemberRemoval)w->removal, (MemberStop)w->stop,
                                w->told };
        const MemberFacts facts = facts_of(w, gone);
        guint todo = member_step(&status, event, &facts);
        const Pod *pod = gone ? gone : &w->seen;

        w->stage = (guint8)status.stage;
        w->removal = (guint8)status.removal;
        w->stop = (guint8)status.stop;
        w->told = (guint8)status.told;
        reached_stages |= 1u << status.stage;
        reached_removals |= 1u << status.removal;
        reached_actions |= todo;
        reached_events |= 1u << event;
        fail_if((status.stage < STAGE_STOPPING) != (status.stop == STOP_NONE) &&
                        status.stage <= STAGE_STOPPING,
                "a member that was stopped is stopping until its end");
        fail_if(todo & DO_KEEP && status.stop != STOP_NONE,
                "the pod of a member that was stopped is not kept");
        fail_if(todo & DO_WAIT_FOR_LOG && status.stop == STOP_KILL, "a killed member waits for no log");
        if (todo & DO_TAKE_DUPLICATE) {
                fail_if(status.told & TOLD_STARTED, "a program that has started is not exchanged");
                take_other(w);
                return;
        }
        if (todo & DO_CREATE) {
                w->record_ended = false;
                create(w);
        }
        if (todo & DO_START_LATER)
                w->again = true;
        if (todo & DO_CANCEL_START) { /* it has ended before it began */
                w->again = false;
                w->engine = ENGINE_TOLD;
        }
        if (todo & DO_CANCEL_CREATION)
                w->creation = CREATION_NONE;
        tell(w, todo, pod);
        if (todo & DO_UNFOLLOW) {
                w->log = LOG_NONE;
                w->log_last = false;
                if (w->stage > STAGE_ENDED)
                        w->end_held = false;
        }
        if (todo & DO_DELETE_DUPLICATE)
                delete (w, &w->other, &w->seen_other, false);
        if (todo & DO_UNDO_CREATION)
                w->undoing = true;
        if (todo & DO_SEARCH)
                w->searching = true;
        if (todo & DO_DELETE_OWNER)
                w->deleting_owner = true;
        if (todo & (DO_DELETE_POD | DO_FORCE_POD))
                delete_pod(w, todo & DO_FORCE_POD);
        if (todo & DO_END && w->stage == STAGE_DRAINING) {
                w->end_held = true;
                w->log_last = true;
        } else if (todo & DO_END) {
                tell_end(w, todo, pod);
        }
        if (todo & DO_TELL_END) {
                fail_if(!w->end_held, "the end that is told was held");
                w->end_held = false;
                tell_end(w, 0, pod);
        }
        if (event == ON_POD_GONE)
                w->given_up = false;
        fail_if((w->stage == STAGE_DRAINING) != w->end_held, "a draining member holds its end");
        if (todo & DO_RELEASE)
                release(w, event);
        else if (todo & DO_WAIT_FOR_LOG && w->log == LOG_FLOWS)
                step(w, ON_LOG_FLOWS, NULL);
}

/* ---- what can happen ---- */

static bool is_same(const Pod *a, const Pod *b)
{
        return memcmp(a, b, sizeof *a) == 0;
}

static bool spend(World *w, Luck luck)
{
        if (!w->luck[luck])
                return false;
        w->luck[luck]--;
        return true;
}

/* On another node. */
static Pod new_pod(World *w)
{
        w->node_dead = w->node_seen = false;
        return (Pod){ .phase = POD_PENDING, .uid = ++w->uids };
}

/* The cache shows the latest state. A pod of another uid comes after the deletion of the first. */
static void see(World *w)
{
        Pod before = w->seen;

        if (before.phase && before.uid != w->pod.uid) {
                w->seen = (Pod){ 0 };
                step(w, ON_POD_GONE, &before);
                return;
        }
        w->seen = w->pod;
        w->located = true;
        if (w->pod.phase)
                step(w, ON_POD, NULL);
        else
                step(w, ON_POD_GONE, &before);
        fail_if(kind == KIND_SET && w->seen.phase && w->seen.deleting && w->owner && w->stop == STOP_NONE &&
                        w->removal == REMOVAL_NONE,
                "the owner of a pod that a third party deletes is deleted, too");
}

static void see_other(World *w)
{
        w->seen_other = w->other;
        w->has_other = w->other.phase != POD_NONE;
        if (w->other.phase && w->seen.phase) {
                step(w, ON_DUPLICATE, NULL);
        } else if (w->other.phase) { /* the member has no other pod */
                w->seen = w->seen_other;
                w->pod = w->other;
                w->other = w->seen_other = (Pod){ 0 };
                w->has_other = false;
                step(w, ON_POD, NULL);
        }
}

static void connect(World *w)
{
        w->connected = true;
        w->ended = w->record_ended = w->given_up = false;
        w->node_seen = w->node_dead;
        w->excused |= w->other.phase != POD_NONE; /* a list shows two pods in any order */
        w->seen = w->pod;
        w->seen_other = w->other;
        w->has_other = w->has_other && w->other.phase;
        step(w, ON_CONNECTED, NULL);
        if (w->seen.phase) {
                w->located = true;
                step(w, ON_POD, NULL);
        }
        fail_if(w->seen.phase && w->stage == STAGE_ENDED && !w->record_ended,
                "an end is told again after each connection, until it is forgotten");
        if (w->other.phase)
                see_other(w);
        /* A member that the engine has started and that is nowhere: it is asked for once more, or is
         * stopped. */
        if (w->engine == ENGINE_RUNS && !w->ended)
                step(w, ON_START, NULL);
        else if (w->engine == ENGINE_STOPS && !w->ended)
                step(w, w->killed ? ON_KILL : ON_STOP, NULL);
}

static void restart(World *w)
{
        forget_task(w);
        w->set_coming = w->deleting_owner = w->undoing = w->searching = w->connected = 0;
        w->seen = w->seen_other = (Pod){ 0 };
        w->excused = true;  /* what happened meanwhile is not seen */
        w->expired = false; /* the engine says it once more */
}

/* The end of a member that the engine no longer knows is not reported. */
static bool is_open(const World *w)
{
        return w->engine == ENGINE_RUNS || w->engine == ENGINE_STOPS;
}

static void owner_gone(World *w)
{
        step(w, ON_OWNER_GONE, NULL);
        if (w->seen.phase && w->connected)
                step(w, ON_POD, NULL);
}

static void order(World *w, Engine engine, MemberEvent event)
{
        w->engine = (guint8)engine;
        w->stopped |= event == ON_STOP || event == ON_KILL;
        w->killed |= event == ON_KILL;
        step(w, event, NULL);
}

static void start(World *w, bool refused)
{
        w->stopped = w->killed = w->ended = w->record_ended = w->expired = false;
        w->refused = refused;
        /* something of an earlier stay may be taken for the new one's; of a refused start, any pod is such */
        w->excused = refused || w->log_uid || w->pod.phase || w->seen.phase;
        order(w, ENGINE_RUNS, ON_START);
}

/* True if the controller of the owner may create the pod now. */
static bool may_create(const World *w)
{
        return w->owner && !w->pod.phase && (!w->created_once || kind == KIND_SET);
}

static bool is_served(const World *w)
{
        return w->connected && !w->searching;
}

/* True if there is a pod that the server does not know as forgotten. Its name is that of a later start:
 * the server cannot tell them apart. */
static bool has_stray(const World *w)
{
        if (!w->pod.phase && !w->seen.phase)
                return w->stage < STAGE_KEPT && w->removal != REMOVAL_NONE;
        return w->seen.uid != w->pod.uid || w->stage < STAGE_KEPT;
}

static bool move_start(World *w)
{
        if (w->engine != ENGINE_NEW || !w->connected)
                return false;
        start(w, false);
        return true;
}

static bool move_start_refused(World *w)
{
        if (w->engine != ENGINE_NEW || !w->connected)
                return false;
        start(w, true);
        return true;
}

/* An elastic member that was stopped, or ended, comes back. */
static bool start_again(World *w, bool refused)
{
        if (kind > KIND_SET || w->engine != ENGINE_FORGOT || !w->connected || w->expired || has_stray(w) ||
            !spend(w, LUCK_AGAIN))
                return false;
        start(w, refused);
        return true;
}

static bool move_start_again(World *w)
{
        return start_again(w, false);
}

static bool move_start_again_refused(World *w)
{
        return start_again(w, true);
}

static bool move_stop(World *w)
{
        if (w->engine != ENGINE_RUNS || !w->connected)
                return false;
        order(w, ENGINE_STOPS, ON_STOP);
        return true;
}

static bool move_kill(World *w)
{
        if (!is_open(w) || w->killed || !w->connected)
                return false;
        order(w, ENGINE_STOPS, ON_KILL);
        return true;
}

static bool move_forget(World *w)
{
        if (w->engine != ENGINE_TOLD || !w->connected)
                return false;
        order(w, ENGINE_FORGOT, ON_FORGET);
        return true;
}

static bool move_expire(World *w)
{
        if (w->engine != ENGINE_FORGOT || w->stage != STAGE_KEPT || !w->connected)
                return false;
        w->expired = true;
        step(w, ON_EXPIRY, NULL);
        return true;
}

static bool move_deleted(World *w)
{
        if (!w->pod.phase || w->pod.deleting || !spend(w, LUCK_DELETED))
                return false;
        w->excused = true;
        w->pod.deleting = true;
        return true;
}

static bool move_node(World *w)
{
        if (w->pod.phase < POD_PENDING || w->other.phase || !spend(w, LUCK_NODE))
                return false;
        w->excused = w->node_dead = true;
        w->pod.deleting = true; /* by the cluster */
        return true;
}

static bool move_restart(World *w)
{
        if (!spend(w, LUCK_RESTART))
                return false;
        restart(w);
        return true;
}

static bool move_disconnect(World *w)
{
        if (!w->connected || !spend(w, LUCK_DISCONNECT))
                return false;
        w->connected = false;
        return true;
}

static bool move_controller_twice(World *w)
{
        if (kind != KIND_JOB || !w->owner || !w->pod.phase || w->other.phase || !spend(w, LUCK_DUPLICATE))
                return false;
        w->other = new_pod(w);
        return true;
}

static bool move_reply_lost(World *w)
{
        if (w->creation != CREATION_SENT || w->pod.phase || !spend(w, LUCK_LOST_REPLY))
                return false;
        w->pod = new_pod(w);
        w->doubtful = true;
        w->creation = CREATION_IDLE;
        step(w, ON_PUT_OFF, NULL);
        return true;
}

static bool move_refused_for_now(World *w)
{
        if (w->creation != CREATION_SENT || w->pod.phase || w->doubtful)
                return false;
        w->creation = CREATION_IDLE;
        step(w, ON_PUT_OFF, NULL);
        return true;
}

static bool move_refused(World *w)
{
        if (w->creation != CREATION_SENT || w->pod.phase)
                return false;
        w->excused = true;
        step(w, ON_FAILED, NULL);
        return true;
}

static bool move_created(World *w)
{
        if (w->creation != CREATION_SENT || w->pod.phase)
                return false;
        w->pod = new_pod(w);
        return true;
}

static bool move_reply(World *w)
{
        if (w->creation != CREATION_SENT || !w->pod.phase)
                return false;
        w->creation = CREATION_DONE;
        w->doubtful = false;
        return true;
}

static bool move_retry(World *w)
{
        if (w->creation != CREATION_IDLE)
                return false;
        w->creation = CREATION_SENT;
        return true;
}

/* Others come first: it is not asked for, and no event tells of that. */
static bool move_creation_waits(World *w)
{
        if (w->creation != CREATION_SENT || w->pod.phase)
                return false;
        w->creation = CREATION_IDLE;
        return true;
}

static bool move_owner_created(World *w)
{
        if (!w->set_coming)
                return false;
        w->set_coming = false;
        w->created_once = w->owner && w->created_once;
        w->owner = true;
        step(w, ON_OWNER_CREATED, NULL);
        return true;
}

static bool move_controller(World *w)
{
        if (!may_create(w))
                return false;
        w->pod = new_pod(w);
        w->created_once = true;
        return true;
}

static bool move_runs(World *w)
{
        if (w->pod.phase != POD_PENDING || w->pod.deleting || w->node_dead)
                return false;
        w->pod.phase = POD_RUNNING;
        w->pod.began = true;
        return true;
}

/* Or ends. */
static bool move_other_runs(World *w)
{
        if (!w->other.phase || w->other.phase == POD_ENDED || w->other.deleting)
                return false;
        w->other.phase++;
        w->other.began = true;
        return true;
}

static bool move_ends(World *w)
{
        if (w->pod.phase != POD_RUNNING || w->node_dead)
                return false;
        w->pod.phase = POD_ENDED;
        return true;
}

static bool move_goes(World *w)
{
        if (!w->pod.phase || !w->pod.deleting || w->node_dead || w->pod.phase == POD_RUNNING)
                return false;
        w->pod = (Pod){ 0 };
        return true;
}

/* The controller keeps either pod; no other client can know which. */
static bool move_controller_drops(World *w)
{
        if (!w->other.phase || ((!w->pod.phase || w->pod.deleting) && !w->other.deleting))
                return false;
        if (!w->pod.began && !w->other.deleting) {
                w->pod.deleting = true;
                return true;
        }
        w->other = (Pod){ 0 };
        return true;
}

static bool move_seen(World *w)
{
        if (!is_served(w) || is_same(&w->pod, &w->seen) || (w->other.phase && !w->seen_other.phase))
                return false; /* a watch shows the creation of the second pod before what followed */
        see(w);
        return true;
}

static bool move_seen_other(World *w)
{
        if (!is_served(w) || is_same(&w->other, &w->seen_other))
                return false;
        see_other(w);
        return true;
}

static bool move_seen_node(World *w)
{
        if (!w->connected || w->node_seen == w->node_dead)
                return false;
        w->node_seen = w->node_dead;
        if (w->seen.phase && w->seen.deleting)
                step(w, ON_POD, NULL);
        return true;
}

static bool move_absent(World *w)
{
        if (w->creation != CREATION_DONE || w->pod.phase || w->seen.phase || !w->connected)
                return false;
        step(w, ON_ABSENT, NULL);
        return true;
}

/* Overdue.h, for an owner that has created the pod and does not recreate it. */
static bool move_overdue(World *w)
{
        if (!w->connected || w->stage > STAGE_RUNNING || w->seen.phase || w->set_coming || !w->created_once ||
            w->pod.phase || w->other.phase || kind == KIND_SET || w->removal == REMOVAL_OWNER ||
            w->engine != ENGINE_RUNS)
                return false;
        step(w, ON_FAILED, NULL);
        return true;
}

static bool move_owner_gone(World *w)
{
        if (!w->deleting_owner)
                return false;
        w->deleting_owner = w->set_coming = w->owner = false;
        if (kind >= KIND_WHOLE && w->pod.phase)
                w->pod.deleting = true;
        owner_gone(w);
        return true;
}

static bool move_undone(World *w)
{
        if (!w->undoing)
                return false;
        w->undoing = false;
        if (w->pod.phase)
                w->pod.deleting = true;
        owner_gone(w);
        return true;
}

static bool move_searched(World *w)
{
        if (!w->searching)
                return false;
        w->searching = false;
        w->located |= w->engine != ENGINE_NEW;
        step(w, ON_SEARCHED, NULL);
        return true;
}

static bool move_log_flows(World *w)
{
        if (w->log != LOG_OPENING)
                return false;
        w->log = LOG_FLOWS;
        step(w, ON_LOG_FLOWS, NULL);
        return true;
}

static bool move_log_done(World *w)
{
        if (!w->log_last)
                return false;
        step(w, ON_LOG_DONE, NULL);
        return true;
}

static bool move_connect(World *w)
{
        if (w->connected)
                return false;
        connect(w);
        return true;
}

static bool move_unwanted(World *w)
{
        if (w->engine < ENGINE_FORGOT || !w->connected || !(w->told & TOLD_STARTED) || w->stop == STOP_KILL ||
            w->stage >= STAGE_DRAINING)
                return false;
        w->stopped = true;
        step(w, ON_KILL, NULL);
        return true;
}

/* What can happen. `interferes`: people, third parties and accidents; no member needs it to come to its end. */
static const struct {
        const char *name;
        bool (*make)(World *w); /* false: it cannot happen now */
        bool interferes;
} moves[] = {
        { "start", move_start, true },
        { "start again", move_start_again, true },
        { "a start is refused at once", move_start_refused, true },
        { "a start under the same name is refused at once", move_start_again_refused, true },
        { "stop", move_stop, true },
        { "kill", move_kill, true },
        { "forget", move_forget, false },
        { "expire", move_expire, false },
        { "a third party deletes the pod", move_deleted, true },
        { "the node dies", move_node, true },
        { "the server restarts", move_restart, true },
        { "the connection is lost", move_disconnect, true },
        { "the controller creates a second pod", move_controller_twice, true },
        { "the pod is created, and the reply is lost", move_reply_lost, true },
        { "the pod is refused for now", move_refused_for_now, true },
        { "the pod is refused", move_refused, true },
        { "the pod is created", move_created, false },
        { "the reply arrives", move_reply, false },
        { "the creation has to wait for its turn", move_creation_waits, true },
        { "the creation is tried again", move_retry, false },
        { "the owner is created", move_owner_created, false },
        { "the controller creates the pod", move_controller, false },
        { "the program starts", move_runs, false },
        { "the program of the second pod starts or ends", move_other_runs, false },
        { "the program ends", move_ends, false },
        { "the pod goes", move_goes, false },
        { "the controller drops one of two pods", move_controller_drops, false },
        { "the cache sees the pod", move_seen, false },
        { "the cache sees the other pod", move_seen_other, false },
        { "the cache sees the node", move_seen_node, false },
        { "the API server says that there is no pod", move_absent, false },
        { "the owner's pod is overdue", move_overdue, false },
        { "the owner is gone", move_owner_gone, false },
        { "the creation is undone", move_undone, false },
        { "the search ends", move_searched, false },
        { "the log flows", move_log_flows, false },
        { "the log is complete", move_log_done, false },
        { "the connection is back", move_connect, false },
        { "the engine kills what it does not know", move_unwanted, false },
};

/* ---- the exploration ---- */

/* Nothing is left of it but what the engine knows, an owner that creates no pod, and a second pod that has
 * ended. These go with the attempt's service, or are found by the next list. */
static bool is_over(const World *w)
{
        return w->engine >= ENGINE_FORGOT && !w->pod.phase &&
               (!w->other.phase || w->other.phase == POD_ENDED) && !w->seen.phase && !may_create(w) &&
               !w->set_coming && !w->creation && !w->deleting_owner && !w->undoing && !w->searching &&
               w->connected &&
               (w->stage == STAGE_WAITING || (kind == KIND_PASSING && w->stage <= STAGE_RUNNING));
}

/* The start of what was not started helps, and so does the engine where the end of a pod is not the member's end. */
static bool interferes(const World *w, guint move)
{
        if (moves[move].make == move_start || (kind == KIND_PASSING && moves[move].make == move_kill))
                return false;
        if (moves[move].make == move_ends && w->engine != ENGINE_RUNS && !w->pod.deleting)
                return true; /* a program may run until it is stopped */
        return moves[move].interferes;
}

typedef struct {
        GHashTable *numbers; /* World -> number + 1 */
        GPtrArray *worlds;   /* by number */
        GArray *edges;       /* pairs of int: moves without interference */
        GArray *from;        /* number of the world before, and the move, for the way to a fault */
} Walk;

static guint world_hash(gconstpointer data)
{
        const guint8 *bytes = data;
        guint hash = 2166136261u;

        for (gsize i = 0; i < sizeof(World); i++)
                hash = (hash ^ bytes[i]) * 16777619u;
        return hash;
}

static gboolean world_equal(gconstpointer a, gconstpointer b)
{
        return memcmp(a, b, sizeof(World)) == 0;
}

/* How the world of this number came about. */
static void print_way(const Walk *walk, int number)
{
        GString *way = g_string_new(NULL);

        for (int at = number; at > 0; at = g_array_index(walk->from, int, 2 * at)) {
                const World *w = walk->worlds->pdata[at];
                g_autofree char *line = g_strdup_printf(
                        "  %-45s %s, removal %d, stop %d, pod %d seen %d, owner %d, engine %d\n",
                        moves[g_array_index(walk->from, int, 2 * at + 1)].name,
                        member_stage_name((MemberStage)w->stage), w->removal, w->stop, w->pod.phase,
                        w->seen.phase, w->owner, w->engine);

                g_string_prepend(way, line);
        }
        g_test_message("kind %d:\n%s", kind, way->str);
        g_string_free(way, TRUE);
}

static int visit(Walk *walk, const World *w, int from, guint move)
{
        int number = GPOINTER_TO_INT(g_hash_table_lookup(walk->numbers, w)), pair[2] = { from, (int)move };
        World *own;

        if (number)
                return number - 1;
        number = (int)walk->worlds->len;
        g_assert_cmpint(number, <, STATES_MAX);
        own = g_memdup2(w, sizeof *w);
        g_ptr_array_add(walk->worlds, own);
        g_hash_table_insert(walk->numbers, own, GINT_TO_POINTER(number + 1));
        g_array_append_vals(walk->from, pair, 2);
        return number;
}

static const Walk *current_walk;
static int current_number;
static guint current_move;

/* A transition that the table does not have is an assertion. */
static void on_abort(int signo)
{
        signal(signo, SIG_DFL);
        print_way(current_walk, current_number);
        g_test_message("after '%s'", moves[current_move].name);
}

/* True if all was reached. */
static bool explore(Walk *walk, const World *first)
{
        int most = IS_SANITIZED ? STATES_SANITIZED : STATES_MAX;

        current_walk = walk;
        (void)visit(walk, first, 0, 0);
        for (int number = 0; number < (int)walk->worlds->len && number < most; number++) {
                for (guint move = 0; move < G_N_ELEMENTS(moves); move++) {
                        World next = *(const World *)walk->worlds->pdata[number];
                        int pair[2] = { number, 0 };

                        current_number = number;
                        current_move = move;
                        if (!moves[move].make(&next))
                                continue;
                        pair[1] = visit(walk, &next, number, move);
                        if (broken) {
                                print_way(walk, number);
                                g_error("after '%s': %s", moves[move].name, broken);
                        }
                        if (!interferes(walk->worlds->pdata[number], move))
                                g_array_append_vals(walk->edges, pair, 2);
                }
        }
        return (int)walk->worlds->len <= most;
}

/* Finds a world from which no way leads to the end without interference; -1: there is none. */
static int find_stuck(const Walk *walk)
{
        g_autofree bool *reaches = g_new0(bool, walk->worlds->len);
        bool changed = true;

        for (guint i = 0; i < walk->worlds->len; i++)
                reaches[i] = is_over(walk->worlds->pdata[i]);
        while (changed) {
                changed = false;
                for (guint e = walk->edges->len; e >= 2; e -= 2) {
                        int from = g_array_index(walk->edges, int, e - 2);

                        if (reaches[from] || !reaches[g_array_index(walk->edges, int, e - 1)])
                                continue;
                        reaches[from] = changed = true;
                }
        }
        for (guint i = 0; i < walk->worlds->len; i++)
                if (!reaches[i])
                        return (int)i;
        return -1;
}

static void test_kind(gconstpointer data)
{
        World first = { .connected = true, .luck = { 1, 1, 1, 1, 1, 1, 1 } };
        Walk walk = { .numbers = g_hash_table_new(world_hash, world_equal),
                      .worlds = g_ptr_array_new_with_free_func(g_free),
                      .edges = g_array_new(FALSE, FALSE, sizeof(int)),
                      .from = g_array_new(FALSE, FALSE, sizeof(int)) };
        bool whole;
        int stuck;

        kind = (Kind)GPOINTER_TO_INT(data);
        broken = NULL;
        signal(SIGABRT, on_abort);
        whole = explore(&walk, &first);
        signal(SIGABRT, SIG_DFL);
        g_test_message("%u states, %u moves", walk.worlds->len, walk.edges->len / 2);
        stuck = whole ? find_stuck(&walk) : -1;
        if (stuck >= 0) {
                print_way(&walk, stuck);
                g_error("no way leads from here to the end");
        }
        g_hash_table_unref(walk.numbers);
        g_ptr_array_unref(walk.worlds);
        g_array_unref(walk.edges);
        g_array_unref(walk.from);
}

/* A start may find that nothing is left of the member but a creation that can be ended at once. The record is then
 * released in the same step, so the start must be kept before. */
static void test_start_and_release(void)
{
        static const struct {
                MemberStage stage;
                guint todo;
        } cases[] = {
                { STAGE_STOPPING, DO_START_LATER | DO_CANCEL_CREATION | DO_END_STOPPED | DO_RELEASE },
                { STAGE_LEAVING, DO_START_LATER | DO_CANCEL_CREATION | DO_RELEASE },
        };
        const MemberFacts facts = { .creating = true, .idle = true, .coming = true, .located = true };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                MemberStatus status = { cases[i].stage, REMOVAL_NONE, STOP_GRACE, 0 };

                g_assert_cmphex(member_step(&status, ON_START, &facts), ==, cases[i].todo);
        }
}

/* Each stage, removal, action and event occurs in the walks, so that none is untested. */
static void test_all_reached(void)
{
        if (IS_SANITIZED) {
                g_test_skip("the walks are not whole");
                return;
        }
        g_assert_cmphex(reached_stages, ==, (1u << STAGES) - 1);
        g_assert_cmphex(reached_removals, ==, (1u << REMOVALS) - 1);
        g_assert_cmphex(reached_events, ==, (1u << MEMBER_EVENTS) - 1);
        g_assert_cmphex(reached_actions, ==, DO_RELEASE * 2 - 1);
}

int main(int argc, char **argv)
{
        static const char *const names[KINDS] = { "plain", "set", "job", "whole", "passing" };

        g_test_init(&argc, &argv, NULL);
        for (int i = 0; i < KINDS; i++) {
                g_autofree char *path = g_strdup_printf("/member-state/%s", names[i]);

                g_test_add_data_func(path, GINT_TO_POINTER(i), test_kind);
        }
        g_test_add_func("/member-state/start and release", test_start_and_release);
        g_test_add_func("/member-state/all reached", test_all_reached);
        return g_test_run();
}
