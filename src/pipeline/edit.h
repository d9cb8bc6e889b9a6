/* Parameters of a component that are changed while its run pauses before it. Pure.
 *
 * All changes of a run are one JSON object, RenderContext.edits: {"dag-1.train": {"epochs": 5}}. The path is that of the
 * component in its DAG (edit_path). */
#pragma once

#include "pipeline/render.h"

/* "dag-1.train": the numbers are those of the loops around; the caller's. */
char *edit_path(const Definition *definition, const RenderDag *dag, guint32 component);

/* The value of a parameter as it was given, in its declared type (doc/reference/pipelines.md, "Requests"): a new
 * reference. A null: the default. NULL with ERR_INVALID: there is no such parameter, its value has not the type, or has a
 * template. */
json_t *edit_value(const Definition *definition, guint32 component, const char *name, const json_t *given,
                   GError **error);
