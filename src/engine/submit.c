/* Submissions: one job, an array, or thousands of jobs in one go. All checks come first and touch nothing;
 * what they let pass becomes part of the batch, all of it.
 *
 *   specs ─▶ entries: queue, names ─▶ counts and rate ─▶ dependencies ─▶ jobs
 *            (submit-fit.c)            (submit-limits.c)   (submit-after.c) */
#include "engine/submit.h"

#include <string.h>

#include "base/err.h"
#include "base/keyed-hash.h"
#include "engine/mounts.h"
#include "engine/secrets.h"
#include "model/array.h"
#include "model/catalog.h"
#include "model/sweep.h"

enum {
        GENERATED_ID = 6,
        NAME_TRIES = 16,
};

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

int submit_entry_jobs(const Entry *entry)
{
        return entry->indices ? (int)entry->indices->len : 1;
}

static char *job_name(const Entry *entry, int i)
{
        return entry->indices ? g_strdup_printf("%s-%d", entry->name, g_array_index(entry->indices, int, i))
                              : g_strdup(entry->name);
}

/* Named after its program when it has no name; the id's beginning keeps such names apart. */
static void name_entry(Submission *submission, Entry *entry)
{
        const Submit *submit = submission->submit;
        g_autofree char *label = NULL;

        if (submit->id)
                g_strlcpy(entry->id, submit->id, sizeof entry->id);
        else
                engine_new_id(submission->engine, entry->id);
        if (entry->spec->name) {
                entry->name = g_strdup(entry->spec->name);
                return;
        }
        label = label_of(subject_of(entry->spec), SPEC_NAME_MAX - GENERATED_ID - 9);
        for (int i = 0; i < NAME_TRIES; i++) {
                g_free(entry->name);
                entry->name = g_strdup_printf("%s-%.*s", label, GENERATED_ID, entry->id);
                if (submit->id || (!live_by_name(submission->engine, submit->user, entry->name) &&
                                   !g_hash_table_contains(submission->by_name, entry->name)))
                        return;
                engine_new_id(submission->engine, entry->id);
        }
}

/* ---- a repeated submission ---- */

/* Whether the submission whose first job is `first` had the same specifications. No specification is compared here,
 * since a submission may have 10,000: either that was done when the job was read from the store, or the job was
 * submitted since, by this server, and has the digest of its request. */
static bool is_same_request(const Submit *submit, const Job *first)
{
        if (submit->earlier && submit->earlier->seq == first->seq)
                return !submit->differs;
        return first->request == submit->request;
}

static bool check_repeat(const Job *first, Submit *submit)
{
        g_autofree char *words = job_words(first);

        submit->command.repeated = is_same_request(submit, first);
        return submit->command.repeated ||
               err_set(&submit->command.error, ERR_CONFLICT,
                       "idempotency key '%s' was used for %s with another specification\n"
                       "Use a new key for a new job.",
                       submit->key, words);
}

/* The job that was submitted with the key and is not live; or NULL. Borrowed. */
static const Job *find_earlier(const Submit *submit)
{
        const Job *ended = read_ended_by_key(&submit->read, submit->user, submit->key);

        return ended ? ended : read_update(&submit->read, submit->earlier);
}

/* True when the key is known: the command then has its outcome. */
static bool find_repeat(Engine *engine, Submit *submit)
{
        Live *live = submit->key ? live_by_key(engine, submit->user, submit->key) : NULL;
        const Job *earlier = live || !submit->key ? NULL : find_earlier(submit);
        const Job *first = live ? live->job : earlier;

        if (submit->error && !(first && first->request))
                submit->command.error = g_error_copy(submit->error);
        else if (first && check_repeat(first, submit)) {
                submit->command.live = live;
                submit->command.job = earlier ? job_ref((Job *)earlier) : NULL;
        }
        return first || submit->error;
}

/* ---- names ---- */

static bool check_name(Engine *engine, Submit *submit, const char *name)
{
        Live *live = live_by_name(engine, submit->user, name);

        if (!live && live_find(engine, name))
                return err_set(
                        &submit->command.error, ERR_EXISTS,
                        "name: '%s' is the id of a job, which would hide this one\nChoose another name.",
                        name);
        if (!live)
                return true;
        return err_set(&submit->command.error, ERR_EXISTS,
                       "job '%s' (%s) of '%s' is %s: names are unique among a user's open jobs\n"
                       "Choose another name, wait for its end, or `paddle cancel %s`.",
                       name, live->job->id, submit->user, job_state_name(live->job->state), live->job->id);
}

/* `seen` takes the names; NULL for a single job. */
static bool check_entry_names(Submission *submission, const Entry *entry, GHashTable *seen)
{
        Submit *submit = submission->submit;

        for (int i = 0; i < submit_entry_jobs(entry); i++) {
                g_autofree char *owned = job_name(entry, i);
                const char *name = owned;

                if (!name_is_valid(name))
                        return err_set(
                                &submit->command.error, ERR_INVALID,
                                "name: '%s' is longer than %d characters\nGive the array a shorter name.",
                                name, SPEC_NAME_MAX);
                if (seen && !g_hash_table_add(seen, g_steal_pointer(&owned)))
                        return err_set(&submit->command.error, ERR_EXISTS,
                                       "two jobs of the submission are named '%s'", name);
                if (!check_name(submission->engine, submit, name))
                        return false;
        }
        return true;
}

/* True when a name is that of a job whose end is part of this batch: it is free once that is durable. */
static bool names_end_now(Submission *submission)
{
        for (guint i = 0; i < submission->entries->len; i++) {
                const Entry *entry = g_ptr_array_index(submission->entries, i);

                for (int k = 0; k < submit_entry_jobs(entry); k++) {
                        g_autofree char *name = job_name(entry, k);
                        Live *live = live_by_name(submission->engine, submission->submit->user, name);

                        if (live && job_state_is_final(live->job->state))
                                return true;
                }
        }
        return false;
}

/* ---- entries ---- */

static void entry_free(gpointer data)
{
        Entry *entry = data;

        g_free(entry->name);
        g_strfreev(entry->after);
        g_clear_pointer(&entry->indices, g_array_unref);
        g_free(entry);
}

static bool fill_entry(Submission *submission, Entry *entry)
{
        Engine *engine = submission->engine;
        Submit *submit = submission->submit;

        entry->queue =
                submit_queue(engine, entry->spec->queue, submit->user, submit->admin, &submit->command.error);
        return entry->queue &&
               check_priority(engine, entry->queue, submit->user, submit->admin, entry->spec->priority,
                              &submit->command.error) &&
               check_fit(engine, engine->batch.catalog, entry->queue, entry->spec, &submit->command.error) &&
               check_namespace(engine, entry->queue, entry->spec, submit->admin, &submit->command.error) &&
               check_words(engine, entry->queue, entry->spec->labels, entry->spec->annotations, submit->admin,
                           &submit->command.error) &&
               secrets_check(engine_catalog_now(engine), entry->spec, submit->user, &submit->command.error) &&
               mounts_check(engine, entry->queue, entry->spec, submit->user, &submit->command.error) &&
               (!entry->spec->array ||
                spec_array(entry->spec->array, &entry->indices, &entry->array_max, &submit->command.error));
}

/* Says which of several entries is meant. */
void submit_name_culprit(Submission *submission, guint i)
{
        const Entry *entry = g_ptr_array_index(submission->entries, i);

        if (submission->submit->specs->len > 1)
                (void)err_prefix(&submission->submit->command.error, "jobs[%u] ('%s'): ", i,
                                 entry->spec->name ? entry->spec->name : "");
}

static bool make_entries(Submission *submission)
{
        GPtrArray *specs = submission->submit->specs;

        for (guint i = 0; i < specs->len; i++) {
                Entry *entry = g_new0(Entry, 1);

                entry->spec = g_ptr_array_index(specs, i);
                g_ptr_array_add(submission->entries, entry);
                if (!fill_entry(submission, entry)) {
                        submit_name_culprit(submission, i);
                        return false;
                }
                name_entry(submission, entry);
                if (entry->indices)
                        array_id_make(entry->id, entry->ref);
                else
                        g_strlcpy(entry->ref, entry->id, sizeof entry->ref);
                if (!g_hash_table_contains(submission->by_name, entry->name))
                        g_hash_table_insert(submission->by_name, entry->name, entry);
                submission->n_jobs += submit_entry_jobs(entry);
        }
        return true;
}

static bool check_names(Submission *submission)
{
        g_autoptr(GHashTable) seen =
                submission->n_jobs > 1 ? g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL) : NULL;

        for (guint i = 0; i < submission->entries->len; i++) {
                if (check_entry_names(submission, g_ptr_array_index(submission->entries, i), seen))
                        continue;
                submit_name_culprit(submission, i);
                return false;
        }
        return true;
}

/* ---- jobs ---- */

static Job *make_job(Submission *submission, Entry *entry, int i)
{
        Engine *engine = submission->engine;
        g_autofree char *name = job_name(entry, i);
        Job *job = job_new_as(entry->first ? "" : entry->id, submission->submit->user, name, entry->spec,
                              engine->batch.now);

        job->seq = ++engine->seq;
        job->spec_seq = entry->first ? entry->first->job->seq : job->seq;
        job->queue = g_intern_string(entry->queue->object.name);
        job->priority = entry->spec->priority;
        job->not_before = entry->spec->begin;
        job->after = g_strdupv(entry->after);
        job->array_index = -1;
        job->run_seq = submission->submit->run_seq;
        job->run_node = (int)submission->submit->run_node;
        if (entry->indices) {
                job->array_seq = job->spec_seq;
                job->array_index = g_array_index(entry->indices, int, i);
                job->array_max = entry->array_max;
                if (entry->spec->sweep)
                        job->labels = sweep_labels(entry->spec, job->array_index);
        }
        if (entry->first)
                engine_new_id(engine, job->id);
        return job;
}

static void make_jobs(Submission *submission, Entry *entry)
{
        Engine *engine = submission->engine;

        for (int i = 0; i < submit_entry_jobs(entry); i++) {
                Job *job = make_job(submission, entry, i);
                Live *live;
                Life life;

                if (i == 0)
                        preparing_begin(engine, job);
                else
                        job_copy_preparations(job, entry->first->job);
                if (i == 0 && entry == g_ptr_array_index(submission->entries, 0)) {
                        job->idempotency_key = g_strdup(submission->submit->key);
                        job->request = submission->submit->request;
                }
                live = batch_add_job(engine, job);
                if (i == 0)
                        entry->first = live;
                life = batch_life(engine, live);
                life_submitted(&life);
                if (submission->submit->refusal)
                        life_refused(&life, g_strdup(submission->submit->refusal));
                batch_end_life(engine, live, &life);
                depend_note(engine, job);
        }
}

static bool check_id(Submission *submission)
{
        const Submit *submit = submission->submit;
        GError **error = &submission->submit->command.error;

        if (!submit->id)
                return true;
        if (submission->n_jobs != 1 || !id_is_valid(submit->id))
                return err_set(error, ERR_INVALID, "id: '%s' cannot be the id of the submission", submit->id);
        if (!live_find(submission->engine, submit->id) && !read_ended(&submit->read, submit->id) &&
            !read_update(&submit->read, submit->same_id))
                return true;
        return err_set(error, ERR_EXISTS, "id: there is a job '%s' already", submit->id);
}

/* What a check tells of the first job. */
static Job *draft(const Submission *submission)
{
        const Entry *entry = g_ptr_array_index(submission->entries, 0);
        Engine *engine = submission->engine;
        Job *job =
                job_new_as(entry->id, submission->submit->user, entry->name, entry->spec, engine->batch.now);

        job->queue = g_intern_string(entry->queue->object.name);
        preparing_check(engine, job);
        return job;
}

static bool check_all(Submission *submission)
{
        return check_id(submission) && check_names(submission) && submit_check_counts(submission) &&
               submit_resolve_after(submission) && submit_check_rate(submission);
}

/* What a run submits is bounded by its parallelism, so that its steps do not count in the rate. */
static bool check_step(Submission *submission)
{
        return check_names(submission) && submit_check_counts(submission) && submit_resolve_after(submission);
}

static void make_all(Submission *submission)
{
        for (guint i = 0; i < submission->entries->len; i++)
                make_jobs(submission, g_ptr_array_index(submission->entries, i));
        submission->submit->command.live = ((Entry *)g_ptr_array_index(submission->entries, 0))->first;
}

Live *submit_step(Engine *engine, const RunRecord *run, guint32 node, Spec *spec, GError **error)
{
        const User *user = catalog_user(engine->batch.catalog, run->user);
        Submit submit = { .user = run->user,
                          .admin = run->admin && user && user->admin,
                          .specs = g_ptr_array_new(),
                          .run_seq = run->seq,
                          .run_node = node };
        Submission submission = { engine, &submit, NULL, 0, NULL, NULL };

        g_ptr_array_add(submit.specs, spec);
        submission.entries = g_ptr_array_new_with_free_func(entry_free);
        submission.by_name = g_hash_table_new(keyed_hash, g_str_equal);
        if (make_entries(&submission) && check_step(&submission))
                make_all(&submission);
        if (submit.command.error)
                g_propagate_error(error, submit.command.error);
        g_hash_table_unref(submission.by_name);
        g_clear_pointer(&submission.found, g_hash_table_unref);
        g_ptr_array_unref(submission.entries);
        g_ptr_array_unref(submit.specs);
        return submit.command.live;
}

static bool apply_submit(Engine *engine, Command *command)
{
        Submit *submit = (Submit *)command;
        Submission submission = { engine, submit, NULL, 0, NULL, NULL };
        bool wait = false;

        if (find_repeat(engine, submit))
                return true;
        submission.entries = g_ptr_array_new_with_free_func(entry_free);
        submission.by_name = g_hash_table_new(keyed_hash, g_str_equal);
        if (make_entries(&submission)) {
                wait = names_end_now(&submission);
                if (!wait && check_all(&submission)) {
                        if (submit->only_check)
                                command->job = draft(&submission);
                        else
                                make_all(&submission);
                }
        }
        g_hash_table_unref(submission.by_name);
        g_clear_pointer(&submission.found, g_hash_table_unref);
        g_ptr_array_unref(submission.entries);
        return !wait;
}

/* ---- the command ---- */

static void free_submit(Command *command)
{
        Submit *submit = (Submit *)command;

        g_free(submit->user);
        g_free(submit->key);
        g_free(submit->id);
        g_free(submit->refusal);
        g_ptr_array_unref(submit->specs);
        submit_read_clear(submit);
}

static const CommandOps submit_ops = {
        .name = "submit", .size = sizeof(Submit), .apply = apply_submit, .free = free_submit
};

static void spec_unref_p(gpointer spec)
{
        spec_unref(spec);
}

void engine_submit(Engine *engine, const EngineSubmission *submission, EngineDone done, void *arg)
{
        Submit *submit = command_new(&submit_ops, done, arg);

        submit->user = g_strdup(submission->user);
        submit->admin = submission->admin;
        submit->key = g_strdup(submission->idempotency_key);
        submit->id = g_strdup(submission->id);
        submit->refusal = g_strdup(submission->refusal);
        submit->only_check = submission->only_check;
        submit->specs = g_ptr_array_new_full((guint)submission->n_specs, spec_unref_p);
        for (int i = 0; i < submission->n_specs; i++)
                g_ptr_array_add(submit->specs, spec_ref(submission->specs[i]));
        submit_read(engine, submit);
        inbox_put(&engine->inbox, &submit->command);
}
