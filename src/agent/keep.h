/* Everything the agent keeps: the tasks, their keepers, their state files and cgroup slots. What happens is
 * told as lines of the protocol through one callback; nothing is lost when nobody listens, because
 * keep_report_all says it all again. Runs on the default main context; no call blocks. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "agent/request.h"

typedef struct Keep Keep;

typedef struct {
        const char *tasks_dir;     /* exists */
        const char *sandboxes_dir; /* exists; for the private files of members */
        const char *spawner_program;
        const char *cgroup_id;                          /* names this agent's groups */
        int lock_fd;                                    /* the agent's lock; borrowed */
        void (*report)(const char *line, void *arg);    /* one or more whole lines; must not call back */
        void (*changed)(void *arg);                     /* a task came or went */
        void (*broken)(const GError *error, void *arg); /* no spawner can be had: the program should end */
        void *arg;
} KeepConfig;

/* Adopts what is in `tasks_dir` and starts the spawner. */
Keep *keep_new(const KeepConfig *config, GError **error);
void keep_free(Keep *keep); /* keepers and members live on */

/* Starts a member, or reports again what is known of it. */
void keep_start(Keep *keep, const StartRequest *request);
/* Remembers and reports that a task could not be started; `permanent`: and that asking again is no use. */
void keep_refuse(Keep *keep, const char *name, const char *text, bool permanent);
void keep_stop(Keep *keep, const char *name, gint64 grace_ms);
/* Passes a signal on to all processes of a member that runs; a no-op for others. */
void keep_signal(Keep *keep, const char *name, int signo);
/* False with ERR_CONFLICT for a task that has not ended. An unknown one is fine. */
bool keep_forget(Keep *keep, const char *task, GError **error);

/* Appends the reports of every known task. */
void keep_report_all(Keep *keep, GString *lines);
/* True once no adopted task is undecided: what is not reported then never ran. */
bool keep_is_settled(const Keep *keep);

/* What members that are started from now on may connect to (egress.h). False: none of them may be started
 * that asks for a limit. */
bool keep_limit_egress(Keep *keep, const json_t *rules, GError **error);

guint keep_count(const Keep *keep);
/* What can be enforced: a NULL-terminated list, the keep's. */
const char *const *keep_limits(const Keep *keep);
/* The parts of a sandbox that this machine has: the same. */
const char *const *keep_sandbox(const Keep *keep);
/* Whether devices can be denied to members. */
bool keep_denies_devices(const Keep *keep);
