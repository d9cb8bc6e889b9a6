/* Commands beside members (runtime/local/terminal.h): how many a member may have. The commands themselves are
 * tested from outside (t/test_exec.py). The spawner is a small program here that heeds no HUP. */
#include "runtime/local/terminal.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

enum { PATIENCE_S = 90 };

static const char stubborn[] = "#!/bin/sh\ntrap '' HUP\necho $$\nexec sleep 1000\n";

typedef struct {
        GMutex mutex;
        GCond changed;
        GArray *pids;
        int over, refused;
        gsize bytes;
        RuntimeExec *holds; /* to be held with its first output; or NULL */
} Room;

static void on_output(int fd, const char *data, gsize len, void *arg)
{
        Room *room = arg;
        g_autofree char *text = g_strndup(data, len);
        int pid = (int)g_ascii_strtoll(text, NULL, 10);

        g_mutex_lock(&room->mutex);
        room->bytes += len;
        g_array_append_val(room->pids, pid);
        if (room->holds)
                exec_hold(room->holds, true);
        room->holds = NULL;
        g_cond_broadcast(&room->changed);
        g_mutex_unlock(&room->mutex);
}

static void on_taken(gsize len, void *arg)
{
}

static void on_done(int status, const GError *error, void *arg)
{
        Room *room = arg;

        g_mutex_lock(&room->mutex);
        room->over++;
        if (error && error->code == ERR_UNAVAILABLE && strstr(error->message, "which is the maximum"))
                room->refused++;
        g_cond_broadcast(&room->changed);
        g_mutex_unlock(&room->mutex);
}

/* Until so many have started, and so many are over. */
static void wait_until(Room *room, guint started, int over)
{
        gint64 late = g_get_monotonic_time() + PATIENCE_S * G_TIME_SPAN_SECOND;

        g_mutex_lock(&room->mutex);
        while (room->pids->len < started || room->over < over)
                g_assert_true(g_cond_wait_until(&room->changed, &room->mutex, late));
        g_mutex_unlock(&room->mutex);
}

static RuntimeExec *begin(Terminals *terminals, const char *task, Room *room)
{
        TerminalTarget target = { .pid = 1, .task = task, .job = "j" };
        ExecStart start = { .output = on_output, .taken = on_taken, .done = on_done, .arg = room };

        return terminals_exec(terminals, &target, &start);
}

static bool is_there(int pid)
{
        return kill(pid, 0) == 0;
}

static void kill_all(const GArray *pids)
{
        for (guint i = 0; i < pids->len; i++)
                (void)kill(g_array_index(pids, int, i), SIGKILL);
        for (guint i = 0; i < pids->len; i++) /* reaped */
                while (is_there(g_array_index(pids, int, i)))
                        g_usleep(1000);
}

/* A command that its caller has given up counts until its process has ended. */
static void test_limit(void)
{
        g_autofree char *dir = g_dir_make_tmp("paddle-terminals-XXXXXX", NULL);
        g_autofree char *agent = g_build_filename(dir, "paddle-agent", NULL);
        g_autofree char *spawner = g_build_filename(dir, "paddle-spawner", NULL);
        Room room = { .pids = g_array_new(FALSE, FALSE, sizeof(int)) };
        g_autoptr(GPtrArray) execs = g_ptr_array_new_with_free_func((GDestroyNotify)exec_unref);
        Terminals *terminals = terminals_new(agent);

        g_assert_true(g_file_set_contents_full(spawner, stubborn, -1, G_FILE_SET_CONTENTS_NONE, 0700, NULL));
        for (int i = 0; i < TERMINALS_MEMBER_MAX; i++)
                g_ptr_array_add(execs, begin(terminals, "j.1.worker-0", &room));
        wait_until(&room, TERMINALS_MEMBER_MAX, 0);
        for (guint i = 0; i < execs->len; i++)
                exec_cancel(execs->pdata[i]);
        wait_until(&room, TERMINALS_MEMBER_MAX, TERMINALS_MEMBER_MAX);
        g_ptr_array_add(execs, begin(terminals, "j.1.worker-0", &room));
        wait_until(&room, TERMINALS_MEMBER_MAX, TERMINALS_MEMBER_MAX + 1);
        g_assert_cmpint(room.refused, ==, 1);
        g_ptr_array_add(execs, begin(terminals, "j.1.worker-1", &room)); /* another member's own */
        wait_until(&room, TERMINALS_MEMBER_MAX + 1, 0);
        kill_all(room.pids);
        wait_until(&room, 0, TERMINALS_MEMBER_MAX + 2);
        g_ptr_array_add(execs, begin(terminals, "j.1.worker-0", &room));
        wait_until(&room, TERMINALS_MEMBER_MAX + 2, 0);
        g_assert_cmpint(room.refused, ==, 1);
        kill_all(room.pids);
        terminals_free(terminals);
        g_array_unref(room.pids);
        g_assert_cmpint(g_remove(spawner), ==, 0);
        g_assert_cmpint(g_rmdir(dir), ==, 0);
}

static const char wordy[] = "#!/bin/sh\necho $$\nread word\nhead -c 60000 /dev/zero\n";

static void hold_at_output(Room *room, RuntimeExec *exec)
{
        g_mutex_lock(&room->mutex);
        room->holds = exec;
        g_mutex_unlock(&room->mutex);
}

/* The output of a command that has ended may be held in the middle: the others go on, and nothing is lost. */
static void test_held_at_its_end(void)
{
        g_autofree char *dir = g_dir_make_tmp("paddle-terminals-XXXXXX", NULL);
        g_autofree char *agent = g_build_filename(dir, "paddle-agent", NULL);
        g_autofree char *spawner = g_build_filename(dir, "paddle-spawner", NULL);
        Room room = { .pids = g_array_new(FALSE, FALSE, sizeof(int)) };
        Terminals *terminals = terminals_new(agent);
        RuntimeExec *exec, *other;

        g_assert_true(g_file_set_contents_full(spawner, wordy, -1, G_FILE_SET_CONTENTS_NONE, 0700, NULL));
        exec = begin(terminals, "j.1.worker-0", &room);
        wait_until(&room, 1, 0);
        exec_hold(exec, true);
        exec_write(exec, "go\n", 3);
        while (is_there(g_array_index(room.pids, int, 0)))
                g_usleep(1000);
        hold_at_output(&room, exec);
        exec_hold(exec, false);
        wait_until(&room, 2, 0);
        other = begin(terminals, "j.1.worker-0", &room);
        wait_until(&room, 3, 0);
        exec_hold(exec, false);
        wait_until(&room, 3, 1);
        g_assert_cmpuint(room.bytes, >=, 60000);
        exec_cancel(other);
        wait_until(&room, 3, 2);
        exec_unref(exec);
        exec_unref(other);
        terminals_free(terminals);
        g_array_unref(room.pids);
        g_assert_cmpint(g_remove(spawner), ==, 0);
        g_assert_cmpint(g_rmdir(dir), ==, 0);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/terminals/limit", test_limit);
        g_test_add_func("/terminals/held-at-its-end", test_held_at_its_end);
        return g_test_run();
}
