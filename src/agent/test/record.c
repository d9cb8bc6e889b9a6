/* The state file: records read back as written; torn, foreign and absent ones read as absent. */
#include "agent/record.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

static int scratch(void)
{
        g_autofree char *path = NULL;
        int fd = g_file_open_tmp("paddle-record-XXXXXX", &path, NULL);

        g_assert_cmpint(fd, >=, 0);
        (void)g_unlink(path);
        return fd;
}

static const RecordStarted some_started = {
        .keeper = 7, .member = 8, .slot = 3, .ready_ports = { 80, 81 }, .time_ms = 5, .boot_id = "b"
};
static const RecordEnd some_end = {
        .kind = END_EXITED, .exit_code = 4, .oom = 1, .clean = 1, .cpu_us = 9, .text = "t"
};

static void test_both(void)
{
        fd_auto int fd = scratch();
        RecordStarted started = some_started, read;
        RecordEnd end;
        char path[RECORD_READY_MAX];

        g_assert_false(record_read_started(fd, &read));
        g_assert_false(record_read_end(fd, &end));
        g_assert_true(record_write_end(fd, &some_end)); /* each at its own offset: the order is free */
        g_assert_false(record_read_started(fd, &read));
        g_assert_true(record_write_started(fd, &started, "/x/ready"));
        g_assert_true(record_read_started(fd, &read));
        g_assert_cmpint(read.member, ==, 8);
        g_assert_cmpint(read.slot, ==, 3);
        g_assert_true(record_read_ready_file(fd, &read, path));
        g_assert_cmpstr(path, ==, "/x/ready");
        g_assert_true(record_read_end(fd, &end));
        g_assert_cmpmem(&end, sizeof end, &some_end, sizeof some_end);
        g_assert_true(record_clear(fd));
        g_assert_false(record_read_started(fd, &read));
        g_assert_false(record_read_end(fd, &end));
}

/* Any changed byte and any shorter file is noticed. */
static void test_broken(void)
{
        fd_auto int fd = scratch();
        RecordStarted started = some_started, read;
        RecordEnd end;
        gsize size = RECORD_END_AT + 16 + sizeof end;

        g_assert_true(record_write_started(fd, &started, NULL));
        g_assert_true(record_write_end(fd, &some_end));
        for (gsize at = 0; at < size; at++) {
                char byte, other;
                bool in_started = at < 16 + sizeof started, in_end = at >= RECORD_END_AT;

                g_assert_cmpint(pread(fd, &byte, 1, (off_t)at), ==, 1);
                other = (char)(byte ^ 0x40);
                g_assert_cmpint(pwrite(fd, &other, 1, (off_t)at), ==, 1);
                g_assert_true(record_read_started(fd, &read) == !in_started);
                g_assert_true(record_read_end(fd, &end) == !in_end);
                g_assert_cmpint(pwrite(fd, &byte, 1, (off_t)at), ==, 1);
        }
        for (gsize len = size - 1; len > RECORD_END_AT; len -= 7) {
                g_assert_cmpint(ftruncate(fd, (off_t)len), ==, 0);
                g_assert_false(record_read_end(fd, &end));
                g_assert_true(record_read_started(fd, &read));
        }
}

static void test_long_path(void)
{
        fd_auto int fd = scratch();
        RecordStarted started = some_started;
        g_autofree char *path = g_strnfill(RECORD_READY_MAX, 'x');

        g_assert_false(record_write_started(fd, &started, path));
        path[RECORD_READY_MAX - 1] = '\0';
        g_assert_true(record_write_started(fd, &started, path));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/agent/record/both", test_both);
        g_test_add_func("/agent/record/broken", test_broken);
        g_test_add_func("/agent/record/long-path", test_long_path);
        return g_test_run();
}
