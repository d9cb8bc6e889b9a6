/* Sums of resource quantities (see objects.h). Names are free ("example.com/fpga"), so amounts are counted in
 * thousandths of a unit whatever they are of, in 128 bits; the form of the first amount that is not zero
 * (binary, decimal, exponent) is the form of the sum, as in Kubernetes. */
#include "podspec/objects.h"

#include <string.h>

#include "base/err.h"
#include "model/resources.h"

enum { NAMES_MAX = 64 }; /* resource names of one job */

typedef __int128 Wide;
typedef enum { FORM_DECIMAL, FORM_BINARY, FORM_EXPONENT } Form;

typedef struct {
        char *name;
        Wide milli;
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

static Form form_of(const char *text)
{
        size_t len = strlen(text);

        if (len && text[len - 1] == 'i')
                return FORM_BINARY;
        return len && g_ascii_isdigit(text[len - 1]) && strpbrk(text, "eE") ? FORM_EXPONENT : FORM_DECIMAL;
}

/* A quantity is written as a string, or as a plain number. */
static bool amount_parse(const char *what, const json_t *value, Amount *ret, GError **error)
{
        g_autofree char *text =
                json_is_string(value) ? g_strdup(json_string_value(value)) : json_format(value);
        gint64 whole, milli;

        ret->form = form_of(text);
        if (cpu_parse(what, text, &milli, NULL)) {
                ret->milli = milli;
                return true;
        }
        if (!memory_parse(what, text, &whole, NULL)) /* above 8 Pi the thousandths no longer fit there */
                return err_set(error, ERR_INVALID, "%s: '%.64s' is not a quantity such as 500m, 2 or 4Gi",
                               what, text);
        ret->milli = (Wide)whole * 1000;
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

static bool add_list(PodspecSum *sum, const json_t *list, gint64 times, GError **error)
{
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)list, name, value)
        {
                Amount one = { 0 };
                Amount *amount = find(sum, name, error);

                if (!amount || !amount_parse(name, value, &one, error))
                        return false;
                if (amount->milli == 0)
                        amount->form = one.form;
                amount->milli += one.milli * times; /* 2^63 × 1000 × pods stays far below 2^127 */
        }
        return true;
}

bool podspec_sum_add(PodspecSum *sum, const json_t *pod_spec, gint64 pods, GError **error)
{
        const json_t *container;
        size_t i;

        json_array_foreach(json_object_get(pod_spec, "containers"), i, container)
        {
                const json_t *resources = json_object_get(container, "resources");
                const json_t *requests = json_object_get(resources, "requests");

                if (json_object_size(requests) == 0)
                        requests = json_object_get(resources, "limits");
                if (!add_list(sum, requests, pods, error))
                        return err_prefix(error, "containers[%zu].resources: ", i);
        }
        return true;
}

/* ---- the canonical form: no fraction beyond thousandths, the largest unit that leaves a whole number ----
 */

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

static char *scaled_text(Wide value, int base, const char *const *suffixes)
{
        int unit = 0;

        while (unit < 6 && value && value % base == 0) {
                value /= base;
                unit++;
        }
        return wide_text(value, suffixes[unit]);
}

static char *amount_text(const Amount *amount)
{
        static const char *const suffixes[][7] = {
                [FORM_DECIMAL] = { "", "k", "M", "G", "T", "P", "E" },
                [FORM_BINARY] = { "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" },
                [FORM_EXPONENT] = { "", "e3", "e6", "e9", "e12", "e15", "e18" },
        };
        Form form = amount->form;

        if (form == FORM_BINARY && amount->milli < 1024 * 1000)
                form = FORM_DECIMAL;
        if (form == FORM_BINARY)
                return scaled_text((amount->milli + 999) / 1000, 1024, suffixes[form]);
        if (amount->milli % 1000)
                return wide_text(amount->milli, form == FORM_DECIMAL ? "m" : "e-3");
        return scaled_text(amount->milli / 1000, 1000, suffixes[form]);
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
