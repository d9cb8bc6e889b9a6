/* A submission: what the flags of `job submit`, `train` and `submit` say, a job file under them, and the
 * specification that comes out. Pure but for reading the job file; every wrong or contradictory flag is found
 * here, before any request is made. */
#pragma once

#include "cli/cli.h"

typedef struct {
        Common common;
        char *job_name, *package_path, *entry_point, *setup, *input, *output, *base_image;
        gint64 trainers; /* 0: not given */
        char *pservers;  /* NULL: not given */
        bool use_gpu;
        gint64 trainer_gpu_num, gpus;
        GPtrArray *env;                    /* "K=V", or "K" */
        GPtrArray *env_files;              /* paths */
        GPtrArray *secrets, *secret_files; /* "VARIABLE=SECRET", "FILE=SECRET", or "SECRET" */
        char *cpu, *memory, *ps_cpu, *ps_memory, *framework, *on_lost, *network;
        char *retries, *time_limit, *start_timeout, *grace; /* NULL: not given; 0 wins over a job file, too */
        char *queue, *cluster, *priority, *array, *sweep_parallel, *begin, *signal, *on_preempt, *flavour,
                *resources, *topology;
        GPtrArray *sweep, *labels, *annotations, *after, *node_labels;
        gint64 min_trainers; /* 0: not given, all of them */
        bool no_preempt, topology_required, dry_run;
        bool follow, no_package, allow_large, force, plan, no_file;
        bool detach;        /* shell */
        char *hangup_after; /* shell; NULL: not given */
        char *file, *idempotency_key, *format;
        bool own_file; /* `file` is the directory's own: nobody named it */
} Submission;

typedef enum {
        SUBMIT_FLAGS, /* job submit, train: --job-name, --package-path, --entry-point are needed; no words */
        SUBMIT_WORDS, /* submit: the command is the words; the package is the current directory */
} SubmitForm;

/* The rows of both forms (doc/reference/paddle-cloud.md, "Flags of paddle job submit", and our own). */
extern const Option submission_options[];       /* job submit, train */
extern const Option submission_short_options[]; /* submit: with -n and --ps */
extern const Option submission_shell_options[]; /* shell: of one process */

/* The object for POST /v1/jobs, without package. `file` is the job file's value or NULL: the flags win over
 * it. It may be written as doc/guide/rest.md has it, or with the seed's names. *ret_package is the directory to
 * pack, or NULL for none; the caller's. ERR_USAGE names the flags. */
bool submission_spec(const Submission *submission, SubmitForm form, char *const *words, const json_t *file,
                     json_t **ret_spec, char **ret_package, GError **error);

/* JSON has no other bytes than UTF-8: NULL with ERR_USAGE, which names `what`, for a text that has some. */
json_t *submission_text(const char *what, const char *text, GError **error);

/* A text that an option gave, and the member that it becomes; NULL: the option was not given. */
typedef struct {
        const char *member, *option, *text;
} SubmissionText;

/* Puts those that were given. ERR_USAGE names the option whose text is not UTF-8: left out, the job would run
 * in another way than was asked for. */
bool submission_put_texts(json_t *object, const SubmissionText *texts, gsize n, GError **error);
#define PUT_TEXTS(object, error, ...)                                                                        \
        submission_put_texts(object, (const SubmissionText[]){ __VA_ARGS__ },                                \
                             sizeof((const SubmissionText[]){ __VA_ARGS__ }) / sizeof(SubmissionText),       \
                             error)

/* Variables and secrets: those of files first, so that flags win. ERR_USAGE names the flag, or file and line.
 */
bool submission_put_env(const Submission *submission, json_t *spec, GError **error);

/* Members of a specification about sharing the room: queue, priority, labels, array, ... ERR_USAGE names the
 * flag. `now` is for times that are said from now on; `role` is the trainers' and may be NULL when no flag
 * speaks of it. */
bool submission_put_sharing(const Submission *submission, json_t *spec, gint64 now, GError **error);
bool submission_speaks_of_role(const Submission *submission);
bool submission_put_role(const Submission *submission, json_t *role, GError **error);

/* The queue of --cluster among those that the user may use (GET /v1/queues): the one called like the cluster,
 * or the only one that takes jobs. Borrowed; NULL with ERR_USAGE or ERR_DENIED. */
const char *submission_queue_of(const json_t *queues, const char *cluster, GError **error);
/* Asks the server for them, and puts it into the specification; nothing without --cluster. */
bool submission_put_cluster(Cli *cli, const Submission *submission, json_t *spec, GError **error);

/* Reads a job file, YAML or JSON ("-": standard input). */
json_t *submission_read_file(const char *path, GError **error);
/* Puts the file, and the line where it can be told, before an error about one of its members. */
void submission_place_fault(const char *path, GError **error);

/* The directory's own job file, paddle.yaml; the caller's, or NULL. */
char *submission_own_file(const Submission *submission);
/* Whoever runs `paddle submit` in another user's directory does not mean to run that user's settings. */
bool submission_trusts_file(const char *path);
/* What a specification has from a job file whose command was replaced, for a person; the caller's. */
char *submission_taken(const char *path, const json_t *file, const json_t *spec);

/* What to warn of; the caller's, or NULL. Options of ours among the words of a command, which are the
 * program's; a --input or --output that looks like a path of this machine. */
char *submission_words_note(char *const *words);
char *submission_path_note(const char *what, const char *path);

/* Packs, sends, submits and prints the name: for a verb that goes on with the job. `extra` are members of the
 * specification that the verb adds, `finish` may change it. *ret_job NULL: it was a dry run. */
bool submission_start(Cli *cli, const Submission *submission, char *const *words, const json_t *extra,
                      void (*finish)(json_t *spec), json_t **ret_job, GError **error);

/* Packs, sends, submits, follows: the run of all three verbs. */
bool submission_run(Cli *cli, const Submission *submission, SubmitForm form, char *const *words,
                    GError **error);
