/* Paths of components, as people write them: "train", "dag.train", through references. A part with a number, "train-3", is
 * one item of a loop; without one it means all of them. A component whose name is "train-3" counts first. Pure. */
#pragma once

#include "pipeline/definition.h"

enum {
        STEP_ANY = -1,        /* as guint32: all items */
        STEP_TEXT_MAX = 1000, /* bytes of a path */
};

typedef struct {
        guint32 component;
        guint32 number; /* in its loop, or STEP_ANY */
} StepPart;

/* From the entry points, or the holder of post_process, down to a component. */
typedef struct {
        StepPart parts[DEFINITION_DEPTH_MAX + 2];
        gsize n; /* at least 1 */
        bool post;
} StepPath;

/* ERR_INVALID: "step 'dag.trian': there is no component 'trian' in 'dag'", with what may be meant. Takes about the same
 * time for a definition of any length, but for an error. */
bool step_path_parse(const Definition *definition, const char *text, StepPath *ret, GError **error);

/* "dag.train": without numbers; the caller's. */
char *step_path_names(const Definition *definition, const StepPath *path);
