/* Everything that the agent keeps: the tasks, their keepers, their state files and cgroup slots. One callback
 * reports events as lines of the protocol. Lines that are not received are not lost, because keep_report_all
 * reports everything again. Runs on the default main context; no call blocks. */
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
        void (*changed)(void *arg);                     /* a task was added or removed */
        void (*broken)(const GError *error, void *arg); /* no spawner can be started: the program should
                                                           exit */
        void *arg;
} KeepConfig;

/* Adopts the tasks in `tasks_dir` and starts the spawner. */
Keep *keep_new(const KeepConfig *config, GError **error);
void keep_free(Keep *keep); /* keepers and members continue */

/* Starts a member, or reports again what is known of it. */
void keep_start(Keep *keep, const StartRequest *request);
/* Stores and reports that a task could not be started; `permanent`: a retry is useless. */
void keep_refuse(Keep *keep, const char *name, const char *text, bool permanent);
void keep_stop(Keep *keep, const char *name, gint64 grace_ms);
/* Sends a signal to all processes of a running member; a no-op for others. */
void keep_signal(Keep *keep, const char *name, int signo);
/* False with ERR_CONFLICT for a task that has not ended. True for an unknown one. */
bool keep_forget(Keep *keep, const char *task, GError **error);

/* Appends the reports of every known task. */
void keep_report_all(Keep *keep, GString *lines);
/* True once no adopted task is undecided: a task that is not reported then never ran. */
bool keep_is_settled(const Keep *keep);

/* The allowed connections of members that are started from now on (egress.h). False: members that request a
 * limit must not be started. */
bool keep_limit_egress(Keep *keep, const json_t *rules, GError **error);

guint keep_count(const Keep *keep);
/* The enforceable limits: a NULL-terminated list, owned by the keep. */
const char *const *keep_limits(const Keep *keep);
/* The parts of a sandbox that this machine supports; the same. */
const char *const *keep_sandbox(const Keep *keep);
/* Whether members can be denied devices. */
bool keep_denies_devices(const Keep *keep);
