/* A run in a test of the engine: a definition, the house where it runs, and what its steps are asked to do. Paths are those
 * of readers: "d-0.x". The run is of the user "ann". */
#pragma once

#include "engine/runs.h"
#include "engine/test/help.h"
#include "pipeline/definition.h"

enum { PATIENCE_S = 60 }; /* for what a thread does some time later */

/* Two steps. */
#define TWO "entry_points:\n  a: {command: c}\n  b: {command: c, deps: a}\n"
#define CONTINUE "failure_options: {strategy: continue}\n"
#define POST "post_process:\n  p: {command: c}\n"

/* A step that writes a file, and one that reads it. */
#define HOME "fs_options: {main_fs: {name: home}}\n"
#define WRITES "entry_points:\n  a: {command: c, artifacts: {output: [x]}}\n"
#define READS "  b:\n    command: c\n    deps: a\n    artifacts: {input: {i: '{{a.x}}'}}\n"

typedef struct {
        House *house;
        Definition *definition;
        char *id;
        gint64 seq;
        guint earlier; /* jobs that other runs had made before */
} Play;

/* The end of a job is committed at once, or only when a disk that was full has space again. */
typedef enum { AS_IT_IS, WITH_STARTS, WITH_FULL_DISKS } Way;

typedef struct {
        int done; /* atomic */
        bool repeated;
        RunRecord *run;
        GError *error;
} RunAnswer;
/* An EngineRunDone; `arg` is a RunAnswer. */
void play_note_answer(const RunRecord *run, bool repeated, const GError *error, void *arg);

/* A text without a name gets one. */
Definition *play_compile(const char *text);
/* `request`: JSON with ' instead of "; or NULL. The id; the caller's. */
char *play_create(House *house, const char *text, const char *request, const char *key, gint64 *ret_seq,
                  GError **error);
/* "stop", "force", "delete" or "delete --force". */
bool play_act(House *house, const char *id, const char *what, GError **error);
/* "from" is a path, or "NAME=N"; or NULL. The new run's id; the caller's. */
char *play_retry(House *house, const char *id, const char *from, const char *key, gint64 *ret_seq,
                 GError **error);

/* A run of the text. */
Play play_new(House *house, const char *text);
void play_clear(Play *play);
/* The engine ends and begins again. */
void play_restart(const Play *play);

/* RunNodeRecord: all that there are. */
GPtrArray *play_nodes(const Play *play);
/* Borrowed from `nodes`; a loop without items has the name without a number, too. */
const RunNodeRecord *play_find(const Play *play, const GPtrArray *nodes, const char *path);
/* As readers see it; "none": there is no row. `path` "run": of the run. */
const char *play_state(const Play *play, const char *path);
/* Waits until it is so: what a worker answers comes some time later. */
void play_assert(const Play *play, const char *path, const char *want);
/* It has failed, and its message has this text. */
void play_assert_message(const Play *play, const char *path, const char *want);

char *play_job(const Play *play, const char *path); /* its id; the caller's */
char *play_command(const Play *play, const char *path);
guint play_count_jobs(House *house);
void play_assert_jobs(const Play *play, const char *want); /* those that the run has made */
/* Its job ends with this exit status. */
void play_end_job(const Play *play, const char *path, int status);
void play_end(const Play *play, const char *path, int status, Way way);
void play_end_last(const Play *play, int status); /* of the step that began last */

/* Users have homes, in which the server has its own rights. */
House *play_house(void);
void play_house_free(House *house);
/* An output of a step without a loop: its path below the home of "ann", as doc/reference/pipelines.md says; the caller's. */
char *play_artifact(const Play *play, const char *step, const char *name);
/* The directory is there when the job of the step is. */
void play_put(const Play *play, const char *step, const char *name, const char *text, gsize len);

/* `ok` is false; clears the error, which has this code and text. */
void assert_error(bool ok, GError **error, int code, const char *text);
