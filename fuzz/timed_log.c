/* A log with times as a kubelet sends it, twice: the second time from the first line on, or rotated. The
 * first byte says how it is cut into pieces, the second where the second stream begins; what is in the file
 * must not depend on the cuts, and nothing of it may go. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/kubernetes/log/timed-log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_stream(TimedLog *log, GString *file, const char *data, size_t size, size_t step)
{
        gsize before = file->len;

        timed_log_begin(log, 0, (gint64)file->len);
        for (size_t at = 0; at < size; at += step)
                timed_log_read(log, data + at, MIN(step, size - at), file);
        g_assert_cmpuint(file->len, >=, before);
        g_assert_cmpint(log->place.last_at, <=, (gint64)file->len);
        g_assert_nonnull(memchr(log->said, 0, sizeof log->said));
}

static GString *read_twice(const char *data, size_t size, size_t from, size_t step)
{
        TimedLog log = { 0 };
        GString *file = g_string_new(NULL);

        read_stream(&log, file, data, size, step);
        read_stream(&log, file, data + from, size - from, step);
        return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *text = (const char *)data + 2;

        if (size < 3 || size > 1 << 16)
                return 0;
        size_t len = size - 2, from = data[1] % len;
        GString *whole = read_twice(text, len, from, len);
        GString *cut = read_twice(text, len, from, 1 + (data[0] & 31));

        g_assert_cmpmem(whole->str, whole->len, cut->str, cut->len);
        g_string_free(whole, TRUE);
        g_string_free(cut, TRUE);
        return 0;
}
