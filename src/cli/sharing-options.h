/* Rows of submission.c: the scheduling of a job. */
#pragma once

/* clang-format off */
#define SHARE_OPTIONS                                                                                        \
        { "queue", 'q', OPTION_STRING, FIELD(queue), "NAME", "queue to submit to" },                         \
        { "cluster", 0, OPTION_STRING, FIELD(cluster), "NAME",                                               \
          "cluster to run on: its queue of that name, or its only one" },                                    \
        { "priority", 'p', OPTION_STRING, FIELD(priority), "N",                                              \
          "-1000 to 1000, or very-low, low, normal, high, very-high" },                                      \
        { "label", 0, OPTION_LIST, FIELD(labels), "K=V", "label to find the job by" },                       \
        { "annotation", 0, OPTION_LIST, FIELD(annotations), "K=V", "remark that is kept with the job" },     \
        { "after", 0, OPTION_LIST, FIELD(after), "WHEN:JOB",                                                 \
          "wait for another job or array: ok:JOB, any:JOB or fail:JOB" },                                    \
        { "begin", 0, OPTION_STRING, FIELD(begin), "TIME",                                                   \
          "not before: 2026-03-01T22:00, 22:00, or 2h from now" },                                           \
        { "signal", 0, OPTION_STRING, FIELD(signal), "NAME@TIME",                                            \
          "signal to send before the time limit and before a preemption: USR1@60s" },                        \
        { "flavour", 0, OPTION_STRING, FIELD(flavour), "NAME", "named size of one trainer" },                \
        { "resources", 0, OPTION_STRING, FIELD(resources), "LIST",                                           \
          "other resources of a trainer: rdma/hca=1" },                                                         \
        { "node-label", 0, OPTION_LIST, FIELD(node_labels), "K=V", "run only on nodes with this label" },    \
        { "topology", 0, OPTION_STRING, FIELD(topology), "KEY",                                              \
          "keep the processes together within one value of this node label" },                               \
        { "topology-required", 0, OPTION_BOOL, FIELD(topology_required), NULL,                               \
          "wait until they fit together" },                                                                  \
        { "no-preempt", 0, OPTION_BOOL, FIELD(no_preempt), NULL,                                             \
          "never preempt or shrink the job for others" },                                                    \
        { "on-preempt", 0, OPTION_STRING, FIELD(on_preempt), "WHAT", "after preemption: requeue or end" },   \
        { "dry-run", 0, OPTION_BOOL, FIELD(dry_run), NULL,                                                   \
          "submit nothing; say whether, where and when it would start" }
/* clang-format on */
