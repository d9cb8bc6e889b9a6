/* The summary of a job at its end (and in `status`): durations of its stages, efficiency of CPU and memory,
 * results of its members. Pure: from the server's job to text. All are the caller's. */
#pragma once

#include "cli/cli.h"

/* Stages with bars, and both efficiencies. */
char *summary_stages(const json_t *job, const Terminal *terminal, bool colour);

/* One line: "digits succeeded after 24.1 s", with the reason if it did not succeed. */
char *summary_line(const json_t *job, bool colour);

/* For a whole array: "3 running, 5 queued, 2 succeeded", and a line for each failed element that the server
 * names, with its reason. */
char *summary_elements(const json_t *array);
char *summary_failed(const json_t *array);

/* "exit 0", "exit 1", "signal 9 (KILL), out of memory", "running", "not started: ...". */
char *member_end(const json_t *member);

/* Processor time used by the members so far, in ms. */
gint64 summary_cpu_ms(const json_t *members);
/* Prints the table of members; with their present usage if they have it (`usage`). */
void summary_members(const json_t *members, int indent, FILE *to);

bool job_is_final(const json_t *job);
bool job_succeeded(const json_t *job);
