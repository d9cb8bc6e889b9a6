/* A Scheduler as text and back (dump.h). Nodes, queues and jobs have the lines of the journal; what the
 * scheduler remembers by itself has lines of numbers. Loading goes through the same puts as everything that a
 * Scheduler is told, so a text cannot make one that could not have come about. */
#include "sched/dump.h"

#include "base/err.h"
#include "sched/copy.h"
#include "sched/line.h"

static const char first_line[] = "paddle-scheduler 1";

enum { VICTIMS_MAX = 1 << 20, RATE_MAX = 1000000 };

/* ---- writing ---- */

static void append_number(GString *out, gint64 number)
{
        g_string_append_printf(out, " %" G_GINT64_FORMAT, number);
}

static void dump_config(const Scheduler *s, GString *out)
{
        g_autofree char *joined = g_strjoinv(",", s->topology), *topology = NULL;

        topology = g_uri_escape_string(joined, ",/", FALSE);
        g_string_append(out, first_line);
        g_string_append_c(out, '\n');
        line_kinds(out);
        g_string_append(out, "config");
        append_number(out, s->nominated_ms);
        append_number(out, s->cooldown_ms);
        append_number(out, s->half_life_ms);
        g_string_append_printf(out, " %s\n", *topology ? topology : "-");
        line_number(out, "clock", s->now);
}

static void dump_going(const Job *job, GString *out)
{
        g_string_append(out, "going");
        append_number(out, job->key);
        for (int i = 0; i < job_gang(job)->n_tasks; i++) {
                const SchedTask *going = &job->run->going[i];

                if (going->node < 0)
                        continue;
                append_number(out, i);
                append_number(out, going->node);
                append_number(out, (gint64)(going->devices & 0xffffffff));
                append_number(out, (gint64)(going->devices >> 32));
        }
        g_string_append_c(out, '\n');
}

static void dump_jobs(const Scheduler *s, GString *out)
{
        g_autoptr(GPtrArray) jobs = jobs_sorted(s);

        for (guint i = 0; i < jobs->len; i++) {
                const Job *job = jobs->pdata[i];
                SchedJob view;

                (void)job_view(job, &view);
                line_job(out, &view);
                if (job->run && job->run->going)
                        dump_going(job, out);
                if (job->past)
                        line_numbers(out, "past",
                                     (gint64[]){ job->key, job->past->victim, job->past->safe_until,
                                                 job->past->evictor },
                                     4);
        }
}

static void dump_usage(const Scheduler *s, GString *out)
{
        g_autoptr(GPtrArray) accounts = accounts_sorted(s);

        for (guint i = 0; i < accounts->len; i++) {
                const Account *account = accounts->pdata[i];
                const Usage *usage = &account->usage;

                if (usage->value > 0 || usage->rate > 0)
                        line_numbers(out, "used",
                                     (gint64[]){ account->queue, account->user, usage->value, usage->at,
                                                 usage->rate },
                                     5);
        }
        for (guint i = 0; i < s->queues->len; i++) {
                const QueueNode *queue = s->queues->pdata[i];

                if (queue)
                        line_numbers(out, "used-in-all",
                                     (gint64[]){ queue->id, queue->usage.value, queue->usage.at }, 3);
        }
}

static void dump_nomination(const Scheduler *s, const Nomination *nomination, GString *out)
{
        const Gang *gang = job_gang(job_find(s, nomination->key));

        g_string_append(out, "nominated");
        append_number(out, nomination->key);
        append_number(out, nomination->until);
        append_number(out, gang->n_need);
        for (int i = 0; i < gang->n_tasks; i++)
                if (nomination->tasks[i].node >= 0) {
                        append_number(out, i);
                        append_number(out, nomination->tasks[i].node);
                }
        append_number(out, nomination->victims->len);
        for (guint i = 0; i < nomination->victims->len; i++)
                append_number(out, g_array_index(nomination->victims, gint64, i));
        g_string_append_c(out, '\n');
}

/* Each closed gang once, by the lowest key of its jobs. */
static void dump_closed(const Scheduler *s, GString *out)
{
        g_autoptr(GPtrArray) jobs = jobs_sorted(s);
        g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

        for (guint i = 0; i < jobs->len; i++) {
                const Job *job = jobs->pdata[i];

                if (job_gang(job)->closed && g_hash_table_add(seen, job_gang(job)))
                        line_numbers(out, "closed", (gint64[]){ job->key, job_gang(job)->cause }, 2);
        }
}

static gint64 count_lines(const char *text, gsize len)
{
        gint64 n = 0;

        for (gsize i = 0; i < len; i++)
                n += text[i] == '\n';
        return n;
}

bool scheduler_dump(const Scheduler *s, GString *out)
{
        g_autoptr(GPtrArray) queues = queues_sorted(s);
        gsize start = out->len;

        dump_config(s, out);
        for (guint i = 0; i < s->nodes->len; i++)
                if (s->nodes->pdata[i]) {
                        SchedNode node = node_view(s->nodes->pdata[i]);

                        line_node(out, &node);
                }
        for (guint i = 0; i < queues->len; i++) {
                SchedQueue queue = queue_view(queues->pdata[i]);

                line_queue(out, &queue);
        }
        dump_jobs(s, out);
        dump_usage(s, out);
        for (guint i = 0; i < s->nominations->len; i++)
                dump_nomination(s, s->nominations->pdata[i], out);
        dump_closed(s, out);
        line_number(out, "end", count_lines(out->str + start, out->len - start));
        return true;
}

/* ---- reading ---- */

typedef struct {
        Scheduler *s;
        LineMemory memory;
        gint64 lines;
        bool ended;
        const char *what; /* is wrong with the line */
} Loader;

static bool wrong(Loader *loader, const char *what)
{
        loader->what = what;
        return false;
}

static bool load_config(Loader *loader, Line *line)
{
        SchedulerConfig config = { 0 };
        g_autofree char *topology = NULL;
        const char *word;
        gsize len;

        if (loader->s || !line_int(line, 1, SCHED_SPAN_MAX, &config.nominated_ms) ||
            !line_int(line, 1, SCHED_SPAN_MAX, &config.cooldown_ms) ||
            !line_int(line, 1, SCHED_SPAN_MAX, &config.half_life_ms) || !line_word(line, &word, &len) ||
            !line_done(line))
                return wrong(loader, "is not NOMINATED COOLDOWN HALF_LIFE TOPOLOGY, once");
        if (len != 1 || *word != '-') {
                topology = g_uri_unescape_segment(word, word + len, NULL);
                if (!topology)
                        return wrong(loader, "has a topology that is not escaped as it should be");
        }
        config.topology = topology;
        loader->s = scheduler_new(&config);
        return true;
}

static bool load_kinds(Loader *loader, Line *line)
{
        return line_read_kinds(line, &loader->memory) ||
               wrong(loader, "does not name this process's kinds of resources in their order");
}

static bool load_clock(Loader *loader, Line *line)
{
        return (line_int(line, 0, SCHED_TIME_MAX, &loader->s->now) && line_done(line)) ||
               wrong(loader, "is not a time");
}

static bool load_node(Loader *loader, Line *line)
{
        SchedNode node;

        return (line_read_node(line, &loader->memory, &node) && !node_find(loader->s, node.id) &&
                scheduler_put_node(loader->s, &node)) ||
               wrong(loader, "is not a node, or one that is there already, or too large");
}

static bool load_queue(Loader *loader, Line *line)
{
        SchedQueue queue;

        return (line_read_queue(line, &loader->memory, &queue) && !queue_find(loader->s, queue.id) &&
                scheduler_put_queue(loader->s, &queue)) ||
               wrong(loader, "is not a queue, or one that is there already, or below none");
}

static bool load_job(Loader *loader, Line *line)
{
        SchedJob job;

        return (line_read_job(line, &loader->memory, &job) && !job_find(loader->s, job.key) &&
                scheduler_put_job(loader->s, &job)) ||
               wrong(loader, "is not a job of a queue, or one that is there already, or stands nowhere");
}

static bool load_past(Loader *loader, Line *line)
{
        gint64 key, victim;
        Past past = { 0 };
        Job *job;

        if (!line_int(line, 1, G_MAXINT64, &key) || !line_int(line, 0, 1, &victim) ||
            !line_int(line, 0, SCHED_TIME_MAX, &past.safe_until) ||
            !line_int(line, 0, G_MAXINT64, &past.evictor) || !line_done(line) ||
            !(job = job_find(loader->s, key)))
                return wrong(loader, "is not JOB VICTIM SAFE_UNTIL EVICTOR");
        past.victim = victim;
        restore_past(loader->s, job, &past);
        return true;
}

static bool load_going_tasks(Line *line, const Job *job, SchedTask *going)
{
        do {
                gint64 task, node, low, high;

                if (!line_int(line, 0, job_gang(job)->n_tasks - 1, &task) ||
                    !line_int(line, 0, SCHED_ID_MAX, &node) || !line_int(line, 0, G_MAXUINT32, &low) ||
                    !line_int(line, 0, G_MAXUINT32, &high) || going[task].node >= 0)
                        return false;
                going[task] = (SchedTask){ (int)node, (guint64)high << 32 | (guint64)low };
        } while (!line_done(line));
        return true;
}

static SchedTask *no_tasks(const Gang *gang)
{
        SchedTask *tasks = g_new(SchedTask, gang->n_tasks);

        for (int i = 0; i < gang->n_tasks; i++)
                tasks[i] = (SchedTask){ .node = -1 };
        return tasks;
}

static bool load_going(Loader *loader, Line *line)
{
        g_autofree SchedTask *going = NULL;
        gint64 key;
        Job *job;

        if (!line_int(line, 1, G_MAXINT64, &key) || !(job = job_find(loader->s, key)) ||
            job->state != SCHED_RUNNING || job->run->going)
                return wrong(loader, "is not of a running job, once");
        going = no_tasks(job_gang(job));
        return (load_going_tasks(line, job, going) && restore_going(loader->s, job, going)) ||
               wrong(loader, "says of tasks where they cannot stand");
}

static bool load_used(Loader *loader, Line *line)
{
        gint64 queue, user;
        Usage usage;
        Account *account;

        if (!line_int(line, 0, SCHED_ID_MAX, &queue) || !line_int(line, 0, G_MAXINT, &user) ||
            !line_int(line, 0, G_MAXINT64 / 4, &usage.value) ||
            !line_int(line, 0, SCHED_TIME_MAX, &usage.at) || !line_int(line, 0, RATE_MAX, &usage.rate) ||
            !line_done(line) || !queue_find(loader->s, (int)queue))
                return wrong(loader, "is not QUEUE USER VALUE AT RATE");
        account = account_get(loader->s, (int)queue, (int)user);
        for (QueueNode *lane = queue_find(loader->s, (int)queue); lane; lane = lane->parent)
                lane->usage.rate += usage.rate - account->usage.rate;
        account->usage = usage;
        return true;
}

static bool load_used_in_all(Loader *loader, Line *line)
{
        gint64 id;
        QueueNode *queue;

        if (!line_int(line, 0, SCHED_ID_MAX, &id) || !(queue = queue_find(loader->s, (int)id)) ||
            !line_int(line, 0, G_MAXINT64 / 4, &queue->usage.value) ||
            !line_int(line, 0, SCHED_TIME_MAX, &queue->usage.at) || !line_done(line))
                return wrong(loader, "is not QUEUE VALUE AT");
        return true;
}

/* As many tasks of each role as its gang has, on nodes of its cluster. */
static bool load_planned(Loader *loader, Line *line, const Gang *gang, SchedTask *tasks)
{
        g_autofree int *left = g_memdup2(gang->need, sizeof *left * (gsize)gang->n_roles);
        gint64 n;

        if (!line_int(line, 0, gang->n_need, &n) || n != gang->n_need)
                return false;
        for (; n > 0; n--) {
                gint64 task, id;
                const Node *node;

                if (!line_int(line, 0, gang->n_tasks - 1, &task) || !line_int(line, 0, SCHED_ID_MAX, &id) ||
                    !(node = node_find(loader->s, (int)id)) || node->cluster != gang->cluster ||
                    tasks[task].node >= 0 || left[gang_role_of(gang, (int)task)]-- == 0)
                        return false;
                tasks[task].node = (int)id;
        }
        return true;
}

static bool load_victims(Loader *loader, Line *line, GArray *victims)
{
        gint64 n, key;

        if (!line_int(line, 0, VICTIMS_MAX, &n))
                return false;
        for (; n > 0; n--) {
                if (!line_int(line, 1, G_MAXINT64, &key) || !job_find(loader->s, key))
                        return false;
                g_array_append_val(victims, key);
        }
        return line_done(line);
}

static bool is_promised_too_much(const Scheduler *s, const Gang *gang)
{
        const Cluster *cluster = cluster_find(s, gang->cluster);

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                if (gang->need_total.amount[kind] > SCHED_AMOUNT_MAX - cluster->planned.amount[kind])
                        return true;
        return false;
}

static bool load_nominated(Loader *loader, Line *line)
{
        Nomination *nomination = g_new0(Nomination, 1);
        const Job *job = NULL;

        nomination->victims = g_array_new(FALSE, FALSE, sizeof(gint64));
        if (line_int(line, 1, G_MAXINT64, &nomination->key) &&
            line_int(line, 0, SCHED_TIME_MAX, &nomination->until) &&
            (job = job_find(loader->s, nomination->key)) && job->place == PLACE_LISTED &&
            !is_promised_too_much(loader->s, job_gang(job))) {
                nomination->tasks = no_tasks(job_gang(job));
                if (load_planned(loader, line, job_gang(job), nomination->tasks) &&
                    load_victims(loader, line, nomination->victims)) {
                        restore_nomination(loader->s, nomination);
                        return true;
                }
        }
        nomination_free(nomination);
        return wrong(loader, "is not of a waiting job, with a place for each task, and known victims");
}

static bool load_closed(Loader *loader, Line *line)
{
        gint64 key, cause;
        Job *job;

        if (!line_int(line, 1, G_MAXINT64, &key) || !line_int(line, 1, CAUSES - 1, &cause) ||
            !line_done(line) || !(job = job_find(loader->s, key)))
                return wrong(loader, "is not JOB CAUSE");
        gang_close(job_gang(job), (Cause)cause);
        return true;
}

static bool load_end(Loader *loader, Line *line)
{
        gint64 lines;

        loader->ended = line_int(line, 0, G_MAXINT64, &lines) && line_done(line) && lines == loader->lines;
        return loader->ended || wrong(loader, "does not say how many lines stand before it");
}

static const struct {
        const char *word;
        bool (*load)(Loader *loader, Line *line);
        bool early; /* before `config` */
} rows[] = {
        { "kinds", load_kinds, true },
        { "config", load_config, true },
        { "clock", load_clock, false },
        { "node", load_node, false },
        { "queue", load_queue, false },
        { "job", load_job, false },
        { "going", load_going, false },
        { "past", load_past, false },
        { "used", load_used, false },
        { "used-in-all", load_used_in_all, false },
        { "nominated", load_nominated, false },
        { "closed", load_closed, false },
        { "end", load_end, false },
};

static bool load_line(Loader *loader, Line *line)
{
        const char *word;
        gsize len;

        if (loader->ended)
                return wrong(loader, "stands behind the end");
        if (loader->lines == 0) {
                len = (gsize)(line->end - line->at);
                return (len == strlen(first_line) && memcmp(line->at, first_line, len) == 0) ||
                       wrong(loader, "is not 'paddle-scheduler 1'");
        }
        if (!line_word(line, &word, &len))
                return wrong(loader, "is empty");
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                if (strlen(rows[i].word) == len && memcmp(rows[i].word, word, len) == 0)
                        return loader->s || rows[i].early ? rows[i].load(loader, line)
                                                          : wrong(loader, "comes before 'config'");
        return wrong(loader, "starts with a word that is not known");
}

static bool load(Loader *loader, const char *text, gsize len)
{
        const char *end = text + len;

        while (text < end) {
                const char *newline = memchr(text, '\n', (gsize)(end - text));
                Line line = { text, newline };

                if (!newline)
                        return wrong(loader, "has no newline at its end");
                if (!load_line(loader, &line))
                        return false;
                loader->lines++;
                text = newline + 1;
        }
        return loader->ended || wrong(loader, "is missing: it should be 'end' and the number of lines");
}

Scheduler *scheduler_load(const char *text, gsize len, GError **error)
{
        Loader loader = { 0 };
        bool ok;

        line_memory_init(&loader.memory);
        ok = load(&loader, text, len);
        line_memory_clear(&loader.memory);
        if (ok)
                return loader.s;
        scheduler_free(loader.s);
        (void)err_set(error, ERR_INVALID,
                      "dump of a scheduler: line %" G_GINT64_FORMAT
                      " %s\nIt was not written by this program, or was damaged.",
                      loader.lines + 1, loader.what);
        return NULL;
}
