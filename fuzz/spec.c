/* Fuzz target: a specification as JSON, the body of POST /v1/jobs and of the seed's submission.
 *
 * Any bytes are either refused with ERR_INVALID, or become a Spec whose canonical form parses to the same
 * canonical form, and whose members can be told their environment. */
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "model/framework.h"
#include "model/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_environment(const Spec *spec)
{
        Placement placement = {
                .spec = spec, .job_id = "0", .job_name = "n", .user = "u", .dc = "d", .attempt = 1
        };

        if (spec_members(spec) > 100) /* the endpoint lists of thousands only take time */
                return;
        for (int role = 0; role < spec->n_roles; role++) {
                g_auto(GStrv) env =
                        spec->roles[role].replicas > 0 ? framework_environment(&placement, role, 0) : NULL;

                g_assert_true(spec->roles[role].replicas == 0 || env);
        }
}

static void check(const json_t *object)
{
        g_autoptr(GError) error = NULL;
        g_autoptr(Spec) spec = spec_parse(object, &error), again = NULL;
        g_autoptr(json_t) first = NULL, second = NULL;

        if (!spec) {
                g_assert_true(err_is(error, ERR_INVALID));
                return;
        }
        first = spec_format(spec);
        again = spec_parse(first, &error);
        g_assert_no_error(error);
        second = spec_format(again);
        g_assert_true(json_equal(first, second));
        check_environment(spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autoptr(json_t) object = NULL, from_seed = NULL;

        if (size > SPEC_BODY_MAX)
                return 0;
        object = json_parse((const char *)data, size, NULL);
        if (!object)
                return 0;
        check(object);
        from_seed = spec_from_cloud_job(object, NULL);
        if (from_seed)
                check(from_seed);
        return 0;
}
