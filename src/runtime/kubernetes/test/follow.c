/* Times of a pod's lines beside its log (base/log-times.h). Following itself is tested on real nodes
 * (t/kube). */
#include "runtime/kubernetes/log/follow.h"

#include <glib/gstdio.h>

#include "base/json.h"
#include "base/log-times.h"
#include "kube/test/rogue.h"

#define TEN (1772359200 * G_GINT64_CONSTANT(1000)) /* 2026-03-01T10:00:00Z */

static const RogueRow node[] = {
        { "/log?", 1, ROGUE_CLOSE,
          STREAM "2026-03-01T10:00:00.000000000Z a\n2026-03-01T10:00:00.010000000Z b\n"
                 "2026-03-01T10:00:05.500000000Z c\n",
          0 },
        { "/log?", 1, ROGUE_CLOSE,
          STREAM "2026-03-01T10:00:00.000000000Z a\n2026-03-01T10:00:00.010000000Z b\n"
                 "2026-03-01T10:00:05.500000000Z c\n2026-03-01T10:00:09.000000000Z d\n",
          0 },
        { NULL, 0, 0, NULL, 0 },
};

static void on_done(void *arg)
{
        *(bool *)arg = true;
}

static void follow_whole(KubeClient *client, const char *path)
{
        FollowRoom *room = follow_room_new(client, NULL, 0);
        bool over = false;
        FollowConfig config = { .namespace = "n",
                                .pod = "p",
                                .container = "c",
                                .uid = "uid-1",
                                .path = path,
                                .done = on_done,
                                .arg = &over };
        Follow *follow = follow_new(room, &config);

        follow_last(follow);
        run_until(over);
        follow_free(follow);
        follow_room_free(room);
}

static void check(const char *path, const char *text, const LogTime *times, gsize n)
{
        g_autofree char *beside = g_strconcat(path, LOG_TIMES_SUFFIX, NULL);
        g_autofree char *log = NULL, *records = NULL;
        gsize len;

        g_assert_true(g_file_get_contents(path, &log, NULL, NULL));
        g_assert_cmpstr(log, ==, text);
        g_assert_true(g_file_get_contents(beside, &records, &len, NULL));
        g_assert_cmpmem(records, len, times, n * sizeof *times);
}

/* Lines of one moment have one record. A later stream, as of a server that starts anew, adds what is new. */
static void test_times(void)
{
        static const LogTime times[] = { { TEN, 4 }, { TEN + 5500, 6 }, { TEN + 9000, 8 } };
        static const char *const left[] = { "p", "p.pod", "p" LOG_TIMES_SUFFIX, "" };
        g_autofree char *dir = g_dir_make_tmp("paddle-follow-XXXXXX", NULL);
        g_autofree char *path = g_build_filename(dir, "p", NULL);
        Rogue rogue;

        rogue_start(&rogue, node);
        g_autoptr(KubeClient) client = rogue_client(&rogue, "", NULL);
        follow_whole(client, path);
        check(path, "a\nb\nc\n", times, 2);
        follow_whole(client, path);
        check(path, "a\nb\nc\nd\n", times, 3);
        rogue_stop(&rogue);
        for (gsize i = 0; i < G_N_ELEMENTS(left); i++) {
                g_autofree char *file = g_build_filename(dir, left[i], NULL);

                g_assert_cmpint(g_remove(file), ==, 0);
        }
}

int main(int argc, char **argv)
{
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/follow/times", test_times);
        return g_test_run();
}
