/* A sweep: an array whose jobs run the same command with each combination of some parameters. Pure.
 *
 *     {"lr": ["0.1", "0.01"], "depth": ["2", "3"]}      4 jobs; the last parameter changes fastest
 *
 * Each value is an environment variable of its job, and a label. */
#pragma once

#include "model/spec.h"

/* The parameters of the job with this index, "NAME=VALUE" in the order of the specification; the caller's,
 * NULL: it is no sweep. */
char **sweep_values(const Spec *spec, int index);

/* As the specification has it; of one that has a sweep. */
json_t *sweep_format(const Spec *spec);

/* The labels of the job with this index: the specification's and the parameters. The caller's. */
char **sweep_labels(const Spec *spec, int index);
