/* An attempt of a job without members, for tests of what is made for it. The test sets what else it needs in
 * `spec` and `job`; texts are borrowed. */
#pragma once

#include "model/framework.h"
#include "runtime/runtime.h"

typedef struct {
        RuntimeAttempt attempt;
        Job job;
        Spec spec;
} TestAttempt;

static inline void test_attempt_init(TestAttempt *test, const char *id, int attempt)
{
        *test = (TestAttempt){ .attempt.job = &test->job,
                               .job = { .attempt = attempt, .spec = &test->spec } };
        g_strlcpy(test->job.id, id, sizeof test->job.id);
        test->job.user = (char *)"ada";
        test->spec.framework = framework_find("paddle-ps");
        test->spec.image = (char *)"base:1";
}
