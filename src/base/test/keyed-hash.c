/* The keyed hash: texts that collide under other hash functions do not collide here. */
#include "base/keyed-hash.h"

enum { PARTS = 12, TEXTS = 1 << PARTS };

/* One of 4,096 texts of 12 parts, each "Az" or "BY": g_str_hash() has one value for all of them. */
static char *text_of(int number)
{
        GString *text = g_string_new(NULL);

        for (int part = 0; part < PARTS; part++)
                g_string_append(text, number >> part & 1 ? "BY" : "Az");
        return g_string_free(text, FALSE);
}

static void test_made_to_collide(void)
{
        g_autoptr(GHashTable) values = g_hash_table_new(NULL, NULL);
        g_autofree char *first = text_of(0);

        for (int i = 0; i < TEXTS; i++) {
                g_autofree char *text = text_of(i);

                g_assert_cmpuint(g_str_hash(text), ==, g_str_hash(first));
                g_hash_table_add(values, GUINT_TO_POINTER(keyed_hash(text)));
        }
        /* Among 4,096 random 32-bit values, the chance of ten equal pairs is below 1 in 10^30. */
        g_assert_cmpuint(g_hash_table_size(values), >, TEXTS - 10);
}

static void test_same_text(void)
{
        g_autofree char *one = g_strdup("a name"), *other = g_strdup("a name");

        g_assert_cmpuint(keyed_hash(one), ==, keyed_hash(other));
        g_assert_cmpuint(keyed_hash(one), !=, keyed_hash("a names"));
        (void)keyed_hash("");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/keyed-hash/made-to-collide", test_made_to_collide);
        g_test_add_func("/keyed-hash/same-text", test_same_text);
        return g_test_run();
}
