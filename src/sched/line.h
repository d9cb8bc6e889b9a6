/* Lines of text for what a Scheduler is told and what it decides (journal/journal.h says what they look like): one
 * writer and one reader for each. Dumps and journals consist of them. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "sched/scheduler.h"

/* Each appends one whole line. */
void line_node(GString *out, const SchedNode *node);
void line_queue(GString *out, const SchedQueue *queue);
void line_job(GString *out, const SchedJob *job);
void line_usage(GString *out, int queue, int user, gint64 usage, gint64 at);
void line_number(GString *out, const char *word, gint64 number); /* "drop-node 3" */
void line_numbers(GString *out, const char *word, const gint64 *numbers, int n);
void line_kinds(GString *out);
void line_decision(GString *out, const Decision *decision, const SchedTask *tasks);

/* Memory for what a read line refers to; reused for each line. */
typedef struct {
        GStringChunk *strings;
        GPtrArray *labels; /* char *, NULL-terminated */
        GArray *roles, *tasks;
} LineMemory;

void line_memory_init(LineMemory *memory);
void line_memory_clear(LineMemory *memory);

/* One line while it is read: words between single blanks. */
typedef struct {
        const char *at, *end;
} Line;

bool line_word(Line *line, const char **ret, gsize *ret_len);
bool line_int(Line *line, gint64 min, gint64 max, gint64 *ret);
bool line_done(const Line *line);

/* Reads the rest of a line after its first word. False for a malformed line. Results refer to `memory` until
 * the next call. */
bool line_read_node(Line *line, LineMemory *memory, SchedNode *ret);
bool line_read_queue(Line *line, LineMemory *memory, SchedQueue *ret);
bool line_read_job(Line *line, LineMemory *memory, SchedJob *ret);
bool line_read_kinds(Line *line, LineMemory *memory);
bool line_read_decision(Line *line, LineMemory *memory, DecisionKind kind, Decision *ret);
