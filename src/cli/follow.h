/* Following a job: its log lines on stdout, its stages and reasons on stderr, from the stream of doc/guide/rest.md.
 * A connection that breaks is made again where it stopped: nothing is lost and nothing printed twice. */
#pragma once

#include "cli/cli.h"
#include "cli/live-lines.h"
#include "cli/prefix.h"
#include "cli/retry.h"

/* What followers of several jobs at once share: their lines are one text. */
typedef struct {
        GMutex lock;
        LogPrefixer *prefixer;
        LiveLines *live; /* NULL: not on a terminal */
        RetryVoice voice;
} FollowShared;

typedef struct {
        const char *job;     /* id or name; resolved once, so that a later job of the name does not slip in */
        const char *members; /* "trainer-0,trainer-1", or NULL: all */
        gint64 tail;         /* lines of each member to begin with; -1: all */
        const char *since;   /* only lines from then on: RFC 3339 or "10m", how long ago; NULL: all */
        gint64 attempt;      /* this one alone; 0: the newest and those that follow */
        bool whole;          /* all attempts, also those that are over by now; then `tail` is -1 */
        bool timestamps;     /* before each line: local on a terminal, else RFC 3339, UTC */
        bool follow;         /* until the job ends */
        bool raw;            /* also on a terminal, what members wrote as it is, with all states of lines */
        bool until_running;  /* only until it runs */
        bool terminal;       /* for a terminal, without which a job that waits is cancelled */
        bool stages;         /* every stage with its time; otherwise only why a pending job pends */
        const char *element; /* before each member's name: "sw[3]"; or NULL */
        bool *heard;         /* set when a line came; or NULL */
        FollowShared *shared; /* or NULL. With it no stages are said */
} FollowOptions;

/* ERR_UNREACHABLE when the server stays away for 60 s. *ret_job (may be NULL) is the job as it then is. */
bool follow_job(Cli *cli, const FollowOptions *options, json_t **ret_job, GError **error);

/* Follows a job that was just submitted to its end, prints the summary, and sets cli->status by its success.
 * An interrupt from the keyboard leaves the job running and says how to go on. */
bool follow_to_end(Cli *cli, const char *id, const char *name, GError **error);

/* What followers of a job with these options write through: of one job, or shared. */
LogPrefixer *follow_prefixer(const Cli *cli, const FollowOptions *options, int width);
LiveLines *follow_live(const Cli *cli, const FollowOptions *options);
/* Columns of the longest name of a member of the job; at most 40. */
int follow_member_width(const json_t *job);
/* What an interrupt from the keyboard says while the job `name` is followed. */
void follow_catch_interrupt(const char *name);

/* Waits until the job, or the whole array, is final; survives a server that restarts. *ret is the job. */
bool wait_for_job(Cli *cli, const char *job, json_t **ret, GError **error);
/* The same until `deadline` (monotonic ms; 0: none): then ERR_TIMEOUT, with what state the job is in. */
bool wait_for_job_until(Cli *cli, const char *job, gint64 deadline, json_t **ret, GError **error);
