/* A run in a test of the engine (see play.h). */
#include "engine/test/play.h"

#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "store/test/faulty.h"

void play_note_answer(const RunRecord *run, bool repeated, const GError *error, void *arg)
{
        RunAnswer *answer = arg;

        answer->repeated = repeated;
        answer->error = error ? g_error_copy(error) : NULL;
        if (run) {
                answer->run = g_new0(RunRecord, 1);
                answer->run->seq = run->seq;
                answer->run->state = run->state;
                g_strlcpy(answer->run->id, run->id, sizeof answer->run->id);
        }
        g_atomic_int_set(&answer->done, 1);
}

/* Most texts here leave out the name. */
static char *with_name(const char *text)
{
        return g_str_has_prefix(text, "name:") ? g_strdup(text) : g_strconcat("name: p\n", text, NULL);
}

static int atoi_of(const char *text)
{
        gint64 n = 0;

        g_assert_true(number_parse("value", text, 0, 1000, &n, NULL));
        return (int)n;
}

char *play_create(House *house, const char *text, const char *request, const char *key, gint64 *ret_seq,
                  GError **error)
{
        g_autofree char *quoted = request ? g_strdelimit(g_strdup(request), "'", '"') : NULL;
        g_autoptr(json_t) object = quoted ? json_parse(quoted, strlen(quoted), error) : NULL;
        g_autofree char *whole = with_name(text);
        RunAnswer *answer = g_new0(RunAnswer, 1);
        char *id;

        engine_create_run(house->engine,
                          &(EngineRun){
                                  .user = "ann", .text = whole, .request = object, .idempotency_key = key },
                          play_note_answer, answer);
        house_barrier(house);
        if (answer->error)
                g_propagate_error(error, answer->error);
        id = answer->run ? g_strdup(answer->run->id) : NULL;
        if (answer->run && ret_seq)
                *ret_seq = answer->run->seq;
        run_record_free(answer->run);
        g_free(answer);
        return id;
}

bool play_act(House *house, const char *id, const char *what, GError **error)
{
        RunAnswer *answer = g_new0(RunAnswer, 1);
        bool ok;

        if (strcmp(what, "delete") == 0)
                engine_delete_run(house->engine, id, false, "ann", play_note_answer, answer);
        else if (strcmp(what, "delete --force") == 0)
                engine_delete_run(house->engine, id, true, "ann", play_note_answer, answer);
        else
                engine_stop_run(house->engine, id, strcmp(what, "force") == 0, "ann", play_note_answer,
                                answer);
        house_barrier(house);
        ok = !answer->error;
        if (answer->error)
                g_propagate_error(error, answer->error);
        run_record_free(answer->run);
        g_free(answer);
        return ok;
}

/* "from" is a path, or "NAME=N"; or NULL. The new run's id; the caller's. */
char *play_retry(House *house, const char *id, const char *from, const char *key, gint64 *ret_seq,
                 GError **error)
{
        const char *is = from ? strchr(from, '=') : NULL;
        g_autofree char *name = is ? g_strndup(from, (gsize)(is - from)) : NULL;
        g_autoptr(json_t) parameters = is ? json_pack("{s:i}", name, atoi_of(is + 1)) : NULL;
        const EngineRetry wish = {
                .id = id, .from = is ? NULL : from, .parameters = parameters, .idempotency_key = key
        };
        RunAnswer *answer = g_new0(RunAnswer, 1);
        char *ret;

        engine_retry_run(house->engine, &wish, play_note_answer, answer);
        for (gint64 end = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;
             !g_atomic_int_get((int *)(void *)&answer->done) && g_get_monotonic_time() < end;)
                house_barrier(house); /* it takes some batches */
        g_assert_true(g_atomic_int_get((int *)(void *)&answer->done));
        if (answer->error)
                g_propagate_error(error, answer->error);
        ret = answer->run ? g_strdup(answer->run->id) : NULL;
        if (answer->run && ret_seq)
                *ret_seq = answer->run->seq;
        run_record_free(answer->run);
        g_free(answer);
        return ret;
}

Definition *play_compile(const char *text)
{
        g_auto(Problems) problems = { 0 };
        g_autofree char *whole = with_name(text);
        Definition *ret;

        problems_init(&problems);
        ret = definition_parse(whole, strlen(whole), &(DefinitionRequest){ .image_optional = true },
                               &problems);
        if (!ret)
                g_error("%s", problem_format(problems_first(&problems)));
        return ret;
}

/* All that there are: behind the numbers of a long loop the next ones come on a later page. */
GPtrArray *play_nodes(const Play *play)
{
        RunNodeQuery query = { .run = play->seq, .limit = 1000 };
        GPtrArray *ret = g_ptr_array_new_with_free_func((GDestroyNotify)run_node_record_free);

        do {
                g_autoptr(GError) error = NULL;
                GPtrArray *page = store_run_nodes(play->house->store, &query, &query.after, &error);

                g_assert_no_error(error);
                g_ptr_array_extend_and_steal(ret, page);
        } while (query.after);
        return ret;
}

static bool is_in_loop(const Play *play, guint32 component)
{
        return play->definition->components[component_target(play->definition, component)].loops;
}

static char *path_of(const Play *play, const GPtrArray *nodes, const RunNodeRecord *node)
{
        g_autofree char *above = NULL;
        g_autofree char *name =
                is_in_loop(play, node->component)
                        ? g_strdup_printf("%s-%u", component_name(play->definition, node->component),
                                          node->number)
                        : g_strdup(component_name(play->definition, node->component));

        for (guint i = 0; i < nodes->len && node->dag > 1; i++) {
                const RunNodeRecord *dag = nodes->pdata[i];

                if (dag->node == node->dag)
                        above = path_of(play, nodes, dag);
        }
        return above ? g_strconcat(above, ".", name, NULL) : g_steal_pointer(&name);
}

/* Borrowed from `nodes`; a loop without items has the name without a number, too. */
const RunNodeRecord *play_find(const Play *play, const GPtrArray *nodes, const char *path)
{
        for (guint i = 0; i < nodes->len; i++) {
                g_autofree char *own = path_of(play, nodes, nodes->pdata[i]);
                g_autofree char *first = g_strconcat(path, "-0", NULL);

                if (strcmp(own, path) == 0 || strcmp(own, first) == 0)
                        return nodes->pdata[i];
        }
        return NULL;
}

const char *play_state(const Play *play, const char *path)
{
        g_autoptr(GPtrArray) nodes = NULL;
        const RunNodeRecord *node;

        if (strcmp(path, "run") == 0) {
                g_autoptr(RunRecord) run = store_run_by_id(play->house->store, play->id, false, NULL);

                return run ? node_state_name((NodeState)run->state) : "none";
        }
        nodes = play_nodes(play);
        node = play_find(play, nodes, path);
        return node ? node_state_name((NodeState)node->state) : "none";
}

/* What a worker answers comes some time later. */
void play_assert(const Play *play, const char *path, const char *want)
{
        gint64 patience = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;

        while (strcmp(play_state(play, path), want) != 0 && g_get_monotonic_time() < patience) {
                house_barrier(play->house);
                g_usleep(5000);
        }
        if (strcmp(play_state(play, path), want) != 0)
                g_error("%s is %s, and should be %s", path, play_state(play, path), want);
}

char *play_job(const Play *play, const char *path)
{
        g_autoptr(GPtrArray) nodes = play_nodes(play);
        const RunNodeRecord *node = play_find(play, nodes, path);

        if (!node || !node->job_id)
                g_error("%s has no job", path);
        return g_strdup(node->job_id);
}

/* Until it is out of its queue: before, the end of its task would not be its own. */
static void await_start(House *house, const char *id)
{
        gint64 patience = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;

        for (;;) {
                g_autoptr(Job) job = house_job(house, id);

                if (job->state != JOB_QUEUED)
                        return;
                if (g_get_monotonic_time() > patience)
                        g_error("job %s is still queued: %s", id, job->reason ? job->reason : "no reason");
                house_barrier(house);
                g_usleep(1000);
        }
}

void play_end_job(const Play *play, const char *path, int status)
{
        g_autofree char *job = play_job(play, path), *task = task_of(job, 1, "worker", 0);

        await_start(play->house, job);
        script_say_kind(play->house->script, OBSERVED_STARTED, task);
        script_say_exit(play->house->script, task, status, 0, false);
        house_barrier(play->house);
}

/* Of the step that began last. */
void play_end_last(const Play *play, int status)
{
        g_autoptr(GError) error = NULL;
        const RunNodeQuery query = {
                .run = play->seq, .new_jobs = true, .upto = { G_MAXINT64, G_MAXINT64 }, .limit = 1000
        };
        gint64 next;
        g_autoptr(GPtrArray) jobs = store_run_nodes(play->house->store, &query, &next, &error);
        const RunNodeRecord *node = NULL;
        g_autofree char *task = NULL;

        g_assert_no_error(error);
        g_assert_cmpuint(jobs->len, >, 0);
        for (guint i = 0; i < jobs->len; i++) {
                const RunNodeRecord *other = jobs->pdata[i];

                if (!node || other->job > node->job)
                        node = other;
        }
        await_start(play->house, node->job_id);
        task = task_of(node->job_id, 1, "worker", 0);
        script_say_kind(play->house->script, OBSERVED_STARTED, task);
        script_say_exit(play->house->script, task, status, 0, false);
        house_barrier(play->house);
}

static void say_running(const Play *play)
{
        g_autoptr(GPtrArray) nodes = play_nodes(play);

        for (guint i = 0; i < nodes->len; i++) {
                const RunNodeRecord *node = nodes->pdata[i];
                g_autofree char *task = node->job_id ? task_of(node->job_id, 1, "worker", 0) : NULL;

                if (task && !node_is_final((NodeState)node->state))
                        script_say_kind(play->house->script, OBSERVED_STARTED, task);
        }
}

void play_restart(const Play *play)
{
        house_close(play->house);
        house_open(play->house);
        say_running(play);
        house_sync(play->house);
}

/* An end that cannot be committed changes nothing, until there is space. */
static void end_on_full_disk(const Play *play, const char *path, int status)
{
        g_autofree char *before = g_strdup(play_state(play, path));
        g_autoptr(GError) error = NULL;
        static int token;
        g_autofree char *name = g_strdup_printf("token-%d", token++);

        faulty_set(FAULT_FULL, "-wal", 1, false);
        play_end_job(play, path, status);
        g_assert_cmpstr(play_state(play, path), ==, before);
        faulty_set(FAULT_NONE, NULL, 0, false);
        g_assert_true(house_put_token(play->house, name,
                                      &error)); /* the first success lets the rest go on at once */
        house_barrier(play->house);
}

void play_end(const Play *play, const char *path, int status, Way way)
{
        if (way == WITH_FULL_DISKS)
                end_on_full_disk(play, path, status);
        else
                play_end_job(play, path, status);
}

/* Below the user's home, as doc/reference/pipelines.md says. The caller's. */
char *play_artifact(const Play *play, const char *step, const char *name)
{
        g_autofree char *runtime = g_strdup_printf("p.entry_points.%s", step);
        g_autofree char *md5 = g_compute_checksum_for_string(G_CHECKSUM_MD5, runtime, -1);

        return g_strdup_printf("%s/ann/.pipeline/%s/p/%s-0-%s/%s", play->house->config.homes, play->id, step,
                               md5, name);
}

/* The directory is there when the job of the step is. */
void play_put(const Play *play, const char *step, const char *name, const char *text, gsize len)
{
        g_autofree char *path = play_artifact(play, step, name);
        g_autoptr(GError) error = NULL;

        g_file_set_contents(path, text, (gssize)len, &error);
        g_assert_no_error(error);
}

guint play_count_jobs(House *house)
{
        g_autoptr(GError) error = NULL;
        gint64 next;
        g_autoptr(GPtrArray) jobs = store_jobs(house->store, &(JobQuery){ .limit = 1000 }, &next, &error);

        g_assert_no_error(error);
        g_assert_cmpint(next, ==, 0); /* these are all */
        return jobs->len;
}

void play_assert_jobs(const Play *play, const char *want)
{
        g_autofree char *n = g_strdup_printf("%u", play_count_jobs(play->house) - play->earlier);

        g_assert_cmpstr(n, ==, want);
}

/* Users have homes, in which the server has its own rights. */
House *play_house(void)
{
        House *house = house_new_cold();
        g_autofree char *ann = NULL;

        house->config.homes = g_build_filename(house->dir, "homes", NULL);
        ann = g_build_filename(house->config.homes, "ann", NULL);
        g_assert_cmpint(g_mkdir_with_parents(ann, 0755), ==, 0);
        house_open(house);
        house_sync(house);
        return house;
}

void play_house_free(House *house)
{
        char *homes = (char *)house->config.homes;

        house_free(house);
        g_free(homes);
}

char *play_command(const Play *play, const char *path)
{
        g_autofree char *id = play_job(play, path);
        g_autoptr(Job) job = house_job(play->house, id);
        char **command = job->spec->roles[0].command;

        g_assert_cmpstr(command[0], ==, "sh");
        g_assert_cmpstr(command[1], ==, "-c");
        return g_strdup(command[2]);
}

void assert_error(bool ok, GError **error, int code, const char *text)
{
        g_assert_false(ok);
        g_assert_error(*error, ERR_DOMAIN, code);
        if (!strstr((*error)->message, text))
                g_error("'%s' has no '%s'", (*error)->message, text);
        g_clear_error(error);
}

Play play_new(House *house, const char *text)
{
        g_autoptr(GError) error = NULL;
        Play play = { .house = house, .definition = play_compile(text) };

        play.id = play_create(house, text, NULL, NULL, &play.seq, &error);
        g_assert_no_error(error);
        return play;
}

void play_clear(Play *play)
{
        definition_free(play->definition);
        g_free(play->id);
}

void play_assert_message(const Play *play, const char *path, const char *want)
{
        g_autoptr(GPtrArray) nodes = NULL;
        const RunNodeRecord *node;

        play_assert(play, path, "failed");
        nodes = play_nodes(play);
        node = play_find(play, nodes, path);
        if (!node->message || !strstr(node->message, want))
                g_error("'%s' has no '%s'", node->message, want);
}
