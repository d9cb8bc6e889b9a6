/* Tasks and their report lines (see task.h). */
#include "agent/task.h"

#include <unistd.h>

#include "base/json.h"

Task *task_new(const char *name, guint64 id)
{
        Task *task = g_new0(Task, 1);

        g_strlcpy(task->name, name, sizeof task->name);
        task->id = id;
        task->pidfd = -1;
        task->slot = -1;
        task->stop_ms = -1;
        return task;
}

void task_free(Task *task)
{
        if (!task)
                return;
        if (task->pidfd >= 0)
                close(task->pidfd);
        g_free(task->ready_file);
        g_free(task->end.text);
        if (task->request)
                g_bytes_unref(task->request);
        g_free(task);
}

void task_format_started(const Task *task, GString *line)
{
        g_string_append_printf(line,
                               "{\"op\":\"started\",\"task\":\"%s\",\"pid\":%d,\"time\":%" G_GINT64_FORMAT
                               "}\n",
                               task->name, task->member, task->started_ms);
}

void task_format_ready(const Task *task, GString *line)
{
        g_string_append_printf(line, "{\"op\":\"ready\",\"task\":\"%s\",\"time\":%" G_GINT64_FORMAT "}\n",
                               task->name, task->ready_ms);
}

void task_format_failed(const char *name, const char *text, bool permanent, GString *line)
{
        g_string_append(line, "{\"op\":\"failed\",\"task\":");
        json_quote(line, name);
        g_string_append(line, ",\"text\":");
        json_quote(line, text);
        g_string_append_printf(line, ",\"permanent\":%s}\n", permanent ? "true" : "false");
}

static void format_lost(const char *name, const char *text, bool no_space, gint64 time, GString *line)
{
        g_string_append(line, "{\"op\":\"lost\",\"task\":");
        json_quote(line, name);
        g_string_append(line, ",\"text\":");
        json_quote(line, text);
        g_string_append_printf(line, ",\"no_space\":%s,\"time\":%" G_GINT64_FORMAT "}\n",
                               no_space ? "true" : "false", time);
}

void task_format_unknown(const char *name, gint64 now, GString *line)
{
        format_lost(name, "the agent does not know this task", false, now, line);
}

void task_format_end(const Task *task, GString *line)
{
        const TaskEnd *end = &task->end;

        if (end->kind == END_FAILED) {
                task_format_failed(task->name, end->text, end->permanent, line);
        } else if (end->kind == END_LOST) {
                format_lost(task->name, end->text, end->permanent, end->time_ms, line);
        } else {
                g_string_append_printf(
                        line,
                        "{\"op\":\"exited\",\"task\":\"%s\",\"exit_code\":%d,\"signal\":%d,\"oom\":%s,"
                        "\"time\":%" G_GINT64_FORMAT ",\"peak_memory\":%" G_GINT64_FORMAT
                        ",\"cpu_us\":%" G_GINT64_FORMAT "}\n",
                        task->name, end->exit_code, end->signal, end->oom ? "true" : "false", end->time_ms,
                        end->peak_memory, end->cpu_us);
        }
}
