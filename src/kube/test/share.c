/* Common parts of objects are kept once, and no object reads differently for it. */
#include "kube/share.h"

#include <glib.h>
#include <string.h>

#include "kube/kind.h"

static json_t *parse(const char *text)
{
        g_autofree char *quoted = g_strdelimit(g_strdup(text), "'", '"');
        json_t *value = json_loads(quoted, 0, NULL);

        g_assert_nonnull(value);
        return value;
}

static void assert_equal(const json_t *value, const json_t *expected)
{
        char *a = json_dumps(value, JSON_COMPACT),
             *b = json_dumps(expected, JSON_COMPACT); /* in their order */

        g_assert_cmpstr(a, ==, b);
        free(a);
        free(b);
}

#define FIRST                                                                                                \
        "{'metadata': {'name': 'a', 'namespace': 'n', 'owners': [{'uid': 'u'}]}, "                           \
        "'status': {'phase': 'Running', 'containers': [{'ready': true, 'image': 'i'}, {'image': 'k'}]}}"
#define SECOND                                                                                               \
        "{'more': {'x': [1, 2.5, null]}, 'metadata': {'name': 'b', 'namespace': 'n', 'owners': [{'uid': "    \
        "'u'}]}, 'status': {'phase': 'Running', 'containers': [{'ready': false, 'image': 'i'}, {'image': "   \
        "'k'}, {}]}}"

/* Of two pods of one job: what each path leads to is in memory once, or twice. */
static void test_parts(void)
{
        static const struct {
                const char *path;
                bool once;
        } cases[] = {
                { "metadata", false },
                { "metadata.name", false },
                { "metadata.namespace", true },
                { "metadata.owners", true },
                { "status.phase", true },
                { "status.containers", false },
                { "status.containers[0]", false },
                { "status.containers[0].image", true },
                { "status.containers[1]", true },
        };
        json_t *first = parse(FIRST), *second = parse(SECOND), *plain = parse(SECOND);
        json_t *shared = kube_share(second, first);

        json_decref(second);
        assert_equal(shared, plain);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_cmpint(kube_get(shared, cases[i].path) == kube_get(first, cases[i].path), ==,
                                cases[i].once);
        json_decref(first); /* what both have lives as long as one of them */
        assert_equal(shared, plain);
        json_decref(shared);
        json_decref(plain);
}

static void test_alone(void)
{
        json_t *value = parse(SECOND), *same = parse(SECOND), *other = parse("['a']");
        json_t *copy = kube_share(value, NULL), *equal = kube_share(same, value),
               *unlike = kube_share(value, other);

        assert_equal(copy, value);
        g_assert_true(equal == value);
        assert_equal(unlike, value);
        json_t *all[] = { value, same, other, copy, equal, unlike };
        for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
                json_decref(all[i]);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/kube/share/parts", test_parts);
        g_test_add_func("/kube/share/alone", test_alone);
        return g_test_run();
}
