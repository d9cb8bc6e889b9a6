/* Events against a server that forgets them: what is written anew is the whole event, counted on. */
#include "kube/event.h"

#include "base/json.h"
#include "kube/test/rogue.h"

#define EVENTS "/api/v1/namespaces/n/events"
#define REPLY(status) HEAD(status) "Content-Length: 2\r\n\r\n{}"

static int used(Rogue *rogue, int row)
{
        pthread_mutex_lock(&rogue->mutex);
        int count = rogue->used[row];
        pthread_mutex_unlock(&rogue->mutex);
        return count;
}

static bool is_idle(const KubeClient *client)
{
        KubeClientFigures figures;

        kube_client_figures(client, &figures);
        return figures.in_flight == 0;
}

static void test_expired(void)
{
        static const RogueRow rows[] = {
                { "\"count\":1", 1, ROGUE_RAW, REPLY("201 Created") },
                { "PATCH " EVENTS "/o.", 1, ROGUE_RAW, REPLY("404 Not Found") },
                { "\"message\":\"7 pods\"", 1, ROGUE_RAW, REPLY("201 Created") },
                { "{\"count\":3,\"lastTimestamp\":\"", 1, ROGUE_RAW, REPLY("200 OK") },
                { NULL },
        };
        g_autoptr(json_t) object = json_pack("{s:s, s:s, s:{s:s, s:s, s:s}}", "apiVersion", "v1", "kind",
                                             "Pod", "metadata", "name", "o", "namespace", "n", "uid", "u");
        Rogue rogue;

        rogue_start(&rogue, rows);
        g_autoptr(KubeClient) client = rogue_client(&rogue, "", NULL);
        g_autoptr(KubeRecorder) recorder = kube_recorder_new(client, "tester");
        for (int row = 0; row < 4; row++) {
                if (row != 2) /* the refused patch becomes a creation by itself */
                        kube_event(recorder, object, EVENT_NORMAL, "Made", "%d pods", 7);
                run_until(used(&rogue, row) == 1 && (row == 1 || is_idle(client)));
        }
        g_auto(GStrv) lines = g_strsplit(rogue.log->str, "\n", -1);
        g_assert_cmpuint(g_strv_length(lines), ==, 5);
        g_assert_cmpstr(lines[0], ==, "POST " EVENTS " HTTP/1.1");
        g_assert_true(g_str_has_prefix(lines[1], "PATCH " EVENTS "/o."));
        g_assert_cmpstr(lines[2], ==, lines[0]);
        g_assert_cmpstr(lines[3], ==, lines[1]); /* of the same name */
        g_clear_pointer(&recorder, kube_recorder_free);
        g_clear_pointer(&client, kube_client_free);
        rogue_stop(&rogue);
}

int main(int argc, char **argv)
{
        json_init();
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/kube/event/expired", test_expired);
        return g_test_run();
}
