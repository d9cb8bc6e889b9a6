/* Rows of submission.c: how a job shares the room with others. */
#pragma once

#define SHARE_TEXT(name, letter, field, arg, help)                                                           \
        {                                                                                                    \
                name, letter, OPTION_STRING, FIELD(field), arg, NULL, help, 0, 0, NULL                       \
        }
#define SHARE_LIST(name, field, arg, help)                                                                   \
        {                                                                                                    \
                name, 0, OPTION_LIST, FIELD(field), arg, NULL, help, 0, 0, NULL                              \
        }
#define SHARE_FLAG(name, field, help)                                                                        \
        {                                                                                                    \
                name, 0, OPTION_BOOL, FIELD(field), NULL, NULL, help, 0, 0, NULL                             \
        }

#define SHARE_OPTIONS                                                                                        \
        SHARE_TEXT("queue", 'q', queue, "NAME", "queue to submit to"),                                       \
                SHARE_TEXT("cluster", 0, cluster, "NAME",                                                    \
                           "cluster to run on: its queue of that name, or its only one"),                    \
                SHARE_TEXT("priority", 'p', priority, "N",                                                   \
                           "-1000 to 1000, or very-low, low, normal, high, very-high"),                      \
                SHARE_LIST("label", labels, "K=V", "label to find the job by"),                              \
                SHARE_LIST("annotation", annotations, "K=V", "remark that is kept with the job"),            \
                SHARE_LIST("after", after, "WHEN:JOB",                                                       \
                           "wait for another job or array: ok:JOB, any:JOB or fail:JOB"),                    \
                SHARE_TEXT("begin", 0, begin, "TIME",                                                        \
                           "not before: 2026-03-01T22:00, 22:00, or 2h from now"),                           \
                SHARE_TEXT("signal", 0, signal, "NAME@TIME",                                                 \
                           "signal to send before the time limit and before a preemption: USR1@60s"),        \
                SHARE_TEXT("flavour", 0, flavour, "NAME", "named size of one trainer"),                      \
                SHARE_TEXT("resources", 0, resources, "LIST", "what else a trainer needs: rdma/hca=1"),      \
                SHARE_LIST("node-label", node_labels, "K=V", "run only on nodes with this label"),           \
                SHARE_TEXT("topology", 0, topology, "KEY",                                                   \
                           "keep the processes together within one value of this node label"),               \
                SHARE_FLAG("topology-required", topology_required, "wait until they fit together"),          \
                SHARE_FLAG("no-preempt", no_preempt, "never preempt or shrink the job for others"),          \
                SHARE_TEXT("on-preempt", 0, on_preempt, "WHAT", "after preemption: requeue or end"),         \
                SHARE_FLAG("dry-run", dry_run,                                                               \
                           "submit nothing; say whether, where and when it would start"),
