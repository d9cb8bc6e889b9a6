/* Jobs: the table of states against the drawing, times, copies, the store's text, the representation, and
 * memory. */
#include "model/job.h"

#include <malloc.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"

/* The drawings of doc/internals/design.md 4 and job.h, arrow by arrow. Every open state may also be stopped. */
static const struct {
        JobState from, to;
} arrows[] = {
        { JOB_SUBMITTED, JOB_QUEUED },    { JOB_QUEUED, JOB_ADMITTED },      { JOB_ADMITTED, JOB_STARTING },
        { JOB_STARTING, JOB_RUNNING },    { JOB_RUNNING, JOB_SUCCEEDED },    { JOB_RUNNING, JOB_FAILED },
        { JOB_QUEUED, JOB_SUSPENDED },    { JOB_SUSPENDED, JOB_QUEUED },     { JOB_RUNNING, JOB_PREEMPTING },
        { JOB_PREEMPTING, JOB_QUEUED },   { JOB_PREEMPTING, JOB_PREEMPTED }, { JOB_STOPPING, JOB_CANCELLED },
        { JOB_STOPPING, JOB_FAILED },     { JOB_STOPPING, JOB_QUEUED },      { JOB_STARTING, JOB_QUEUED },
        { JOB_STARTING, JOB_PREEMPTING }, { JOB_STOPPING, JOB_SUSPENDED },   { JOB_STOPPING, JOB_PREEMPTED },
        { JOB_RUNNING, JOB_QUEUED },      { JOB_SUBMITTED, JOB_STOPPING },   { JOB_QUEUED, JOB_STOPPING },
        { JOB_SUSPENDED, JOB_STOPPING },  { JOB_ADMITTED, JOB_STOPPING },    { JOB_STARTING, JOB_STOPPING },
        { JOB_RUNNING, JOB_STOPPING },    { JOB_PREEMPTING, JOB_STOPPING },
};

static bool is_drawn(JobState from, JobState to)
{
        for (size_t i = 0; i < G_N_ELEMENTS(arrows); i++)
                if (arrows[i].from == from && arrows[i].to == to)
                        return true;
        return false;
}

static Job *new_job(const char *text)
{
        g_autofree char *quoted = g_strdelimit(g_strdup(text), "`", '"');
        g_autoptr(GError) error = NULL;
        g_autoptr(json_t) object = json_parse(quoted, strlen(quoted), &error);
        g_autoptr(Spec) spec = spec_parse(object, &error);

        g_assert_no_error(error);
        return job_new("ann", "digits", spec, 1000);
}

#define PS                                                                                                   \
        "{`command`:`x`,`retries`:2,`roles`:[{`name`:`pserver`,`memory`:1000},{`name`:`trainer`,`replicas`:" \
        "2,`cpu`:2}]}"

static void test_table(void)
{
        for (int from = 0; from < JOB_STATES; from++) {
                bool final = from == JOB_SUCCEEDED || from == JOB_FAILED || from == JOB_CANCELLED ||
                             from == JOB_PREEMPTED;

                g_assert_cmpint(job_state_is_final(from), ==, final);
                for (int to = 0; to < JOB_STATES; to++) {
                        g_autoptr(Job) job = new_job("{`command`:`x`}");
                        g_autoptr(GError) error = NULL;
                        bool ok;

                        job->state = (guint8)from;
                        ok = job_move(job, to, 5, &error);
                        g_assert_cmpint(ok, ==, is_drawn(from, to));
                        g_assert_cmpint(job_state_can(from, to), ==, ok);
                        g_assert_cmpint(job->state, ==, ok ? to : from);
                        g_assert_cmpint(err_is(error, ERR_CONFLICT), ==, !ok);
                }
        }
}

static void test_words(void)
{
        static const char *const words[] = { "submitted", "queued",  "suspended",  "admitted",
                                             "starting",  "running", "preempting", "stopping",
                                             "succeeded", "failed",  "cancelled",  "preempted" };
        JobState state;
        MemberState member;

        g_assert_cmpint(G_N_ELEMENTS(words), ==, JOB_STATES);
        for (int i = 0; i < JOB_STATES; i++) {
                g_assert_cmpstr(job_state_name(i), ==, words[i]);
                g_assert_true(job_state_parse(words[i], &state) && (int)state == i);
        }
        g_assert_false(job_state_parse("Running", &state));
        for (int i = 0; i < MEMBER_STATES; i++)
                g_assert_true(member_state_parse(member_state_name(i), &member) && (int)member == i);
        g_assert_false(member_state_parse("", &member));
}

static void test_move_times(void)
{
        g_autoptr(Job) job = new_job("{`command`:`x`}");
        g_autoptr(GError) error = NULL;
        static const JobState path[] = { JOB_QUEUED, JOB_ADMITTED, JOB_STARTING, JOB_RUNNING, JOB_SUCCEEDED };

        for (size_t i = 0; i < G_N_ELEMENTS(path); i++)
                g_assert_true(job_move(job, path[i], 2000 + (gint64)i, &error));
        g_assert_true(job->submitted == 1000 && job->admitted == 2001 && job->running == 2003 &&
                      job->finished == 2004);
        g_assert_false(job_move(job, JOB_QUEUED, 1, &error));
        g_assert_true(g_str_has_prefix(error->message, "job 'digits' ("));
        g_assert_true(g_str_has_suffix(error->message, "no way from succeeded to queued"));
}

/* A running job with an ended server and two trainers. */
static Job *full_job(void)
{
        Job *job = new_job(PS);

        job->seq = 7;
        job->revision = 42;
        job->state = JOB_RUNNING;
        job->stop_to = JOB_CANCELLED;
        job->attempt = 2;
        job->failures = 1;
        job->idempotency_key = g_strdup("k1");
        job->reason = g_strdup("bytes \xff and 'ticks'");
        *job_add_preparation(job, PREPARE_ENVIRONMENT, PREPARATION_READY) = (Preparation){
                .kind = PREPARE_ENVIRONMENT, .state = PREPARATION_READY, .begun = 1100, .ready = 1300
        };
        job->admitted = 3000;
        job->running = 3500;
        job->not_before = 2500;
        job->queued_ms = 200;
        job->starting_ms = 300;
        job->running_ms = 400;
        job->extra_port = 8000;
        job->losses = 2;
        job->queue = g_intern_string("q1");
        job->priority = -7;
        job->labels = g_strsplit("a=1 b=2", " ", -1);
        job->annotations = g_new0(char *, 1); /* changed to none */
        job->spec_seq = 5;
        job->array_seq = 5;
        job->array_index = 2;
        job->array_max = 50;
        job->after = g_strsplit("ok:first any:second", " ", -1);
        job->saved = 4000;
        job->evictions = 3;
        job->evicted_for = g_strdup("0123456789abcdef");
        job->warned = job->settled = true;
        job->kill_at = 9000;
        job->n_members = 3;
        job->members = g_new0(Member, 3);
        job->members[0] = (Member){ .state = MEMBER_EXITED,
                                    .exit_code = 3,
                                    .port = 6000,
                                    .pid = 12,
                                    .started = 3000,
                                    .finished = 5000,
                                    .peak_memory = 500,
                                    .cpu_us = 1000000,
                                    .error = g_strdup("no such program") };
        job->members[1] = (Member){ .state = MEMBER_RUNNING,
                                    .role = 1,
                                    .exit_code = -1,
                                    .port = 7000,
                                    .started = 3100,
                                    .gpus = g_strdup("0,1") };
        job->members[2] = (Member){
                .state = MEMBER_LOST, .role = 1, .index = 1, .signal = 9, .oom = true, .exit_code = -1
        };
        return job;
}

/* The stored form of the one preparation of a job of today, whichever kind its cluster makes. */
static void test_pack_environment(void)
{
        static const char stored[] =
                "{\"env_state\":2,\"submitted\":1000,\"env_begun\":1100,\"env_ready\":1300}";

        for (int kind = 0; kind < PREPARE_KINDS; kind++) {
                g_autoptr(Job) job = new_job("{`command`:`x`}");
                g_autoptr(GError) error = NULL;
                g_autofree char *text = NULL;
                Preparation *one = job_add_preparation(job, (PreparationKind)kind, PREPARATION_READY);

                one->begun = 1100;
                one->ready = 1300;
                text = job_pack(job);
                g_assert_cmpstr(text, ==, stored);
                g_assert_true(job_unpack(job, stored, &error));
                g_assert_no_error(error);
                g_assert_cmpint(job->n_preparations, ==, 1);
                one = &job->preparations[0];
                g_assert_true(one->kind == PREPARE_ENVIRONMENT && one->state == PREPARATION_READY &&
                              one->begun == 1100 && one->ready == 1300);
        }
}

/* Several are stored with their kinds. */
static void test_pack_preparations(void)
{
        static const char stored[] = "{\"env_state\":3,\"submitted\":1000,\"preparations\":["
                                     "{\"state\":1,\"begun\":1100,\"kind\":\"image\"}]}";
        g_autoptr(Job) job = new_job("{`command`:`x`}"), back = full_job();
        g_autoptr(GError) error = NULL;
        g_autofree char *text = NULL;

        (void)job_add_preparation(job, PREPARE_ENVIRONMENT, PREPARATION_FAILED);
        job_add_preparation(job, PREPARE_IMAGE, PREPARATION_RUNNING)->begun = 1100;
        text = job_pack(job);
        g_assert_cmpstr(text, ==, stored);
        g_assert_true(job_unpack(back, text, &error));
        g_assert_no_error(error);
        g_assert_cmpint(back->n_preparations, ==, 2);
        g_assert_cmpint(job_preparation(back, PREPARE_ENVIRONMENT)->state, ==, PREPARATION_FAILED);
        g_assert_cmpint(job_preparation(back, PREPARE_IMAGE)->state, ==, PREPARATION_RUNNING);
        g_assert_cmpint(job_preparation(back, PREPARE_IMAGE)->begun, ==, 1100);
}

static void assert_same(const Job *a, const Job *b)
{
        g_autofree char *x = job_pack(a), *y = job_pack(b);

        g_assert_cmpstr(x, ==, y);
}

static void test_pack(void)
{
        g_autoptr(Job) job = full_job(), back = job_new("ann", "digits", job->spec, 0),
                       plain = new_job("{`command`:`x`}");
        g_autofree char *text = job_pack(job), *small = job_pack(plain);
        g_autoptr(GError) error = NULL;

        g_assert_true(job_unpack(back, text, &error));
        g_assert_no_error(error);
        assert_same(job, back);
        g_assert_cmpint(back->n_members, ==, 3);
        g_assert_cmpint(back->revision, ==, 42);
        g_assert_cmpint(back->members[1].exit_code, ==, -1);
        g_assert_cmpstr(back->members[1].gpus, ==, "0,1");
        g_assert_cmpstr(back->members[0].error, ==, "no such program");
        g_assert_cmpint(back->members[2].index, ==, 1);
        g_assert_true(back->members[2].oom && back->members[2].signal == 9);
        g_assert_true(g_str_has_prefix(back->reason, "bytes ")); /* invalid UTF-8 is replaced, not lost */
        g_assert_true(job_unpack(back, text, &error));           /* into a job with other values */
        assert_same(job, back);
        g_assert_cmpstr(small, ==, "{\"submitted\":1000}");
        g_assert_cmpint(back->losses, ==, 2);
        g_assert_cmpstr(back->queue, ==, "q1");
        g_assert_true(back->queue == g_intern_string("q1"));
        g_assert_cmpint(back->priority, ==, -7);
        g_assert_cmpstr(back->labels[1], ==, "b=2");
        g_assert_true(back->annotations && !back->annotations[0] && !*job_annotations(back));
        g_assert_true(back->spec_seq == 5 && back->array_seq == 5);
        g_assert_true(back->array_index == 2 && back->array_max == 50);
        g_assert_cmpstr(back->after[1], ==, "any:second");
        g_assert_true(back->saved == 4000 && back->evictions == 3 && back->warned && back->settled &&
                      back->kill_at == 9000);
        g_assert_cmpstr(back->evicted_for, ==, "0123456789abcdef");
}

/* A text of a server without queues; and unpacking into a job that had more fields. */
static void test_unpack_older(void)
{
        static const char older[] =
                "{\"revision\":9,\"attempt\":1,\"submitted\":1000,\"members\":[{\"exit_code\":0}]}";
        g_autoptr(Job) job = full_job();
        g_autoptr(GError) error = NULL;

        g_assert_true(job_unpack(job, older, &error));
        g_assert_cmpstr(job->queue, ==, "default");
        g_assert_true(job->priority == 0 && job->array_index == -1 && job->array_seq == 0 &&
                      job->array_max == 0);
        g_assert_true(job->spec_seq == 7 && job->seq == 7);
        g_assert_true(!job->labels && !job->annotations && !job->after && !job->evicted_for);
        g_assert_cmpint(job->n_preparations, ==, 0);
        g_assert_true(!job->warned && !job->settled && job->saved == 0 && job->evictions == 0 &&
                      job->kill_at == 0);
        g_assert_true(job_labels(job) == (char *const *)job->spec->labels);
}

static void test_unpack_refused(void)
{
        static const char *const bad[] = { "",
                                           "[]",
                                           "{\"env_state\":9}",
                                           "{\"preparations\":[1]}",
                                           "{\"preparations\":[{\"kind\":\"magic\",\"state\":1}]}",
                                           "{\"preparations\":[{\"kind\":\"image\"}]}",
                                           "{\"preparations\":[{\"kind\":\"image\",\"state\":1},"
                                           "{\"kind\":\"image\",\"state\":1}]}",
                                           "{\"env_state\":1,\"preparations\":"
                                           "[{\"kind\":\"environment\",\"state\":1}]}",
                                           "{\"attempt\":-1}",
                                           "{\"members\":[1]}",
                                           "{\"members\":[{\"role\":2}]}",
                                           "{\"members\":[{\"state\":8}]}",
                                           "{\"members\":[{\"port\":65536}]}",
                                           "{\"reason\":5}",
                                           "{\"array_index\":-2}",
                                           "{\"after\":\"x\"}",
                                           "{\"labels\":[1]}",
                                           "{\"queue\":1}",
                                           "{\"warned\":2}" };

        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
                g_autoptr(Job) job = new_job(PS);
                g_autoptr(GError) error = NULL;

                g_assert_false(job_unpack(job, bad[i], &error));
                g_assert_true(err_is(error, ERR_INVALID));
        }
}

/* A draft shares nothing variable with the view from which it was made. */
static void test_draft(void)
{
        g_autoptr(Job) job = full_job();
        g_autofree char *before = job_pack(job), *after = NULL;
        Job *draft = job_draft(job);

        g_assert_true(draft->spec == job->spec && draft->members != job->members && draft->seq == 7);
        assert_same(job, draft);
        draft->members[1].gpus[0] = '7';
        draft->members[0].state = MEMBER_LOST;
        draft->reason[0] = 'X';
        draft->labels[0][0] = 'X';
        draft->after[0][0] = 'X';
        draft->preparations[0].state = PREPARATION_FAILED;
        draft->evicted_for[0] = 'X';
        g_clear_pointer(&draft->annotations, g_strfreev);
        job_unref(draft);
        after = job_pack(job);
        g_assert_cmpstr(before, ==, after);
        job_unref(job_ref(job));
        job_unref(NULL);
}

static json_t *at(const json_t *value, const char *path)
{
        g_auto(GStrv) parts = g_strsplit(path, ".", -1);

        for (char **part = parts; *part; part++)
                value = json_is_array(value) ? json_array_get(value, (size_t)(**part - '0'))
                                             : json_object_get(value, *part);
        return (json_t *)value;
}

static void test_format(void)
{
        static const struct {
                const char *path, *json;
        } cases[] = {
                { "name", "\"digits\"" },
                { "user", "\"ann\"" },
                { "state", "\"failed\"" },
                { "framework", "\"paddle-ps\"" },
                { "attempt", "2" },
                { "retries", "2" },
                { "failures", "1" },
                { "revision", "42" },
                { "environment", "\"ready\"" },
                { "roles.0",
                  "{\"name\":\"pserver\",\"replicas\":1,\"running\":0,\"succeeded\":0,\"failed\":1}" },
                { "roles.1",
                  "{\"name\":\"trainer\",\"replicas\":2,\"running\":1,\"succeeded\":0,\"failed\":1}" },
                { "submitted_at", "\"1970-01-01T00:00:01.000Z\"" },
                { "finished_at", "\"1970-01-01T00:00:06.000Z\"" },
                { "not_before", "\"1970-01-01T00:00:02.500Z\"" },
                { "stages",
                  "{\"queued_ms\":1300,\"environment_ms\":200,\"starting_ms\":800,\"running_ms\":2900}" },
                { "usage",
                  "{\"cpu_ms\":1000,\"peak_memory\":500,\"cpu_efficiency\":0.5,\"memory_efficiency\":0.5}" },
                { "members.0.name", "\"pserver-0\"" },
                { "members.0.exit_code", "3" },
                { "members.0.signal", "null" },
                { "members.0.error", "\"no such program\"" },
                { "members.0.cpu_ms", "1000" },
                { "members.1", "{\"name\":\"trainer-0\",\"role\":\"trainer\",\"index\":0,\"state\":"
                               "\"running\",\"pid\":0,\"port\":7000,"
                               "\"gpus\":\"0,1\",\"exit_code\":null,\"signal\":null,\"oom\":false,\"started_"
                               "at\":\"1970-01-01T00:00:03.100Z\","
                               "\"finished_at\":null,\"cpu_ms\":0,\"peak_memory\":0,\"error\":null}" },
                { "members.2.signal", "9" },
                { "members.2.oom", "true" },
                { "members.2.exit_code", "null" },
                { "spec.retries", "2" },
                { "queue", "\"q1\"" },
                { "priority", "-7" },
                { "labels", "{\"a\":\"1\",\"b\":\"2\"}" },
                { "annotations", "{}" },
                { "array", "{\"index\":2,\"max\":50}" },
                { "after", "[\"ok:first\",\"any:second\"]" },
                { "evictions", "3" },
                { "evicted_for", "\"0123456789abcdef\"" },
                { "saved_at", "\"1970-01-01T00:00:04.000Z\"" },
        };
        g_autoptr(Job) job = full_job();
        g_autoptr(json_t) object = NULL;

        job->state = JOB_FAILED;
        job->finished = 6000;
        object = job_format(job, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = json_format(at(object, cases[i].path));

                g_test_message("%s", cases[i].path);
                g_assert_cmpstr(text, ==, cases[i].json);
        }
}

/* A new job: only the computed reason, no usage, a growing time in the queue. */
static void test_format_queued(void)
{
        g_autoptr(Job) job = new_job("{`command`:`x`}");
        g_autoptr(json_t) object = NULL, waiting = NULL;

        job->submitted = clock_now_ms() - 5000;
        object = job_format(job, NULL);
        waiting = job_format(job, "waits for 2 cores");
        g_assert_cmpstr(json_string_value(at(object, "reason")), ==, "");
        g_assert_cmpstr(json_string_value(at(waiting, "reason")), ==, "waits for 2 cores");
        g_assert_cmpint(json_integer_value(at(object, "stages.queued_ms")), >=, 5000);
        g_assert_cmpint(json_integer_value(at(object, "stages.starting_ms")), ==, 0);
        g_assert_cmpint(json_integer_value(at(object, "stages.environment_ms")), ==, 0);
        g_assert_true(json_is_null(at(object, "usage.cpu_efficiency")) &&
                      json_is_null(at(object, "admitted_at")));
        g_assert_cmpint(json_array_size(at(object, "members")), ==, 0);
        g_assert_cmpstr(json_string_value(at(object, "queue")), ==, "default");
        g_assert_true(json_is_null(at(object, "array")) && json_is_null(at(object, "saved_at")));
        g_assert_cmpint(json_array_size(at(object, "after")), ==, 0);
}

/* The specification's sizes hold until they are changed; surplus members neither run nor have failed. */
static void test_format_elastic(void)
{
        g_autoptr(Job) job = new_job("{`command`:`x`,`queue`:`q2`,`priority`:`high`,`labels`:{`a`:`1`},"
                                     "`roles`:[{`name`:`worker`,`replicas`:3,`min`:1}]}");
        g_autoptr(json_t) object = NULL;
        g_autofree char *roles = NULL;

        g_assert_true(job->priority == 100 && job->queue == g_intern_string("q2"));
        job->state = JOB_RUNNING;
        job->n_members = 3;
        job->members = g_new0(Member, 3);
        for (int i = 0; i < 3; i++)
                job->members[i] = (Member){ .index = i, .exit_code = -1, .state = MEMBER_SURPLUS };
        job->members[0].state = MEMBER_READY;
        object = job_format(job, NULL);
        g_assert_cmpstr(json_string_value(at(object, "labels.a")), ==, "1");
        g_assert_cmpstr(json_string_value(at(object, "members.2.state")), ==, "surplus");
        roles = json_format(at(object, "roles.0"));
        g_assert_cmpstr(roles, ==,
                        "{\"name\":\"worker\",\"replicas\":3,\"running\":1,\"succeeded\":0,\"failed\":0}");
}

/* Servers that were stopped because the work is done have not failed. */
static void test_format_servers(void)
{
        g_autoptr(Job) job = full_job();
        g_autoptr(json_t) object = NULL;

        job->state = JOB_SUCCEEDED;
        job->members[0].exit_code = -1;
        job->members[0].signal = 15;
        object = job_format(job, NULL);
        g_assert_cmpint(json_integer_value(at(object, "roles.0.succeeded")), ==, 1);
        g_assert_cmpint(json_integer_value(at(object, "roles.0.failed")), ==, 0);
}

/* Attempts of servers without memory_share: if a role declared CPU, each member had one core. */
static void test_old_shares(void)
{
        static const struct {
                const char *roles, *packed;
                int cpu;
                gint64 memory;
        } cases[] = {
                { "[{`name`:`worker`,`replicas`:4}]", "{\"cpu_share\":250}", 250, 0 },
                { "[{`name`:`worker`,`replicas`:4}]", "{}", -1, 0 },
                { "[{`name`:`pserver`,`cpu`:1},{`name`:`trainer`,`replicas`:3}]", "{\"cpu_share\":250}", 1000,
                  0 },
                { "[{`name`:`pserver`,`cpu`:1},{`name`:`trainer`,`replicas`:3}]",
                  "{\"cpu_share\":250,\"memory_share\":0}", 250, 0 },
                { "[{`name`:`worker`}]", "{\"cpu_share\":4000,\"memory_share\":1048576}", 4000, 1048576 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = g_strdup_printf("{`command`:`x`,`roles`:%s}", cases[i].roles);
                g_autoptr(Job) job = new_job(text);
                g_autoptr(GError) error = NULL;
                SpecShare share;

                g_assert_true(job_unpack(job, cases[i].packed, &error));
                g_assert_no_error(error);
                share = job_share(job);
                g_assert_cmpint(share.cpu_milli, ==, cases[i].cpu);
                g_assert_cmpint(share.memory, ==, cases[i].memory);
        }
}

/* Memory holds a hundred thousand waiting jobs: one may use 1.2 KB with its specification. */
static void test_weight(void)
{
        enum { JOBS = 1000, WEIGHT_MAX = 1200 };
        g_autoptr(GPtrArray) jobs = g_ptr_array_new_with_free_func((GDestroyNotify)job_unref);
        size_t before, after;

        g_ptr_array_set_size(jobs, JOBS);
        before = mallinfo2().uordblks;
        for (int i = 0; i < JOBS; i++) {
                Job *job =
                        new_job("{`name`:`digits`,`command`:[`python`,`train.py`],`env`:{`NUM_PASS`:`5`}}");

                job->state = JOB_QUEUED;
                job->reason =
                        g_strdup("waits for 2 cores: asks for 4, 2 of 8 are free; 3 jobs are ahead of it");
                jobs->pdata[i] = job;
        }
        after = mallinfo2().uordblks;
        if (after == before) {
                g_test_skip("this allocator does not count");
                return;
        }
        g_test_message("%zu bytes a job", (after - before) / JOBS);
        g_assert_cmpint((after - before) / JOBS, <=, WEIGHT_MAX);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/job/table", test_table);
        g_test_add_func("/job/words", test_words);
        g_test_add_func("/job/move-times", test_move_times);
        g_test_add_func("/job/pack", test_pack);
        g_test_add_func("/job/pack-environment", test_pack_environment);
        g_test_add_func("/job/pack-preparations", test_pack_preparations);
        g_test_add_func("/job/unpack-older", test_unpack_older);
        g_test_add_func("/job/unpack-refused", test_unpack_refused);
        g_test_add_func("/job/draft", test_draft);
        g_test_add_func("/job/format", test_format);
        g_test_add_func("/job/format-queued", test_format_queued);
        g_test_add_func("/job/format-elastic", test_format_elastic);
        g_test_add_func("/job/format-servers", test_format_servers);
        g_test_add_func("/job/old-shares", test_old_shares);
        g_test_add_func("/job/weight", test_weight);
        return g_test_run();
}
