/* doc/reference/scheduling.md, "Elastic quota" and "Reference cases", and the rules of
 * doc/guide/scheduling.md, as scripts:
 *
 *      node ID cpu=N gpu=N mem=N label=K=V
 *      queue ID parent=ID min.cpu=N max.gpu=N reserved.cpu=N weight= priority= reclaimable= preemption=
 *           order= backfill= per-user= state=
 *      job KEY queue=ID cpu=N gpu=N x=REPLICAS min=N prio= user= limit=S saved=S grace=S fixed
 *           array=N array-max=N topology=LEVEL required held on=NODE[,NODE...] since=S
 *                                   `on`: where the tasks of a running job are, from the first free GPU on
 *      back KEY                     it has ended and waits again
 *      end KEY                      it is over
 *      trimmed KEY                  its surplus is gone
 *      pass S = DECISION; ...       at second S, this is decided; (N): tasks then
 *           start KEY (N)  grow KEY (N)  shrink KEY (N) for KEY  evict KEY for KEY
 *      at NODE = KEY KEY...         these jobs have tasks there
 *      why KEY = CAUSE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/scheduler.h"

enum { SECOND = 1000, TASKS_MAX = 32, JOBS_MAX = 64, LABELS_MAX = 4 };
static const gint64 GIB = 1024 * 1024 * 1024;

typedef struct {
        const char *name;
        const char *script;
} Case;

static const Case cases[] = {
        { "22.4-1: surplus of an elastic gang goes back, even from a queue that is not reclaimable",
          "node 0 cpu=100 gpu=10\n"
          "queue 0 min.gpu=5 reclaimable=0\n"
          "queue 1 min.gpu=5 reclaimable=0\n"
          "job 1 queue=0 gpu=1 x=10 min=5\n"
          "pass 1\n"
          "tasks 1 = 10\n"
          "job 2 queue=1 gpu=1 x=10 min=5\n"
          "pass 2 = shrink 1 (5) for 2\n"
          "why 2 = nominated\n"
          "trimmed 1\n"
          "pass 3 = start 2 (5)\n" },
        { "22.4-2: the same queue: surplus goes when that is enough for the other's minimum",
          "node 0 cpu=100 gpu=10\n"
          "queue 0 min.gpu=10 preemption=1\n"
          "job 1 queue=0 gpu=1 x=10 min=5\n"
          "pass 1\n"
          "tasks 1 = 10\n"
          "job 2 queue=0 gpu=1 x=10 min=5\n"
          "pass 2 = shrink 1 (5) for 2\n"
          "trimmed 1\n"
          "pass 3 = start 2 (5)\n" },
        { "22.4-2: ... and does not when it is not enough", "node 0 cpu=100 gpu=10\n"
                                                            "queue 0 min.gpu=10 preemption=1\n"
                                                            "job 1 queue=0 gpu=1 x=10 min=5\n"
                                                            "pass 1\n"
                                                            "tasks 1 = 10\n"
                                                            "job 2 queue=0 gpu=1 x=6\n"
                                                            "pass 2 =\n" },
        { "22.4-3: both minimums are placed before any surplus", "node 0 cpu=100 gpu=10\n"
                                                                 "queue 0 min.gpu=10\n"
                                                                 "job 1 queue=0 gpu=1 x=8 min=3\n"
                                                                 "job 2 queue=0 gpu=1 x=8 min=3\n"
                                                                 "pass 1\n"
                                                                 "tasks 1 = 3..7\n"
                                                                 "tasks 2 = 3..7\n"
                                                                 "free-gpus 0 = 0\n" },
        { "22.4-4: an ancestor's min is enough of a claim", "node 0 cpu=100 gpu=4\n"
                                                            "queue 1 min.gpu=1\n"
                                                            "queue 2\n"
                                                            "queue 11 parent=1\n"
                                                            "job 1 queue=2 gpu=1 since=0 on=0\n"
                                                            "job 2 queue=2 gpu=1 since=0 on=0\n"
                                                            "job 3 queue=2 gpu=1 since=0 on=0\n"
                                                            "job 4 queue=2 gpu=1 since=0 on=0\n"
                                                            "job 5 queue=11 gpu=1\n"
                                                            "pass 200 = evict 4 for 5\n"
                                                            "back 4\n"
                                                            "pass 201 = start 5 (1)\n"
                                                            "why 4 = resources\n" },
        { "22.4-5: a child that is not above its own min is left alone", "node 0 cpu=100 gpu=2\n"
                                                                         "queue 1 min.gpu=1\n"
                                                                         "queue 2 min.gpu=1\n"
                                                                         "queue 11 parent=1 min.gpu=1\n"
                                                                         "queue 12 parent=1\n"
                                                                         "queue 21 parent=2 min.gpu=1\n"
                                                                         "job 1 queue=11 gpu=1 since=0 on=0\n"
                                                                         "job 2 queue=21 gpu=1 since=0 on=0\n"
                                                                         "job 3 queue=12 gpu=1\n"
                                                                         "pass 200 =\n" },
        { "22.4-6: complementary dominant resources: nobody starves",
          "node 0 cpu=8 gpu=8\n"
          "queue 1\n"
          "queue 2\n"
          "queue 21 parent=2\n"
          "queue 22 parent=2\n"
          "job 1 queue=1 gpu=2\njob 2 queue=1 gpu=2\njob 3 queue=1 gpu=2\njob 4 queue=1 gpu=2\n"
          "job 5 queue=21 cpu=2\njob 6 queue=21 cpu=2\njob 7 queue=21 cpu=2\njob 8 queue=21 cpu=2\n"
          "job 9 queue=22 gpu=2\njob 10 queue=22 gpu=2\njob 11 queue=22 gpu=2\njob 12 queue=22 gpu=2\n"
          "pass 1\n"
          "running 1 = 2\n"
          "running 22 = 2\n"
          "running 21 = 4\n" },
        { "22.4-7: a mixed group and a GPU group share GPUs evenly, whatever the CPU groups do",
          "node 0 cpu=8 gpu=8\n"
          "queue 1\nqueue 2\nqueue 3\nqueue 4\n"
          "queue 41 parent=4\n"
          "queue 42 parent=4\n"
          "job 1 queue=1 cpu=1\njob 2 queue=1 cpu=1\njob 3 queue=1 cpu=1\njob 4 queue=1 cpu=1\n"
          "job 5 queue=2 cpu=1\njob 6 queue=2 cpu=1\njob 7 queue=2 cpu=1\njob 8 queue=2 cpu=1\n"
          "job 11 queue=3 gpu=1\njob 12 queue=3 gpu=1\njob 13 queue=3 gpu=1\njob 14 queue=3 gpu=1\n"
          "job 15 queue=3 gpu=1\njob 16 queue=3 gpu=1\njob 17 queue=3 gpu=1\njob 18 queue=3 gpu=1\n"
          "job 21 queue=41 cpu=1\njob 22 queue=41 cpu=1\njob 23 queue=41 cpu=1\njob 24 queue=41 cpu=1\n"
          "job 31 queue=42 gpu=1\njob 32 queue=42 gpu=1\njob 33 queue=42 gpu=1\njob 34 queue=42 gpu=1\n"
          "job 35 queue=42 gpu=1\njob 36 queue=42 gpu=1\njob 37 queue=42 gpu=1\njob 38 queue=42 gpu=1\n"
          "pass 1\n"
          "running 3 = 4\n"
          "running 42 = 4\n" },
        { "3.5: what is lent comes back at once, to min(min, demand) and no more",
          "node 0 cpu=10\n"
          "queue 0 min.cpu=6\n"
          "queue 1 min.cpu=4\n"
          "job 1 queue=0 cpu=2 since=1 on=0\njob 2 queue=0 cpu=2 since=2 on=0\njob 3 queue=0 cpu=2 since=3 "
          "on=0\n"
          "job 4 queue=0 cpu=2 since=4 on=0\njob 5 queue=0 cpu=2 since=5 on=0\n"
          "job 6 queue=1 cpu=2\njob 7 queue=1 cpu=2\njob 8 queue=1 cpu=2\n"
          "pass 200 = evict 5 for 6; evict 4 for 7\n" },
        { "3.5: a queue at its min is not reclaimed from",
          "node 0 cpu=4\n"
          "queue 0 min.cpu=2\n"
          "queue 1 min.cpu=2\n"
          "job 1 queue=0 cpu=2 since=1 on=0\njob 2 queue=1 cpu=2 since=1 on=0\n"
          "job 3 queue=1 cpu=2\n"
          "pass 200 =\n" },
        { "3.5: what its owner has not borrowed stays, even when whole jobs would fit otherwise",
          "node 0 cpu=10\n"
          "queue 0 min.cpu=5\n"
          "queue 1 min.cpu=5\n"
          "job 1 queue=0 cpu=8 since=1 on=0\n"
          "job 2 queue=1 cpu=3\n"
          "pass 200 =\n"
          "why 2 = lent\n" },
        { "3.5: a small job that loses least does not stand in the way of one that suffices",
          "node 0 cpu=4\n"
          "queue 0 min.cpu=1\n"
          "queue 1 min.cpu=3\n"
          "job 1 queue=0 cpu=1\n"
          "job 2 queue=0 cpu=3\n"
          "pass 1\n"
          "job 3 queue=1 cpu=3\n"
          "pass 100 = evict 2 for 3\n"
          "why 3 = nominated\n" },
        { "3.5: capacity is kept until a victim that used all of its grace is seen to be gone",
          "node 0 cpu=4\n"
          "queue 0 min.cpu=1\n"
          "queue 1 min.cpu=3\n"
          "job 1 queue=0 cpu=1\n"
          "job 2 queue=0 cpu=3 grace=90\n"
          "pass 1\n"
          "job 3 queue=1 cpu=3\n"
          "pass 100 = evict 2 for 3\n"
          "pass 192 =\n"
          "why 3 = nominated\n"
          "back 2\n"
          "pass 193 = start 3 (1)\n" },
        { "3.5: ... nor two of them, of which one may stay", "node 0 cpu=7\n"
                                                             "queue 0 min.cpu=2\n"
                                                             "queue 1 min.cpu=5\n"
                                                             "job 1 queue=0 cpu=1\n"
                                                             "job 2 queue=0 cpu=2\n"
                                                             "job 3 queue=0 cpu=4\n"
                                                             "pass 1\n"
                                                             "job 4 queue=1 cpu=5\n"
                                                             "pass 100 = evict 1 for 4; evict 3 for 4\n" },
        { "3.5: ... and who has no way to give keeps all", "node 0 cpu=4\n"
                                                           "queue 0 min.cpu=1\n"
                                                           "queue 1 min.cpu=3\n"
                                                           "job 1 queue=0 cpu=4\n"
                                                           "pass 1\n"
                                                           "job 2 queue=1 cpu=3\n"
                                                           "pass 100 =\n"
                                                           "why 2 = lent\n" },
        { "3.5: a queue that is not reclaimable keeps whole jobs",
          "node 0 cpu=4\n"
          "queue 0 reclaimable=0\n"
          "queue 1 min.cpu=2\n"
          "job 1 queue=0 cpu=2 since=1 on=0\njob 2 queue=0 cpu=2 since=1 on=0\n"
          "job 3 queue=1 cpu=2\n"
          "pass 200 =\n" },
        { "3.5: max is never exceeded, at the queue", "node 0 cpu=10\n"
                                                      "queue 0 max.cpu=3\n"
                                                      "job 1 queue=0 cpu=2\njob 2 queue=0 cpu=2\n"
                                                      "pass 1 = start 1 (1)\n"
                                                      "why 2 = queue_max\n" },
        { "3.5: ... and above it", "node 0 cpu=10\n"
                                   "queue 0 max.cpu=3\n"
                                   "queue 1 parent=0\nqueue 2 parent=0\n"
                                   "job 1 queue=1 cpu=2\njob 2 queue=2 cpu=2\n"
                                   "pass 1 = start 1 (1)\n"
                                   "why 2 = queue_max\n" },
        { "3.5: reserved is never lent, the rest of min is",
          "node 0 cpu=10\n"
          "queue 0 min.cpu=6 reserved.cpu=4\n"
          "queue 1\n"
          "job 1 queue=1 cpu=3\njob 2 queue=1 cpu=3\njob 3 queue=1 cpu=3\n"
          "pass 1 = start 1 (1); start 2 (1)\n"
          "job 4 queue=0 cpu=4\n"
          "pass 2 = start 4 (1)\n" },
        { "a victim's queue that borrowed most is first",
          "node 0 cpu=12\n"
          "queue 0 min.cpu=4\n"
          "queue 1 min.cpu=2\n"
          "queue 2 min.cpu=2\n"
          "job 1 queue=1 cpu=2 since=1 on=0\njob 2 queue=1 cpu=2 since=1 on=0\n"
          "job 3 queue=2 cpu=2 since=1 on=0\njob 4 queue=2 cpu=2 since=1 on=0\n"
          "job 5 queue=2 cpu=2 since=1 on=0\njob 6 queue=2 cpu=2 since=1 on=0\n"
          "job 7 queue=0 cpu=2\n"
          "pass 200 = evict 6 for 7\n" },
        { "surplus before whole jobs",
          "node 0 cpu=8\n"
          "queue 0 min.cpu=4\n"
          "queue 1\n"
          "job 1 queue=1 cpu=1 x=4 min=2 since=1 on=0,0,0,0\n"
          "job 2 queue=1 cpu=2 since=150 on=0\njob 3 queue=1 cpu=2 since=150 on=0\n"
          "job 4 queue=0 cpu=2\n"
          "pass 200 = shrink 1 (2) for 4\n" },
        { "preemption: lower priority first, then least lost work",
          "node 0 cpu=6\n"
          "queue 0 min.cpu=6 preemption=1\n"
          "job 1 queue=0 cpu=2 prio=1 since=190 on=0\n"
          "job 2 queue=0 cpu=2 prio=0 since=1 on=0\n"
          "job 3 queue=0 cpu=2 prio=0 since=100 on=0\n"
          "job 4 queue=0 cpu=2 prio=5\n"
          "pass 200 = evict 3 for 4\n" },
        { "preemption: what was saved is not lost", "node 0 cpu=4\n"
                                                    "queue 0 min.cpu=4 preemption=1\n"
                                                    "job 1 queue=0 cpu=2 prio=0 since=1 saved=199 on=0\n"
                                                    "job 2 queue=0 cpu=2 prio=0 since=100 on=0\n"
                                                    "job 4 queue=0 cpu=2 prio=5\n"
                                                    "pass 200 = evict 1 for 4\n" },
        { "preemption: never an equal, never where the queue does not do it",
          "node 0 cpu=4\n"
          "queue 0 min.cpu=2 preemption=1\n"
          "queue 1 min.cpu=2\n"
          "job 1 queue=0 cpu=2 prio=1 since=1 on=0\n"
          "job 2 queue=1 cpu=2 prio=0 since=1 on=0\n"
          "job 3 queue=0 cpu=2 prio=1\n"
          "job 4 queue=1 cpu=2 prio=9\n"
          "pass 200 =\n" },
        { "preemption: not of a job that may not be preempted",
          "node 0 cpu=4\n"
          "queue 0 min.cpu=4 preemption=1\n"
          "job 1 queue=0 cpu=2 fixed since=1 on=0\njob 2 queue=0 cpu=2 fixed since=1 on=0\n"
          "job 3 queue=0 cpu=2 prio=9\n"
          "pass 200 =\n" },
        { "preemption: nobody goes when it would not be enough",
          "node 0 cpu=4\n"
          "queue 0 min.cpu=4 preemption=1\n"
          "job 1 queue=0 cpu=2 prio=0 since=1 on=0\njob 2 queue=0 cpu=2 prio=9 since=1 on=0\n"
          "job 3 queue=0 cpu=3 prio=5\n"
          "pass 200 =\n" },
        { "a victim is not one again within the cooldown after it started again",
          "node 0 cpu=2\n"
          "queue 0 min.cpu=2 preemption=1\n"
          "job 1 queue=0 cpu=2 prio=0 since=1 on=0\n"
          "job 2 queue=0 cpu=2 prio=5\n"
          "pass 100 = evict 1 for 2\n"
          "back 1\n"
          "pass 101 = start 2 (1)\n"
          "end 2\n"
          "pass 110 = start 1 (1)\n"
          "job 3 queue=0 cpu=2 prio=5\n"
          "pass 120 =\n"
          "pass 169 =\n"
          "pass 171 = evict 1 for 3\n" },
        { "gangs: all or nothing", "node 0 cpu=4\nnode 1 cpu=4\n"
                                   "queue 0\n"
                                   "job 1 queue=0 cpu=3 x=3\n"
                                   "job 2 queue=0 cpu=3 x=2\n"
                                   "pass 1 = start 2 (2)\n"
                                   "why 1 = too_large\n" },
        { "order: priority, then age, then the number",
          "node 0 cpu=1\n"
          "queue 0 preemption=0\n"
          "job 1 queue=0 cpu=1 prio=0\njob 2 queue=0 cpu=1 prio=5\njob 3 queue=0 cpu=1 prio=5\n"
          "pass 1 = start 2 (1)\nend 2\n"
          "pass 2 = start 3 (1)\nend 3\n"
          "pass 3 = start 1 (1)\n" },
        { "order: fifo looks at age alone", "node 0 cpu=1\n"
                                            "queue 0 order=1\n"
                                            "job 1 queue=0 cpu=1 prio=0\njob 2 queue=0 cpu=1 prio=5\n"
                                            "pass 1 = start 1 (1)\n" },
        { "order of queues: below min first", "node 0 cpu=2\n"
                                              "queue 0\n"
                                              "queue 1 min.cpu=2\n"
                                              "job 1 queue=0 cpu=2\njob 2 queue=1 cpu=2\n"
                                              "pass 1 = start 2 (1)\n" },
        { "order of queues: priority before share", "node 0 cpu=2\n"
                                                    "queue 0\n"
                                                    "queue 1 priority=1\n"
                                                    "job 1 queue=0 cpu=2\njob 2 queue=1 cpu=2\n"
                                                    "pass 1 = start 2 (1)\n" },
        { "what a queue below its min asks for is not lent, whatever the priority of the other",
          "node 0 cpu=2\n"
          "queue 0 priority=1\n"
          "queue 1 min.cpu=2\n"
          "job 1 queue=0 cpu=2\njob 2 queue=1 cpu=2\n"
          "pass 1 = start 2 (1)\n" },
        { "order of queues: above min by weight",
          "node 0 cpu=6\n"
          "queue 0 weight=1\n"
          "queue 1 weight=2\n"
          "job 1 queue=0 cpu=1\njob 2 queue=0 cpu=1\njob 3 queue=0 cpu=1\njob 4 queue=0 cpu=1\n"
          "job 5 queue=1 cpu=1\njob 6 queue=1 cpu=1\njob 7 queue=1 cpu=1\njob 8 queue=1 cpu=1\n"
          "job 9 queue=1 cpu=1\n"
          "pass 1\n"
          "running 0 = 2\n"
          "running 1 = 4\n" },
        { "backfill: a job that ends before the head's reservation passes it",
          "node 0 cpu=4\n"
          "queue 0 order=1\n"
          "job 1 queue=0 cpu=3 limit=100 since=0 on=0\n"
          "job 2 queue=0 cpu=4 limit=100\n"
          "job 3 queue=0 cpu=1 limit=50\n"
          "job 4 queue=0 cpu=1 limit=20\n"
          "pass 10 = start 3 (1)\n"
          "why 3 = none\n"
          "why 2 = resources\n" },
        { "backfill: a job that would end after it does not", "node 0 cpu=4\n"
                                                              "queue 0 order=1\n"
                                                              "job 1 queue=0 cpu=3 limit=100 since=0 on=0\n"
                                                              "job 2 queue=0 cpu=4 limit=100\n"
                                                              "job 3 queue=0 cpu=1 limit=95\n"
                                                              "job 4 queue=0 cpu=1\n"
                                                              "pass 10 =\n"
                                                              "why 3 = reserved\n" },
        { "backfill: a job that leaves enough for the head then starts, however long it is",
          "node 0 cpu=6\n"
          "queue 0 order=1\n"
          "job 1 queue=0 cpu=4 limit=100 since=0 on=0\n"
          "job 2 queue=0 cpu=4 limit=100\n"
          "job 3 queue=0 cpu=2\n"
          "pass 10 = start 3 (1)\n" },
        { "backfill: off, whatever fits starts", "node 0 cpu=4\n"
                                                 "queue 0 order=1 backfill=0\n"
                                                 "job 1 queue=0 cpu=3 limit=100 since=0 on=0\n"
                                                 "job 2 queue=0 cpu=4 limit=100\n"
                                                 "job 3 queue=0 cpu=1\n"
                                                 "pass 10 = start 3 (1)\n" },
        { "backfill: without a known time only kinds that the head does not lack",
          "node 0 cpu=4 gpu=2\n"
          "queue 0 order=1\n"
          "job 1 queue=0 gpu=2 since=0 on=0\n"
          "job 2 queue=0 gpu=1\n"
          "job 3 queue=0 cpu=1\n"
          "pass 10 = start 3 (1)\n" },
        { "limits: jobs of an array, of a user",
          "node 0 cpu=20\n"
          "queue 0\n"
          "queue 1 per-user=1\n"
          "job 1 queue=0 cpu=1 array=7 array-max=2\njob 2 queue=0 cpu=1 array=7 array-max=2\n"
          "job 3 queue=0 cpu=1 array=7 array-max=2\n"
          "job 4 queue=1 cpu=1 user=1\njob 5 queue=1 cpu=1 user=1\njob 6 queue=1 cpu=1 user=2\n"
          "pass 1\n"
          "running 0 = 2\n"
          "running 1 = 2\n"
          "why 3 = array_limit\n"
          "why 5 = user_limit\n" },
        { "what is held or not due holds up nobody", "node 0 cpu=2\n"
                                                     "queue 0 order=1\n"
                                                     "job 1 queue=0 cpu=2 held\n"
                                                     "job 2 queue=0 cpu=2 not-before=50\n"
                                                     "job 3 queue=0 cpu=2\n"
                                                     "pass 1 = start 3 (1)\n"
                                                     "why 1 = held\n"
                                                     "why 2 = not_before\n"
                                                     "end 3\n"
                                                     "pass 50 = start 2 (1)\n" },
        { "a closing queue runs what it has, a closed one does not",
          "node 0 cpu=4\n"
          "queue 0 state=2\n"
          "queue 1 state=3\n"
          "job 1 queue=0 cpu=2\njob 2 queue=1 cpu=2\n"
          "pass 1 = start 1 (1)\n"
          "why 2 = queue_closed\n" },
        { "placement: the fullest node that fits; equal ones by number",
          "node 0 cpu=8\nnode 1 cpu=8\nnode 2 cpu=8\n"
          "queue 0\n"
          "job 1 queue=0 cpu=4 since=0 on=1\n"
          "job 2 queue=0 cpu=4\n"
          "pass 1 = start 2 (1)\n"
          "at 1 = 1 2\n"
          "job 3 queue=0 cpu=1\n"
          "pass 2 = start 3 (1)\n"
          "at 0 = 3\n" },
        { "placement: GPUs weigh most", "node 0 cpu=8 gpu=4\nnode 1 cpu=4 gpu=8\n"
                                        "queue 0\n"
                                        "job 1 queue=0 cpu=1 gpu=2\n"
                                        "pass 1 = start 1 (1)\n"
                                        "at 0 = 1\n" },
        { "topology: one rack when it can, required or not at all",
          "node 0 cpu=4 label=rack=1\nnode 1 cpu=4 label=rack=2\nnode 2 cpu=4 label=rack=2\n"
          "queue 0\n"
          "job 1 queue=0 cpu=4 x=2 topology=1\n"
          "pass 1 = start 1 (2)\n"
          "at 1 = 1\nat 2 = 1\n"
          "end 1\n"
          "job 2 queue=0 cpu=4 x=3 topology=1 required\n"
          "pass 2 =\n"
          "why 2 = topology\n"
          "job 3 queue=0 cpu=4 x=3 topology=1\n"
          "end 2\n"
          "pass 3 = start 3 (3)\n" },
        { "growing: when nobody waits for what it takes", "node 0 cpu=4\n"
                                                          "queue 0\n"
                                                          "job 1 queue=0 cpu=1 x=4 min=1\n"
                                                          "job 2 queue=0 cpu=3\n"
                                                          "pass 1 = start 1 (1); start 2 (1)\n"
                                                          "end 2\n"
                                                          "pass 2 = grow 1 (4)\n" },
        { "causes of what can never be", "node 0 cpu=4\nnode 1 cpu=4\n"
                                         "queue 0 max.cpu=6\n"
                                         "queue 1\n"
                                         "job 1 queue=0 cpu=4 x=2\n"
                                         "job 2 queue=1 cpu=5\n"
                                         "job 3 queue=1 cpu=4 x=3\n"
                                         "pass 1 =\n"
                                         "why 1 = too_large\n"
                                         "why 2 = no_node_fits\n"
                                         "why 3 = too_large\n" },
        { "a cluster without usable nodes", "queue 0\n"
                                            "job 1 queue=0 cpu=1\n"
                                            "pass 1 =\n"
                                            "why 1 = no_nodes\n" },
};

/* ---- the player ---- */

typedef struct {
        bool there;
        SchedJob job;
        SchedRole role;
        SchedTask tasks[TASKS_MAX], holding[TASKS_MAX];
} GoldenJob;

typedef struct {
        const char *line;
        Scheduler *scheduler;
        GoldenJob jobs[JOBS_MAX];
        Decisions decisions;
        gint64 next_age;
} Golden;

typedef struct {
        char *key, *value; /* value "" when there is none */
} Setting;

static int number(const char *text)
{
        return (int)g_ascii_strtoll(text, NULL, 10);
}

static void wrong(const Golden *golden, const char *seen)
{
        g_printerr("    line: %.*s\n    seen: %s\n", (int)strcspn(golden->line, "\n"), golden->line, seen);
        g_test_fail();
}

static gint64 amount_of(const char *name, const char *value, int *ret_kind)
{
        static const struct {
                const char *name;
                int kind;
                gint64 unit;
        } kinds[] = { { "cpu", RESOURCE_CPU, 1000 },
                      { "gpu", RESOURCE_GPU, 1 },
                      { "mem", RESOURCE_MEMORY, 0 } };

        for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
                if (strcmp(kinds[i].name, name) != 0)
                        continue;
                *ret_kind = kinds[i].kind;
                return g_ascii_strtoll(value, NULL, 10) * (kinds[i].unit ? kinds[i].unit : GIB);
        }
        return -1;
}

static bool set_amount(Resources *resources, const char *name, const char *value)
{
        int kind;
        gint64 amount = amount_of(name, value, &kind);

        if (amount >= 0)
                resources->amount[kind] = amount;
        return amount >= 0;
}

static Setting split(char *word)
{
        char *equals = strchr(word, '=');

        if (equals)
                *equals = '\0';
        return (Setting){ word, equals ? equals + 1 : word + strlen(word) };
}

static void do_node(Golden *golden, char **words)
{
        const char *labels[LABELS_MAX + 1] = { NULL };
        SchedNode node = { .id = number(words[0]), .name = "node", .usable = true, .labels = labels };
        int n = 0;

        for (char **word = words + 1; *word; word++) {
                Setting s = split(*word);

                if (strcmp(s.key, "label") == 0)
                        labels[n++] = s.value;
                else
                        g_assert_true(set_amount(&node.total, s.key, s.value));
        }
        g_assert_true(scheduler_put_node(golden->scheduler, &node));
}

static bool set_queue_amount(SchedQueue *queue, const char *key, const char *value)
{
        static const struct {
                const char *prefix;
                size_t offset;
        } parts[] = { { "min.", offsetof(SchedQueue, min) },
                      { "max.", offsetof(SchedQueue, max) },
                      { "reserved.", offsetof(SchedQueue, reserved) } };

        for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
                if (g_str_has_prefix(key, parts[i].prefix))
                        return set_amount((Resources *)(void *)((char *)queue + parts[i].offset),
                                          key + strlen(parts[i].prefix), value);
        return false;
}

static void do_queue(Golden *golden, char **words)
{
        SchedQueue queue = { .id = number(words[0]),
                             .parent = -1,
                             .name = "queue",
                             .state = QUEUE_OPEN,
                             .weight = 1,
                             .reclaimable = true,
                             .backfill = true };
        int preemption = 0, order = 0, state = QUEUE_OPEN, reclaimable = 1, backfill = 1;
        const struct {
                const char *key;
                int *value;
        } settings[] = { { "parent", &queue.parent },
                         { "weight", &queue.weight },
                         { "priority", &queue.priority },
                         { "per-user", &queue.max_running_per_user },
                         { "preemption", &preemption },
                         { "order", &order },
                         { "state", &state },
                         { "reclaimable", &reclaimable },
                         { "backfill", &backfill } };

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                queue.max.amount[kind] = RESOURCE_UNLIMITED;
        for (char **word = words + 1; *word; word++) {
                Setting s = split(*word);
                bool known = set_queue_amount(&queue, s.key, s.value);

                for (guint i = 0; i < G_N_ELEMENTS(settings); i++) {
                        if (strcmp(settings[i].key, s.key) != 0)
                                continue;
                        *settings[i].value = number(s.value);
                        known = true;
                }
                g_assert_true(known);
        }
        queue.preemption = (QueuePreemption)preemption;
        queue.order = (QueueOrder)order;
        queue.state = (QueueState)state;
        queue.reclaimable = reclaimable;
        queue.backfill = backfill;
        g_assert_true(scheduler_put_queue(golden->scheduler, &queue));
}

static GoldenJob *golden_job(Golden *golden, const char *key)
{
        int i = number(key);

        g_assert_cmpint(i, <, JOBS_MAX);
        return &golden->jobs[i];
}

static void put(Golden *golden, GoldenJob *job)
{
        job->there = true;
        job->job.roles = &job->role;
        job->job.tasks = job->job.state == SCHED_PENDING ? NULL : job->tasks;
        g_assert_true(scheduler_put_job(golden->scheduler, &job->job));
}

/* GPUs of the node that no job of the script has, lowest first. */
static guint64 free_devices(const Golden *golden, int node, gint64 n)
{
        guint64 used = 0, taken = 0;

        for (int i = 0; i < JOBS_MAX; i++)
                for (int task = 0; task < TASKS_MAX; task++)
                        if (golden->jobs[i].there && golden->jobs[i].job.state != SCHED_PENDING &&
                            golden->jobs[i].holding[task].node == node)
                                used |= golden->jobs[i].holding[task].devices;
        for (int bit = 0; n > 0; bit++) {
                if (used >> bit & 1)
                        continue;
                taken |= (guint64)1 << bit;
                n--;
        }
        return taken;
}

static void place(Golden *golden, GoldenJob *job, char *nodes)
{
        g_auto(GStrv) list = g_strsplit(nodes, ",", -1);

        job->there = true;
        job->job.state = SCHED_RUNNING;
        for (int i = 0; i < TASKS_MAX; i++)
                job->holding[i] = (SchedTask){ .node = -1 };
        for (int i = 0; list[i]; i++) {
                job->holding[i].node = number(list[i]);
                job->holding[i].devices = free_devices(golden, job->holding[i].node, job->role.each.gpus);
        }
        memcpy(job->tasks, job->holding, sizeof(job->tasks));
}

static void do_job(Golden *golden, char **words)
{
        GoldenJob *job = golden_job(golden, words[0]);
        int replicas = 1, min = -1, limit = 0, saved = 0, grace = 0, since = 0, not_before = 0;
        char *on = NULL;
        SchedJob *it = &job->job;
        const struct {
                const char *key;
                int *value;
        } settings[] = { { "queue", &it->queue },
                         { "x", &replicas },
                         { "min", &min },
                         { "prio", &it->priority },
                         { "user", &it->user },
                         { "limit", &limit },
                         { "saved", &saved },
                         { "grace", &grace },
                         { "since", &since },
                         { "array", &it->array },
                         { "array-max", &it->array_max },
                         { "topology", &it->topology },
                         { "not-before", &not_before } };

        *job = (GoldenJob){ 0 };
        *it = (SchedJob){ .key = number(words[0]), .preemptable = true, .topology = -1, .n_roles = 1 };
        it->submitted = golden->next_age++;
        for (char **word = words + 1; *word; word++) {
                Setting s = split(*word);
                bool known = set_amount(&job->role.each, s.key, s.value);

                for (guint i = 0; i < G_N_ELEMENTS(settings); i++) {
                        if (strcmp(settings[i].key, s.key) != 0)
                                continue;
                        *settings[i].value = number(s.value);
                        known = true;
                }
                if (strcmp(s.key, "on") == 0)
                        on = s.value;
                else if (strcmp(s.key, "fixed") == 0)
                        it->preemptable = false;
                else if (strcmp(s.key, "required") == 0)
                        it->topology_required = true;
                else if (strcmp(s.key, "held") == 0)
                        it->held = true;
                else
                        g_assert_true(known);
        }
        job->role.replicas = replicas;
        job->role.min = min < 0 ? replicas : min;
        it->time_limit_ms = (gint64)limit * SECOND;
        it->not_before = (gint64)not_before * SECOND;
        it->grace_ms = (gint64)grace * SECOND;
        if (on) {
                place(golden, job, on);
                it->started = (gint64)since * SECOND;
                it->saved = (gint64)saved * SECOND;
        }
        put(golden, job);
}

static void do_back(Golden *golden, char **words)
{
        GoldenJob *job = golden_job(golden, words[0]);

        job->job.state = SCHED_PENDING;
        put(golden, job);
}

static void do_end(Golden *golden, char **words)
{
        GoldenJob *job = golden_job(golden, words[0]);

        job->there = false;
        scheduler_drop_job(golden->scheduler, job->job.key);
}

static void do_trimmed(Golden *golden, char **words)
{
        GoldenJob *job = golden_job(golden, words[0]);

        memcpy(job->holding, job->tasks, sizeof(job->tasks));
        put(golden, job);
}

static int carry_out(Golden *golden, const Decision *decision, gint64 now)
{
        GoldenJob *job = &golden->jobs[decision->key];
        int placed = 0;

        if (decision->kind == DECIDE_EVICT) {
                job->job.state = SCHED_ENDING;
                return 0;
        }
        g_assert_cmpint(decision->n_tasks, ==, job->role.replicas);
        if (decision->kind == DECIDE_START)
                job->job.started = now;
        job->job.state = SCHED_RUNNING;
        for (int i = 0; i < TASKS_MAX; i++) {
                job->tasks[i] = i < decision->n_tasks ? g_array_index(golden->decisions.tasks, SchedTask,
                                                                      decision->first_task + (guint)i)
                                                      : (SchedTask){ .node = -1 };
                placed += job->tasks[i].node >= 0;
        }
        if (decision->kind != DECIDE_SHRINK)
                memcpy(job->holding, job->tasks, sizeof(job->tasks));
        return placed;
}

/* One decision of a script; "(3..7)" is a range. */
static bool matches(const char *expected, const Decision *decision, int placed)
{
        static const char *const names[] = { "start", "grow", "shrink", "evict" };
        char word[16] = "";
        int key = 0, least = 0, most = 0, for_key = 0;
        const char *bracket = strchr(expected, '('), *whom = strstr(expected, "for ");

        if (sscanf(expected, "%15s %d", word, &key) != 2)
                return false;
        if (bracket && sscanf(bracket, "(%d..%d)", &least, &most) == 1)
                most = least;
        if (whom)
                for_key = number(whom + 4);
        return strcmp(word, names[decision->kind]) == 0 && key == decision->key && placed >= least &&
               placed <= most && for_key == decision->for_key;
}

static void say_decision(GString *seen, const Decision *decision, int placed)
{
        static const char *const names[] = { "start", "grow", "shrink", "evict" };

        g_string_append_printf(seen, "%s%s %d", seen->len ? "; " : "", names[decision->kind],
                               (int)decision->key);
        if (decision->kind != DECIDE_EVICT)
                g_string_append_printf(seen, " (%d)", placed);
        if (decision->for_key)
                g_string_append_printf(seen, " for %d", (int)decision->for_key);
}

static void do_pass(Golden *golden, char **words)
{
        const char *equals = strchr(golden->line, '=');
        gsize len = strcspn(golden->line, "\n");
        gint64 now = (gint64)number(words[0]) * SECOND;
        g_autoptr(GString) seen = g_string_new(NULL);
        g_auto(GStrv) expected = NULL;
        bool ok = true;
        guint n;

        scheduler_pass(golden->scheduler, now, &golden->decisions);
        if (equals && equals < golden->line + len) {
                g_autofree char *text = g_strndup(equals + 1, (gsize)(golden->line + len - equals - 1));

                expected = g_strsplit(g_strstrip(text), "; ", -1);
        }
        n = golden->decisions.decisions->len;
        for (guint i = 0; i < n; i++) {
                const Decision *decision = &g_array_index(golden->decisions.decisions, Decision, i);
                int placed = carry_out(golden, decision, now);

                say_decision(seen, decision, placed);
                ok = ok &&
                     (!expected || (i < g_strv_length(expected) && matches(expected[i], decision, placed)));
        }
        if (!ok || (expected && n != g_strv_length(expected)))
                wrong(golden, seen->len ? seen->str : "nothing");
}

static void do_at(Golden *golden, char **words)
{
        g_autoptr(GString) seen = g_string_new(NULL);
        g_autofree char *expected = g_strjoinv(" ", words + 2);
        int node = number(words[0]);

        for (int i = 0; i < JOBS_MAX; i++) {
                bool here = false;

                for (int task = 0; task < TASKS_MAX; task++)
                        here |= golden->jobs[i].there && golden->jobs[i].job.state == SCHED_RUNNING &&
                                task < golden->jobs[i].role.replicas &&
                                golden->jobs[i].tasks[task].node == node;
                if (here)
                        g_string_append_printf(seen, "%s%d", seen->len ? " " : "", i);
        }
        if (strcmp(seen->str, expected) != 0)
                wrong(golden, seen->str);
}

static void expect_number(const Golden *golden, int seen, const char *expected)
{
        int least, most;
        char text[32];

        if (sscanf(expected, "%d..%d", &least, &most) == 1)
                most = least;
        (void)snprintf(text, sizeof(text), "%d", seen);
        if (seen < least || seen > most)
                wrong(golden, text);
}

static void do_running(Golden *golden, char **words)
{
        int n = 0, queue = number(words[0]);

        for (int i = 0; i < JOBS_MAX; i++)
                n += golden->jobs[i].there && golden->jobs[i].job.state == SCHED_RUNNING &&
                     golden->jobs[i].job.queue == queue;
        expect_number(golden, n, words[2]);
}

static void do_tasks(Golden *golden, char **words)
{
        const GoldenJob *job = golden_job(golden, words[0]);
        int n = 0;

        for (int task = 0; task < job->role.replicas; task++)
                n += job->tasks[task].node >= 0;
        expect_number(golden, n, words[2]);
}

static void do_free_gpus(Golden *golden, char **words)
{
        Resources used;
        guint64 devices;

        g_assert_true(scheduler_node(golden->scheduler, number(words[0]), &used, &devices));
        expect_number(golden, 10 - (int)used.gpus, words[2]);
}

static void do_why(Golden *golden, char **words)
{
        Cause cause = scheduler_cause(golden->scheduler, number(words[0]));

        if (strcmp(cause_name(cause), words[2]) != 0)
                wrong(golden, cause_name(cause));
}

static const struct {
        const char *word;
        void (*play)(Golden *golden, char **words);
} statements[] = {
        { "node", do_node }, { "queue", do_queue },     { "job", do_job },     { "back", do_back },
        { "end", do_end },   { "trimmed", do_trimmed }, { "pass", do_pass },   { "at", do_at },
        { "why", do_why },   { "running", do_running }, { "tasks", do_tasks }, { "free-gpus", do_free_gpus },
};

static void play_line(Golden *golden)
{
        g_autofree char *line = g_strndup(golden->line, strcspn(golden->line, "\n"));
        g_auto(GStrv) words = g_strsplit(line, " ", -1);

        for (guint i = 0; i < G_N_ELEMENTS(statements); i++) {
                if (strcmp(words[0], statements[i].word) == 0) {
                        statements[i].play(golden, words + 1);
                        return;
                }
        }
        g_error("unknown statement: %s", line);
}

static void test_case(gconstpointer data)
{
        const Case *c = data;
        g_autofree Golden *golden = g_new0(Golden, 1);

        golden->scheduler = scheduler_new(&(SchedulerConfig){ .topology = "zone,rack" });
        decisions_init(&golden->decisions);
        for (golden->line = c->script; *golden->line; golden->line += strcspn(golden->line, "\n") + 1)
                play_line(golden);
        decisions_clear(&golden->decisions);
        scheduler_free(golden->scheduler);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strconcat("/golden/", cases[i].name, NULL);

                g_test_add_data_func(path, &cases[i], test_case);
        }
        return g_test_run();
}
