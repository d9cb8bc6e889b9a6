/* Commands about jobs: submit and cancel. Checks come first and touch nothing; what they let pass becomes
 * part of the batch. */
#include "engine/state.h"

#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "model/framework.h"

enum { MAX_OPEN_JOBS = 1000000, GENERATED_ID = 6, NAME_TRIES = 16 };

/* ---- names ---- */

/* The part of a path or package name that may stand in a DNS label, at most `max` bytes, in lower case. */
static char *label_of(const char *text, gsize max)
{
        g_autofree char *base = g_path_get_basename(text);
        g_autoptr(GString) label = g_string_new(NULL);

        base[strcspn(base, ".")] = '\0';
        for (const char *at = base; *at && label->len < max; at++) {
                if (g_ascii_isalnum(*at))
                        g_string_append_c(label, g_ascii_tolower(*at));
                else if (label->len > 0 && label->str[label->len - 1] != '-')
                        g_string_append_c(label, '-');
        }
        while (label->len > 0 && label->str[label->len - 1] == '-')
                g_string_truncate(label, label->len - 1);
        return g_strdup(label->len ? label->str : "job");
}

/* What the job runs: the package's name, or the program's. */
static const char *subject_of(const Spec *spec)
{
        if (spec->package_name)
                return spec->package_name;
        for (int r = 0; !spec->command && r < spec->n_roles; r++)
                if (spec->roles[r].command)
                        return spec->roles[r].command[0];
        return spec->command ? spec->command[0] : "job";
}

/* A new job, named after its program when it has no name; the id's beginning keeps such names apart. */
static Job *make_job(Engine *engine, const Input *input)
{
        Spec *spec = input->spec;
        g_autofree char *label = NULL;

        if (spec->name)
                return job_new(input->user, spec->name, spec, engine->batch.now);
        label = label_of(subject_of(spec), SPEC_NAME_MAX - GENERATED_ID - 1);
        for (int i = 0;; i++) {
                Job *job = job_new(input->user, label, spec, engine->batch.now);
                char *name = g_strdup_printf("%s-%.*s", label, GENERATED_ID, job->id);

                g_free(job->name);
                job->name = name;
                if (i == NAME_TRIES || !live_by_name(engine, input->user, name))
                        return job;
                job_unref(job);
        }
}

/* ---- checks ---- */

static bool same_spec(const Spec *a, const Spec *b)
{
        g_autoptr(json_t) x = spec_format(a);
        g_autoptr(json_t) y = spec_format(b);

        return json_equal(x, y);
}

static bool check_repeat(const Job *job, Input *input)
{
        if (same_spec(job->spec, input->spec)) {
                input->repeated = true;
                return true;
        }
        return err_set(&input->error, ERR_CONFLICT,
                       "idempotency key '%s' was used for job '%s' (%s) with another specification\n"
                       "Use a new key for a new job.",
                       input->text, job->name, job->id);
}

/* True when the key is known: the outcome is in the input. */
static bool find_repeat(Engine *engine, Input *input)
{
        g_autoptr(GError) error = NULL;
        Live *live;

        if (!input->text)
                return false;
        live = live_by_key(engine, input->user, input->text);
        if (live) {
                if (check_repeat(live->job, input))
                        input->live = live;
                return true;
        }
        input->job = store_job_by_key(engine->store, input->user, input->text, &error);
        if (input->job)
                (void)check_repeat(input->job, input); /* its outcome is in input->error */
        else if (!err_is(error, ERR_NOT_FOUND))
                input->error = g_steal_pointer(&error);
        return input->job || input->error;
}

static bool check_name(Engine *engine, Input *input)
{
        const char *name = input->spec->name;
        Live *live = name ? live_by_name(engine, input->user, name) : NULL;

        if (!live && name && live_find(engine, name))
                return err_set(
                        &input->error, ERR_EXISTS,
                        "name: '%s' is the id of a job, which would hide this one\nChoose another name.",
                        name);
        if (!live)
                return true;
        return err_set(&input->error, ERR_EXISTS,
                       "job '%s' (%s) of '%s' is %s: names are unique among a user's open jobs\n"
                       "Choose another name, wait for its end, or `paddle cancel %s`.",
                       name, live->job->id, input->user, job_state_name(live->job->state), live->job->id);
}

static void add_lack(GString *text, const char *what, const char *wants, const char *has)
{
        g_string_append_printf(text, "%s%s %s, the machine has %s", text->len ? "; " : "", wants, what, has);
}

static char *say_lack(const Resources *want, const Resources *total)
{
        g_autoptr(GString) text = g_string_new(NULL);

        if (want->cpu_milli > total->cpu_milli) {
                g_autofree char *wants = cpu_format(want->cpu_milli);
                g_autofree char *has = cpu_format(total->cpu_milli);

                add_lack(text, "cores", wants, has);
        }
        if (want->memory > total->memory) {
                g_autofree char *wants = bytes_format((guint64)want->memory);
                g_autofree char *has = bytes_format((guint64)total->memory);

                add_lack(text, "of memory", wants, has);
        }
        if (want->gpus > total->gpus) {
                g_autofree char *wants = g_strdup_printf("%" G_GINT64_FORMAT, want->gpus);
                g_autofree char *has = g_strdup_printf("%" G_GINT64_FORMAT, total->gpus);

                add_lack(text, "GPUs", wants, has);
        }
        return g_strdup(text->str);
}

static bool check_fit(Engine *engine, Input *input)
{
        g_autofree char *lack = NULL;
        Resources want = { 0 };

        if (!spec_wants(input->spec, &engine->total, &want))
                return err_set(&input->error, ERR_INVALID, "the job asks for more than can be counted");
        if (resources_fit(&want, &engine->total))
                return true;
        lack = say_lack(&want, &engine->total);
        return err_set(&input->error, ERR_INVALID,
                       "the job could never start: its members ask together for %s\n"
                       "Ask for fewer members, or for less for each.",
                       lack);
}

static bool check_count(Engine *engine, Input *input)
{
        guint max = engine->config.max_open_jobs > 0 ? (guint)engine->config.max_open_jobs : MAX_OPEN_JOBS;

        if (g_hash_table_size(engine->by_id) < max)
                return true;
        return err_set(&input->error, ERR_QUOTA,
                       "%u jobs are open, which is the limit\nTry again when some have ended.", max);
}

/* ---- commands ---- */

static EnvState environment_of(Engine *engine, const Job *job)
{
        RuntimeJob about;

        runtime_job_fill(job, &about);
        if (!engine->runtime->ops->is_prepared(engine->runtime, &about))
                return ENV_BUILDING;
        return job->spec->requirements ? ENV_READY : ENV_NONE;
}

bool apply_submit(Engine *engine, Input *input)
{
        Live *named = input->spec->name ? live_by_name(engine, input->user, input->spec->name) : NULL;
        Life life;
        Job *job;

        if (find_repeat(engine, input))
                return true;
        if (named && job_state_is_final(named->job->state))
                return false; /* the name is free once that end is durable */
        if (!check_name(engine, input) || !check_fit(engine, input) || !check_count(engine, input))
                return true;
        job = make_job(engine, input);
        job->seq = ++engine->seq;
        job->idempotency_key = g_strdup(input->text);
        input->live = batch_add_job(engine, job);
        life = batch_life(engine, input->live);
        life_submitted(&life, environment_of(engine, job));
        batch_end_life(engine, input->live, &life);
        return true;
}

/* A job that is not live has ended, or never was. */
static void cancel_stored(Engine *engine, Input *input)
{
        g_autoptr(Job) job = store_job_by_id(engine->store, input->text, &input->error);

        if (job)
                err_set(&input->error, ERR_CONFLICT, "job '%s' (%s) is %s already", job->name, job->id,
                        job_state_name(job->state));
}

bool apply_cancel(Engine *engine, Input *input)
{
        Live *live = live_find(engine, input->text);
        Life life;

        if (!live) {
                cancel_stored(engine, input);
                return true;
        }
        input->live = live;
        if (live->job->state == JOB_STOPPING && live->job->stop_to != JOB_QUEUED)
                return true;
        life = batch_life(engine, live);
        if (!life_cancel(&life, input->user, &input->error))
                input->live = NULL;
        batch_end_life(engine, live, &life);
        return true;
}
