/* Submissions: one job, an array, or thousands of jobs in one go. All checks come first and touch nothing;
 * what they let pass becomes part of the batch, all of it.
 *
 *   specs ─▶ entries: queue, names, dependencies ─▶ checks of the whole ─▶ jobs */
#include "engine/submit.h"

#include <string.h>

#include "base/err.h"
#include "base/keyed-hash.h"
#include "base/number.h"
#include "base/word.h"
#include "engine/secrets.h"
#include "model/array.h"
#include "model/baseline.h"
#include "model/catalog.h"
#include "model/framework.h"
#include "model/sweep.h"

enum {
        MAX_OPEN_JOBS = 1000000,
        MAX_JOBS = 10000, /* of one submission */
        GENERATED_ID = 6,
        NAME_TRIES = 16,
        MINUTE_MS = 60000,
        TOKEN = 60000, /* of a user's rate: what one job costs, so that each ms adds a whole number */
};

/* One specification of a submission, and the jobs that it makes. */
typedef struct {
        Spec *spec;                 /* borrowed */
        const Queue *queue;         /* borrowed from the batch's catalog */
        char id[ID_LEN + 1];        /* of its first job */
        char ref[ARRAY_ID_LEN + 1]; /* the id of its only job, or of its array */
        char *name;                 /* of its only job, or the beginning of its jobs' names */
        GArray *indices;            /* int; NULL: it is no array */
        int array_max;
        char **after; /* with ids; NULL: nothing is awaited */
        Live *first;
} Entry;

typedef struct {
        Engine *engine;
        Submit *submit;
        GPtrArray *entries; /* Entry */
        gint64 n_jobs;
        GHashTable *by_name; /* name -> Entry: the first of it */
        GHashTable *found;   /* word of `after`, borrowed -> Found; NULL: none yet */
} Submission;

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

static int entry_jobs(const Entry *entry)
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

/* True if the job `seq` was made from specification `i` of this submission. A deleted job cannot be compared. */
static bool made_from(Engine *engine, const Submit *submit, guint i, gint64 seq, const Job *first)
{
        const GPtrArray *earlier = submit->earlier;
        const Live *live;
        const Job *job;

        if (earlier && ((const Job *)earlier->pdata[0])->seq == first->seq && earlier->pdata[i])
                return true; /* compared when it was read */
        live = live_by_seq(engine, seq);
        job = live ? live->job : read_ended_by_seq(&submit->read, seq);
        return job ? submit_made(submit, job, i) : seq <= engine->seq;
}

/* Jobs of one submission have consecutive numbers. */
static bool check_repeat(Engine *engine, const Job *first, Submit *submit)
{
        g_autofree char *words = NULL;
        gint64 seq = first->seq;
        bool differs = submit->differs && ((const Job *)submit->earlier->pdata[0])->seq == seq;
        guint same = 0;

        for (; !differs && same < submit->specs->len; same++) {
                if (!made_from(engine, submit, same, seq, first))
                        break;
                seq += spec_jobs(submit->specs->pdata[same]);
        }
        submit->command.repeated = same == submit->specs->len;
        words = job_words(first);
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

        return ended || !submit->earlier ? ended : read_update(&submit->read, submit->earlier->pdata[0]);
}

/* True when the key is known: the command then has its outcome. */
static bool find_repeat(Engine *engine, Submit *submit)
{
        Live *live = submit->key ? live_by_key(engine, submit->user, submit->key) : NULL;
        const Job *earlier = live || !submit->key ? NULL : find_earlier(submit);

        if (live && check_repeat(engine, live->job, submit))
                submit->command.live = live;
        if (earlier && check_repeat(engine, earlier, submit))
                submit->command.job = job_ref((Job *)earlier);
        if (!live && !earlier && submit->error)
                submit->command.error = g_error_copy(submit->error);
        return live || earlier || submit->error;
}

/* ---- queues and limits ---- */

/* Where grants are not asked for, everybody counts as an administrator here. */
const Queue *submit_queue(Engine *engine, const char *name, const char *user, bool admin, GError **error)
{
        const User who = { .object.name = (char *)user, .admin = admin || engine->config.open_queues };

        return catalog_submit_queue(engine->batch.catalog, name, &who, error);
}

bool check_queue_count(Engine *engine, const Queue *queue, const char *user, gint64 n, GError **error)
{
        g_autofree char *limit = NULL, *has = NULL;
        gint64 open;

        if (queue->max_open_per_user <= 0)
                return true;
        open = live_open_in(engine, queue->object.name, user);
        if (open + n <= queue->max_open_per_user)
                return true;
        limit = count_format(queue->max_open_per_user, "open job");
        has = count_format(open, "job");
        return err_set(
                error, ERR_QUOTA,
                "queue '%s' takes %s of each user: '%s' has %s there, and this would be %" G_GINT64_FORMAT
                " more\nTry again when some have ended.",
                queue->object.name, limit, user, has, n);
}

static void add_lack(GString *text, const char *what, const char *where, const char *wants, const char *has)
{
        g_string_append_printf(text, "%s%s %s; %s has %s", text->len ? "; " : "", wants, what, where, has);
}

static char *say_lack(const Resources *want, const Resources *total, const char *where)
{
        g_autoptr(GString) text = g_string_new(NULL);

        if (want->cpu_milli > total->cpu_milli) {
                g_autofree char *wants = cpu_format(want->cpu_milli);
                g_autofree char *has = cpu_format(total->cpu_milli);

                add_lack(text, "cores", where, wants, has);
        }
        if (want->memory > total->memory) {
                g_autofree char *wants = bytes_format((guint64)want->memory);
                g_autofree char *has = bytes_format((guint64)total->memory);

                add_lack(text, "of memory", where, wants, has);
        }
        if (want->gpus > total->gpus) {
                g_autofree char *wants = g_strdup_printf("%" G_GINT64_FORMAT, want->gpus);
                g_autofree char *has =
                        total->gpus ? g_strdup_printf("%" G_GINT64_FORMAT, total->gpus) : g_strdup("none");

                add_lack(text, want->gpus == 1 ? "GPU" : "GPUs", where, wants, has);
        }
        return g_strdup(text->str);
}

/* Nodes of a cluster that are not ready, or cordoned, may be used again: the job waits for them. A cluster
 * without any may get some. */
static bool could_hold(const RuntimeSlot *slot, const Resources *least)
{
        static const Resources nothing = { 0 };
        bool known = slot_is_local(slot) || (slot->connected && !resources_equal(&slot->most, &nothing));

        return !known || resources_fit(least, &slot->most);
}

static bool check_room(const RuntimeSlot *slot, const Resources *least, GError **error)
{
        g_autofree char *where = NULL, *lack = NULL;

        if (could_hold(slot, least))
                return true;
        where = slot_is_local(slot) ? g_strdup("the machine") : g_strdup_printf("cluster '%s'", slot->name);
        lack = say_lack(least, &slot->most, where);
        return err_set(error, ERR_INVALID,
                       "the job could never start: it needs %s\n"
                       "Ask for fewer members, or for less for each.",
                       lack);
}

static bool check_max(const Catalog *catalog, const Queue *queue, const Resources *least, GError **error)
{
        Resources max = queue_max(catalog, queue);
        int kind = resources_lacking(least, &max);
        g_autofree char *asked = NULL, *limit = NULL;

        if (kind < 0)
                return true;
        asked = quantity_named(kind, least->amount[kind]);
        limit = quantity_text(kind, max.amount[kind]);
        return err_set(error, ERR_INVALID,
                       "the job could never start: it needs %s; queue '%s' may use %s\n"
                       "Ask for less, or name another queue.",
                       asked, queue->object.name, limit);
}

/* What no program could be given is not begun. */
static bool check_told(const RuntimeSlot *slot, const Queue *queue, const Spec *spec, GError **error)
{
        const Job job = { .id = "0123456789abcdef", .attempt = 1, .spec = (Spec *)spec };
        const RuntimeAttempt attempt = { .job = &job,
                                         .namespace = spec->namespace ? spec->namespace : queue->namespace };

        for (int r = 0; slot->runtime && spec->framework->tells_all && r < spec->n_roles; r++) {
                const Role *role = &spec->roles[r];
                g_autofree char *first = slot->runtime->ops->address(slot->runtime, &attempt, role->name, 0);
                int most = VARIABLE_MAX / ((int)strlen(first) + 1);

                if (role->replicas > most)
                        return err_set(
                                error, ERR_INVALID,
                                "roles: %d members of role '%s' are too many: each is told where all of "
                                "them are, and a program is given at most %d bytes in a variable\n"
                                "Ask for at most %d.",
                                role->replicas, role->name, VARIABLE_MAX, most);
        }
        return true;
}

/* Known while the cluster is connected; otherwise prepare says it. */
static bool check_setup(const RuntimeSlot *slot, const Spec *spec, GError **error)
{
        Runtime *runtime = slot ? slot->runtime : NULL;
        g_autofree char *problem = NULL;

        if (!spec->setup)
                return true;
        problem = runtime_setup_problem(runtime);
        return !problem || err_set(error, ERR_CONFLICT, "setup: %s", problem);
}

bool check_fit(Engine *engine, const Catalog *catalog, const Queue *queue, const Spec *spec, GError **error)
{
        const RuntimeSlot *slot =
                slot_of_cluster(engine, queue->cluster ? catalog_cluster(catalog, queue->cluster) : NULL);
        SpecShare share = slot_share(slot, catalog, queue, spec);
        Resources least, most;

        if (!feed_wants(spec, share, true, &least) || !feed_wants(spec, share, false, &most))
                return err_set(error, ERR_INVALID, "the job asks for more than can be counted");
        if (!check_told(slot, queue, spec, error) || !check_setup(slot, spec, error) ||
            !check_room(slot, &least, error))
                return false;
        for (const Queue *at = queue; at; at = queue_parent(catalog, at))
                if (!check_max(catalog, at, &least, error))
                        return false;
        return true;
}

/* What a user may submit in a minute comes drop by drop, and as much is kept. */
typedef struct {
        gint64 tokens, at;
} Rate;

void submit_init(Engine *engine)
{
        engine->rates = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
}

void submit_clear(Engine *engine)
{
        g_hash_table_unref(engine->rates);
}

static Rate *rate_of(Engine *engine, const char *user)
{
        const char *name = g_intern_string(user);
        Rate *rate = g_hash_table_lookup(engine->rates, name);
        gint64 now = engine->batch.now, most = (gint64)engine->config.submit_rate * TOKEN;

        if (!rate) {
                rate = g_new0(Rate, 1);
                *rate = (Rate){ most, now };
                g_hash_table_insert(engine->rates, (gpointer)name, rate);
        }
        rate->tokens =
                MIN(most, rate->tokens + CLAMP(now - rate->at, 0, MINUTE_MS) * engine->config.submit_rate);
        rate->at = now;
        return rate;
}

static bool check_rate(Submission *submission)
{
        Engine *engine = submission->engine;
        Submit *submit = submission->submit;
        gint64 cost = submission->n_jobs * TOKEN;
        g_autofree char *limit = NULL;
        gint64 wait_s;
        Rate *rate;

        if (engine->config.submit_rate <= 0 || submit->admin)
                return true;
        rate = rate_of(engine, submit->user);
        if (rate->tokens >= cost) {
                rate->tokens -= submit->only_check ? 0 : cost;
                return true;
        }
        limit = count_format(engine->config.submit_rate, "job");
        wait_s = ((cost - rate->tokens) / engine->config.submit_rate + 999) / 1000;
        err_set(&submit->command.error, ERR_QUOTA,
                "'%s' may submit %s in a minute, and asks for %" G_GINT64_FORMAT
                " more than that\nTry again in %" G_GINT64_FORMAT " s.",
                submit->user, limit, (cost - rate->tokens + TOKEN - 1) / TOKEN, wait_s);
        if (cost <= (gint64)engine->config.submit_rate * TOKEN) /* else it never passes */
                err_add_wait(&submit->command.error, wait_s);
        return false;
}

/* One user leaves room for the others. */
static bool check_user_count(Submission *submission, guint all)
{
        const Engine *engine = submission->engine;
        const Submit *submit = submission->submit;
        gint64 max = engine->config.max_open_per_user > 0 ? engine->config.max_open_per_user
                                                          : (gint64)MAX(all / 4, 1);
        g_autofree char *has = NULL;
        gint64 open;

        if (submit->admin || g_hash_table_size(engine->by_id) + submission->n_jobs <= max)
                return true;
        open = live_open_of(submission->engine, submit->user);
        if (open + submission->n_jobs <= max)
                return true;
        has = count_format(open, "open job");
        return err_set(&submission->submit->command.error, ERR_QUOTA,
                       "'%s' has %s, and this would be %" G_GINT64_FORMAT
                       " more: one user may have %" G_GINT64_FORMAT
                       " (paddled --max-open-jobs-per-user)\nTry again when some have ended.",
                       submit->user, has, submission->n_jobs, max);
}

static bool check_count(Submission *submission)
{
        Engine *engine = submission->engine;
        guint max = engine->config.max_open_jobs > 0 ? (guint)engine->config.max_open_jobs : MAX_OPEN_JOBS;
        g_autofree char *open = NULL;

        if (submission->n_jobs > MAX_JOBS)
                return err_set(&submission->submit->command.error, ERR_INVALID,
                               "%" G_GINT64_FORMAT " jobs in one submission: at most %d", submission->n_jobs,
                               MAX_JOBS);
        if (engine->config.may_write &&
            !engine->config.may_write(submission->submit->user, engine->config.may_write_arg,
                                      &submission->submit->command.error))
                return false;
        if (g_hash_table_size(engine->by_id) + submission->n_jobs <= max)
                return check_user_count(submission, max);
        open = count_format(g_hash_table_size(engine->by_id), "job");
        return err_set(
                &submission->submit->command.error, ERR_QUOTA,
                "the server has %s that %s not ended; its limit is %u\nTry again when some have ended.", open,
                g_hash_table_size(engine->by_id) == 1 ? "has" : "have", max);
}

/* The limits of each queue, over all entries that go to it. */
static bool check_queue_counts(Submission *submission)
{
        g_autoptr(GHashTable) counts = NULL; /* Queue * -> jobs, of the queues with a limit */
        GHashTableIter at;
        gpointer queue, n;

        for (guint i = 0; i < submission->entries->len; i++) {
                const Entry *entry = g_ptr_array_index(submission->entries, i);

                if (entry->queue->max_open_per_user <= 0)
                        continue;
                if (!counts)
                        counts = g_hash_table_new(NULL, NULL);
                n = g_hash_table_lookup(counts, entry->queue);
                g_hash_table_insert(counts, (gpointer)entry->queue,
                                    GINT_TO_POINTER(GPOINTER_TO_INT(n) + entry_jobs(entry)));
        }
        if (!counts)
                return true;
        g_hash_table_iter_init(&at, counts);
        while (g_hash_table_iter_next(&at, &queue, &n))
                if (!check_queue_count(submission->engine, queue, submission->submit->user,
                                       GPOINTER_TO_INT(n), &submission->submit->command.error))
                        return false;
        return true;
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

        for (int i = 0; i < entry_jobs(entry); i++) {
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

                for (int k = 0; k < entry_jobs(entry); k++) {
                        g_autofree char *name = job_name(entry, k);
                        Live *live = live_by_name(submission->engine, submission->submit->user, name);

                        if (live && job_state_is_final(live->job->state))
                                return true;
                }
        }
        return false;
}

/* ---- dependencies ---- */

static bool may_see(const Submit *submit, const Job *job)
{
        return submit->admin || strcmp(job->user, submit->user) == 0;
}

static Live *live_named(Engine *engine, const char *user, const char *word)
{
        Live *live = live_find(engine, word);

        return live ? live : live_by_name(engine, user, word);
}

/* The job as it is now, or the array as it was read, that the user's word names; false: none. A word for which the read
 * found nothing may name a newer job. Borrowed. */
static bool find_awaited(Engine *engine, const Submit *submit, const char *word, Awaited *ret)
{
        const Awaited *read = submit->awaited ? g_hash_table_lookup(submit->awaited, word) : NULL;
        const Live *live = !read          ? live_named(engine, submit->user, word)
                           : !read->array ? live_by_seq(engine, read->job->seq)
                                          : NULL;

        *ret = read ? *read : (Awaited){ .failed = JOB_SUCCEEDED };
        if (live)
                ret->job = live->job;
        else if (!read)
                ret->job = (Job *)read_ended(&submit->read, word);
        else if (!read->array) /* NULL: it was deleted since the read */
                ret->job = (Job *)read_update(&submit->read, read->job);
        return ret->job && may_see(submit, ret->job);
}

static const char *const after_words[] = { [AFTER_OK] = "ok", [AFTER_ANY] = "any", [AFTER_FAIL] = "fail" };

static bool awaited_open(Engine *engine, const Awaited *awaited)
{
        return awaited->array ? live_array_open(engine, awaited->array) > 0
                              : !job_state_is_final(awaited->job->state);
}

/* Of elements that end in this batch, or have ended since the array was last live, since the read, before it. */
static JobState awaited_state(Engine *engine, const Submit *submit, const Awaited *awaited)
{
        JobState state;

        if (!awaited->array)
                return awaited->job->state;
        state = depend_array_state(engine, awaited->array);
        if (state == JOB_SUCCEEDED)
                state = read_array_state(&submit->read, awaited->array);
        return state == JOB_SUCCEEDED ? awaited->failed : state;
}

/* The job or array that a word of `after` names, while the submission is applied. */
typedef struct {
        bool exists;
        Awaited awaited; /* borrowed */
        const char *id;  /* of the job or array; NULL: unknown, since the array's first job was deleted */
        bool open;
        JobState state; /* of one that is not open */
} Found;

/* Each word is looked up once: a batch may have a million of them, most of them the same. */
static const Found *look_up(Submission *submission, const char *word)
{
        Found *found = submission->found ? g_hash_table_lookup(submission->found, word) : NULL;
        Engine *engine = submission->engine;
        Awaited *awaited;

        if (found)
                return found;
        if (!submission->found)
                submission->found = g_hash_table_new_full(keyed_hash, g_str_equal, NULL, g_free);
        found = g_new0(Found, 1);
        g_hash_table_insert(submission->found, (char *)word, found);
        awaited = &found->awaited;
        found->exists = find_awaited(engine, submission->submit, word, awaited);
        if (!found->exists)
                return found;
        found->id = awaited->array ? awaited->array_id : awaited->job->id;
        found->open = found->id && awaited_open(engine, awaited);
        if (!found->open)
                found->state = awaited_state(engine, submission->submit, awaited);
        return found;
}

/* False with the error when the dependency can never hold. Leaves out a dependency that holds already. */
static bool resolve_job(Submission *submission, AfterKind kind, const char *word, GStrvBuilder *after)
{
        Submit *submit = submission->submit;
        const Found *found = look_up(submission, word);
        const Awaited *awaited = &found->awaited;
        g_autofree char *entry = NULL, *name = NULL;

        if (!found->exists)
                return err_set(&submit->command.error, ERR_NOT_FOUND, "after: there is no job '%s' of '%s'",
                               word, submit->user);
        if (found->open) {
                entry = g_strdup_printf("%s:%s", after_words[kind], found->id);
                g_strv_builder_add(after, entry);
                return true;
        }
        if (kind == AFTER_ANY || (kind == AFTER_OK) == (found->state == JOB_SUCCEEDED))
                return true;
        name = awaited->array ? array_name(awaited->job) : g_strdup(awaited->job->name);
        return err_set(&submit->command.error, ERR_CONFLICT,
                       "after: '%s:%s' can never hold, as %s '%s' (%s) is %s\nLeave it out, or wait for "
                       "another job.",
                       after_words[kind], word, awaited->array ? "array" : "job", name,
                       found->id ? found->id : word, job_state_name(found->state));
}

static bool resolve_entry(Submission *submission, Entry *entry)
{
        g_autoptr(GStrvBuilder) after = g_strv_builder_new();
        g_auto(GStrv) list = NULL;

        for (char **at = entry->spec->after; at && *at; at++) {
                const char *word;
                AfterKind kind;
                Entry *other;
                g_autofree char *text = NULL;

                if (!after_parse(*at, &kind, &word, &submission->submit->command.error))
                        return false;
                other = g_hash_table_lookup(submission->by_name, word);
                if (!other) {
                        if (!resolve_job(submission, kind, word, after))
                                return false;
                        continue;
                }
                text = g_strdup_printf("%s:%s", after_words[kind], other->ref);
                g_strv_builder_add(after, text);
        }
        list = g_strv_builder_end(after);
        entry->after = list[0] ? g_steal_pointer(&list) : NULL;
        return true;
}

/* ---- cycles ---- */

typedef struct {
        GHashTable *by_id;       /* id -> Entry */
        GHashTable *done, *open; /* sets of Entry */
        GPtrArray *path;         /* Entry */
} Walk;

static char *path_format(const GPtrArray *path, const Entry *end)
{
        GString *text = g_string_new(NULL);
        bool inside = false;

        for (guint i = 0; i < path->len; i++) {
                const Entry *entry = g_ptr_array_index(path, i);

                inside |= entry == end;
                if (inside)
                        g_string_append_printf(text, "'%s' after ", entry->name);
        }
        g_string_append_printf(text, "'%s'", end->name);
        return g_string_free(text, FALSE);
}

/* The next entry that `entry` waits for, from the `at`th on; NULL: none. */
static Entry *next_awaited(const Walk *walk, const Entry *entry, guint *at)
{
        for (; entry->after && entry->after[*at];) {
                const char *id = strchr(entry->after[(*at)++], ':') + 1;
                Entry *other = g_hash_table_lookup(walk->by_id, id);

                if (other)
                        return other;
        }
        return NULL;
}

/* Depth first, with a stack of its own: a chain may be ten thousand long. */
static bool walk_from(Walk *walk, Entry *start, GError **error)
{
        g_autoptr(GArray) places = g_array_new(FALSE, TRUE, sizeof(guint));
        const guint zero = 0;

        g_ptr_array_set_size(walk->path, 0);
        g_ptr_array_add(walk->path, start);
        g_array_append_val(places, zero);
        g_hash_table_add(walk->open, start);
        while (walk->path->len > 0) {
                Entry *entry = g_ptr_array_index(walk->path, walk->path->len - 1);
                Entry *next = next_awaited(walk, entry, &g_array_index(places, guint, places->len - 1));

                if (next && g_hash_table_contains(walk->open, next)) {
                        g_autofree char *path = path_format(walk->path, next);

                        return err_set(error, ERR_INVALID, "after: the jobs wait for each other: %s", path);
                }
                if (next && !g_hash_table_contains(walk->done, next)) {
                        g_ptr_array_add(walk->path, next);
                        g_array_append_val(places, zero);
                        g_hash_table_add(walk->open, next);
                } else if (!next) {
                        g_hash_table_remove(walk->open, entry);
                        g_hash_table_add(walk->done, entry);
                        g_ptr_array_set_size(walk->path, (int)walk->path->len - 1);
                        g_array_set_size(places, places->len - 1);
                }
        }
        return true;
}

static bool check_cycles(Submission *submission)
{
        Walk walk = { g_hash_table_new(keyed_hash, g_str_equal), g_hash_table_new(NULL, NULL),
                      g_hash_table_new(NULL, NULL), g_ptr_array_new() };
        bool ok = true;

        for (guint i = 0; i < submission->entries->len; i++) {
                Entry *entry = g_ptr_array_index(submission->entries, i);

                g_hash_table_insert(walk.by_id, entry->ref, entry);
        }
        for (guint i = 0; ok && i < submission->entries->len; i++) {
                Entry *entry = g_ptr_array_index(submission->entries, i);

                ok = !entry->after || g_hash_table_contains(walk.done, entry) ||
                     walk_from(&walk, entry, &submission->submit->command.error);
        }
        g_hash_table_unref(walk.by_id);
        g_hash_table_unref(walk.done);
        g_hash_table_unref(walk.open);
        g_ptr_array_unref(walk.path);
        return ok;
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

/* A namespace holds secrets and accounts of somebody; Kubernetes' own open the cluster. Where a queue or a
 * list names one, it is meant. */
static bool check_own_namespace(const Cluster *cluster, const Queue *queue, const Spec *spec, bool admin,
                                GError **error)
{
        if (admin || g_strcmp0(spec->namespace, queue->namespace) == 0)
                return true;
        if (g_str_has_prefix(spec->namespace, "kube-"))
                return err_set(error, ERR_DENIED,
                               "namespace: '%s' is the cluster's own, where only administrators' jobs run\n"
                               "Name another, or none.",
                               spec->namespace);
        return !cluster || cluster->type == CLUSTER_LOCAL ||
               err_set(error, ERR_DENIED,
                       "namespace: '%s' is not that of queue '%s', and cluster '%s' has no list of "
                       "namespaces: "
                       "only administrators' jobs may name any\n"
                       "Leave it out, or let an administrator allow it: `paddle cluster set %s --namespaces "
                       "%s`.",
                       spec->namespace, queue->object.name, cluster->object.name, cluster->object.name,
                       spec->namespace);
}

bool check_namespace(const Engine *engine, const Queue *queue, const Spec *spec, bool admin, GError **error)
{
        const Cluster *cluster =
                queue->cluster ? catalog_cluster(engine->batch.catalog, queue->cluster) : NULL;
        const char *const *allowed = cluster ? (const char *const *)cluster->namespaces : NULL;
        g_autofree char *words = NULL;

        if (!spec->namespace)
                return true;
        if (!allowed)
                return check_own_namespace(cluster, queue, spec, admin, error);
        if (g_strv_contains(allowed, spec->namespace))
                return true;
        words = g_strjoinv(", ", cluster->namespaces);
        return err_set(error, ERR_INVALID, "namespace: '%s' is not one of cluster '%s', which has %s",
                       spec->namespace, queue->cluster, words);
}

bool check_words(const Engine *engine, const Queue *queue, char *const *labels, char *const *annotations,
                 bool admin, GError **error)
{
        const BaselinePlace place = baseline_place(engine->batch.catalog, queue, NULL);

        return admin || (baseline_check_words("labels", labels, &place, error) &&
                         baseline_check_words("annotations", annotations, &place, error));
}

bool check_priority(const Engine *engine, const Queue *queue, const char *user, bool admin, int priority,
                    GError **error)
{
        const Catalog *catalog = engine->batch.catalog;
        const User *known;
        int most;

        if (admin)
                return true;
        known = catalog_user(catalog, user);
        most = catalog_max_priority(catalog, queue, known);
        if (priority <= most)
                return true;
        if (known && known->admin)
                return err_set(error, ERR_DENIED,
                               "priority: %d is above %d, and this token has no administrator's right\n"
                               "Ask for less, or use a token of scope 'admin'.",
                               priority, most);
        return err_set(
                error, ERR_DENIED,
                "priority: %d is above %d, the most that is granted to '%s' in queue '%s'\n"
                "Ask for less. An administrator grants more with 'paddle grant %s %s %s --max-priority "
                "%d'.",
                priority, most, user, queue->object.name,
                catalog_grant(catalog, user, GRANT_QUEUE, queue->object.name) ? "set" : "create", user,
                queue->object.name, priority);
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
               (!entry->spec->array ||
                spec_array(entry->spec->array, &entry->indices, &entry->array_max, &submit->command.error));
}

/* Says which of several entries is meant. */
static void name_culprit(Submission *submission, guint i)
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
                        name_culprit(submission, i);
                        return false;
                }
                name_entry(submission, entry);
                if (entry->indices)
                        array_id_make(entry->id, entry->ref);
                else
                        g_strlcpy(entry->ref, entry->id, sizeof entry->ref);
                if (!g_hash_table_contains(submission->by_name, entry->name))
                        g_hash_table_insert(submission->by_name, entry->name, entry);
                submission->n_jobs += entry_jobs(entry);
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
                name_culprit(submission, i);
                return false;
        }
        return true;
}

static bool resolve_all(Submission *submission)
{
        bool waits = false;

        for (guint i = 0; i < submission->entries->len; i++) {
                Entry *entry = g_ptr_array_index(submission->entries, i);

                if (!entry->spec->after)
                        continue;
                if (!resolve_entry(submission, entry)) {
                        name_culprit(submission, i);
                        return false;
                }
                waits |= entry->after != NULL;
        }
        return !waits || check_cycles(submission);
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

        for (int i = 0; i < entry_jobs(entry); i++) {
                Job *job = make_job(submission, entry, i);
                Live *live;
                Life life;

                if (i == 0)
                        preparing_begin(engine, job);
                else
                        job_copy_preparations(job, entry->first->job);
                if (i == 0 && entry == g_ptr_array_index(submission->entries, 0))
                        job->idempotency_key = g_strdup(submission->submit->key);
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
        return check_id(submission) && check_names(submission) && check_count(submission) &&
               check_queue_counts(submission) && resolve_all(submission) && check_rate(submission);
}

static void make_all(Submission *submission)
{
        for (guint i = 0; i < submission->entries->len; i++)
                make_jobs(submission, g_ptr_array_index(submission->entries, i));
        submission->submit->command.live = ((Entry *)g_ptr_array_index(submission->entries, 0))->first;
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
