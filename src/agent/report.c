/* Reports of members (see report.h). */
#include "agent/report.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 64 * 1024 };

/* ── lines ─────────────────────────────────────────────────────────────── */

static bool is_letter(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(const char *text, size_t len)
{
        if (len == 0 || len > REPORT_NAME || !is_letter(text[0]))
                return false;
        for (size_t i = 0; i < len; i++)
                if (!is_letter(text[i]) && !(text[i] >= '0' && text[i] <= '9') && !strchr("._-/", text[i]))
                        return false;
        return true;
}

static ReportValue *find(Report *report, const char *name, size_t len)
{
        ReportValue *value;

        for (int i = 0; i < report->n; i++)
                if (strlen(report->values[i].name) == len && memcmp(report->values[i].name, name, len) == 0)
                        return &report->values[i];
        if (report->n == REPORT_NAMES)
                return NULL;
        value = &report->values[report->n++];
        *value = (ReportValue){ .last = 0 };
        memcpy(value->name, name, len);
        return value;
}

static void take_value(ReportValue *value, double number)
{
        value->last = number;
        if (!isfinite(number))
                return;
        value->min = value->ranged && value->min < number ? value->min : number;
        value->max = value->ranged && value->max > number ? value->max : number;
        value->ranged = true;
}

static void take_line(Report *report, const char *text, size_t len)
{
        char line[REPORT_LINE + 1], *equals, *end;
        ReportValue *value;
        double number;
        size_t name_len;

        if (len == 0 || len > REPORT_LINE)
                return;
        memcpy(line, text, len);
        line[len] = '\0';
        equals = strchr(line, '=');
        name_len = equals ? (size_t)(equals - line) : 0;
        while (name_len > 0 && line[name_len - 1] == ' ')
                name_len--;
        if (!equals || !is_name(line, name_len))
                return;
        number = strtod(equals + 1, &end);
        if (end == equals + 1 || end[strspn(end, " \t\r")] != '\0')
                return;
        value = find(report, line, name_len);
        if (value)
                take_value(value, number);
}

size_t report_take(Report *report, const char *text, size_t len, bool all)
{
        const char *at = text, *end = text + len, *newline;

        while ((newline = memchr(at, '\n', (size_t)(end - at))) || (all && at < end)) {
                const char *stop = newline ? newline : end;

                take_line(report, at, (size_t)(stop - at));
                at = newline ? newline + 1 : end;
        }
        return (size_t)(at - text);
}

static size_t put(char *ret, const char *name, double number)
{
        int len = snprintf(ret, REPORT_NAME + 40, "%s=%.17g\n", name, number);

        return len > 0 ? (size_t)len : 0;
}

size_t report_format(const Report *report, char *ret)
{
        size_t len = 0;

        for (int i = 0; i < report->n; i++) {
                const ReportValue *value = &report->values[i];

                if (value->ranged) {
                        len += put(ret + len, value->name, value->min);
                        len += put(ret + len, value->name, value->max);
                }
                len += put(ret + len, value->name, value->last);
        }
        return len;
}

/* ── files ─────────────────────────────────────────────────────────────── */

void report_open(ReportFile *file, const char *path, const char *result, uid_t user, gid_t group)
{
        *file = (ReportFile){ .fd = -1, .result_fd = -1, .path = result };
        if (!*path)
                return;
        file->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file->fd >= 0 && user != (uid_t)-1 && fchown(file->fd, user, group) < 0) {
                close(file->fd);
                file->fd = -1; /* a member runs even if it cannot report */
        }
}

/* Frees the disk blocks of what was read. The file keeps its length, so that a concurrent append is not
 * lost. */
static void drop_read(const ReportFile *file)
{
        (void)fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, file->offset);
}

static void write_result(ReportFile *file)
{
        static char text[REPORT_TEXT];
        size_t len = report_format(&file->report, text);

        if (file->result_fd < 0)
                file->result_fd = open(file->path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640);
        if (file->result_fd < 0 || pwrite(file->result_fd, text, len, 0) != (ssize_t)len)
                return; /* the disk is full: the next check retries */
        (void)ftruncate(file->result_fd, (off_t)len);
}

/* Reads one chunk; false at the end. */
static bool read_chunk(ReportFile *file, bool last)
{
        static char text[CHUNK];
        ssize_t got = pread(file->fd, text, sizeof text, file->offset);
        size_t taken;

        if (got <= 0)
                return false;
        if (file->inside) {
                const char *newline = memchr(text, '\n', (size_t)got);

                file->inside = !newline;
                file->offset += newline ? newline + 1 - text : got;
                return true;
        }
        taken = report_take(&file->report, text, (size_t)got, last && got < CHUNK);
        if (taken == 0 && got == CHUNK) {
                taken = CHUNK; /* no valid line is that long */
                file->inside = true;
        }
        file->offset += (int64_t)taken;
        return taken > 0;
}

void report_look(ReportFile *file, bool last)
{
        int64_t before = file->offset, begin;
        struct stat info;

        if (file->fd < 0 || fstat(file->fd, &info) < 0 || info.st_size == file->offset)
                return;
        if (info.st_size < file->offset)
                file->offset = before = 0; /* the member truncated it; earlier values remain */
        if (info.st_size - file->offset > REPORT_STEP) {
                file->offset = info.st_size - REPORT_STEP;
                file->inside = true;
        }
        begin = file->offset;
        while (file->offset - begin <= 2 * (int64_t)REPORT_STEP && read_chunk(file, last))
                ;
        if (file->offset == before)
                return;
        write_result(file);
        if (file->offset > CHUNK)
                drop_read(file);
}
