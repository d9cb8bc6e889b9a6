/* Runs and files: lists and conditions in artifacts, paths, directories, and file systems that do not answer. */
#include "engine/test/play.h"

#include <string.h>

#include "base/err.h"
#include "engine/run-files.h"
#include "engine/runs.h"
#include "store/test/faulty.h"

/* One of them fails, some time later. */
static bool is_first_to_fail(const Play *play, const char *path, const char *other)
{
        gint64 patience = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;

        while (g_get_monotonic_time() < patience) {
                if (strcmp(play_state(play, path), "failed") == 0)
                        return true;
                if (strcmp(play_state(play, other), "failed") == 0)
                        return false;
                house_barrier(play->house);
                g_usleep(5000);
        }
        g_error("neither '%s' nor '%s' has failed", path, other);
}

/* C083: at the limit it is refused, below it is read; a directory is refused. */
static void test_limits(void)
{
        static const struct {
                const char *use;
                gsize limit;
        } cases[] = {
                { "    condition: \"'{{i}}' != ''\"\n", 1024 },
                { "    loop_argument: '{{i}}'\n", 1024 * 1024 },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
                for (int below = 0; below < 2; below++) {
                        g_autofree char *text = g_strconcat(HOME WRITES READS, cases[i].use, NULL);
                        House *house = play_house();
                        Play play = play_new(house, text);
                        g_autofree char *content = g_strnfill(cases[i].limit, ' ');

                        memcpy(content, "[1]", 3);
                        play_assert(&play, "a", "running");
                        play_put(&play, "a", "x", content, cases[i].limit - (gsize)below);
                        play_end_job(&play, "a", 0);
                        if (below)
                                play_assert(&play, "b", "running");
                        else
                                play_assert_message(&play, "b", "RE-06: artifact 'i': file system 'home'");
                        play_clear(&play);
                        play_house_free(house);
                }
}

/* A list that brings the run above its limit is not stored, so that the run goes on after a restart. Two loops ask for their
 * lists at once: that whose list is read last fails. */
static void test_list_that_does_not_fit(void)
{
        enum { ITEMS = RUN_NODES_MAX / 2 + 1 };
        House *house = play_house();
        Play play = play_new(house, HOME CONTINUE
                             "parallelism: 2\n" WRITES READS "    loop_argument: '{{i}}'\n"
                             "  c:\n    command: c\n    deps: a\n    artifacts: {input: {i: '{{a.x}}'}}\n"
                             "    loop_argument: '{{i}}'\n");
        g_autofree char *list = g_strnfill(2 * ITEMS + 1, '1');
        bool first;

        for (int i = 0; i <= ITEMS; i++)
                list[2 * i] = i == 0 ? '[' : i < ITEMS ? ',' : ']';
        play_assert(&play, "a", "running");
        play_put(&play, "a", "x", list, strlen(list));
        play_end_job(&play, "a", 0);
        first = is_first_to_fail(&play, "c", "b");
        play_assert_message(&play, first ? "c" : "b", "its loop would bring the run above 1000000 nodes");
        play_assert(&play, first ? "b-1" : "c-1", "running");
        play_restart(&play);
        play_end_job(&play, first ? "b-0" : "c-0", 0);
        play_assert(&play, first ? "b-2" : "c-2", "running");
        play_clear(&play);
        play_house_free(house);
}

static void test_directory(void)
{
        House *house = play_house();
        Play play = play_new(house, HOME WRITES READS "    loop_argument: '{{i}}'\n");
        g_autofree char *path = play_artifact(&play, "a", "x");

        play_assert(&play, "a", "running");
        g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
        play_end_job(&play, "a", 0);
        play_assert_message(&play, "b", "is not a file");
        play_clear(&play);
        play_house_free(house);
}

/* C073, C057: a step gets the paths of all items, and its job has them in variables. */
static void test_paths(void)
{
        House *house = play_house();
        Play play = play_new(
                house, HOME WRITES
                "  b:\n    command: c\n    deps: a\n    artifacts: {input: {i: '{{a.x}}'}, output: [y]}\n"
                "    loop_argument: '{{i}}'\n"
                "  c:\n    command: 'cat {{all}}'\n    deps: b\n    artifacts: {input: {all: '{{b.y}}'}}\n");
        g_autofree char *command = NULL, *want = NULL;
        g_autofree char *first = g_compute_checksum_for_string(G_CHECKSUM_MD5, "p.entry_points.b", -1);
        g_autofree char *second = g_compute_checksum_for_string(G_CHECKSUM_MD5, "p.entry_points.b-1", -1);
        const char *mount = "/home/paddleflow/storage/mnt/fs-ann-home";

        play_assert(&play, "a", "running");
        play_put(&play, "a", "x", "[5,6]", 5);
        play_end_job(&play, "a", 0);
        play_assert(&play, "b-1", "running");
        play_restart(&play); /* how long the loop is lives on */
        play_end_job(&play, "b-0", 0);
        play_end_job(&play, "b-1", 0);
        play_assert(&play, "c", "running");
        command = play_command(&play, "c");
        want = g_strdup_printf("cat %s/.pipeline/%s/p/b-0-%s/y,%s/.pipeline/%s/p/b-1-%s/y", mount, play.id,
                               first, mount, play.id, second);
        g_assert_nonnull(strstr(command, want));
        play_clear(&play);
        play_house_free(house);
}

static void test_artifacts(void)
{
        House *house = play_house();
        Play play = play_new(house, HOME WRITES READS);
        g_autoptr(GError) error = NULL;
        g_autofree char *path = play_artifact(&play, "a", "x");
        const ArtifactRecord *output, *input;

        play_assert(&play, "a", "running");
        play_end_job(&play, "a", 0);
        play_assert(&play, "b", "running");
        g_autoptr(GPtrArray) of_run =
                store_artifacts(house->store, &(ArtifactQuery){ .run = play.seq, .limit = 10 }, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(of_run->len, ==, 2);
        output = of_run->pdata[0];
        input = of_run->pdata[1];
        g_assert_true(output->output && !input->output);
        g_assert_cmpstr(output->name, ==, "x");
        g_assert_cmpstr(input->name, ==, "i");
        g_assert_true(g_str_has_suffix(path, output->path));
        g_assert_cmpstr(output->path, ==, input->path);
        g_assert_cmpstr(output->run_id, ==, play.id);
        g_autoptr(GPtrArray) at = store_artifacts(
                house->store,
                &(ArtifactQuery){
                        .user = "ann", .fs = "home", .path = output->path, .after = output, .limit = 10 },
                &error);
        g_assert_no_error(error);
        g_assert_cmpuint(at->len, ==, 1); /* behind the output there is the input */
        g_autoptr(GPtrArray) other =
                store_artifacts(house->store, &(ArtifactQuery){ .user = "ben", .fs = "home", .limit = 10 },
                                &error);
        g_assert_cmpuint(other->len, ==, 0);
        play_clear(&play);
        play_house_free(house);
}

/* What a step wrote there before is gone when its job begins. */
static void test_prepared(void)
{
        House *house = play_house();
        Play play = play_new(house, HOME "entry_points:\n  b: {command: c}\n"
                                         "  a: {command: c, deps: b, artifacts: {output: [x]}}\n");
        g_autofree char *path = play_artifact(&play, "a", "x"), *dir = g_path_get_dirname(path);

        g_assert_cmpint(g_mkdir_with_parents(dir, 0755), ==, 0);
        play_put(&play, "a", "x", "old", 3);
        play_assert(&play, "b", "running");
        play_end_job(&play, "b", 0);
        play_assert(&play, "a", "running");
        g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
        g_assert_true(g_file_test(dir, G_FILE_TEST_IS_DIR));
        play_clear(&play);
        play_house_free(house);
}

typedef struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        bool hangs;
        int waiting;
        int early; /* so many requests wait, by wait_if_early */
} Gate;

static bool wait_at_gate(const char *user, gint64 seq, bool home, UnixRights **ret, void *arg, GError **error)
{
        Gate *gate = arg;

        pthread_mutex_lock(&gate->lock);
        gate->waiting++;
        pthread_cond_broadcast(&gate->changed);
        while (gate->hangs)
                pthread_cond_wait(&gate->changed, &gate->lock);
        pthread_mutex_unlock(&gate->lock);
        return true;
}

static void await_gate(Gate *gate, int waiting)
{
        pthread_mutex_lock(&gate->lock);
        while (gate->waiting < waiting)
                pthread_cond_wait(&gate->changed, &gate->lock);
        pthread_mutex_unlock(&gate->lock);
}

static void set_gate(Gate *gate, bool hangs)
{
        pthread_mutex_lock(&gate->lock);
        gate->hangs = hangs;
        pthread_cond_broadcast(&gate->changed);
        pthread_mutex_unlock(&gate->lock);
}

static void test_hung(void)
{
        House *house = house_new_cold();
        g_autofree char *homes = g_build_filename(house->dir, "homes", "ann", NULL);
        Gate gate = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, .hangs = true };
        Play hung, other;

        g_assert_cmpint(g_mkdir_with_parents(homes, 0755), ==, 0);
        house->config.homes = g_path_get_dirname(homes);
        house->config.file_rights = wait_at_gate;
        house->config.file_rights_arg = &gate;
        house_open(house);
        house_sync(house);
        hung = play_new(house, HOME WRITES);
        await_gate(&gate, 1);
        other = play_new(house, TWO); /* uses no file system */
        play_assert(&other, "a", "running");
        house_pass(house, 2000);
        g_assert_cmpstr(play_state(&hung, "a"), ==, "none");
        house_pass(house, 31000);
        play_assert_message(&hung, "a", "RE-05: file system 'home' has not answered for 30 s");
        play_assert(&hung, "run", "failed");
        set_gate(&gate, false);
        play_end_job(&other, "a", 0);
        play_assert(&other, "b", "running"); /* the late answer changed nothing */
        g_assert_cmpstr(play_state(&hung, "a"), ==, "failed");
        play_clear(&hung);
        play_clear(&other);
        play_house_free(house);
}

/* A stop does not wait for the file system. */
static void test_stopped_while_hung(void)
{
        House *house = play_house();
        Gate gate = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, .hangs = true };
        g_autoptr(GError) error = NULL;
        Play play;

        house_close(house);
        house->config.file_rights = wait_at_gate;
        house->config.file_rights_arg = &gate;
        house_open(house);
        house_sync(house);
        play = play_new(house, HOME WRITES);
        g_assert_true(play_act(house, play.id, "stop", &error));
        play_assert(&play, "run", "terminated");
        set_gate(&gate, false);
        play_clear(&play);
        play_house_free(house);
}

/* Those that are at the gate stay there; who comes later passes. */
static bool wait_if_early(const char *user, gint64 seq, bool home, UnixRights **ret, void *arg,
                          GError **error)
{
        Gate *gate = arg;
        bool early;

        pthread_mutex_lock(&gate->lock);
        early = gate->waiting < gate->early;
        pthread_mutex_unlock(&gate->lock);
        return !early || wait_at_gate(user, seq, home, ret, arg, error);
}

#define TIMES                                                                                                \
        HOME "cache: {enable: true, fs_scope: [{name: home, path: x}]}\nentry_points:\n  a: {command: c%zu}\n"

/* Reading the times of many files takes long. Short requests go on meanwhile, also on the same file system. */
static void test_times(void)
{
        House *house = play_house();
        g_autofree char *path = g_build_filename(house->config.homes, "ann", "x", NULL);
        Gate gate = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, .hangs = true,
                      .early = RUN_TIMES_OF_PLACE };
        Play searches[RUN_FILES_OF_PLACE + 1], play;

        g_assert_true(g_file_set_contents(path, "1", 1, NULL));
        house_close(house);
        house->config.file_rights = wait_if_early;
        house->config.file_rights_arg = &gate;
        house_open(house);
        house_sync(house);
        for (gsize i = 0; i < G_N_ELEMENTS(searches); i++) {
                g_autofree char *text = g_strdup_printf(TIMES, i);

                searches[i] = play_new(house, text);
        }
        await_gate(&gate, RUN_TIMES_OF_PLACE);
        play = play_new(house, HOME WRITES);
        play_assert(&play, "a", "running");
        for (gsize i = 0; i < G_N_ELEMENTS(searches); i++)
                g_assert_cmpstr(play_state(&searches[i], "a"), ==, "none");
        set_gate(&gate, false);
        for (gsize i = 0; i < G_N_ELEMENTS(searches); i++) {
                play_assert(&searches[i], "a", "running");
                play_clear(&searches[i]);
        }
        play_clear(&play);
        play_house_free(house);
}

typedef struct {
        int done; /* atomic */
        json_t *values;
        GError *error;
} FilesAnswer;

static void note_answer(Engine *engine, const FilesTicket *ticket, const json_t *values, const GError *error)
{
        FilesAnswer *answer = ticket->arg;

        answer->values = json_incref((json_t *)values);
        answer->error = error ? g_error_copy(error) : NULL;
        g_atomic_int_set(&answer->done, 1);
}

/* A request that is cancelled before it begins is answered with an error. */
static void test_cancelled(void)
{
        House *house = play_house();
        FilesGroup *group = files_group_new();
        FilesAnswer answer = { 0 };

        files_group_cancel(group);
        run_files_post(house->engine, &(FilesRequest){ .ticket = { .answered = note_answer, .arg = &answer },
                                                       .kind = FILES_TIMES,
                                                       .user = "ann",
                                                       .fs = "home",
                                                       .paths = json_pack("{s:s}", "all", ""),
                                                       .group = group });
        for (gint64 end = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;
             !g_atomic_int_get(&answer.done) && g_get_monotonic_time() < end;)
                g_usleep(5000);
        g_assert_true(g_atomic_int_get(&answer.done));
        g_assert_null(answer.values);
        assert_error(false, &answer.error, ERR_UNAVAILABLE, "the request has been cancelled");
        play_house_free(house);
}

/* What a question to the file workers takes off the part of the batch that a run has left. */
static guint cost_of_outputs(const Play *play, const char *path)
{
        g_autoptr(GPtrArray) nodes = play_nodes(play);
        const guint32 node = (guint32)play_find(play, nodes, path)->node;
        Engine *engine = play->house->engine;
        guint budget = 100000;
        LiveRun *live;

        house_hold(play->house);
        live = runs_find(engine, play->seq);
        live->memo.work = 0;
        runs_queue_question(&(RunActor){ engine, live, &budget }, ACTION_START, node);
        g_array_set_size(live->asks, 0);
        house_let_go(play->house);
        return 100000 - budget;
}

/* Many files cost more than one: all that is asked for them is made on the engine's thread. */
static void test_cost(void)
{
        g_autoptr(GString) text = g_string_new(HOME "parallelism: 2\nentry_points:\n"
                                                    "  one: {command: c, artifacts: {output: [x]}}\n"
                                                    "  many: {command: c, artifacts: {output: [o0");
        House *house = play_house();
        Play play;
        guint one;

        for (int i = 1; i < 900; i++)
                g_string_append_printf(text, ", o%d", i);
        g_string_append(text, "]}}\n");
        play = play_new(house, text->str);
        play_assert(&play, "one", "running");
        play_assert(&play, "many", "running");
        one = cost_of_outputs(&play, "one");
        g_assert_cmpuint(one, >=, RUN_RENDER_STEPS);
        g_assert_cmpuint(one, <, 2 * RUN_RENDER_STEPS);
        g_assert_cmpuint(cost_of_outputs(&play, "many"), >=, 900 * 64 / RUN_STEP_BYTES);
        play_clear(&play);
        play_house_free(house);
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/engine/runs/content-limits", test_limits);
        g_test_add_func("/engine/runs/list-that-does-not-fit", test_list_that_does_not_fit);
        g_test_add_func("/engine/runs/directory", test_directory);
        g_test_add_func("/engine/runs/paths", test_paths);
        g_test_add_func("/engine/runs/artifacts", test_artifacts);
        g_test_add_func("/engine/runs/prepared", test_prepared);
        g_test_add_func("/engine/runs/files-cost", test_cost);
        g_test_add_func("/engine/runs/hung", test_hung);
        g_test_add_func("/engine/runs/stopped-while-hung", test_stopped_while_hung);
        g_test_add_func("/engine/runs/files-times", test_times);
        g_test_add_func("/engine/runs/files-cancelled", test_cancelled);
        return g_test_run();
}
