/* Kept texts of jobs: they belong to one object, and their number and size are bounded. */
#include "api/v1/rendered.h"

#include <string.h>

enum { NOW = 5000, FRESH = 100 }; /* ms */

static Spec *spec;

static Job *new_job(int n)
{
        Job *job = job_new("ann", "digits", spec, 1000);

        g_snprintf(job->id, sizeof job->id, "job%05d", n);
        return job;
}

static void keep(Rendered *rendered, const Job *job, RenderedText which, gsize size)
{
        g_autoptr(GBytes) text = g_bytes_new_take(g_strnfill(size, 'x'), size);

        rendered_keep(rendered, job, which, text, NOW);
}

static bool has_at(Rendered *rendered, const Job *job, RenderedText which, gint64 now)
{
        GBytes *text = rendered_find(rendered, job, which, now);

        g_bytes_unref(text);
        return text != NULL;
}

static bool has(Rendered *rendered, const Job *job, RenderedText which)
{
        return has_at(rendered, job, which, NOW);
}

static void test_object(void)
{
        Rendered *rendered = rendered_new();
        g_autoptr(Job) was = new_job(1), now = new_job(1), other = new_job(2);

        keep(rendered, was, TEXT_FIXED, 10);
        keep(rendered, was, TEXT_WHOLE, 20);
        g_assert_true(has(rendered, was, TEXT_FIXED) && has(rendered, was, TEXT_WHOLE));
        g_assert_false(has(rendered, now, TEXT_FIXED) || has(rendered, other, TEXT_FIXED));
        keep(rendered, now, TEXT_WHOLE, 30);
        g_assert_false(has(rendered, was, TEXT_FIXED) || has(rendered, was, TEXT_WHOLE));
        g_assert_false(has(rendered, now, TEXT_FIXED));
        rendered_free(rendered);
}

static void test_whole_grows_old(void)
{
        Rendered *rendered = rendered_new();
        g_autoptr(Job) job = new_job(1);

        keep(rendered, job, TEXT_FIXED, 10);
        keep(rendered, job, TEXT_WHOLE, 20);
        g_assert_true(has_at(rendered, job, TEXT_WHOLE, NOW + FRESH));
        g_assert_false(has_at(rendered, job, TEXT_WHOLE, NOW + FRESH + 1));
        g_assert_true(has_at(rendered, job, TEXT_FIXED, NOW + 1000 * FRESH));
        rendered_free(rendered);
}

static void test_number(void)
{
        Rendered *rendered = rendered_new();
        g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func((GDestroyNotify)job_unref);

        for (int i = 0; i < 1025; i++) {
                g_ptr_array_add(jobs, new_job(i));
                keep(rendered, jobs->pdata[i], TEXT_FIXED, 10);
        }
        g_assert_false(has(rendered, jobs->pdata[0], TEXT_FIXED));
        g_assert_true(has(rendered, jobs->pdata[1], TEXT_FIXED) &&
                      has(rendered, jobs->pdata[1024], TEXT_FIXED));
        rendered_free(rendered);
}

static void test_size(void)
{
        Rendered *rendered = rendered_new();
        g_autoptr(Job) one = new_job(1), two = new_job(2), three = new_job(3);

        keep(rendered, one, TEXT_FIXED, 1 << 20);
        keep(rendered, two, TEXT_FIXED, 3 << 20);
        g_assert_true(has(rendered, one, TEXT_FIXED) && has(rendered, two, TEXT_FIXED));
        keep(rendered, two, TEXT_FIXED, 2 << 20); /* in the place of its first text */
        keep(rendered, three, TEXT_FIXED, 1 << 20);
        g_assert_true(has(rendered, one, TEXT_FIXED) && has(rendered, two, TEXT_FIXED));
        keep(rendered, three, TEXT_WHOLE, 1);
        g_assert_false(has(rendered, one, TEXT_FIXED));
        g_assert_true(has(rendered, two, TEXT_FIXED) && has(rendered, three, TEXT_FIXED));
        keep(rendered, one, TEXT_FIXED, 5 << 20); /* larger than all that may be kept */
        g_assert_false(has(rendered, one, TEXT_FIXED) || has(rendered, three, TEXT_FIXED));
        rendered_free(rendered);
}

int main(int argc, char **argv)
{
        g_autoptr(json_t) object = NULL;

        g_test_init(&argc, &argv, NULL);
        json_init();
        object = json_pack("{s:s}", "command", "x");
        spec = spec_parse(object, NULL);
        g_test_add_func("/rendered/object", test_object);
        g_test_add_func("/rendered/whole grows old", test_whole_grows_old);
        g_test_add_func("/rendered/number", test_number);
        g_test_add_func("/rendered/size", test_size);
        int result = g_test_run();
        spec_unref(spec);
        return result;
}
