/* Fuzz target: a TrainingJob and what was seen of its objects, as JSON ({"job", "master", "pserver",
 * "trainer", "pods", "refusal"}).
 *
 * Whatever stands there, a pass ends in actions that name what they are for, and a second look gives the same
 * ones. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "operator/training_reconcile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_actions(const Plan *a, const Plan *b)
{
        g_assert_cmpuint(a->actions->len, ==, b->actions->len);
        for (guint i = 0; i < a->actions->len; i++) {
                const Action *x = a->actions->pdata[i], *y = b->actions->pdata[i];
                bool bare = x->verb == ACTION_DELETE || x->verb == ACTION_WARN;

                g_assert_nonnull(x->name);
                g_assert_true((x->body == NULL) == bare);
                g_assert_true(x->verb == y->verb && x->kind == y->kind && strcmp(x->name, y->name) == 0);
                g_assert_true(x->body == y->body || json_equal(x->body, y->body));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autoptr(json_t) seen = size < 32768 ? json_parse((const char *)data, size, NULL) : NULL;
        g_autoptr(GPtrArray) pods = g_ptr_array_new();
        TrainingObserved observed = { .job = json_object_get(seen, "job"),
                                      .pods = pods,
                                      .refusal = json_string_value(json_object_get(seen, "refusal")) };
        const json_t *pod;
        size_t i;

        if (!json_is_object(observed.job))
                return 0;
        json_array_foreach(json_object_get(seen, "pods"), i, pod) {
                g_ptr_array_add(pods, (gpointer)pod);
        }
        for (TrainingRole role = TRAINING_MASTER; role < TRAINING_ROLES; role++)
                observed.member[role] = json_object_get(seen, training_role_name(role));
        g_autoptr(Plan) plan = training_reconcile(&observed);
        g_autoptr(Plan) again = training_reconcile(&observed);
        check_actions(plan, again);
        return 0;
}
