/* The life cycle, as scenarios: each row is a specification and what happens to it, word by word.
 *
 *   started R I · ready R I · exit R I STATUS · signal R I N · oom R I · lost R I · refused R I TEXT
 *                                                                     the runtime says
 *   prepared · unprepared TEXT                                        of its environment
 *   cancel · pass MS                                                  people and time
 *   is STATE · reason TEXT · because TEXT · events KINDS · attempt N · failures N
 *                                                                     what readers see
 *   kill                                                              a cancel that leaves no grace
 *   start R I · stop R I [GRACE] · forget R I · clean · prepare       was asked for
 *   no start R I · no stop R I                                        was not
 *   placed R I NODE · wrote R I LINE (and exited with 1)
 *   behind R I ADDRESSES · together R I N                             what the start of a member said
 */
#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "engine/test/help.h"

#define PLAIN "{'name':'a','command':['true']"
#define PS                                                                                                   \
        "{'name':'digits','command':['t'],'roles':[{'name':'pserver','replicas':2,'cpu':'500m'},"            \
        "{'name':'trainer','replicas':2,'cpu':'500m','memory':'1Gi'}]"
#define GANG "{'name':'g','framework':'plain','command':['t'],'roles':[{'name':'worker','replicas':3}]"
#define MPI "{'name':'m','framework':'mpi','command':['mpirun','t'],'roles':[{'name':'worker','replicas':2}]"

#define PS_UP                                                                                                \
        "start pserver 0", "start pserver 1", "no start trainer 0", "started pserver 0",                     \
                "started pserver 1", "ready pserver 0", "no start trainer 0", "is starting",                 \
                "ready pserver 1", "start trainer 0", "start trainer 1", "started trainer 0", "is starting", \
                "started trainer 1", "is running"

typedef struct {
        const char *name, *spec;
        bool unprepared; /* environments are not there at once */
        bool gates;      /* the runtime keeps the order of phases */
        bool orders;     /* the same, whatever the phases wait for */
        const char *steps[48];
} Scenario;

static const Scenario scenarios[] = {
        { "succeeds", PLAIN "}",
          .steps = { "is starting", "start worker 0", "started worker 0", "is running", "exit worker 0 0",
                     "is succeeded", "forget worker 0", "clean", "attempt 1", "failures 0",
                     "events job.queued job.starting member.started job.running member.exited "
                     "job.succeeded" } },
        { "ends before its start is reported", PLAIN "}",
          .steps = { "start worker 0", "exit worker 0 0", "is succeeded",
                     "events job.queued job.starting member.exited job.running job.succeeded" } },
        { "fails", PLAIN "}",
          .steps = { "started worker 0", "exit worker 0 3", "is failed",
                     "reason worker-0 exited with status 3; see `paddle logs a --member worker-0`",
                     "failures 1", "forget worker 0", "clean" } },
        { "fails with a last line", PLAIN ",'retries':1}",
          .steps = { "started worker 0", "wrote worker 0 KeyError: 'lr'", "is queued",
                     "because attempt 1 failed: worker-0 exited with status 1; see `paddle logs a --member "
                     "worker-0`; last line: KeyError: 'lr'",
                     "pass 1000", "started worker 0", "wrote worker 0 done \"1\"", "is failed",
                     "reason worker-0 exited with status 1; see `paddle logs a --member worker-0`; last "
                     "line: "
                     "done \"1\"" } },
        { "fails with a last line that has an advice", PLAIN "}",
          .steps = { "started worker 0", "wrote worker 0 ModuleNotFoundError: No module named 'yaml'",
                     "is failed",
                     "reason worker-0 exited with status 1; see `paddle logs a --member worker-0`; last line: "
                     "ModuleNotFoundError: No module named 'yaml'; unless 'yaml' is a module of your own, add pyyaml to "
                     "requirements.txt, or use an image that has it" } },
        { "is killed", PLAIN "}",
          .steps = { "started worker 0", "signal worker 0 9", "is failed",
                     "reason worker-0 was ended by signal 9 (Killed)" } },
        { "runs out of memory",
          "{'name':'a','command':['t'],'roles':[{'name':'worker','replicas':1,'memory':'1Gi'}]}",
          .steps = { "started worker 0", "oom worker 0", "is failed",
                     "reason worker-0 was killed by its memory limit of 1Gi; ask for more with --memory" } },
        { "retries with growing back-off", PLAIN ",'retries':2,'backoff':'1s'}",
          .steps = { "started worker 0",
                     "exit worker 0 1",
                     "is queued",
                     "forget worker 0",
                     "clean",
                     "attempt 1",
                     "because attempt 1 failed: worker-0 exited with status 1",
                     "because tried again in 1.0 s",
                     "pass 999",
                     "is queued",
                     "pass 1",
                     "is starting",
                     "attempt 2",
                     "start worker 0",
                     "started worker 0",
                     "exit worker 0 1",
                     "pass 1999",
                     "is queued",
                     "pass 1",
                     "attempt 3",
                     "start worker 0",
                     "started worker 0",
                     "exit worker 0 1",
                     "is failed",
                     "failures 3" } },
        { "succeeds in its second attempt", PLAIN ",'retries':1}",
          .steps = { "started worker 0", "exit worker 0 1", "pass 1000", "start worker 0", "started worker 0",
                     "exit worker 0 0", "is succeeded", "failures 1",
                     "events job.queued job.starting member.started job.running member.exited job.retrying "
                     "job.starting "
                     "member.started job.running member.exited job.succeeded" } },
        { "has no such program", PLAIN ",'retries':5}",
          .steps = { "impossible worker 0 cannot run 'x': No such file or directory", "is failed",
                     "reason worker-0 could not be started: cannot run 'x': No such file or directory",
                     "failures 1", "forget worker 0" } },
        { "cannot be started for now", PLAIN ",'retries':1}",
          .steps = { "refused worker 0 cannot fork a keeper: Resource temporarily unavailable", "is queued",
                     "pass 1000", "attempt 2", "start worker 0" } },
        { "cannot be started for now, whatever the words", PLAIN ",'retries':1}",
          .steps = { "refused worker 0 'Permission denied' does not exist: No space left on device",
                     "is queued", "pass 1000", "attempt 2", "start worker 0" } },
        { "is lost and repeated without costing a retry", PLAIN "}",
          .steps = { "started worker 0", "lost worker 0", "is queued", "failures 0", "pass 1000", "attempt 2",
                     "start worker 0", "started worker 0", "exit worker 0 0", "is succeeded" } },
        { "is lost and fails as asked", PLAIN ",'on_lost':'fail','retries':3}",
          .steps = { "started worker 0", "lost worker 0", "is failed", "reason worker-0 was lost" } },
        { "is cancelled while starting", PLAIN "}",
          .steps = { "start worker 0", "cancel", "is stopping", "stop worker 0", "started worker 0",
                     "is stopping", "signal worker 0 15", "is cancelled", "reason cancelled by ann",
                     "forget worker 0", "clean",
                     "events job.queued job.starting job.stopping member.exited job.cancelled" } },
        { "is cancelled before it ever ran", PLAIN "}",
          .steps = { "start worker 0", "cancel", "lost worker 0", "is cancelled" } },
        { "is cancelled while running", PLAIN ",'retries':3}",
          .steps = { "started worker 0", "is running", "cancel", "is stopping", "exit worker 0 0",
                     "is cancelled", "attempt 1" } },
        { "is cancelled twice and killed", PLAIN ",'grace':'1d'}",
          .steps = { "started worker 0", "cancel", "is stopping", "stop worker 0 86400000", "cancel",
                     "is stopping", "reason cancelled by ann", "stop worker 0 0", "cancel", "stop worker 0 0",
                     "signal worker 0 9", "is cancelled",
                     "events job.queued job.starting member.started job.running job.stopping job.changed "
                     "member.exited job.cancelled" } },
        { "is killed as asked", PLAIN ",'grace':'1d'}",
          .steps = { "started worker 0", "kill", "is stopping", "stop worker 0 0", "signal worker 0 9",
                     "is cancelled" } },
        { "is killed while it stops for a retry", GANG ",'retries':3,'grace':'1d'}",
          .steps = { "started worker 0", "started worker 1", "started worker 2", "exit worker 0 1",
                     "stop worker 1 86400000", "kill", "stop worker 1 0", "stop worker 2 0",
                     "signal worker 1 9", "signal worker 2 9", "is cancelled" } },
        { "is killed when its time limit gave it a grace", PLAIN ",'time_limit':'1h','grace':'1d'}",
          .steps = { "pass 1000", "started worker 0", "pass 3600000", "stop worker 0 86400000", "cancel",
                     "stop worker 0 0", "signal worker 0 9", "is failed",
                     "reason time limit of 1h reached" } },
        { "is killed while it waits", PLAIN "}", .unprepared = true,
          .steps = { "is queued", "kill", "is cancelled" } },
        { "is cancelled during back-off", PLAIN ",'retries':3}",
          .steps = { "started worker 0", "exit worker 0 1", "is queued", "cancel", "is cancelled",
                     "pass 5000", "is cancelled", "attempt 1" } },
        { "is cancelled while it stops for a retry", GANG ",'retries':3}",
          .steps = { "started worker 0", "started worker 1", "started worker 2", "exit worker 0 1",
                     "is stopping", "cancel", "is stopping", "reason cancelled by ann", "signal worker 1 15",
                     "is stopping", "signal worker 2 15", "is cancelled" } },
        { "is cancelled while its environment is built", PLAIN "}", .unprepared = true,
          .steps = { "is queued", "prepare", "cancel", "is cancelled", "prepared", "is cancelled" } },
        { "reaches its time limit", PLAIN ",'time_limit':'2h','retries':3}",
          .steps = { "pass 1000", "started worker 0", "is running", "pass 7199999", "is running", "pass 1",
                     "is stopping", "stop worker 0", "signal worker 0 15", "is failed",
                     "reason time limit of 2h reached" } },
        { "waits for its environment", PLAIN "}", .unprepared = true,
          .steps = { "is queued", "prepare", "because its environment is being built", "no start worker 0",
                     "prepared", "is starting", "start worker 0",
                     "events job.queued job.environment job.environment job.starting" } },
        { "has no environment", PLAIN ",'retries':3}", .unprepared = true,
          .steps = { "prepare", "unprepared no package named nonsense", "is failed",
                     "reason its environment could not be made: no package named nonsense",
                     "no start worker 0" } },
        { "has requirements that are refused", PLAIN "}", .unprepared = true,
          .steps = { "prepare", "unprepared line 1 is refused\nName the package.", "is failed",
                     "reason its environment could not be made: line 1 is refused. Name the package." } },
        { "parameter servers come first and end with the trainers", PS "}",
          .steps = { PS_UP, "exit trainer 0 0", "is running", "no stop pserver 0", "exit trainer 1 0",
                     "is running", "stop pserver 0", "stop pserver 1", "signal pserver 0 15", "is running",
                     "exit pserver 1 143", "is succeeded", "forget pserver 1", "clean" } },
        { "servers that are not ready are named", PS "}",
          .steps = { "started pserver 0", "started pserver 1", "is starting",
                     "because waits until pserver-0 and 1 more listen on their ports", "ready pserver 0",
                     "because waits until pserver-1 listens on its port", "ready pserver 1",
                     "start trainer 0" } },
        { "a server that ends early fails the job", PS "}",
          .steps = { PS_UP, "exit pserver 1 0", "is stopping",
                     "reason pserver-1 exited with status 0 before the trainers ended: the program does not "
                     "serve parameters, or could not bind its port",
                     "stop pserver 0", "stop trainer 0", "stop trainer 1", "signal trainer 0 15",
                     "signal trainer 1 15", "is stopping", "signal pserver 0 15", "is failed" } },
        { "a server that ends before the trainers start fails the job", PS "}",
          .steps = { "started pserver 0", "ready pserver 0", "started pserver 1", "exit pserver 1 0",
                     "is stopping", "no start trainer 0", "no stop trainer 0", "stop pserver 0",
                     "exit pserver 0 0", "is failed" } },
        { "a trainer that fails stops all", PS ",'retries':1}",
          .steps = { PS_UP, "oom trainer 1", "is stopping",
                     "reason trainer-1 was killed by its memory limit of 1Gi; ask for more with --memory",
                     "signal trainer 0 15", "exit pserver 0 0", "exit pserver 1 0", "is queued", "pass 1000",
                     "attempt 2", "start pserver 0", "no start trainer 0" } },
        { "is cancelled while its servers start", PS "}",
          .steps = { "started pserver 0", "ready pserver 0", "cancel", "is stopping", "stop pserver 0",
                     "stop pserver 1", "no stop trainer 0", "signal pserver 0 15", "signal pserver 1 15",
                     "is cancelled" } },
        { "is cancelled while its servers are stopped", PS "}",
          .steps = { PS_UP, "exit trainer 0 0", "exit trainer 1 0", "stop pserver 0", "cancel", "is stopping",
                     "signal pserver 0 15", "signal pserver 1 15", "is cancelled" } },
        { "no time limit once the work is done", PS ",'time_limit':'1m'}",
          .steps = { PS_UP, "exit trainer 0 0", "exit trainer 1 0", "pass 60000", "is running",
                     "signal pserver 0 15", "signal pserver 1 15", "is succeeded" } },
        { "a lost server after the work is no loss", PS "}",
          .steps = { PS_UP, "exit trainer 0 0", "exit trainer 1 0", "lost pserver 0", "lost pserver 1",
                     "is succeeded" } },
        { "a gang is running when all are", GANG "}",
          .steps = { "start worker 0", "start worker 2", "started worker 0", "started worker 1",
                     "is starting", "started worker 2", "is running", "exit worker 1 0", "exit worker 0 0",
                     "is running", "exit worker 2 0", "is succeeded", "forget worker 1",
                     "forget worker 2" } },
        { "what is told twice counts once", PLAIN ",'retries':1}",
          .steps = { "started worker 0", "started worker 0", "exit worker 0 1", "exit worker 0 1",
                     "is queued", "failures 1", "pass 1000", "attempt 2", "started worker 0",
                     "started worker 0", "exit worker 0 0", "exit worker 0 0", "is succeeded" } },
        { "trainers behind a gate are started with their servers", PS "}", .gates = true,
          .steps = { "start pserver 0",
                     "start pserver 1",
                     "start trainer 0",
                     "start trainer 1",
                     "behind pserver 0 ",
                     "behind trainer 0 127.0.0.1:20000,20004 127.0.0.1:20001",
                     "behind trainer 1 127.0.0.1:20000,20004 127.0.0.1:20001",
                     "together pserver 1 2",
                     "together trainer 0 2",
                     "started pserver 0",
                     "started pserver 1",
                     "is starting",
                     "because waits until pserver-0 and 1 more listen on their ports",
                     "ready pserver 0",
                     "ready pserver 1",
                     "started trainer 0",
                     "is starting",
                     "started trainer 1",
                     "is running",
                     "exit trainer 0 0",
                     "exit trainer 1 0",
                     "stop pserver 0",
                     "stop pserver 1",
                     "exit pserver 0 0",
                     "exit pserver 1 0",
                     "is succeeded",
                     "forget trainer 0",
                     "clean" } },
        { "trainers behind a gate go with a server that fails", PS ",'retries':1}", .gates = true,
          .steps = { "started pserver 0", "exit pserver 0 1", "is stopping", "stop pserver 1",
                     "stop trainer 0", "stop trainer 1", "lost trainer 0", "lost trainer 1",
                     "signal pserver 1 15", "is queued", "pass 1000", "attempt 2", "start pserver 0",
                     "start trainer 0" } },
        { "a gate sees ports, not files", PS ",'ready':'declared'}", .gates = true,
          .steps = { "start pserver 0", "start pserver 1", "no start trainer 0", "started pserver 0",
                     "started pserver 1", "ready pserver 0", "ready pserver 1", "start trainer 0",
                     "behind trainer 0 " } },
        { "a cluster that starts MPI in its order is told of all at once", MPI "}", .orders = true,
          .steps = { "start worker 0", "start worker 1", "start master 0", "started master 0", "is starting",
                     "started worker 0", "started worker 1", "is running", "exit master 0 0", "stop worker 0",
                     "stop worker 1", "signal worker 0 15", "signal worker 1 15", "is succeeded" } },
        { "a server that never listens fails its job", PS "}",
          .steps = { "started pserver 0", "started pserver 1", "pass 599999", "is starting", "pass 1",
                     "is stopping", "stop pserver 0", "stop pserver 1", "signal pserver 0 15",
                     "signal pserver 1 15", "is failed",
                     "reason pserver-0 did not listen on port 20000 within 10m; see `paddle logs digits "
                     "--member pserver-0`; --start-timeout allows more time",
                     "failures 1" } },
        { "a start timeout costs a retry", PS ",'start_timeout':'5s','retries':1}",
          .steps = { "started pserver 0", "started pserver 1", "ready pserver 0", "pass 5000", "is stopping",
                     "reason pserver-1 did not listen on port 20001 within 5s", "signal pserver 0 15",
                     "signal pserver 1 15", "is queued", "pass 1000", "attempt 2", "start pserver 0" } },
        { "each step of a start begins its timeout again", PS "}",
          .steps = { "started pserver 0", "pass 500000", "started pserver 1", "pass 500000", "is starting",
                     "ready pserver 1", "pass 599999", "is starting", "ready pserver 0", "pass 600000",
                     "is starting", "started trainer 0", "started trainer 1", "is running", "pass 600000",
                     "is running" } },
        { "a start without a timeout goes on", PS ",'start_timeout':0}",
          .steps = { "started pserver 0", "started pserver 1", "pass 86400000", "is starting" } },
        { "a server that does not declare itself ready fails its job", PS ",'ready':'declared'}",
          .steps = { "started pserver 0", "started pserver 1", "pass 600000", "is stopping",
                     "reason pserver-0 did not create $PADDLE_READY_FILE within 10m" } },
        { "waiting for a node is no start", PS "}", .gates = true,
          .steps = { "pass 86400000", "is starting", "placed pserver 0 n1", "pass 86400000", "is starting",
                     "placed pserver 1 n2", "pass 599999", "is starting", "pass 1", "is stopping",
                     "reason pserver-0 did not start on node 'n1' within 10m; --start-timeout allows more "
                     "time" } },
        { "trainers that wait for a node do not excuse their servers", PS "}", .gates = true,
          .steps = { "started pserver 0", "started pserver 1", "pass 600000", "is stopping",
                     "reason pserver-0 did not listen on port 20000" } },
        { "MPI's master is started when its workers run", MPI "}", .gates = true,
          .steps = { "start worker 0", "start worker 1", "no start master 0", "started worker 0",
                     "started worker 1", "start master 0" } },
};

/* ---- the words ---- */

typedef struct {
        House *house;
        char *id;
        int attempt;
        char role[32];
        int index;
        const char *rest; /* of the step, after what its word takes */
} Stage;

static char *stage_task(const Stage *stage)
{
        return task_of(stage->id, stage->attempt, stage->role, stage->index);
}

static void say(Stage *stage, ObservationKind kind)
{
        g_autofree char *task = stage_task(stage);

        script_say_kind(stage->house->script, kind, task);
}

static void say_exit(Stage *stage, int status, int signal, bool oom)
{
        g_autofree char *task = stage_task(stage);

        script_say_exit(stage->house->script, task, status, signal, oom);
}

static int number(const char *text)
{
        gint64 value = -1;

        g_assert_true(number_parse("step", text, 0, G_MAXINT, &value, NULL));
        return (int)value;
}

static void do_started(Stage *stage)
{
        say(stage, OBSERVED_STARTED);
}

/* With the last line of its log. */
static void do_wrote(Stage *stage)
{
        g_autofree char *task = stage_task(stage);
        Observation said = { .kind = OBSERVED_EXITED, .exit_code = 1, .last_line = (char *)stage->rest };

        g_strlcpy(said.task, task, sizeof said.task);
        script_say(stage->house->script, &said);
}

static void do_ready(Stage *stage)
{
        say(stage, OBSERVED_READY);
}

static void do_lost(Stage *stage)
{
        say(stage, OBSERVED_LOST);
}

static void do_exit(Stage *stage)
{
        say_exit(stage, number(stage->rest), 0, false);
}

static void do_signal(Stage *stage)
{
        say_exit(stage, -1, number(stage->rest), false);
}

static void do_oom(Stage *stage)
{
        say_exit(stage, -1, 9, true);
}

static void say_start_failed(Stage *stage, bool permanent)
{
        Observation said = { .kind = OBSERVED_START_FAILED,
                             .text = (char *)stage->rest,
                             .permanent = permanent };
        g_autofree char *task = stage_task(stage);

        g_strlcpy(said.task, task, sizeof said.task);
        script_say(stage->house->script, &said);
}

static void do_refused(Stage *stage)
{
        say_start_failed(stage, false);
}

static void do_impossible(Stage *stage)
{
        say_start_failed(stage, true);
}

static void do_prepared(Stage *stage)
{
        script_say_kind(stage->house->script, OBSERVED_PREPARED, stage->id);
}

static void do_unprepared(Stage *stage)
{
        Observation said = { .kind = OBSERVED_PREPARE_FAILED, .text = (char *)stage->rest };

        g_strlcpy(said.task, stage->id, sizeof said.task);
        script_say(stage->house->script, &said);
}

static void do_cancel(Stage *stage)
{
        g_autoptr(GError) error = NULL;

        g_assert_true(house_cancel(stage->house, stage->id, &error));
}

static void do_kill(Stage *stage)
{
        g_autoptr(GError) error = NULL;

        g_assert_true(house_act(stage->house, stage->id, ACT_KILL, &error));
}

static void do_pass(Stage *stage)
{
        house_pass(stage->house, number(stage->rest));
}

static void do_is(Stage *stage)
{
        g_autoptr(Job) job = house_job(stage->house, stage->id);

        g_assert_cmpstr(job_state_name(job->state), ==, stage->rest);
}

static void assert_contains(const char *text, const char *part)
{
        if (!text || !strstr(text, part))
                g_error("'%s' is not in '%s'", part, text ? text : "(none)");
}

static void do_reason(Stage *stage)
{
        g_autoptr(Job) job = house_job(stage->house, stage->id);

        assert_contains(job->reason, stage->rest);
}

static void do_because(Stage *stage)
{
        g_autoptr(Job) job = house_job(stage->house, stage->id);
        g_autofree char *why = engine_explain(stage->house->engine, job);

        assert_contains(why, stage->rest);
}

static void do_events(Stage *stage)
{
        g_autofree char *kinds = house_events(stage->house, stage->id);

        g_assert_cmpstr(kinds, ==, stage->rest);
}

static void do_attempt(Stage *stage)
{
        g_assert_cmpint(stage->attempt, ==, number(stage->rest));
}

static void do_failures(Stage *stage)
{
        g_autoptr(Job) job = house_job(stage->house, stage->id);

        g_assert_cmpint(job->failures, ==, number(stage->rest));
}

static int asked(Stage *stage, const char *verb)
{
        g_autofree char *task = stage_task(stage);
        g_autofree char *line =
                g_strdup_printf("%s %s%s%s", verb, task, *stage->rest ? " " : "", stage->rest);

        return script_count(stage->house->script, line);
}

static void do_start(Stage *stage)
{
        g_assert_cmpint(asked(stage, "start"), ==, 1);
}

static void do_stop(Stage *stage)
{
        g_assert_cmpint(asked(stage, "stop"), ==, 1);
}

static void do_forget(Stage *stage)
{
        g_assert_cmpint(asked(stage, "forget"), ==, 1);
}

static void do_no_start(Stage *stage)
{
        g_assert_cmpint(asked(stage, "start"), ==, 0);
}

static void do_no_stop(Stage *stage)
{
        g_assert_cmpint(asked(stage, "stop"), ==, 0);
}

static void do_clean(Stage *stage)
{
        g_autofree char *line = g_strdup_printf("clean %s %d", stage->id, stage->attempt);

        g_assert_cmpint(script_count(stage->house->script, line), ==, 1);
        g_assert_cmpint(script_leased(stage->house->script), ==, 0);
}

static void do_prepare(Stage *stage)
{
        g_autofree char *line = g_strdup_printf("prepare %s", stage->id);

        g_assert_cmpint(script_count(stage->house->script, line), ==, 1);
}

static void do_placed(Stage *stage)
{
        g_autofree char *task = stage_task(stage);
        Observation said = { .kind = OBSERVED_PLACED, .exit_code = -1, .text = (char *)stage->rest };

        g_strlcpy(said.task, task, sizeof said.task);
        script_say(stage->house->script, &said);
}

static void do_behind(Stage *stage)
{
        g_autofree char *task = stage_task(stage), *addresses = script_waits_for(stage->house->script, task);

        g_assert_cmpstr(addresses, ==, stage->rest);
}

static void do_together(Stage *stage)
{
        g_autofree char *task = stage_task(stage);

        g_assert_cmpint(script_together(stage->house->script, task), ==, number(stage->rest));
}

static const struct {
        const char *word;
        bool of_member;
        void (*run)(Stage *stage);
} words[] = {
        { "started ", true, do_started },    { "ready ", true, do_ready },
        { "placed ", true, do_placed },      { "wrote ", true, do_wrote },
        { "lost ", true, do_lost },          { "exit ", true, do_exit },
        { "signal ", true, do_signal },      { "oom ", true, do_oom },
        { "refused ", true, do_refused },    { "impossible ", true, do_impossible },
        { "prepared", false, do_prepared },  { "unprepared ", false, do_unprepared },
        { "cancel", false, do_cancel },      { "kill", false, do_kill },
        { "pass ", false, do_pass },         { "is ", false, do_is },
        { "reason ", false, do_reason },     { "because ", false, do_because },
        { "events ", false, do_events },     { "attempt ", false, do_attempt },
        { "failures ", false, do_failures }, { "start ", true, do_start },
        { "stop ", true, do_stop },          { "forget ", true, do_forget },
        { "no start ", true, do_no_start },  { "no stop ", true, do_no_stop },
        { "clean", false, do_clean },        { "prepare", false, do_prepare },
        { "behind ", true, do_behind },      { "together ", true, do_together },
};

static void take_member(Stage *stage)
{
        g_auto(GStrv) parts = g_strsplit(stage->rest, " ", 3);

        g_strlcpy(stage->role, parts[0], sizeof stage->role);
        stage->index = number(parts[1]);
        stage->rest = parts[2] ? stage->rest + strlen(parts[0]) + strlen(parts[1]) + 2 : "";
}

static void step(Stage *stage, const char *text)
{
        g_autoptr(Job) job = house_job(stage->house, stage->id);

        stage->attempt = job->attempt;
        for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
                if (!g_str_has_prefix(text, words[i].word))
                        continue;
                stage->rest = text + strlen(words[i].word);
                if (words[i].of_member)
                        take_member(stage);
                words[i].run(stage);
                house_barrier(stage->house);
                return;
        }
        g_error("no such step: '%s'", text);
}

static void test_scenario(gconstpointer data)
{
        const Scenario *scenario = data;
        House *house = house_new();
        Stage stage = { .house = house };

        script_gates(house->script, scenario->gates);
        script_orders(house->script, scenario->orders);
        script_prepared(house->script, !scenario->unprepared);
        stage.id = house_submit_ok(house, scenario->spec);
        house_barrier(house);
        for (gsize i = 0; i < G_N_ELEMENTS(scenario->steps) && scenario->steps[i]; i++) {
                g_test_message("%s", scenario->steps[i]);
                step(&stage, scenario->steps[i]);
        }
        g_free(stage.id);
        house_free(house);
}

/* ---- what needs more than one job or a look inside ---- */

static void test_lost_too_often(void)
{
        House *house = house_new();
        g_autofree char *id = house_submit_ok(house, PLAIN "}");
        g_autoptr(Job) job = NULL;

        for (int attempt = 1; attempt <= 11; attempt++) {
                g_autofree char *task = task_of(id, attempt, "worker", 0);
                g_autofree char *line = g_strdup_printf("start %s", task);

                script_wait(house->script, line, 1);
                script_say_kind(house->script, OBSERVED_STARTED, task);
                script_say_kind(house->script, OBSERVED_LOST, task);
                house_barrier(house);
                house_pass(house, 1000);
        }
        job = house_job(house, id);
        g_assert_cmpint(job->state, ==, JOB_FAILED);
        g_assert_cmpint(job->attempt, ==, 11); /* the first, and ten that repeat a lost one */
        house_free(house);
}

/* An attempt that could not start because of a full disk is tried again until there is space. */
static void test_full_disk(void)
{
        House *house = house_new();
        g_autofree char *id = house_submit_ok(house, PLAIN "}");
        g_autofree char *last = NULL;
        g_autoptr(Job) job = NULL;

        for (int attempt = 1; attempt <= 20; attempt++) {
                g_autofree char *task = task_of(id, attempt, "worker", 0);
                g_autofree char *line = g_strdup_printf("start %s", task);
                Observation said = { .kind = OBSERVED_LOST, .no_space = true };

                script_wait(house->script, line, 1);
                g_strlcpy(said.task, task, sizeof said.task);
                script_say(house->script, &said);
                house_barrier(house);
                house_pass(house, 1000);
        }
        last = task_of(id, 21, "worker", 0);
        script_say_kind(house->script, OBSERVED_STARTED, last);
        script_say_exit(house->script, last, 0, 0, false);
        house_barrier(house);
        job = house_job(house, id);
        g_assert_cmpint(job->state, ==, JOB_SUCCEEDED);
        g_assert_cmpint(job->losses, ==, 0);
        house_free(house);
}

static void test_times(void)
{
        House *house = house_new();
        g_autofree char *id = house_submit_ok(house, PLAIN ",'retries':1}");
        g_autofree char *first = task_of(id, 1, "worker", 0), *second = task_of(id, 2, "worker", 0);
        g_autoptr(Job) job = NULL;

        house_pass(house, 10);
        script_say_kind(house->script, OBSERVED_STARTED, first);
        house_barrier(house);
        house_pass(house, 100);
        script_say_exit(house->script, first, 1, 0, false);
        house_barrier(house);
        house_pass(house, 1000);
        job = house_job(house, id);
        g_assert_cmpint(job->queued_ms, ==, 0);
        g_assert_cmpint(job->starting_ms, ==, 10);
        g_assert_cmpint(job->running_ms, ==, 100);
        g_assert_cmpint(job->admitted, ==, job->submitted + 1110);
        house_pass(house, 20);
        script_say_kind(house->script, OBSERVED_STARTED, second);
        script_say_exit(house->script, second, 0, 0, false);
        g_clear_pointer(&job, job_unref);
        job = house_wait(house, id, JOB_SUCCEEDED);
        g_assert_cmpint(job->running - job->admitted, ==, 20);
        g_assert_cmpint(job->members[0].cpu_us, ==, 1000);
        g_assert_cmpint(job->members[0].peak_memory, ==, 4096);
        g_assert_null(job->reason);
        house_free(house);
}

static void say_at(House *house, ObservationKind kind, const char *task, gint64 time)
{
        Observation said = { .kind = kind, .time = time };

        g_strlcpy(said.task, task, sizeof said.task);
        script_say(house->script, &said);
        house_barrier(house);
}

/* Where members run the clock may be wrong: what it says counts only where it can be. */
static void test_clocks(void)
{
        static const struct {
                gint64 started, ended; /* as told, after the submission */
                gint64 shown_started, shown_ended;
        } cases[] = {
                { 10, 100, 10, 100 },
                { 5, 95, 5, 95 },
                { 10 + G_TIME_SPAN_HOUR, 100 + G_TIME_SPAN_HOUR, 10, 100 },
                { 10 - G_TIME_SPAN_HOUR, 100 - G_TIME_SPAN_HOUR, 10, 100 },
                { 0, 0, 0, 100 }, /* the end is told without a time */
                { 8, 7, 8, 100 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                House *house = house_new();
                g_autofree char *id = house_submit_ok(house, PLAIN "}");
                g_autofree char *task = task_of(id, 1, "worker", 0);
                g_autoptr(Job) before = house_job(house, id);
                g_autoptr(Job) job = NULL;

                house_pass(house, 10);
                say_at(house, OBSERVED_STARTED, task, before->submitted + cases[i].started);
                house_pass(house, 90);
                say_at(house, OBSERVED_EXITED, task, cases[i].ended ? before->submitted + cases[i].ended : 0);
                job = house_wait(house, id, JOB_SUCCEEDED);
                g_assert_cmpint(job->members[0].started - job->submitted, ==, cases[i].shown_started);
                g_assert_cmpint(job->members[0].finished - job->submitted, ==, cases[i].shown_ended);
                g_assert_cmpint(job->running_ms, >=, 0);
                house_free(house);
        }
}

static void test_ready_ways(void)
{
        House *house = house_new();
        g_autofree char *id = house_submit_ok(house, PS "}");
        g_autofree char *task = task_of(id, 1, "pserver", 1), *trainer = task_of(id, 1, "trainer", 0);
        g_autofree char *other = NULL, *file = NULL, *variable = NULL, *none = NULL, *role = NULL;

        script_wait(house->script, "start", 2);
        g_assert_cmpint(script_ready_port(house->script, task), ==, 20001);
        none = script_ready_file(house->script, task);
        g_assert_null(none);
        role = script_variable(house->script, task, "TRAINING_ROLE");
        g_assert_cmpstr(role, ==, "PSERVER");
        g_assert_true(house_cancel(house, id, NULL));
        g_assert_cmpint(script_ready_port(house->script, trainer), ==, -1); /* never started */

        other = house_submit_ok(
                house,
                "{'name':'d','command':['t'],'ready':'declared','roles':[{'name':'pserver','replicas':1,"
                "'cpu':'1'},{'name':'trainer','replicas':1,'cpu':'1'}]}");
        g_free(task);
        task = task_of(other, 1, "pserver", 0);
        script_wait(house->script, "start", 3);
        file = script_ready_file(house->script, task);
        variable = script_variable(house->script, task, "PADDLE_READY_FILE");
        g_assert_nonnull(file);
        g_assert_cmpstr(file, ==, variable);
        g_assert_cmpint(script_ready_port(house->script, task), ==, 0);
        house_free(house);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(scenarios); i++) {
                g_autofree char *path = g_strdup_printf("/cycle/%s", scenarios[i].name);

                g_test_add_data_func(path, &scenarios[i], test_scenario);
        }
        g_test_add_func("/cycle/is lost too often", test_lost_too_often);
        g_test_add_func("/cycle/a full disk", test_full_disk);
        g_test_add_func("/cycle/times", test_times);
        g_test_add_func("/cycle/clocks of nodes", test_clocks);
        g_test_add_func("/cycle/ways of being ready", test_ready_ways);
        return g_test_run();
}
