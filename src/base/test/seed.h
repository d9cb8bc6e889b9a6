/* The seed of a test that draws at random.
 *
 * It is always the same one, so that `make test` does the same thing every time. With PADDLE_SOAK=1 each test
 * draws another. PADDLE_SEED=N takes precedence and repeats a run. The output has the command. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include <glib.h>

#include "base/number.h"

enum { SEED_FIXED = 1 };

/* Whether the text asks for the long form of a test: not when it is NULL, empty or "0" (t/soak.py). */
static inline bool soak_parse(const char *text)
{
        return text && *text && strcmp(text, "0") != 0;
}

static inline bool is_soak(void)
{
        return soak_parse(g_getenv("PADDLE_SOAK"));
}

static inline guint32 seed_parse(const char *text)
{
        g_autoptr(GError) error = NULL;
        gint64 seed = 0;

        (void)number_parse("PADDLE_SEED", text, 0, G_MAXUINT32, &seed, &error); /* the error says it */
        g_assert_no_error(error);
        return (guint32)seed;
}

/* The command that runs this test with this seed again; the caller's. */
static inline char *seed_command(guint32 seed)
{
        g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);

        return g_strdup_printf("%sPADDLE_SEED=%u %s -p '%s'", is_soak() ? "PADDLE_SOAK=1 " : "", seed,
                               program, g_test_get_path());
}

/* Of the test that runs now. */
static inline guint32 seed_of_test(void)
{
        const char *given = g_getenv("PADDLE_SEED");
        guint32 seed = given ? seed_parse(given) : is_soak() ? g_random_int() : SEED_FIXED;
        g_autofree char *command = seed_command(seed);

        g_test_message("repeat with: %s", command);
        return seed;
}
