/* Expectations (see expect.h). */
#include "operator/expect.h"

#include <string.h>

#include "kube/cache.h"

/* A view that shows nothing for so long shows it no more: made and gone between two looks. */
enum { EXPECT_MS = 5000 };

void expected_free(void *data)
{
        Expected *expected = data;

        if (!expected)
                return;
        g_free(expected->namespace);
        g_free(expected->name);
        g_free(expected->uid);
        g_free(expected->version);
        g_free(expected);
}

void expect_clear(Expect *expect)
{
        g_clear_pointer(&expect->list, g_ptr_array_unref);
        timer_clear(&expect->timer);
}

static void on_timeout(void *arg)
{
        Expect *expect = arg;

        expect_clear(expect);
        expect->expired(expect->arg);
}

void expect_take(Expect *expect, GPtrArray *list)
{
        expect_clear(expect);
        if (list->len == 0) {
                g_ptr_array_unref(list);
                return;
        }
        expect->list = list;
        timer_set(&expect->timer, NULL, EXPECT_MS, on_timeout, expect);
}

/* Versions of one server ascend, but this is not guaranteed. A pass that begins too early does no harm. */
static bool version_reached(const char *have, const char *want)
{
        size_t a = strlen(have), b = strlen(want);

        return a != b ? a > b : strcmp(have, want) >= 0;
}

static bool is_seen(const Expect *expect, const Expected *expected)
{
        const json_t *object =
                expect->find(expected->kind, expected->namespace, expected->name, expect->find_arg);

        if (expected->gone)
                return !object || strcmp(kube_uid(object), expected->uid) != 0 || kube_is_deleting(object);
        if (expected->version)
                return !object || version_reached(kube_resource_version(object), expected->version);
        return object != NULL;
}

bool expect_is_pending(Expect *expect)
{
        for (guint i = expect->list ? expect->list->len : 0; i > 0; i--)
                if (is_seen(expect, expect->list->pdata[i - 1]))
                        g_ptr_array_remove_index_fast(expect->list, i - 1);
        if (expect->list && expect->list->len > 0)
                return true;
        expect_clear(expect);
        return false;
}
