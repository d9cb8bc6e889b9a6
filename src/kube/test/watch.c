/* Watch streams and lists, cut everywhere: the same objects come out. */
#include "kube/watch.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"

static bool note(json_t *object, const GError *error, void *arg)
{
        g_autofree char *text = object ? json_format(object) : g_strdup(err_row(error)->word);

        g_string_append_printf(arg, "<%s>", text);
        return !strstr(text, "stop");
}

/* What comes out: the objects, then the rest of a list, or the word of the error. */
static char *run(KubeFramesMode mode, const char *text, gsize len, gsize step, gsize max)
{
        GString *out = g_string_new(NULL);
        g_autoptr(KubeFrames) frames = kube_frames_new(mode, max, note, out);
        g_autoptr(json_t) rest = NULL;
        g_autoptr(GError) error = NULL;
        bool ok = true;

        for (gsize at = 0; ok && at < len; at += step)
                ok = kube_frames_feed(frames, text + at, MIN(step, len - at), &error);
        if (ok)
                ok = kube_frames_end(frames, &rest, &error);
        g_assert_cmpint(ok, ==, error == NULL);
        if (rest) {
                g_autofree char *shown = json_format(rest);

                g_string_append(out, shown);
        }
        if (error)
                g_string_append(out, err_row(error)->word);
        return g_string_free(out, FALSE);
}

static const struct {
        KubeFramesMode mode;
        const char *text, *out;
} cases[] = {
        { FRAMES_WATCH, "", "" },
        { FRAMES_WATCH, "{\"a\":1}\n{\"b\":2}\n", "<{\"a\":1}><{\"b\":2}>" },
        { FRAMES_WATCH, "{\"a\":1}{\"b\":[{}]}", "<{\"a\":1}><{\"b\":[{}]}>" },
        { FRAMES_WATCH, " {\n\"a\"\n:\n1 } \r\n\t{}", "<{\"a\":1}><{}>" },
        { FRAMES_WATCH, "{\"a\":\"}\\\"{\\\\\"}{\"b\":1}", "<{\"a\":\"}\\\"{\\\\\"}><{\"b\":1}>" },
        { FRAMES_WATCH, "{\"a\":\"\\u0000\"}", "<{\"a\":\"\\u0000\"}>" },
        { FRAMES_WATCH, "{\"a\":1,\"a\":2}", "<{\"a\":2}>" },
        { FRAMES_WATCH, "{\"a\":nope}{\"b\":1}", "<unavailable><{\"b\":1}>" },
        { FRAMES_WATCH, "{]{\"b\":1}", "<unavailable><{\"b\":1}>" },
        { FRAMES_WATCH, "{\"a\":1}{\"b\"", "<{\"a\":1}>unavailable" },
        { FRAMES_WATCH, "{\"a\":1}x", "<{\"a\":1}>invalid" },
        { FRAMES_WATCH, "[1]", "invalid" },
        { FRAMES_WATCH, "{\"stop\":1}{\"b\":1}x", "<{\"stop\":1}>" },
        { FRAMES_LIST,
          "{\"kind\":\"PodList\",\"metadata\":{\"continue\":\"c\"},\"items\":[{\"a\":1},{\"b\":2}]}",
          "<{\"a\":1}><{\"b\":2}>{\"kind\":\"PodList\",\"metadata\":{\"continue\":\"c\"},\"items\":[]}" },
        { FRAMES_LIST, "{ \"items\" : [ {\"items\":[{}]} , {} ] , \"metadata\":{} }\n",
          "<{\"items\":[{}]}><{}>{\"items\":[],\"metadata\":{}}" },
        { FRAMES_LIST, "{\"items\":null,\"x\":{\"items\":[{}]}}", "{\"items\":null,\"x\":{\"items\":[{}]}}" },
        { FRAMES_LIST, "{\"x\":\"items\",\"y\":[{}]}", "{\"x\":\"items\",\"y\":[{}]}" },
        { FRAMES_LIST, "{\"x\":\"\\\"items\\\":[\",\"items\":[]}",
          "{\"x\":\"\\\"items\\\":[\",\"items\":[]}" },
        { FRAMES_LIST, "{\"items\":[1]}", "invalid" },
        { FRAMES_LIST, "{\"items\":[{\"a\":1}", "<{\"a\":1}>unavailable" },
        { FRAMES_LIST, "", "unavailable" },
        { FRAMES_LIST, "{}x", "invalid" },
        { FRAMES_LIST, "x", "invalid" },
};

static void test_cuts(void)
{
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                for (gsize step = 1; step <= strlen(cases[i].text) + 1; step++) {
                        g_autofree char *out =
                                run(cases[i].mode, cases[i].text, strlen(cases[i].text), step, 4096);

                        g_assert_cmpstr(out, ==, cases[i].out);
                }
}

/* An object above the bound is told, and the next one comes. */
static void test_large(void)
{
        g_autofree char *long_text = g_strnfill(5000, 'x');
        g_autofree char *text = g_strdup_printf("{\"a\":\"%s\"}{\"b\":1}", long_text);

        for (gsize step = 1; step < 7000; step += 499) {
                g_autofree char *out = run(FRAMES_WATCH, text, strlen(text), step, 4096);

                g_assert_cmpstr(out, ==, "<too_large><{\"b\":1}>");
        }
}

/* What is too deep is null; what stands beside it is kept. */
static void test_deep(void)
{
        enum { DEEP = 5000 };
        g_autoptr(GString) text = g_string_new("{\"a\":"), expected = g_string_new("<{\"a\":");

        for (int i = 0; i < DEEP; i++)
                g_string_append(text, "[\"[\",");
        g_string_append(text, "{}");
        for (int i = 0; i < DEEP; i++)
                g_string_append(text, ",1]");
        g_string_append(text, ",\"b\":2}{}");
        for (int i = 1; i < KUBE_DEPTH_MAX; i++)
                g_string_append(expected, "[\"[\",");
        g_string_append(expected, "null");
        for (int i = 1; i < KUBE_DEPTH_MAX; i++)
                g_string_append(expected, ",1]");
        g_string_append(expected, ",\"b\":2}><{}>");
        for (gsize step = 1; step <= text->len; step = step * 3 + 1) {
                g_autofree char *out = run(FRAMES_WATCH, text->str, text->len, step, 1 << 20);

                g_assert_cmpstr(out, ==, expected->str);
        }
}

static void test_type(void)
{
        static const struct {
                const char *text;
                KubeWatchType type;
        } types[] = {
                { "{\"type\":\"ADDED\",\"object\":{}}", WATCH_ADDED },
                { "{\"type\":\"MODIFIED\",\"object\":{}}", WATCH_MODIFIED },
                { "{\"type\":\"DELETED\",\"object\":{}}", WATCH_DELETED },
                { "{\"type\":\"BOOKMARK\",\"object\":{}}", WATCH_BOOKMARK },
                { "{\"type\":\"ERROR\",\"object\":{}}", WATCH_ERROR },
                { "{\"type\":\"added\",\"object\":{}}", WATCH_UNKNOWN },
                { "{\"type\":\"ADDED\",\"object\":[]}", WATCH_UNKNOWN },
                { "{\"type\":1,\"object\":{}}", WATCH_UNKNOWN },
                { "{}", WATCH_UNKNOWN },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
                g_autoptr(json_t) frame = json_parse(types[i].text, strlen(types[i].text), NULL);
                json_t *object;

                g_assert_cmpint(kube_watch_type(frame, &object), ==, types[i].type);
                g_assert_cmpint(object == NULL, ==, types[i].type == WATCH_UNKNOWN);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/kube/watch/cuts", test_cuts);
        g_test_add_func("/kube/watch/large", test_large);
        g_test_add_func("/kube/watch/deep", test_deep);
        g_test_add_func("/kube/watch/type", test_type);
        return g_test_run();
}
