/* Names, each once and in order. */
#include "runtime/kubernetes/object/names.h"

static void assert_names(const Names *names, const char *words)
{
        g_autoptr(GString) text = g_string_new(NULL);

        for (guint i = 0; i < names->list->len; i++)
                g_string_append_printf(text, "%s%s", i ? " " : "", (char *)names->list->pdata[i]);
        g_assert_cmpstr(text->str, ==, words);
}

static bool is_not(const char *name, void *arg)
{
        return g_strcmp0(name, arg) != 0;
}

static void test_names(void)
{
        static const char *const words[] = { "c", "a", "c", "b", "a" };
        Names names;

        names_init(&names);
        g_assert_false(names_has(&names, "a"));
        for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
                names_add(&names, words[i]);
        assert_names(&names, "c a b");
        g_assert_true(names_has(&names, "b") && !names_has(&names, "d"));
        names_keep(&names, is_not, (char *)"a");
        assert_names(&names, "c b");
        g_assert_false(names_has(&names, "a"));
        names_add(&names, "a");
        assert_names(&names, "c b a");
        names_clear(&names);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/names/all", test_names);
        return g_test_run();
}
