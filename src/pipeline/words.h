/* The keys of definitions as one table: where each may stand, and which types its value may have. Pure.
 * The rules: doc/reference/pipelines.md, "Keys". */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum {
        KEY_NAME,
        KEY_DOCKER_ENV,
        KEY_ENTRY_POINTS,
        KEY_COMPONENTS,
        KEY_CACHE,
        KEY_PARALLELISM,
        KEY_DISABLED,
        KEY_FAILURE_OPTIONS,
        KEY_POST_PROCESS,
        KEY_FS_OPTIONS,
        KEY_COMMAND,
        KEY_PARAMETERS,
        KEY_ENV,
        KEY_ARTIFACTS,
        KEY_DEPS,
        KEY_CONDITION,
        KEY_LOOP_ARGUMENT,
        KEY_EXTRA_FS,
        KEY_REFERENCE,
        KEY_TYPE,
        KEY_RETRIES,
        KEY_TIME_LIMIT,
        KEY_PACKAGE,
        KEY_REQUIREMENTS,
        KEY_ENABLE,
        KEY_MAX_EXPIRED_TIME,
        KEY_FS_SCOPE,
        KEY_FINGERPRINT,
        KEY_PATH,
        KEY_ID,
        KEY_MOUNT_PATH,
        KEY_SUB_PATH,
        KEY_READ_ONLY,
        KEY_MAIN_FS,
        KEY_STRATEGY,
        KEY_INPUT,
        KEY_OUTPUT,
        KEY_COMPONENT,
        KEY_QUEUE,
        KEY_FLAVOUR,
        KEY_JOB_TYPE,
        KEY_USERNAME,
        KEY_DESCRIPTION,
        KEYS,
} Key;

/* Bytes of a command, of a condition and of the value of a variable. Each has as many at most when its templates are
 * replaced, too (render.h). */
enum { PIPELINE_TEXT_MAX = 1024 * 1024 };

/* Maps of a definition. */
typedef enum {
        IN_TOP = 1 << 0,
        IN_STEP = 1 << 1,
        IN_DAG = 1 << 2,
        IN_CACHE = 1 << 3,
        IN_MOUNT = 1 << 4,
        IN_SCOPE = 1 << 5,
        IN_FS_OPTIONS = 1 << 6,
        IN_FAILURE_OPTIONS = 1 << 7,
        IN_ARTIFACTS = 1 << 8,
        IN_REFERENCE = 1 << 9,
        IN_TOP_JSON = 1 << 10, /* only in the body of a run as JSON */
        IN_STEP_JSON = 1 << 11,
} KeyPlace;

typedef struct {
        const char *name;
        const char *json; /* its other spelling in the body of a run as JSON, or NULL */
        guint places;     /* of KeyPlace */
        guint kinds;      /* bits of DocumentKind */
        const char *type; /* the types in words */
        guint max; /* bytes of its text; 0: as many as the definition may have, or as a check elsewhere says */
} KeyRow;

extern const KeyRow key_rows[KEYS];

/* The key with this name in a map; KEYS if there is none. `json`: also the spellings of JSON bodies. */
Key key_find(const char *name, guint places, bool json);

/* The key that a wrong name means: another system's word for a key, else the most similar name; KEYS if there is none. */
Key key_nearest(const char *name, guint places);

/* What to do about a wrong name that means `meant` (or KEYS): a sentence, which the caller frees. */
char *key_advice(const char *name, guint places, Key meant);

typedef enum {
        SYSTEM_RUN_ID,
        SYSTEM_STEP_NAME,
        SYSTEM_USER_NAME,
        SYSTEM_LOOP_ARGUMENT,
        SYSTEM_VARIABLES,
} SystemVariable;

extern const char *const system_variables[SYSTEM_VARIABLES + 1]; /* NULL-terminated */

/* SYSTEM_VARIABLES for another name. */
SystemVariable system_variable_find(const char *name);

#define PIPELINE_PARENT "PF_PARENT"
#define PIPELINE_LOOP_ARGUMENT "PF_LOOP_ARGUMENT"

/* Names: of pipelines, of components, and of parameters, artifacts and variables. */
bool pipeline_name_is_valid(const char *name);
bool component_name_is_valid(const char *name);
bool variable_name_is_valid(const char *name);
