/* The items of loops: each text must have the items that the whole array in JSON has, or be refused as it is. */
#include "pipeline/items.h"

#include <string.h>

#include "base/err.h"
#include "base/test/seed.h"

enum { MAX = 1000 };

static Items *read_items(const char *text, guint32 max, GError **error)
{
        g_autoptr(json_t) value = json_string(text);

        return items_new(value, max, error);
}

/* By the parser of whole documents. */
static void compare(const char *text)
{
        g_autoptr(json_t) whole = json_parse(text, strlen(text), NULL);
        g_autoptr(Items) items = read_items(text, MAX, NULL);

        if (json_is_array(whole) != (items != NULL))
                g_error("'%s' is %s list", text, items ? "no" : "a");
        if (!items)
                return;
        g_assert_cmpuint(items_count(items), ==, json_array_size(whole));
        for (guint32 i = 0; i <= items_count(items); i++) {
                g_autoptr(json_t) item = items_get(items, i);

                if (!json_equal(item, json_array_get(whole, i)) && i < items_count(items))
                        g_error("item %u of '%s' differs", i, text);
                g_assert_cmpint(item == NULL, ==, i == items_count(items));
        }
}

static void test_texts(void)
{
        static const char *const texts[] = {
                "[]",
                " [ ] ",
                "[1]",
                " [1, 2.5 ,\"x\"] ",
                "[[1,2],[3]]",
                "[{\"a\":[1,2]},null,true]",
                "[\"a,b\",\"]\",\"\\\"\",\"\\\\\"]",
                "[\"\\\\\",\"]\"]",
                "[1,]",
                "[,1]",
                "[,]",
                "[1",
                "1]",
                "[1]]",
                "[1][2]",
                "[1] x",
                "[1 2]",
                "[\"a]",
                "[\"\\",
                "[\"\\\"]",
                "{\"a\":1}",
                "7",
                "\"x\"",
                "",
                " ",
                "[",
                "]",
                "[1}",
                "[{]",
                "[[}]",
                "[nul]",
                "[\"ä\",\"日本\"]",
                "[{\"a\":1,\"a\":2}]",
                "[\n1,\n\t2\r\n]",
        };

        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
                compare(texts[i]);
}

static void test_random(void)
{
        static const char signs[] = "[]{},:\"\\ 12ax";
        GRand *rand = g_rand_new_with_seed(seed_of_test());

        for (int i = 0; i < (is_soak() ? 2000000 : 20000); i++) {
                char text[20] = "[";
                int len = g_rand_int_range(rand, 1, sizeof text - 1);

                for (int k = g_rand_int_range(rand, 0, 2); k < len; k++)
                        text[k] = signs[g_rand_int_range(rand, 0, sizeof signs - 1)];
                compare(text);
        }
        g_rand_free(rand);
}

static void test_limits(void)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) array = json_pack("[iii]", 1, 2, 3), number = json_integer(3);
        g_autoptr(Items) three = items_new(array, 3, &error);

        g_assert_no_error(error);
        g_assert_cmpuint(items_count(three), ==, 3);
        g_assert_null(items_new(array, 2, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_QUOTA);
        g_clear_error(&error);
        g_assert_null(read_items("[1,2,3]", 2, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_QUOTA);
        g_clear_error(&error);
        g_assert_null(items_new(number, 2, &error));
        g_assert_error(error, ERR_DOMAIN, ERR_INVALID);
        g_assert_cmpstr(error->message, ==,
                        "RE-02: the value of loop_argument is '3', which is not a list, such as [1, 2]");
        g_clear_error(&error);
        g_assert_null(read_items("{\"a\": 1}", 2, &error));
        g_assert_nonnull(strstr(error->message, "is '{\"a\": 1}', which is not a list"));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/pipeline/items/texts", test_texts);
        g_test_add_func("/pipeline/items/random", test_random);
        g_test_add_func("/pipeline/items/limits", test_limits);
        return g_test_run();
}
