/* Follows a job: log lines on stdout, stages and reasons on stderr, from the stream of doc/guide/rest.md. A
 * broken connection is resumed where it stopped: no line is lost or printed twice. */
#pragma once

#include "cli/cli.h"
#include "cli/live-lines.h"
#include "cli/prefix.h"
#include "cli/retry.h"

/* Shared by followers of several jobs, whose lines go to one output. */
typedef struct {
        GMutex lock;
        LogPrefixer *prefixer;
        LiveLines *live; /* NULL: not on a terminal */
        RetryVoice voice;
} FollowShared;

typedef struct {
        const char *job;      /* id or name, resolved once: a later job of that name is not followed */
        const char *members;  /* "trainer-0,trainer-1", or NULL: all */
        gint64 tail;          /* the last lines of each member to start with; -1: all */
        const char *since;    /* only lines since then: RFC 3339, or "10m" (ago); NULL: all */
        gint64 attempt;       /* only this attempt; 0: the newest and later ones */
        bool whole;           /* all attempts, including past ones; `tail` must be -1 */
        bool timestamps;      /* before each line: local time on a terminal, otherwise RFC 3339 in UTC */
        bool follow;          /* until the job ends */
        bool raw;             /* unfiltered output, also on a terminal, with all states of lines */
        bool until_running;   /* stop once the job runs */
        bool terminal;        /* the job needs a terminal: without one it is cancelled while it waits */
        bool stages;          /* show every stage with its time; otherwise only why a pending job waits */
        const char *element;  /* shown before each member's name: "sw[3]"; or NULL */
        bool *heard;          /* set when a line arrives; or NULL */
        FollowShared *shared; /* or NULL. With it no stages are shown */
} FollowOptions;

/* ERR_UNREACHABLE if the server is unreachable for 60 s. *ret_job (may be NULL) is the job at that time. */
bool follow_job(Cli *cli, const FollowOptions *options, json_t **ret_job, GError **error);

/* Follows a job that was just submitted to its end, prints the summary, and sets cli->status by its success.
 * Ctrl-C leaves the job running and shows how to continue. */
bool follow_to_end(Cli *cli, const char *id, const char *name, GError **error);

/* The prefixer and the live lines of followers with these options: shared, or of one job. */
LogPrefixer *follow_prefixer(const Cli *cli, const FollowOptions *options, int width);
LiveLines *follow_live(const Cli *cli, const FollowOptions *options);
/* Columns of the longest member name of the job; at most 40. */
int follow_member_width(const json_t *job);
/* Catches Ctrl-C, and then shows how to continue following the job `name`. */
void follow_catch_interrupt(const char *name);

/* Waits until the job, or the whole array, is final; also across restarts of the server. *ret is the job. */
bool wait_for_job(Cli *cli, const char *job, json_t **ret, GError **error);
/* The same until `deadline` (monotonic ms; 0: none): then ERR_TIMEOUT with the job's state. */
bool wait_for_job_until(Cli *cli, const char *job, gint64 deadline, json_t **ret, GError **error);
