/* Fuzz target: a quantity of Kubernetes ("500m", "1.5Gi", "1e3"), by itself and among a container's requests.
 * The first byte chooses the kind of resource.
 *
 * Any text is either refused with ERR_INVALID that quotes it, or an amount that is not negative and reads the
 * same from whatever we print for it. The sum of one pod that requests it is exactly this amount, printed in
 * a form that is printed the same when it is read again. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "model/resources.h"
#include "podspec/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_back(int kind, char *printed, gint64 amount)
{
        g_autofree char *text = printed;
        g_autoptr(GError) error = NULL;
        gint64 back = -1;

        quantity_parse("x", kind, text, &back, &error);
        g_assert_no_error(error);
        g_assert_cmpint(back, ==, amount);
}

static void check_alone(int kind, const char *text)
{
        g_autoptr(GError) error = NULL;
        gint64 amount = -1;

        if (!quantity_parse("x", kind, text, &amount, &error)) {
                g_assert_true(err_is(error, ERR_INVALID));
                g_assert_cmpint(amount, ==, -1);
                return;
        }
        g_assert_cmpint(amount, >=, 0);
        check_back(kind, quantity_format(kind, amount), amount);
        if (kind == RESOURCE_CPU)
                check_back(kind, cpu_format(amount), amount);
        if (kind == RESOURCE_MEMORY)
                check_back(kind, memory_format(amount), amount);
        g_autofree char *words = quantity_named(kind, amount);
        g_assert_true(*words);
}

/* The sum of one pod that requests this much of something, as printed; NULL: no quantity. */
static char *sum_of(const char *text)
{
        g_autoptr(json_t) spec = json_pack("{s:[{s:{s:{s:s}}}]}", "containers", "resources", "requests",
                                           "example.com/x", text);
        g_autoptr(PodspecSum) sum = podspec_sum_new();
        g_autoptr(GError) error = NULL;

        if (!spec)
                return NULL; /* no UTF-8 */
        if (!podspec_sum_add(sum, spec, 1, &error)) {
                g_assert_true(err_is(error, ERR_INVALID));
                return NULL;
        }
        g_autoptr(json_t) list = podspec_sum_format(sum);
        return g_strdup(json_string_value(json_object_get(list, "example.com/x")));
}

static __int128 nano_of(const char *text)
{
        g_autoptr(GError) error = NULL;
        __int128 nano = -1;

        (void)quantity_parse_nano("x", text, &nano, &error);
        g_assert_no_error(error);
        g_assert_true(nano >= 0);
        return nano;
}

static void check_sum(const char *text)
{
        g_autofree char *sum = sum_of(text), *again = NULL;

        if (!sum)
                return;
        again = sum_of(sum);
        g_assert_cmpstr(sum, ==, again);
        g_assert_true(nano_of(sum) == nano_of(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autofree char *text = size ? g_strndup((const char *)data + 1, size - 1) : NULL;

        if (!text || size > 256)
                return 0;
        check_alone(data[0] % RESOURCE_OTHERS, text);
        check_sum(text);
        return 0;
}
