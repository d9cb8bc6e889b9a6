/* Tolerations of pods, and the taints that they cover. */
#include "runtime/kubernetes/pod/tolerations.h"

#include "base/test/quoted.h"

static void test_tolerations(void)
{
        const Resources cpu = { .cpu_milli = 1000 }, gpu = { .gpus = 1 };
        g_autoptr(json_t) plain = tolerations_of(&cpu), made = tolerations_of(&gpu);
        g_autoptr(json_t) expected =
                json_of("{'key': 'nvidia.com/gpu', 'operator': 'Exists', 'effect': 'NoSchedule'}");

        g_assert_cmpuint(json_array_size(plain), ==, 2);
        for (gsize i = 0; i < 2; i++)
                g_assert_cmpint(json_integer_value(
                                        json_object_get(json_array_get(plain, i), "tolerationSeconds")),
                                ==, 60);
        g_assert_cmpuint(json_array_size(made), ==, 3);
        g_assert_true(json_equal(json_array_get(made, 2), expected));
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/tolerations/of", test_tolerations);
        return g_test_run();
}
