/* Sums of resource quantities (see objects.h), by the rules of Kubernetes' resource.Quantity. Any name is
 * possible ("example.com/fpga"), so amounts are counted in billionths (nano) of a unit, in 128 bits. The form
 * of the first amount that is not zero (binary, decimal, exponent) is the form of the sum. */
#include "podspec/objects.h"

#include <string.h>

#include "base/err.h"
#include "model/resources.h"

enum { NAMES_MAX = 64 }; /* resource names of one job */

typedef __int128 Wide;
typedef enum { FORM_DECIMAL, FORM_BINARY, FORM_EXPONENT } Form;

typedef struct {
        char *name;
        Wide nano;
        Form form;
} Amount;

struct PodspecSum {
        GPtrArray *amounts; /* Amount *, in order of appearance */
};

static void amount_free(void *data)
{
        Amount *amount = data;

        g_free(amount->name);
        g_free(amount);
}

PodspecSum *podspec_sum_new(void)
{
        PodspecSum *sum = g_new0(PodspecSum, 1);

        sum->amounts = g_ptr_array_new_with_free_func(amount_free);
        return sum;
}

void podspec_sum_free(PodspecSum *sum)
{
        if (!sum)
                return;
        g_ptr_array_unref(sum->amounts);
        g_free(sum);
}

static Form form_of(const char *text, Wide nano)
{
        size_t len = strlen(text);

        if (len && text[len - 1] == 'i') /* fractions of a unit have no binary form */
                return nano > 0 && nano < QUANTITY_NANO ? FORM_DECIMAL : FORM_BINARY;
        return len && g_ascii_isdigit(text[len - 1]) && strpbrk(text, "eE") ? FORM_EXPONENT : FORM_DECIMAL;
}

/* A quantity is a string or a plain number. */
static bool amount_parse(const char *what, const json_t *value, Amount *ret, GError **error)
{
        g_autofree char *text =
                json_is_string(value) ? g_strdup(json_string_value(value)) : json_format(value);

        if (!quantity_parse_nano(what, text, &ret->nano, error))
                return false;
        ret->form = form_of(text, ret->nano);
        return true;
}

static Amount *find(PodspecSum *sum, const char *name, GError **error)
{
        Amount *amount;

        for (guint i = 0; i < sum->amounts->len; i++) {
                amount = sum->amounts->pdata[i];
                if (strcmp(amount->name, name) == 0)
                        return amount;
        }
        if (sum->amounts->len >= NAMES_MAX) {
                err_set(error, ERR_INVALID, "more than %d names of resources", NAMES_MAX);
                return NULL;
        }
        amount = g_new0(Amount, 1);
        amount->name = g_strdup(name);
        g_ptr_array_add(sum->amounts, amount);
        return amount;
}

static bool amount_add(Amount *sum, const Amount *each, gint64 times, GError **error)
{
        Wide product;

        if (sum->nano == 0)
                sum->form = each->form;
        if (__builtin_mul_overflow(each->nano, (Wide)times, &product) ||
            __builtin_add_overflow(sum->nano, product, &sum->nano))
                return err_set(error, ERR_INVALID, "%s: the sum is too large to be counted", sum->name);
        return true;
}

static bool add_list(PodspecSum *sum, const json_t *list, gint64 times, GError **error)
{
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)list, name, value) {
                Amount one = { 0 };
                Amount *amount = find(sum, name, error);

                if (!amount || !amount_parse(name, value, &one, error) ||
                    !amount_add(amount, &one, times, error))
                        return false;
        }
        return true;
}

bool podspec_sum_add(PodspecSum *sum, const json_t *pod_spec, gint64 pods, GError **error)
{
        const json_t *container;
        size_t i;

        json_array_foreach(json_object_get(pod_spec, "containers"), i, container) {
                const json_t *resources = json_object_get(container, "resources");
                const json_t *requests = json_object_get(resources, "requests");

                if (json_object_size(requests) == 0)
                        requests = json_object_get(resources, "limits");
                if (!add_list(sum, requests, pods, error))
                        return err_prefix(error, "containers[%zu].resources: ", i);
        }
        return true;
}

/* ---- the canonical form: the largest unit that gives a whole number ---- */

/* Suffixes of one form; each unit is `base` times the previous one. */
typedef struct {
        int base;
        const char *const *suffixes; /* NULL-terminated */
} Units;

static const Units decimal = { 1000, (const char *const[]){ "n", "u", "m", "", "k", "M", "G", "T", "P", "E",
                                                            NULL } };
static const Units binary = { 1024, (const char *const[]){ "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", NULL } };
static const Units exponent = { 1000, (const char *const[]){ "e-9", "e-6", "e-3", "", "e3", "e6", "e9", "e12",
                                                             "e15", "e18", "e21", "e24", "e27", NULL } };

static char *wide_text(Wide value, const char *suffix)
{
        char digits[40]; /* 2^127 has 39 */
        char *at = digits + sizeof digits - 1;

        *at = '\0';
        do {
                *--at = (char)('0' + (int)(value % 10));
                value /= 10;
        } while (value);
        return g_strconcat(at, suffix, NULL);
}

static char *scaled_text(Wide value, const Units *units)
{
        const char *const *suffix = units->suffixes;

        for (; suffix[1] && value % units->base == 0; suffix++)
                value /= units->base;
        return wide_text(value, *suffix);
}

/* Never rounds: an amount below 1024 units, or with a fraction, is printed as a decimal one. */
static char *amount_text(const Amount *amount)
{
        Wide whole = amount->nano / QUANTITY_NANO;

        if (amount->nano == 0)
                return g_strdup("0");
        if (amount->form == FORM_BINARY && whole >= 1024 && amount->nano % QUANTITY_NANO == 0)
                return scaled_text(whole, &binary);
        return scaled_text(amount->nano, amount->form == FORM_EXPONENT ? &exponent : &decimal);
}

json_t *podspec_sum_format(const PodspecSum *sum)
{
        json_t *list = json_object();

        for (guint i = 0; i < sum->amounts->len; i++) {
                const Amount *amount = sum->amounts->pdata[i];
                g_autofree char *text = amount_text(amount);

                json_object_set_new(list, amount->name, json_string(text));
        }
        return list;
}
