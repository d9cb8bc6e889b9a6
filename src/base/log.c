/* Structured log lines on stderr (see log.h). Level and format are set once, before threads start. */
#include "base/log.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"

static const char *const level_names[] = { "error", "warning", "info", "debug" };
static LogLevel log_limit = LOG_INFO;
static bool log_as_json;

void log_open(LogLevel level, bool json)
{
        log_limit = level;
        log_as_json = json;
}

bool log_level_parse(const char *text, LogLevel *ret, GError **error)
{
        for (int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
                if (g_strcmp0(text, level_names[level]) != 0)
                        continue;
                *ret = level;
                return true;
        }
        return err_set(error, ERR_INVALID, "log level '%s' is not one of error, warning, info, debug", text);
}

static void add_field(GString *line, const char *name, const char *text)
{
        if (log_as_json) {
                g_string_append_printf(line, ",\"%s\":", name);
                json_quote(line, text);
                return;
        }
        g_string_append_printf(line, " %s=", name);
        if (*text && !strpbrk(text, " \t\r\n\"\\="))
                g_string_append(line, text);
        else
                json_quote(line, text);
}

void log_event(LogLevel level, const char *sentence, ...)
{
        g_autoptr(GString) line = NULL;
        g_autofree char *now = NULL;
        va_list args;

        if (level > log_limit)
                return;
        now = clock_format(clock_now_ms());
        line = g_string_sized_new(256);
        if (log_as_json) {
                g_string_append_printf(line, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":", now,
                                       level_names[level]);
                json_quote(line, sentence);
        } else {
                g_string_append_printf(line, "%s %s %s", now, level_names[level], sentence);
        }
        va_start(args, sentence);
        for (const char *name; (name = va_arg(args, const char *));) {
                const char *text = va_arg(args, const char *);

                add_field(line, name, text ? text : "");
        }
        va_end(args);
        g_string_append(line, log_as_json ? "}\n" : "\n");
        /* Ignore the error: there is nowhere to report it. */
        if (write(STDERR_FILENO, line->str, line->len) < 0)
                return;
}
