/* What a run would do: parameters, variables, command and artifact paths of an instance of a component.
 * Pure: nothing is read from a file system. The rules: doc/reference/pipelines.md, "Templates" and
 * "Artifacts".
 *
 * Values are JSON: integers, reals, strings and arrays of these. */
#pragma once

#include "pipeline/definition.h"
#include "pipeline/words.h"

/* Variables with the paths of artifacts, as the container sees them: these, and the name of the artifact in capitals. */
#define RENDER_INPUT_PREFIX "PF_INPUT_ARTIFACT_"
#define RENDER_OUTPUT_PREFIX "PF_OUTPUT_ARTIFACT_"

enum {
        RENDER_TEXT_MAX = PIPELINE_TEXT_MAX, /* bytes of one resolved text */
        /* Of all parameters of a component, with those that they refer to; of the other texts of an instance; and of
         * the paths of its artifacts. Each template in a longer text counts as RENDER_TEMPLATE bytes. */
        RENDER_ALL_MAX = 4 * 1024 * 1024,
        RENDER_TEMPLATE = 16,
        RENDER_VALUE = 64, /* bytes for which a value counts in RenderMemo.work */
};

/* An instance of a DAG, as the components in it see it. */
typedef struct RenderDag {
        const struct RenderDag *parent; /* NULL for the entry points and the holder of post_process */
        guint32 component;  /* as it is written: a reference step may stand for a DAG; else a root */
        guint32 seq;        /* number in its loop */
        const json_t *item; /* of its loop, or NULL */
        guint32 id;         /* for a RenderMemo: each instance has its own, from 1 on; 0: without memo */
} RenderDag;

/* Values of parameters, for the next instances of one run. In a chain of steps, each with a parameter of the one before,
 * the last one would resolve all again. It is used only by runs with long chains, and keeps a bounded number of values.
 * Begins zeroed. One thread at a time may use it. */
typedef struct {
        GHashTable *values; /* NULL: no parameter was far away yet */
        gsize bytes;
        gsize work; /* grows by about what was rendered with it, in bytes */
} RenderMemo;
void render_memo_clear(RenderMemo *memo);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RenderMemo, render_memo_clear)

typedef struct RenderContext {
        const Definition *definition;
        const char *run_id, *user;
        /* The number of instances of a component in this DAG. NULL: as the definition says, and 1 where
         * only the run can know. */
        guint32 (*instances)(const struct RenderContext *context, const RenderDag *dag, guint32 component);
        /* The path of an output of a step that has not its usual one: the step took the outputs of another run (from
         * the cache, or by a retry). The caller's; NULL: the usual path. The function may be NULL: all are usual. */
        char *(*output)(const struct RenderContext *context, const RenderDag *dag, guint32 component,
                        guint32 seq, const char *name);
        /* Commands keep the templates of their own outputs, or inputs, as they are written: for fingerprints. */
        bool keep_outputs, keep_inputs;
        void *arg;
        const json_t *edits; /* changed parameters (edit.h); or NULL */
        GHashTable *lists;   /* of render_lists, for many instances of one definition; or NULL */
        RenderMemo *memo;    /* or NULL */
} RenderContext;

/* All lists and long texts of the definition as JSON, by their Value, so that instances share them; the caller's. One
 * thread at a time may use it. */
GHashTable *render_lists(const Definition *definition);
/* About how many bytes these take. */
gsize render_lists_size(const Definition *definition);

/* One instance of a component. */
typedef struct {
        json_t *parameters;       /* name -> value */
        json_t *inputs, *outputs; /* name -> path on the main file system; loops are joined by commas */
        json_t *env;              /* name -> text: its own, the shared, system variables and artifact paths */
        char *command;            /* NULL for a DAG */
        char *condition;      /* NULL: none. Templates of inputs whose content is unknown stay as they are */
        bool condition_known; /* it has no such templates */
} Rendered;
void rendered_clear(Rendered *rendered);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Rendered, rendered_clear)

/* The parameters of a component, before its loop. NULL with ERR_INVALID ("RE-03: ..."). */
json_t *render_parameters(const RenderContext *context, const RenderDag *dag, guint32 component,
                          GError **error);

/* The value of a loop, a new reference: an array, or a text that may be one in JSON. NULL if it comes from an input
 * artifact, whose name is *ret_input (borrowed from the definition). */
json_t *render_loop_value(const RenderContext *context, guint32 component, const json_t *parameters,
                          const char **ret_input);

/* The list of a loop, a new array. NULL with no error if it comes from an input artifact, whose name is
 * *ret_input (borrowed from the definition); NULL with an error if it is no list ("RE-02: ..."). */
json_t *render_loop(const RenderContext *context, guint32 component, const json_t *parameters,
                    const char **ret_input, GError **error);

/* The paths of its input artifacts, by name: a new object. */
json_t *render_inputs(const RenderContext *context, const RenderDag *dag, guint32 component, GError **error);

/* The names of the input artifacts whose content the condition of a component needs, each once: borrowed from the
 * definition, in an array that is the caller's. */
GPtrArray *render_condition_inputs(const Definition *definition, guint32 component);
/* The name of the input artifact whose content is the list of its loop; borrowed; NULL: it has no such loop. */
const char *render_loop_input(const Definition *definition, guint32 component);

/* One instance. `item` is that of its own loop, or NULL. `contents` has the text of input artifacts by
 * their names, for the condition; NULL: unknown. */
bool render_instance(const RenderContext *context, const RenderDag *dag, guint32 component, guint32 seq,
                     const json_t *item, const json_t *contents, Rendered *ret, GError **error);

/* "a.entry_points.outer-1.leaf", of which the path of an artifact has the MD5; the caller's. */
char *render_runtime_name(const RenderContext *context, const RenderDag *dag, guint32 component, guint32 seq);

/* The directory of all artifacts of a run on the main file system; the caller's. Needs the definition and the id. */
char *render_run_directory(const RenderContext *context);

/* The usual path of an output of a step on the main file system: where its own job puts it. The caller's. */
char *render_output_path(const RenderContext *context, const RenderDag *dag, guint32 component, guint32 seq,
                         const char *name);

/* Paths joined by commas, as the container sees them; "" stays "". The caller's. */
char *render_container_paths(const RenderContext *context, const char *paths);

/* A value as text; the caller's. */
char *render_text(const json_t *value);
