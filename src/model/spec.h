/* A job's specification: what a person asked for. Immutable once made, counted, shared by every view of the
 * job. Parsed from JSON (the body of POST /v1/jobs, shapes in doc/guide/rest.md) or YAML (a job file), checked
 * completely here. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"
#include "model/resources.h"

enum {
        SPEC_NAME_MAX = 63,        /* a DNS label: [a-z0-9]([-a-z0-9]*[a-z0-9])? */
        SPEC_REPLICAS_MAX = 10000, /* members of all roles together, too */
        SPEC_ROLES_MAX = 16,
        SPEC_ENV_MAX = 1000,
        SPEC_ARGV_MAX = 4096,
        SPEC_TEXT_MAX = 128 * 1024,  /* bytes of one argument or variable (the kernel's own limit) */
        SPEC_BODY_MAX = 1024 * 1024, /* bytes of a specification as JSON */
        SPEC_PATH_MAX = 4096,        /* bytes of a /pfs path */
        SPEC_SETUP_MAX = 4096,       /* bytes of a setup command */
        SPEC_ARRAY_MAX = 10000,      /* jobs of one array */
        SPEC_ARRAY_INDEX_MAX = 1000000,
        SPEC_SWEEP_MAX = 16, /* parameters of a sweep */
        SPEC_SWEEP_VALUE_MAX = 256,
        SPEC_SWEEP_BYTES_MAX = 128 * 1024, /* names and values together */
        SPEC_AFTER_MAX = 100,              /* dependencies of one job */
        SPEC_LABELS_MAX = 100,             /* labels, annotations: so many of each */
        SPEC_ORIGIN_MAX = 64 * 1024,       /* bytes */
        SPEC_PRIORITY_MAX = 1000,          /* and as far below 0 */
        SPEC_START_TIMEOUT_MS = 10 * 60 * 1000,
};

typedef struct {
        const char *name; /* "pserver", "trainer", "worker" */
        int replicas;     /* 0.. */
        int min;          /* 1..replicas: with so many the job may start and go on; == replicas: rigid */
        Resources each;   /* asked for by one member; not declared is -1 of cpu_milli, 0 of the others */
        char **command;   /* argv, or NULL: the job's */
        char **env;       /* "K=V", added after the job's, or NULL */
        char *flavour;    /* name of the flavour that `each` came from; or NULL */
} Role;

typedef struct Spec {
        gatomicrefcount refs;
        char *name; /* NULL: the engine makes one */
        const struct Framework *framework;
        char **command;       /* argv; a command given as one string is { "sh", "-c", text } */
        char **env;           /* "K=V" in the order given, or NULL */
        char *image;          /* recorded; unused by the local runtime */
        char *package;        /* content hash, or NULL: no package */
        char *package_name;   /* directory name under which the package stands on PYTHONPATH; NULL without
                                 package */
        char *requirements;   /* text of the requirements file of the package, filled by the API when it has
                                 one, else NULL */
        char *setup;          /* text for sh, run once when the environment is built; or NULL */
        char *setup_files;    /* fingerprint of the package's files that it names (package/setup.h), filled by
                                 the API; NULL: none */
        char *input;          /* /pfs/... or NULL */
        char *output;         /* /pfs/... or NULL */
        gint64 time_limit_ms; /* 0: none */
        gint64 start_timeout_ms; /* an attempt fails when its start makes no progress for this long; 0: never,
                                    default SPEC_START_TIMEOUT_MS */
        gint64 grace_ms;         /* TERM to KILL; default 30000 */
        gint64 backoff_ms;       /* before the first retry, doubled each time up to 5 min; default 1000 */
        int retries;             /* further attempts after a failure; default 0 */
        bool restart_lost;       /* on_lost: "retry" (an attempt lost to a machine restart is repeated without
                                    costing a retry) or "fail" */
        bool use_gpu;
        char *queue;   /* NULL: QUEUE_DEFAULT */
        int priority;  /* -1000..1000; words very-low -200, low -100, normal 0, high 100, very-high 200 */
        char **labels; /* "K=V" sorted by key, or NULL: found by lists */
        char **annotations;     /* the same, only kept */
        char **node_labels;     /* nodes must carry all of these; or NULL */
        char *topology;         /* label key within one value of which the members should stand; or NULL */
        bool topology_required; /* ... have to stand */
        char *array;            /* "0-999%50", "1,3,7-9", "0-90:10", normal form; or NULL: see spec_array */
        char **sweep;           /* "NAME=V1\nV2": the parameters of an array's jobs (sweep.h); or NULL */
        char **after;           /* "ok:ID", "any:ID", "fail:ID": starts when all of these hold; or NULL */
        gint64 begin;           /* ms since 1970: not before; 0: at once */
        int warn_signal; /* sent warn_ms before the time limit and first thing in an eviction's grace; 0: none
                            (an eviction then begins with TERM) */
        gint64 warn_ms;
        bool rigid;       /* preemptable: false: never evicted nor shrunk */
        bool end_evicted; /* on_preempt: "end": an evicted job ends as preempted; "requeue", the default:
                             it goes back into its queue */
        char *namespace;  /* of the older interfaces; or NULL */
        char *origin;   /* JSON object of a façade, kept as it is and shown by that façade only; or NULL */
        char **secrets; /* "VARIABLE=SECRET": variables whose values are secrets of the job's user; or NULL */
        char **secret_files; /* "FILE=SECRET": files in the directory $PADDLE_SECRETS_DIR; or NULL */
        bool network_none;   /* network: "none": members reach each other over loopback, and nothing else;
                                "host", the default: whatever the machine reaches */
        bool ready_declared; /* ready: "declared": members create $PADDLE_READY_FILE instead of listening on
                                their port */
        bool tty;            /* the program of its one member has a terminal (doc/guide/interactive.md) */
        bool detach;         /* ... and goes on when no terminal is connected */
        gint64 hangup_ms;    /* ... else it is hung up after so long; default 60000 */
        int n_roles;
        Role roles[];
} Spec;

Spec *spec_ref(Spec *spec);
void spec_unref(Spec *spec); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Spec, spec_unref)

/* Parses and checks. ERR_INVALID names field, value and rule. Unknown members are refused.
 * Framework when not given: pserver replicas > 0 -> paddle-ps; trainer replicas > 1 -> paddle-collective;
 * else plain. */
Spec *spec_parse(const json_t *object, GError **error);

/* The same for one that was parsed before, of the store: kinds of resources that have meanwhile been
 * forgotten are known again. */
Spec *spec_unpack(const json_t *object, GError **error);

/* The canonical JSON: spec_parse(spec_format(s)) equals s. Every default is written out, but for the members
 * from `queue` on and a role's `min`, `resources` and `flavour`: most jobs say none of them. */
json_t *spec_format(const Spec *spec);

/* The seed's submission (doc/reference/paddle-cloud.md, "Flags of paddle job submit", in snake_case:
 * job_name, package_path, entry_point, input, output, trainers, pservers, base_image, use_gpu,
 * trainer_gpu_num, env, plus package, job_id) as a specification object for spec_parse. */
json_t *spec_from_seed(const json_t *object, GError **error);

bool spec_has_environment(const Spec *spec); /* something is built before it starts: requirements, setup */
int spec_members(const Spec *spec);
int spec_members_min(const Spec *spec); /* with so many it may start */
bool spec_is_elastic(const Spec *spec); /* it may start with fewer members than it asks for */

/* The indices of an array in order, each once (GArray of int), and how many may run at once (0: all).
 * ERR_INVALID for what is none, for more than SPEC_ARRAY_MAX, for indices above SPEC_ARRAY_INDEX_MAX. */
bool spec_array(const char *text, GArray **ret_indices, int *ret_max, GError **error);
/* The shortest form of sorted indices, each once: "1,7-9", "0-90:10%4". The caller's. */
char *spec_array_format(const GArray *indices, int max);

/* "ok:ID" in parts; JOB may also be "sw[3]" (see array.h). */
typedef enum { AFTER_OK, AFTER_ANY, AFTER_FAIL } AfterKind;
bool after_parse(const char *text, AfterKind *ret_kind, const char **ret_job /* borrowed */, GError **error);

/* "high", "-200", 17. */
bool priority_parse(const char *what, const json_t *value, int *ret, GError **error);
const char *priority_word(int priority); /* the nearest of the five words, "VERY_LOW".."VERY_HIGH", as the
                                            older interface has it */

/* "K=V" lists: from a JSON object of strings, back, and the value of a key (NULL: not there). Sorted by key.
 */
bool labels_parse(const char *where, const json_t *object, char ***ret, GError **error);
json_t *labels_format(char *const *labels);
const char *labels_get(char *const *labels, const char *key);
char **labels_with(char *const *labels, const char *key, const char *value); /* value NULL: without the key */

enum { SPEC_SHARE_MAX = 1000 }; /* a core: what a member asks for that declares no CPU */

/* What all members ask for together on a machine of `total`: a member that declares no CPU asks for one core,
 * but a job that declares none anywhere never asks for more than the machine has. False on overflow. */
bool spec_wants(const Spec *spec, const Resources *total, Resources *ret);
/* The same of as many members as it may start with. */
bool spec_wants_min(const Spec *spec, const Resources *total, Resources *ret);

/* What each member that declares no CPU gets of a machine of `total`, in thousandths of a core: a core, or an
 * equal part where the job declares none anywhere. At least 1: every member counts. */
gint64 spec_share(const Spec *spec, const Resources *total);
bool spec_declares_cpu(const Spec *spec); /* any role that has members */

/* What a member is accounted with for what it does not declare (engine/share.h). */
typedef struct {
        gint64 cpu_milli; /* -1: not known, a core */
        gint64 memory;    /* bytes; 0: memory that is not declared is not counted */
} SpecShare;

/* What one member of the role is accounted with. */
void spec_member_wants(const Spec *spec, int role, SpecShare share, Resources *ret);

bool name_is_valid(const char *name);                                /* DNS label of at most SPEC_NAME_MAX */
bool name_check(const char *what, const char *name, GError **error); /* ERR_INVALID with the rule */
/* "/pfs/<dc>/home/<user>/..." stays; "/i", "i" become "/pfs/<dc>/home/<user>/i". Refuses "..", NUL, control
 * bytes, empty components are dropped. The caller's; NULL on failure. Ownership is the storage's business. */
char *pfs_path_normal(const char *path, const char *dc, const char *user, GError **error);
