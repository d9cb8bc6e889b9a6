/* The resources that a job would request, from the server's dry run (`asks` in doc/guide/rest.md, "Many
 * users"), including defaults for members that declare nothing. Pure. */
#pragma once

#include "base/json.h"
#include "model/resources.h"

/* "2 cores, 4Gi of memory"; NULL: no amount. The caller's. */
char *amounts_text(const Resources *amounts);

/* The request of one member of the role; all 0 if the reply does not contain it. */
Resources asks_each(const json_t *reply, int role);
/* The total request of `jobs` jobs. False: the reply does not contain it, or it overflows. */
bool asks_total(const json_t *reply, gint64 jobs, Resources *ret);

/* "4 jobs with 4 cores in all; at most 2 at once, with 2 cores". NULL for a single job. The caller's. */
char *asks_array_text(const json_t *reply);
