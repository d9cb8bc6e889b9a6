/* Histograms of /metrics, in Prometheus' text format: buckets are cumulative, and "+Inf" has all. */
#include "operator/probe.h"

static double tenfold_s(int bucket)
{
        static const double bounds_s[] = { 0.1, 1, 10 };

        return bounds_s[bucket];
}

/* What is longer than the highest bound is counted by "+Inf" only. */
static void test_histogram(void)
{
        static const guint64 buckets[] = { 4, 0, 2, 1 };
        g_autoptr(GString) out = g_string_new(NULL);

        probe_put_histogram(out, "wait_seconds", "name=\"a\"",
                            &(ProbeHistogram){ buckets, G_N_ELEMENTS(buckets) - 1, tenfold_s, 112.5 });
        g_assert_cmpstr(out->str, ==,
                        "wait_seconds_bucket{name=\"a\",le=\"0.1\"} 4\n"
                        "wait_seconds_bucket{name=\"a\",le=\"1\"} 4\n"
                        "wait_seconds_bucket{name=\"a\",le=\"10\"} 6\n"
                        "wait_seconds_bucket{name=\"a\",le=\"+Inf\"} 7\n"
                        "wait_seconds_sum{name=\"a\"} 112.500000\n"
                        "wait_seconds_count{name=\"a\"} 7\n");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/operator/probe/histogram", test_histogram);
        return g_test_run();
}
