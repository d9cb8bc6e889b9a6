/* The log of a program: one event is one line, a sentence for people and then fields for machines:
 *     2026-03-01T10:00:00.123Z info job admitted job=4k2... queue=q
 * Libraries return errors, programs log. Thread-safe; a line is one write(). */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG } LogLevel;

/* Lines above `level` are dropped. Format "text" or "json". Defaults: info, text, to stderr. */
void log_open(LogLevel level, bool json);
bool log_level_parse(const char *text, LogLevel *ret, GError **error);

/* log_event(LOG_INFO, "job admitted", "job", id, "queue", queue, NULL): pairs of name and text, then NULL. */
void log_event(LogLevel level, const char *sentence, ...) G_GNUC_NULL_TERMINATED;
#define log_error(...) log_event(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_event(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_event(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_event(LOG_DEBUG, __VA_ARGS__)
