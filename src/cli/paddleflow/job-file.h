/* Jobs on the older client's command line: the file of `job create`, and what `job show` adds. */
#pragma once

#include "cli/paddleflow/command.h"

/* Fills the body from the file words[1] (words[0]: single, distributed, workflow): known members alone,
 * nothing that is empty. ERR_FAILED names what is missing. */
bool job_body(json_t *body, char *const *words, GError **error);
bool job_body_parse(json_t *body, const json_t *file, GError **error); /* its pure part */

/* The job as a list of one, with its tasks as lines of text in `tasks`. */
json_t *job_rows(json_t *reply, GError **error);
