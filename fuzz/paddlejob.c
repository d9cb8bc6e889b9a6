/* Fuzz target: a PaddleJob and what was seen of its objects, as JSON ({"job", "pods", "services", "map",
 * "group"}): the fields that no schema stops, and annotations. The first byte is the flags.
 *
 * Whatever stands there, a pass ends in actions that name what they are for, and a second look gives the same
 * ones. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "operator/reconcile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static GPtrArray *list_of(const json_t *seen, const char *name)
{
        GPtrArray *list = g_ptr_array_new();
        const json_t *item;
        size_t i;

        json_array_foreach(json_object_get(seen, name), i, item) {
                g_ptr_array_add(list, (gpointer)item);
        }
        return list;
}

static void check_actions(const Plan *plan)
{
        for (guint i = 0; i < plan->actions->len; i++) {
                const Action *action = plan->actions->pdata[i];

                g_assert_nonnull(action->name);
                g_assert_true((action->body != NULL) ==
                              (action->verb != ACTION_DELETE && action->verb != ACTION_WARN &&
                               action->verb != ACTION_SCALE));
                g_assert_true(action->verb != ACTION_CREATE || *action->name);
        }
}

static void check_same(const Plan *a, const Plan *b)
{
        g_assert_cmpuint(a->actions->len, ==, b->actions->len);
        for (guint i = 0; i < a->actions->len; i++) {
                const Action *x = a->actions->pdata[i], *y = b->actions->pdata[i];

                g_assert_true(x->verb == y->verb && x->kind == y->kind && strcmp(x->name, y->name) == 0);
                g_assert_true(x->body == y->body || json_equal(x->body, y->body));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autoptr(json_t) seen =
                size > 1 && size < 32768 ? json_parse((const char *)data + 1, size - 1, NULL) : NULL;
        g_autoptr(GPtrArray) pods = list_of(seen, "pods");
        g_autoptr(GPtrArray) services = list_of(seen, "services");
        OperatorRules rules = { 0 };
        Observed observed = { .job = json_object_get(seen, "job"),
                              .pods = pods,
                              .services = services,
                              .config_map = json_object_get(seen, "map"),
                              .pod_group = json_object_get(seen, "group"),
                              .np = json_string_value(json_object_get(seen, "np")),
                              .now_ms = 1700000000000 };

        if (!json_is_object(observed.job))
                return 0;
        rules.compat = data[0] & 1;
        rules.volcano = data[0] & 2;
        rules.init_image = data[0] & 4 ? "image" : "";
        rules.etcd_server = data[0] & 8 ? "http://e" : "";
        observed.host_port = data[0] & 16 ? 40000 : 0;
        g_autoptr(Plan) plan = reconcile(&rules, &observed);
        g_autoptr(Plan) again = reconcile(&rules, &observed);
        check_actions(plan);
        check_same(plan, again);
        return 0;
}
