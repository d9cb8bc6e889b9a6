/* Kinds of resources and their arithmetic (see resources.h). quantity.c has quantities, limits.c has
 * limits. */
#include "model/resources.h"

#include <string.h>

#include "base/err.h"

/* ---- kinds ---- */

/* Names are only added, under the lock. A thread that has read the count may read that many names without
 * it. */
static const char *names[RESOURCE_KINDS_MAX] = {
        [RESOURCE_CPU] = "cpu",
        [RESOURCE_MEMORY] = "memory",
        [RESOURCE_GPU] = "nvidia.com/gpu",
        [RESOURCE_STORAGE] = "storage",
};
static int n_names = RESOURCE_OTHERS;
static GMutex names_lock;

int resource_kinds(void)
{
        return g_atomic_int_get(&n_names);
}

const char *resource_name(int kind)
{
        g_assert(kind >= 0 && kind < resource_kinds());
        return names[kind];
}

int resource_find(const char *name)
{
        static const struct {
                const char *name;
                int kind;
        } aliases[] = { { "mem", RESOURCE_MEMORY }, { "gpu", RESOURCE_GPU }, { "gpus", RESOURCE_GPU } };
        int n = resource_kinds();

        for (int kind = 0; kind < n; kind++)
                if (strcmp(names[kind], name) == 0)
                        return kind;
        for (size_t i = 0; i < G_N_ELEMENTS(aliases); i++)
                if (strcmp(aliases[i].name, name) == 0)
                        return aliases[i].kind;
        return -1;
}

static bool part_is_valid(const char *text, size_t len, size_t max)
{
        if (len == 0 || len > max || !g_ascii_isalnum(text[0]) || !g_ascii_isalnum(text[len - 1]))
                return false;
        for (size_t i = 0; i < len; i++)
                if (!g_ascii_isalnum(text[i]) && !strchr("-_.", text[i]))
                        return false;
        return true;
}

/* "[PREFIX/]NAME" as in Kubernetes: a domain of at most 253 bytes, a name of at most 63. */
static bool is_qualified(const char *name)
{
        const char *slash = strchr(name, '/'), *last = slash ? slash + 1 : name;

        return (!slash || part_is_valid(name, (size_t)(slash - name), 253)) &&
               part_is_valid(last, strlen(last), 63);
}

static int add_name(const char *what, const char *name, GError **error)
{
        int kind = resource_find(name); /* again: another thread may have added it */

        if (kind >= 0)
                return kind;
        kind = resource_kinds();
        if (kind == RESOURCE_KINDS_MAX) {
                err_set(error, ERR_INVALID,
                        "%s: '%s' cannot be added: %d kinds of resources are known, and no more are possible\n"
                        "Use one of them: the server forgets unused kinds only when it restarts.",
                        what, name, RESOURCE_KINDS_MAX);
                return -1;
        }
        names[kind] = g_intern_string(name);
        g_atomic_int_set(&n_names, kind + 1);
        return kind;
}

int resource_intern(const char *what, const char *name, GError **error)
{
        int kind = resource_find(name);
        g_autofree char *shown = NULL;

        if (kind >= 0)
                return kind;
        if (is_qualified(name)) {
                g_mutex_lock(&names_lock);
                kind = add_name(what, name, error);
                g_mutex_unlock(&names_lock);
                return kind;
        }
        shown = err_shown(name);
        err_set(error, ERR_INVALID,
                "%s: '%.80s' is not the name of a resource such as cpu, memory, nvidia.com/gpu or rdma/hca",
                what, shown);
        return -1;
}

bool resource_name_check(const char *what, const char *name, GError **error)
{
        g_autofree char *shown = NULL;

        if (resource_find(name) >= 0 || g_str_has_prefix(name, "hugepages-") || strchr(name, '/'))
                return true;
        shown = err_shown(name);
        return err_set(
                error, ERR_INVALID,
                "%s: there is no resource '%.80s' here\n"
                "Resources are cpu, memory, gpu and storage, and those that the server was started with "
                "(paddled --resource). Others are named with their domain, such as rdma/hca.",
                what, shown);
}

/* ---- arithmetic ---- */

static bool add(gint64 *sum, gint64 each, gint64 n)
{
        gint64 product;

        return !__builtin_mul_overflow(each, n, &product) && !__builtin_add_overflow(*sum, product, sum);
}

bool resources_add(Resources *sum, const Resources *r, gint64 n)
{
        Resources result = *sum;

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                if (!add(&result.amount[kind], r->amount[kind], n))
                        return false;
        *sum = result;
        return true;
}

void resources_subtract(Resources *sum, const Resources *r)
{
        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                sum->amount[kind] -= r->amount[kind];
}

int resources_lacking(const Resources *want, const Resources *have)
{
        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                if (want->amount[kind] > 0 && want->amount[kind] > have->amount[kind])
                        return kind;
        return -1;
}

bool resources_fit(const Resources *want, const Resources *have)
{
        return resources_lacking(want, have) < 0;
}

bool resources_is_zero(const Resources *r)
{
        return resources_equal(r, &(Resources){ 0 });
}

bool resources_equal(const Resources *a, const Resources *b)
{
        return memcmp(a, b, sizeof *a) == 0;
}
