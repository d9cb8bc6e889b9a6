/* What is said of a job at its end (and by `status`): where the time went, how well CPU and memory were used,
 * how its members ended. Pure: from the job as the server sent it to text. All are the caller's. */
#pragma once

#include "cli/cli.h"

/* Stages with bars, and the two efficiencies. */
char *summary_stages(const json_t *job, const Terminal *terminal, bool colour);

/* One line: "digits succeeded after 24.1 s", with the reason when it did not. */
char *summary_line(const json_t *job, bool colour);

/* Of a whole array: "3 running, 5 queued, 2 succeeded", and a line for each element that failed, as far as
 * the server names them, with its reason. */
char *summary_elements(const json_t *array);
char *summary_failed(const json_t *array);

/* "exit 0", "exit 1", "signal 9 (KILL), out of memory", "running", "not started: ...". */
char *member_end(const json_t *member);

/* Processor time that members have used up to now, in ms. */
gint64 summary_cpu_ms(const json_t *members);
/* Prints the table of members; with what they use now, where the members say that (`usage`). */
void summary_members(const json_t *members, int indent, FILE *to);

bool job_is_final(const json_t *job);
bool job_succeeded(const json_t *job);
