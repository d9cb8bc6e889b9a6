/* A job's specification: what a user requested. Immutable once made, counted, shared by every view of the
 * job. Parsed from JSON (the body of POST /v1/jobs, shapes in doc/guide/rest.md) or YAML (a job file). All
 * checks are made here. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json-out.h"
#include "model/resources.h"

enum {
        SPEC_NAME_MAX = 63,        /* a DNS label: [a-z0-9]([-a-z0-9]*[a-z0-9])? */
        SPEC_REPLICAS_MAX = 10000, /* also the limit of all roles together */
        SPEC_ROLES_MAX = 16,
        SPEC_ENV_MAX = 1000,
        SPEC_ARGV_MAX = 4096,
        SPEC_TEXT_MAX = 128 * 1024,         /* bytes of one argument or variable (the kernel's own limit) */
        SPEC_BODY_MAX = 1024 * 1024,        /* bytes of a specification as JSON */
        SPEC_TEXTS_MAX = 2 * SPEC_BODY_MAX, /* bytes of all its texts together */
        SPEC_PATH_MAX = 4096,               /* bytes of a /pfs path */
        SPEC_SETUP_MAX = 4096,              /* bytes of a setup command */
        SPEC_ARRAY_MAX = 10000,             /* jobs of one array */
        SPEC_ARRAY_INDEX_MAX = 1000000,
        SPEC_SWEEP_MAX = 16, /* parameters of a sweep */
        SPEC_SWEEP_VALUE_MAX = 256,
        SPEC_SWEEP_BYTES_MAX = 128 * 1024,          /* names and values together */
        SPEC_AFTER_MAX = 100,                       /* dependencies of one job */
        SPEC_LABELS_MAX = 100,                      /* of each: labels, annotations */
        SPEC_ORIGIN_MAX = 64 * 1024,                /* bytes */
        SPEC_ORIGIN_DEPTH_MAX = JSON_DEPTH_MAX - 8, /* it is shown some levels deeper than it came */
        SPEC_PRIORITY_MAX = 1000,                   /* the lowest priority is its negative */
        SPEC_START_TIMEOUT_MS = 10 * 60 * 1000,
};

typedef struct {
        const char *name; /* "pserver", "trainer", "worker" */
        int replicas;     /* 0 or more */
        int min;          /* 1..replicas: the job may start and continue with this many; == replicas: the role
                             is not elastic */
        Resources each;   /* requested by one member. Not declared: -1 for cpu_milli, 0 for the others */
        char **command;   /* argv; NULL: the job's */
        char **env;       /* "K=V", added after the job's, or NULL */
        char *flavour;    /* name of the flavour that `each` came from; or NULL */
} Role;

typedef struct Spec {
        gatomicrefcount refs;
        char *name; /* NULL: the engine generates one */
        const struct Framework *framework;
        char **command;       /* argv; a command given as one string becomes { "sh", "-c", text } */
        char **env;           /* "K=V" in the order given, or NULL */
        char *image;          /* recorded; the local runtime ignores it */
        char *package;        /* content hash, or NULL: no package */
        char *package_name;   /* name of the directory on PYTHONPATH that holds the package; NULL without a
                                 package */
        char *requirements;   /* text of the package's requirements file, filled by the API if there is one;
                                 else NULL */
        char *setup;          /* shell command, run once when the environment is built; or NULL */
        char *setup_files;    /* fingerprint of the files of the package that `setup` names (package/setup.h),
                                 filled by the API; NULL: none */
        char *input;          /* /pfs/... or NULL */
        char *output;         /* /pfs/... or NULL */
        gint64 time_limit_ms; /* 0: none */
        gint64 start_timeout_ms; /* an attempt fails if its start makes no progress for this long; 0: never;
                                    default SPEC_START_TIMEOUT_MS */
        gint64 grace_ms;         /* time from TERM to KILL; default 30000 */
        gint64 backoff_ms;       /* before the first retry; doubles with each retry, up to 5 min; default
                                    1000 */
        int retries;             /* further attempts after a failure; default 0 */
        bool restart_lost;       /* on_lost: "retry" (an attempt lost to a machine restart is repeated and
                                    costs no retry) or "fail" */
        bool use_gpu;
        char *queue;   /* NULL: QUEUE_DEFAULT */
        int priority;  /* -1000..1000; the words are very-low -200, low -100, normal 0, high 100, very-high
                          200 */
        char **labels; /* "K=V" sorted by key, or NULL; lists of jobs can filter by them */
        char **annotations;     /* the same form; stored but not searched */
        char **node_labels;     /* nodes must carry all of these; or NULL */
        char *topology;         /* label key; the members should be on nodes with the same value of it; or
                                   NULL */
        bool topology_required; /* ... must be */
        char *array;            /* "0-999%50", "1,3,7-9", "0-90:10", in normal form; or NULL: see
                                   spec_array */
        char **sweep;           /* "NAME=V1\nV2": the parameters of an array's jobs (sweep.h); or NULL */
        char **after;           /* "ok:ID", "any:ID", "fail:ID": the job starts when all of these hold; or
                                   NULL */
        gint64 begin;           /* ms since 1970: not before this time; 0: at once */
        int warn_signal; /* sent warn_ms before the time limit, and at the beginning of an eviction's grace;
                            0: none (an eviction then begins with TERM) */
        gint64 warn_ms;
        bool rigid;       /* preemptable: false: the job is never evicted or shrunk */
        bool end_evicted; /* on_preempt: "end": an evicted job ends as preempted. "requeue", the default: it
                             returns to its queue */
        char *namespace;  /* given by the older APIs; or NULL */
        char *origin;   /* JSON object of another API; stored unchanged and shown only by that API; or NULL */
        char **secrets; /* "VARIABLE=SECRET": variables whose values are secrets of the job's user; or NULL */
        char **secret_files; /* "FILE=SECRET": files in the directory $PADDLE_SECRETS_DIR; or NULL */
        char **mounts;       /* texts of model/mount.h: directories of file systems in the job; or NULL */
        bool network_none;   /* network: "none": members reach each other over loopback, and nothing else.
                                "host", the default: they reach what the machine reaches */
        bool ready_declared; /* ready: "declared": members create $PADDLE_READY_FILE to be ready. Else they
                                listen on their port */
        bool tty;            /* the program of its one member has a terminal (doc/guide/interactive.md) */
        bool detach;         /* ... and continues when no terminal is connected */
        gint64 hangup_ms;    /* ... else it gets a hang-up after this time without a terminal; default
                                60000 */
        int n_roles;
        Role roles[];
} Spec;

Spec *spec_ref(Spec *spec);
void spec_unref(Spec *spec); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Spec, spec_unref)

/* Parses and checks. ERR_INVALID names field, value and rule. Unknown members are refused. Framework when not
 * given: pserver replicas > 0 -> paddle-ps; trainer replicas > 1 -> paddle-collective; else plain. */
Spec *spec_parse(const json_t *object, GError **error);

/* The same for a stored specification, which was parsed before. Kinds of resources that are unknown now are
 * registered again. */
Spec *spec_unpack(const json_t *object, GError **error);

/* The canonical JSON: spec_parse(spec_format(s)) equals s. Every default is written out, except for the
 * members from `queue` on and a role's `min`, `resources` and `flavour`, which most jobs do not set. */
json_t *spec_format(const Spec *spec);
/* The same as text; spec_write appends it as a value. `brief`: without members that are null or {}, which spec_unpack
 * reads as if they were there. spec_text is the caller's, to be g_free()d. */
void spec_write(JsonOut *out, const Spec *spec);
char *spec_text(const Spec *spec, bool brief);

/* A submission of PaddlePaddle Cloud (doc/reference/paddle-cloud.md, "Flags of paddle job submit", in snake_case:
 * job_name, package_path, entry_point, input, output, trainers, pservers, base_image, use_gpu,
 * trainer_gpu_num, env, plus package, job_id) as a specification object for spec_parse. */
json_t *spec_from_cloud_job(const json_t *object, GError **error);

bool spec_has_environment(const Spec *spec); /* the environment must be built before the job starts: it has
                                                requirements or a setup command */
int spec_members(const Spec *spec);
int spec_members_min(const Spec *spec); /* the job may start with this many */
bool spec_is_elastic(const Spec *spec); /* it may start with fewer members than it requests */

/* The indices of an array in order, each once (GArray of int), and how many may run at once (0: all).
 * ERR_INVALID: `text` is malformed, has more than SPEC_ARRAY_MAX indices, or one above
 * SPEC_ARRAY_INDEX_MAX. */
bool spec_array(const char *text, GArray **ret_indices, int *ret_max, GError **error);
/* The shortest form of a list of indices, which is sorted and has each once: "1,7-9", "0-90:10%4". The
 * caller's. */
char *spec_array_format(const GArray *indices, int max);

/* Splits "ok:ID". The job may also be "sw[3]" (see array.h). */
typedef enum { AFTER_OK, AFTER_ANY, AFTER_FAIL } AfterKind;
bool after_parse(const char *text, AfterKind *ret_kind, const char **ret_job /* borrowed */, GError **error);

/* `value` is for example "high", "-200" or 17. */
bool priority_parse(const char *what, const json_t *value, int *ret, GError **error);
const char *priority_word(int priority); /* the nearest of the five words of the older API,
                                            "VERY_LOW".."VERY_HIGH" */

/* "K=V" lists, sorted by key: parsed from a JSON object of strings, formatted as one, and the value of a key
 * (NULL: the list has no such key). */
bool labels_parse(const char *where, const json_t *object, char ***ret, GError **error);
json_t *labels_format(char *const *labels);
const char *labels_get(char *const *labels, const char *key);
char **labels_with(char *const *labels, const char *key, const char *value); /* value NULL: without the key */

enum { SPEC_SHARE_MAX = 1000 }; /* one core: the request of a member that declares no CPU */

/* The request of all members together on a machine with `total`. A member that declares no CPU requests one
 * core, but a job in which no member declares CPU never requests more than the machine has. False on
 * overflow. */
bool spec_wants(const Spec *spec, const Resources *total, Resources *ret);
/* The same for the smallest number of members with which the job may start. */
bool spec_wants_min(const Spec *spec, const Resources *total, Resources *ret);

/* The CPU of each member that declares none on a machine with `total`, in thousandths of a core: one core, or
 * an equal part if the job declares CPU nowhere. At least 1, so that every member counts. */
gint64 spec_share(const Spec *spec, const Resources *total);
bool spec_declares_cpu(const Spec *spec); /* whether any role that has members declares CPU */

/* The amounts counted for a member's undeclared resources (engine/share.h). */
typedef struct {
        gint64 cpu_milli; /* -1: unknown, counts as one core */
        gint64 memory;    /* bytes; 0: memory that is not declared is not counted */
} SpecShare;

/* The amounts counted for one member of the role. */
void spec_member_wants(const Spec *spec, int role, SpecShare share, Resources *ret);

bool name_is_valid(const char *name);                                /* DNS label of at most SPEC_NAME_MAX */
bool name_check(const char *what, const char *name, GError **error); /* ERR_INVALID states the rule */
/* "/pfs/<dc>/home/<user>/..." stays; "/i" and "i" become "/pfs/<dc>/home/<user>/i". Refuses "..", NUL and
 * control bytes; drops empty components. The caller's; NULL on failure. The storage checks the ownership. */
char *pfs_path_normal(const char *path, const char *dc, const char *user, GError **error);
