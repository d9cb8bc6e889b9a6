/* Logs with times: what is in the file after streams of one log. */
#include "runtime/kubernetes/log/timed-log.h"

#include <string.h>

/* Seconds of a minute, as a kubelet writes them: nine digits, and the node's zone. */
#define T(seconds) "2026-01-02T03:04:" seconds "Z "
#define AT(second) T("0" #second ".000000000")
#define GAP "\n[paddle: output may be missing here: the node rotated this log before it was read]\n"

enum { STREAMS = 4 };

typedef struct {
        TimedLog log;
        GString *file;
} Reading;

static void read_stream(Reading *reading, const char *data, gsize len, gsize step)
{
        timed_log_begin(&reading->log, 0, (gint64)reading->file->len);
        for (gsize at = 0; at < len; at += step)
                timed_log_read(&reading->log, data + at, MIN(step, len - at), reading->file);
}

static const struct {
        const char *what, *streams[STREAMS], *file;
} cases[] = {
        { "all at once", { AT(1) "a\n" AT(2) "\n" AT(3) "b" }, "a\n\nb" },
        { "pieces of a line have one time",
          { AT(1) "aaa"
                  "bbb\n" AT(2) "c\n" },
          "aaabbb\nc\n" },
        { "a time in a line is its text",
          { AT(1) AT(1) "a\n" AT(2) "b " AT(2) "\n" },
          AT(1) "a\nb " AT(2) "\n" },
        { "the same log, grown",
          { AT(1) "a\n", AT(1) "a\n" AT(2) "b\n", AT(1) "a\n" AT(2) "b\n" },
          "a\nb\n" },
        { "broken off in a line", { AT(1) "a\n" AT(2) "b", AT(1) "a\n" AT(2) "bc\n" }, "a\nbc\n" },
        { "broken off in a time", { AT(1) "a\n2026-01-0", AT(1) "a\n" AT(2) "b\n" }, "a\nb\n" },
        { "broken off before anything", { "", "2026", AT(1) "a\n" }, "a\n" },
        { "rotated, and nothing since", { AT(1) "a\n", "", AT(1) "a\n" }, "a\n" },
        { "rotated, the latest is there",
          { AT(1) "a\n" AT(2) "b\n" AT(3) "c", AT(2) "b\n" AT(3) "cc\n" AT(4) "d\n",
            AT(3) "cc\n" AT(4) "d\n" AT(5) "e\n" },
          "a\nb\ncc\nd\ne\n" },
        { "rotated, and then as it was",
          { AT(1) "a\n" AT(2) "b\n", AT(2) "b\n", AT(2) "b\n" AT(3) "c\n" },
          "a\nb\nc\n" },
        { "rotated away",
          { AT(1) "a\n" AT(2) "b\n", AT(4) "d\n", AT(4) "d\n" AT(5) "e\n" },
          "a\nb\n" GAP "d\ne\n" },
        { "rotated away, far shorter than the file",
          { AT(1) "a long line, and another one\n", AT(4) "d\n", AT(5) "e\n" },
          "a long line, and another one\n" GAP "d\n" GAP "e\n" },
        { "the beginning of a line rotated away",
          { AT(1) "aaa"
                  "bbb",
            AT(2) "bbb"
                  "c\n",
            AT(2) "bbb"
                  "c\n" AT(3) "d\n" },
          "aaabbb" GAP "bbbc\nd\n" },
        { "lines of one time",
          { AT(1) "a\n" AT(2) "b\n" AT(2) "c\n", AT(2) "b\n" AT(2) "c\n" AT(2) "d\n" AT(3) "e\n" },
          "a\nb\nc\nd\ne\n" },
        { "lines of one time, all of them",
          { AT(1) "a\n" AT(1) "b\n", AT(1) "a\n" AT(1) "b\n" AT(1) "c\n" },
          "a\nb\nc\n" },
        { "two streams change places",
          { AT(1) "a\n" T("02.500000001") "b\n" T("02.500000000") "c\n",
            T("02.500000001") "b\n" T("02.500000000") "c\n" T("02.400000000") "d\n" AT(3) "e\n" },
          "a\nb\nc\nd\ne\n" },
        { "a clock is set back",
          { AT(8) "a\n" AT(9) "b\n" AT(2) "c\n", AT(8) "a\n" AT(9) "b\n" AT(2) "c\n" AT(3) "d\n" },
          "a\nb\nc\nd\n" },
        { "a clock is set back, and rotated",
          { AT(8) "a\n" AT(9) "b\n" AT(2) "c\n", AT(2) "c\n" AT(3) "d\n" },
          "a\nb\nc\nd\n" },
        { "zones and digits are no part of a time",
          { AT(1) "a\n" T("02.500000000") "b\n",
            "2026-01-02T05:04:02.5+02:00 b\n2026-01-02T01:04:03-02:00 c\n" },
          "a\nb\nc\n" },
        { "the kubelet's own words",
          { AT(1) "a\nunable to go on: it is late\n", AT(1) "a\n" AT(2) "b\n3 times\n" AT(3) "c\n" },
          "a\nb\nc\n" },
        { "instead of a log", { AT(1) "a\n", "unable to retrieve it", AT(1) "a\n" AT(2) "b\n" }, "a\nb\n" },
        { "a node without times",
          { "a\n", "a\n2026-01-02 b\n",
            "a\n2026-01-02 b\n12"
            "c" },
          "a\n2026-01-02 b\n12c" },
        { "words before the first log",
          { "not yet\n", AT(1) "a\n", AT(1) "a\n" AT(2) "b\n" },
          "not yet\na\nb\n" },
};

static void test_files(void)
{
        static const gsize steps[] = { 1, 2, 7, 4096 };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                for (gsize j = 0; j < G_N_ELEMENTS(steps); j++) {
                        Reading reading = { .file = g_string_new(NULL) };

                        g_test_message("%s, in pieces of %zu", cases[i].what, steps[j]);
                        for (gsize k = 0; k < STREAMS && cases[i].streams[k]; k++)
                                read_stream(&reading, cases[i].streams[k], strlen(cases[i].streams[k]),
                                            steps[j]);
                        g_assert_cmpstr(reading.file->str, ==, cases[i].file);
                        g_string_free(reading.file, TRUE);
                }
}

/* Any bytes are text, and a file ends as its log does. */
static void test_bytes(void)
{
        static const char stream[] = AT(1) "\0\xff 10%\r 20%\r\n" AT(2) "\n" AT(3) "end\0";
        static const char file[] = "\0\xff 10%\r 20%\r\n\nend\0";
        Reading reading = { .file = g_string_new(NULL) };

        read_stream(&reading, stream, sizeof stream - 1, sizeof stream);
        read_stream(&reading, stream, sizeof stream - 1, 1);
        g_assert_cmpmem(reading.file->str, reading.file->len, file, sizeof file - 1);
        g_string_free(reading.file, TRUE);
}

static void test_words(void)
{
        Reading reading = { .file = g_string_new(NULL) };
        const char *stream = AT(1) "a\nunable to go on: it is late\n";

        read_stream(&reading, stream, strlen(stream), 5);
        g_assert_cmpstr(reading.log.said, ==, "unable to go on: it is late");
        read_stream(&reading, AT(1) "a\n", strlen(AT(1) "a\n"), 5);
        g_assert_cmpstr(reading.log.said, ==, "");
        g_string_free(reading.file, TRUE);
}

/* A file of which no line is known, as an older server left it, or a node that gives no times. */
static void test_counts(void)
{
        static const struct {
                const char *file, *stream, *after;
                bool is_short;
        } rows[] = {
                { "a\nb\n", AT(1) "a\n" AT(2) "b\n" AT(3) "c\n", "a\nb\nc\n", false },
                { "a\nb\n", AT(1) "a\n" AT(2) "b\n", "a\nb\n", false },
                { "a\nb\n", AT(3) "c\n", "a\nb\n", true },
                { "a\nb\n", "", "a\nb\n", false },
                { "aa\nb\n", "aa\nb\nc\n", "aa\nb\nc\n", false },
                { "aa\nb\n", "c\n", "aa\nb\n", true },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                Reading reading = { .file = g_string_new(rows[i].file) };

                read_stream(&reading, rows[i].stream, strlen(rows[i].stream), 3);
                g_assert_cmpstr(reading.file->str, ==, rows[i].after);
                g_assert_true(timed_log_is_short(&reading.log) == rows[i].is_short);
                g_string_free(reading.file, TRUE);
        }
}

/* What an earlier pod wrote is none of this log's, and what could not be appended comes again. */
static void test_places(void)
{
        const char *stream = AT(1) "a\n" AT(2) "b\n";
        g_autoptr(GString) file = g_string_new("before\n"), lost = g_string_new(NULL);
        TimedLog log = { 0 };
        LogPlace was;

        timed_log_begin(&log, 7, 7);
        timed_log_read(&log, stream, strlen(AT(1) "a\n"), file);
        was = log.place;
        timed_log_read(&log, stream + strlen(AT(1) "a\n"), strlen(AT(2) "b\n"), lost);
        g_assert_cmpstr(lost->str, ==, "b\n");
        log.place = was;
        timed_log_begin(&log, 7, (gint64)file->len);
        timed_log_read(&log, stream, strlen(stream), file);
        g_assert_cmpstr(file->str, ==, "before\na\nb\n");
        g_assert_cmpint(log.place.first_at, ==, 7);
        g_assert_cmpint(log.place.last_at, ==, 9);
        g_assert_cmpint(log.place.last_ns - log.place.first_ns, ==, 1000000000);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/timed-log/files", test_files);
        g_test_add_func("/timed-log/bytes", test_bytes);
        g_test_add_func("/timed-log/words", test_words);
        g_test_add_func("/timed-log/counts", test_counts);
        g_test_add_func("/timed-log/places", test_places);
        return g_test_run();
}
