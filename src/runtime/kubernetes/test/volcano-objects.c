/* Queues and groups of Volcano: expected values from doc/reference/scheduling.md, "Elastic quota", and
 * "Volcano's queues" to "Handing a job to Volcano". */
#include "runtime/kubernetes/pod/volcano-objects.h"

#include <string.h>

#include "base/test/quoted.h"
#include "kube/kind.h"
#include "model/job.h"

static void test_queues(void)
{
        static const struct {
                Queue queue;
                const char *spec;
        } cases[] = {
                { { .weight = 1 }, "{'weight': 1, 'reclaimable': true}" },
                { { .weight = 3, .keep = true }, "{'weight': 3, 'reclaimable': false}" },
                { { .weight = 1,
                    .quota_type = QUOTA_CAPABILITY,
                    .max = { { .amount = { [RESOURCE_CPU] = 2500, [RESOURCE_MEMORY] = 1024 } }, 3 },
                    .min = { { .amount = { [RESOURCE_CPU] = 1000 } }, 1 } },
                  "{'weight': 1, 'reclaimable': true, 'capability': {'cpu': '2500m', 'memory': '1024'}}" },
                { { .weight = 1,
                    .quota_type = QUOTA_ELASTIC,
                    .max = { { .amount = { [RESOURCE_GPU] = 4 } }, 1u << RESOURCE_GPU },
                    .min = { { .amount = { [RESOURCE_GPU] = 2 } }, 1u << RESOURCE_GPU },
                    .reserved = { { .amount = { [RESOURCE_GPU] = 1 } }, 1u << RESOURCE_GPU } },
                  "{'weight': 1, 'reclaimable': true, 'capability': {'nvidia.com/gpu': '4'}, 'deserved': "
                  "{'nvidia.com/gpu': '2'}, 'guarantee': {'resource': {'nvidia.com/gpu': '1'}}}" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                Queue queue = cases[i].queue;
                g_autoptr(json_t) expected = json_of(cases[i].spec), made = NULL;

                queue.object.name = (char *)"vision";
                made = volcano_queue(&queue, "s3rv3r");
                g_test_message("%zu", i);
                g_assert_cmpstr(kube_name(made), ==, "vision");
                g_assert_cmpstr(kube_label(made, "paddle-server"), ==, "s3rv3r");
                g_assert_true(json_equal(json_object_get(made, "spec"), expected));
        }
}

static void test_groups(void)
{
        static const MemberHome home = { "jobs", "s3rv3r" };
        static const struct {
                const char *spec;
                MemberState states[4];
                const char *group;
        } cases[] = {
                { "{'command': ['x'], 'roles': [{'name': 'worker', 'replicas': 2, 'resources': {'cpu': "
                  "'500m', "
                  "'memory': '1Ki'}}]}",
                  { MEMBER_INTENDED, MEMBER_INTENDED },
                  "{'minMember': 2, 'minResources': {'cpu': '1', 'memory': '2048'}, 'queue': 'vision', "
                  "'priorityClassName': 'high'}" },
                /* two roles; the second waits for the first to listen */
                { "{'command': ['x'], 'framework': 'paddle-ps', 'roles': [{'name': 'pserver', 'replicas': 1, "
                  "'resources': {'cpu': '1'}}, {'name': 'trainer', 'replicas': 2, 'resources': {'cpu': "
                  "'2'}}]}",
                  { MEMBER_INTENDED, MEMBER_WAITING, MEMBER_WAITING },
                  "{'minMember': 1, 'minResources': {'cpu': '1'}, 'queue': 'vision', 'priorityClassName': "
                  "'high'}" },
                { "{'command': ['x'], 'framework': 'paddle-ps', 'roles': [{'name': 'pserver', 'replicas': 1, "
                  "'resources': {'cpu': '1'}}, {'name': 'trainer', 'replicas': 2, 'resources': {'cpu': "
                  "'2'}}]}",
                  { MEMBER_READY, MEMBER_INTENDED, MEMBER_RUNNING },
                  "{'minMember': 3, 'minResources': {'cpu': '5'}, 'queue': 'vision', 'priorityClassName': "
                  "'high'}" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(json_t) text = json_of(cases[i].spec), expected = json_of(cases[i].group),
                                  made = NULL;
                g_autoptr(GError) error = NULL;
                g_autoptr(Spec) spec = spec_parse(text, &error);
                g_autoptr(Job) job = job_new("ann", "job", spec, 0);
                RuntimeAttempt about = { .job = job };
                int n = 0;

                g_assert_no_error(error);
                g_strlcpy(job->id, "0123456789abcdef", sizeof job->id);
                job->attempt = 2;
                job->queue = "vision";
                job->n_members = spec_members(spec);
                job->members = g_new0(Member, (gsize)job->n_members);
                for (int r = 0; r < spec->n_roles; r++)
                        for (int k = 0; k < spec->roles[r].replicas; k++, n++)
                                job->members[n] = (Member){ .state = (guint8)cases[i].states[n],
                                                            .role = (guint8)r,
                                                            .index = k };
                made = volcano_group(&home, &about, "high");
                g_test_message("%zu", i);
                g_assert_cmpstr(kube_name(made), ==, "j-0123456789abcdef-2");
                g_assert_cmpstr(kube_namespace(made), ==, "jobs");
                g_assert_true(json_equal(json_object_get(made, "spec"), expected));
        }
}

static void test_why(void)
{
#define WAITS "'conditions': [{'type': 'Unschedulable', 'status': 'True', 'message': '3/3 tasks'}]"
        static const struct {
                const char *status, *has[3]; /* has[0] NULL: nothing is said */
        } cases[] = {
                { "{}", { "'q'", "is new" } },
                { "{'phase': 'Pending'}", { "'q'", "is Pending" } },
                { "{'phase': 'Pending', " WAITS "}", { "'q'", "is Pending", "3/3 tasks" } },
                { "{'phase': 'Inqueue', " WAITS "}", { "nodes", "is Inqueue", "3/3 tasks" } },
                { "{'phase': 'Running', " WAITS "}", { NULL } },
                { "{'phase': 'Completed'}", { NULL } },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text =
                        g_strdup_printf("{'metadata': {'name': 'g'}, 'spec': {'queue': 'q'}, 'status': %s}",
                                        cases[i].status);
                g_autoptr(json_t) group = json_of(text);
                g_autofree char *why = volcano_group_why(group);

                g_test_message("%s: %s", cases[i].status, why ? why : "-");
                g_assert_true(!why == !cases[i].has[0]);
                g_assert_true(volcano_group_waits(group) == (cases[i].has[0] != NULL));
                for (gsize k = 0; k < 3 && cases[i].has[k]; k++)
                        g_assert_nonnull(strstr(why, cases[i].has[k]));
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/volcano/queues", test_queues);
        g_test_add_func("/volcano/groups", test_groups);
        g_test_add_func("/volcano/why", test_why);
        return g_test_run();
}
