/* The templates of jobs that bring none (doc/reference/scheduling.md, "Job templates"), from a file of the
 * administrator's: YAML documents, each with a comment at its end that names it: "single-job",
 * "paddle-ps-job", "paddle-collective-job", "spark-job", "mpi-job", "ray-job", or a kind that a job may ask
 * for by its annotation and the mode, "PaddleJob-kubeflow.org/v1-collective". Immutable; any thread. */
#pragma once

#include "base/json.h"

typedef struct Templates Templates;

/* NULL with ERR_INVALID that names file and document, or with what the file cannot be read for. */
Templates *templates_read(const char *path, GError **error);
void templates_free(Templates *templates); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Templates, templates_free)

/* `framework` by PaddleFlow's name, `mode`: "PS", "Collective" or another, `named`: the annotation's value,
 * or
 * "". NULL: there is none for such jobs. `templates`: or NULL. */
const json_t *templates_find(const Templates *templates, const char *framework, const char *mode,
                             const char *named);
