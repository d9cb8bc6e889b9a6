/* Memory is returned to the system: unused pages of code are unmapped, and the program still runs. */
#include "base/resident.h"

#include <glib.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* KiB of the mapping with this address that are in memory, by the kernel's record. */
static int resident_kib(const void *address)
{
        g_autofree char *text = NULL;
        bool inside = false;

        g_assert_true(g_file_get_contents("/proc/self/smaps", &text, NULL, NULL));
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line; line++) {
                unsigned long begin, end;
                int kib;

                if (sscanf(*line, "%lx-%lx ", &begin, &end) == 2)
                        inside = begin <= (gulong)address && (gulong)address < end;
                else if (inside && sscanf(*line, "Rss: %d kB", &kib) == 1)
                        return kib;
        }
        g_assert_not_reached();
}

static int more(int n)
{
        return n + 1;
}

static int twice(int n)
{
        return 2 * n;
}

/* Relocated by the dynamic linker, then protected against writing: not to be read from the file again. */
static int (*const volatile functions[])(int n) = { more, twice };

static void test_give_back(void)
{
        g_autofree char *kept = g_strnfill(100000, 'x');

        g_assert_cmpint(sodium_init(), >=, 0);
        g_assert_cmpint(resident_kib((const void *)sodium_init), >, 0);
        resident_give_back();
        g_assert_cmpint(resident_kib((const void *)sodium_init), ==, 0);
        g_assert_cmpint(sodium_init(), ==, 1); /* its code comes back, and its state has stayed */
        g_assert_cmpint(functions[0](1) + functions[1](2), ==, 6);
        g_assert_cmpuint(strlen(kept), ==, 100000);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/base/resident/give-back", test_give_back);
        return g_test_run();
}
