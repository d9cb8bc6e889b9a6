/* A submission: the flags of `job submit`, `train` and `submit`, a job file with defaults for them, and the
 * resulting specification. Pure except for reading the job file. All wrong or contradictory flags are found
 * here, before any request. */
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
        GPtrArray *mounts;                 /* "FS[/DIRECTORY]:PATH[:ro]" */
        char *cpu, *memory, *ps_cpu, *ps_memory, *framework, *on_lost, *network;
        char *retries, *time_limit, *start_timeout, *grace; /* NULL: not given; 0 overrides a job file */
        char *queue, *cluster, *priority, *array, *sweep_parallel, *begin, *signal, *on_preempt, *flavour,
                *resources, *topology;
        GPtrArray *sweep, *labels, *annotations, *after, *node_labels;
        gint64 min_trainers; /* 0: not given, all trainers */
        bool no_preempt, topology_required, dry_run;
        bool follow, no_package, allow_large, force, plan, no_file;
        bool detach;        /* shell */
        char *hangup_after; /* shell; NULL: not given */
        char *file, *idempotency_key, *format;
        bool own_file; /* `file` is the directory's job file, which the user did not name */
} Submission;

typedef enum {
        SUBMIT_FLAGS, /* job submit, train: require --job-name, --package-path and --entry-point; no words */
        SUBMIT_WORDS, /* submit: the command is the words; the package is the current directory */
} SubmitForm;

/* The rows of both forms (doc/reference/paddle-cloud.md, "Flags of paddle job submit", and our own). */
extern const Option submission_options[];       /* job submit, train */
extern const Option submission_short_options[]; /* submit: with -n and --ps */
extern const Option submission_shell_options[]; /* shell: a single process */

/* The object for POST /v1/jobs, without package. `file` is the job file's value or NULL; flags override it.
 * Its fields may be those of doc/guide/rest.md, or have the names of PaddlePaddle Cloud. *ret_package is the
 * directory to pack, or NULL for none; the caller's. ERR_USAGE names the flags. */
bool submission_spec(const Submission *submission, SubmitForm form, char *const *words, const json_t *file,
                     json_t **ret_spec, char **ret_package, GError **error);

/* A JSON string of the text. NULL with ERR_USAGE that names `what` if it is not UTF-8. */
json_t *submission_text(const char *what, const char *text, GError **error);

/* The text of an option, and the field that it sets; NULL: not given. */
typedef struct {
        const char *member, *option, *text;
} SubmissionText;

/* Sets the given ones. ERR_USAGE names the option whose text is not UTF-8; without it the job would run
 * differently than requested. */
bool submission_put_texts(json_t *object, const SubmissionText *texts, gsize n, GError **error);
#define PUT_TEXTS(object, error, ...)                                                                        \
        submission_put_texts(object, (const SubmissionText[]){ __VA_ARGS__ },                                \
                             sizeof((const SubmissionText[]){ __VA_ARGS__ }) / sizeof(SubmissionText),       \
                             error)

/* Variables and secrets: files first, so that flags override them. ERR_USAGE names the flag, or file and
 * line. */
bool submission_put_env(const Submission *submission, json_t *spec, GError **error);

/* Mounts: a flag replaces the job file's mount at the same path. ERR_USAGE names the flag. */
bool submission_put_mounts(const Submission *submission, json_t *spec, GError **error);

/* Scheduling fields of a specification: queue, priority, labels, array, ... ERR_USAGE names the flag. `now`
 * is for relative times. `role` is the trainers'; it may be NULL if no flag is about it. */
bool submission_put_sharing(const Submission *submission, json_t *spec, gint64 now, GError **error);
bool submission_speaks_of_role(const Submission *submission);
bool submission_put_role(const Submission *submission, json_t *role, GError **error);

/* The queue for --cluster among those that the user may use (GET /v1/queues): the one with the cluster's
 * name, or the only one that accepts jobs. Borrowed; NULL with ERR_USAGE or ERR_DENIED. */
const char *submission_queue_of(const json_t *queues, const char *cluster, GError **error);
/* Asks the server for the queues, and sets the queue in the specification; does nothing without --cluster. */
bool submission_put_cluster(Cli *cli, const Submission *submission, json_t *spec, GError **error);

/* Reads a job file, YAML or JSON ("-": standard input). */
json_t *submission_read_file(const char *path, GError **error);
/* Prefixes an error about a field with the file, and with the line if it is known. */
void submission_place_fault(const char *path, GError **error);

/* The directory's job file, paddle.yaml; the caller's, or NULL. */
char *submission_own_file(const Submission *submission);
/* False in another user's directory, whose settings the user probably does not want. */
bool submission_trusts_file(const char *path);
/* The fields that a specification has from a job file whose command was replaced, as text; the caller's. */
char *submission_taken(const char *path, const json_t *file, const json_t *spec);

/* A warning; the caller's, or NULL. About our options among the words of a command, which get to its program;
 * or about an --input or --output that looks like a path of this machine. */
char *submission_words_note(char *const *words);
char *submission_path_note(const char *what, const char *path);

/* Packs, sends, submits and prints the name, for a verb that continues with the job. `extra` are fields of
 * the specification that the verb adds; `finish` may change it. *ret_job NULL: it was a dry run. */
bool submission_start(Cli *cli, const Submission *submission, char *const *words, const json_t *extra,
                      void (*finish)(json_t *spec), json_t **ret_job, GError **error);

/* Packs, sends, submits, follows: the common run of all three verbs. */
bool submission_run(Cli *cli, const Submission *submission, SubmitForm form, char *const *words,
                    GError **error);
