/* Lines of the journal (see line.h). Writing is on the path of every submission: numbers go straight
 * into the text, and nothing is allocated but the text's own memory. Reading trusts nothing: every number has a
 * range, and a placement has as many tasks as its roles have replicas. */
#include "sched/line.h"

#include <string.h>

enum {
        NUMBER_BYTES = 24, /* characters of any number, its sign and a separator */
        ID_MAX = 1 << 20,
        REPLICAS_MAX = 1 << 20,
        ROLES_MAX = 64,
        LABELS_MAX = 256,
};

/* ---- names ---- */

static const char *const kinds[] = {
        [DECIDE_START] = "start", [DECIDE_GROW] = "grow", [DECIDE_SHRINK] = "shrink", [DECIDE_EVICT] = "evict"
};

const char *decision_kind_name(DecisionKind kind)
{
        return kinds[kind];
}

static const char *const rules[] = {
        [RULE_NOMINATED] = "nominated", [RULE_ALLOCATE] = "allocate", [RULE_BACKFILL] = "backfill",
        [RULE_GROW] = "grow",           [RULE_PREEMPT] = "preempt",   [RULE_RECLAIM] = "reclaim"
};

const char *decision_rule_name(DecisionRule rule)
{
        return rules[rule];
}

/* ---- writing ---- */

static char *reserve(GString *out, gsize size)
{
        gsize len = out->len;

        if (out->allocated_len - len <= size) {
                g_string_set_size(out, len + MAX(size, len));
                out->len = len;
        }
        return out->str + len;
}

static void put_unsigned(GString *out, char before, guint64 number, unsigned base)
{
        char *at = reserve(out, NUMBER_BYTES), digits[NUMBER_BYTES];
        int n = 0;

        *at++ = before;
        do {
                digits[n++] = "0123456789abcdef"[number % base];
                number /= base;
        } while (number);
        out->len += 1 + (gsize)n;
        while (n > 0)
                *at++ = digits[--n];
        *at = '\0';
}

static void put_char(GString *out, char c)
{
        char *at = reserve(out, 2);

        at[0] = c;
        at[1] = '\0';
        out->len++;
}

static void put_number(GString *out, char before, gint64 number)
{
        if (number >= 0) {
                put_unsigned(out, before, (guint64)number, 10);
                return;
        }
        put_char(out, before);
        put_unsigned(out, '-', -(guint64)number, 10);
}

static void put_text(GString *out, const char *text)
{
        for (const char *c = text; *c; c++) {
                if (g_ascii_isgraph(*c) && *c != '%' && *c != ',')
                        put_char(out, *c);
                else
                        g_string_append_printf(out, "%%%02x", (unsigned char)*c);
        }
}

/* A name stands between separators, so an empty one is "%"; "-" alone would be no names at all. */
static void put_name(GString *out, char before, const char *name)
{
        put_char(out, before);
        if (!name || !*name)
                put_char(out, '%');
        else if (strcmp(name, "-") == 0)
                g_string_append(out, "%2d");
        else
                put_text(out, name);
}

static void put_resources(GString *out, const Resources *resources)
{
        char before = ' ';

        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++) {
                if (resources->amount[kind] == 0)
                        continue;
                put_unsigned(out, before, (guint64)kind, 10);
                put_number(out, ':', resources->amount[kind]);
                before = ',';
        }
        if (before == ' ')
                g_string_append_len(out, " -", 2);
}

static void put_labels(GString *out, const char *const *labels)
{
        if (!labels || !labels[0]) {
                g_string_append_len(out, " -", 2);
                return;
        }
        for (int i = 0; labels[i]; i++)
                put_name(out, i ? ',' : ' ', labels[i]);
}

static void put_tasks(GString *out, const SchedTask *tasks, int n)
{
        if (n == 0)
                g_string_append_len(out, " -", 2);
        for (int i = 0; i < n; i++) {
                put_number(out, i ? ',' : ' ', tasks[i].node);
                if (tasks[i].devices)
                        put_unsigned(out, '/', tasks[i].devices, 16);
        }
}

void line_numbers(GString *out, const char *word, const gint64 *numbers, int n)
{
        g_string_append(out, word);
        for (int i = 0; i < n; i++)
                put_number(out, ' ', numbers[i]);
        put_char(out, '\n');
}

void line_number(GString *out, const char *word, gint64 number)
{
        line_numbers(out, word, &number, 1);
}

void line_usage(GString *out, int queue, int user, gint64 usage, gint64 at)
{
        line_numbers(out, "usage", (gint64[]){ queue, user, usage, at }, 4);
}

void line_kinds(GString *out)
{
        g_string_append(out, "kinds");
        for (int kind = 0; kind < resource_kinds(); kind++)
                put_name(out, ' ', resource_name(kind));
        put_char(out, '\n');
}

void line_node(GString *out, const SchedNode *node)
{
        g_string_append(out, "node");
        put_number(out, ' ', node->id);
        put_number(out, ' ', node->cluster);
        put_number(out, ' ', node->usable);
        put_name(out, ' ', node->name);
        put_resources(out, &node->total);
        put_labels(out, node->labels);
        put_char(out, '\n');
}

void line_queue(GString *out, const SchedQueue *queue)
{
        const gint64 numbers[] = {
                queue->weight, queue->priority, queue->reclaimable,         queue->preemption,
                queue->order,  queue->backfill, queue->max_running_per_user
        };

        g_string_append(out, "queue");
        put_number(out, ' ', queue->id);
        put_number(out, ' ', queue->cluster);
        put_number(out, ' ', queue->parent);
        put_name(out, ' ', queue->name);
        put_number(out, ' ', queue->state);
        put_resources(out, &queue->min);
        put_resources(out, &queue->max);
        put_resources(out, &queue->reserved);
        for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
                put_number(out, ' ', numbers[i]);
        put_labels(out, queue->labels);
        put_char(out, '\n');
}

static int count_replicas(const SchedJob *job)
{
        int n = 0;

        for (int role = 0; role < job->n_roles; role++)
                n += job->roles[role].replicas;
        return n;
}

void line_job(GString *out, const SchedJob *job)
{
        const gint64 numbers[] = { job->queue,
                                   job->user,
                                   job->priority,
                                   job->submitted,
                                   job->not_before,
                                   job->time_limit_ms,
                                   job->grace_ms,
                                   job->held,
                                   job->preemptable,
                                   job->array,
                                   job->array_max,
                                   job->topology,
                                   job->topology_required };

        g_string_append_len(out, "job", 3);
        put_number(out, ' ', job->key);
        for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
                put_number(out, ' ', numbers[i]);
        put_labels(out, job->labels);
        put_number(out, ' ', job->n_roles);
        for (int role = 0; role < job->n_roles; role++) {
                put_resources(out, &job->roles[role].each);
                put_number(out, ' ', job->roles[role].replicas);
                put_number(out, ' ', job->roles[role].min);
        }
        put_number(out, ' ', job->state);
        if (job->state != SCHED_PENDING) {
                put_number(out, ' ', job->started);
                put_number(out, ' ', job->saved);
                put_tasks(out, job->tasks, count_replicas(job));
        }
        put_char(out, '\n');
}

void line_decision(GString *out, const Decision *decision, const SchedTask *tasks)
{
        g_string_append(out, decision_kind_name(decision->kind));
        put_char(out, ' ');
        g_string_append(out, decision_rule_name(decision->rule));
        put_number(out, ' ', decision->key);
        put_number(out, ' ', decision->for_key);
        put_tasks(out, tasks, decision->n_tasks);
        put_char(out, '\n');
}

/* ---- reading ---- */

void line_memory_init(LineMemory *memory)
{
        *memory = (LineMemory){ .strings = g_string_chunk_new(1024),
                                .labels = g_ptr_array_new(),
                                .roles = g_array_new(false, true, sizeof(SchedRole)),
                                .tasks = g_array_new(false, true, sizeof(SchedTask)) };
}

void line_memory_clear(LineMemory *memory)
{
        g_string_chunk_free(memory->strings);
        g_ptr_array_unref(memory->labels);
        g_array_unref(memory->roles);
        g_array_unref(memory->tasks);
}

static void memory_empty(LineMemory *memory)
{
        g_string_chunk_clear(memory->strings);
        g_ptr_array_set_size(memory->labels, 0);
        g_array_set_size(memory->roles, 0);
        g_array_set_size(memory->tasks, 0);
}

bool line_done(const Line *line)
{
        return line->at == line->end;
}

bool line_word(Line *line, const char **ret, gsize *ret_len)
{
        const char *blank;

        if (line_done(line))
                return false;
        blank = memchr(line->at, ' ', (gsize)(line->end - line->at));
        *ret = line->at;
        *ret_len = (gsize)((blank ? blank : line->end) - line->at);
        line->at = blank ? blank + 1 : line->end;
        return *ret_len > 0;
}

/* A number that ends at `end`; *at moves behind it. Digits of base 10 with a sign, or of base 16. */
static bool take_unsigned(const char **at, const char *end, int base, guint64 max, guint64 *ret)
{
        const char *start = *at;
        guint64 number = 0;

        for (; *at < end; (*at)++) {
                int digit = g_ascii_xdigit_value(**at);

                if (digit < 0 || digit >= base)
                        break;
                if (number > (max - (guint64)digit) / (guint64)base)
                        return false;
                number = number * (guint64)base + (guint64)digit;
        }
        *ret = number;
        return *at > start;
}

static bool take_number(const char **at, const char *end, gint64 min, gint64 max, gint64 *ret)
{
        bool negative = *at < end && **at == '-';
        guint64 size;

        *at += negative;
        if (!take_unsigned(at, end, 10, G_MAXINT64, &size))
                return false;
        *ret = negative ? -(gint64)size : (gint64)size;
        return *ret >= min && *ret <= max;
}

bool line_int(Line *line, gint64 min, gint64 max, gint64 *ret)
{
        const char *word, *end;
        gsize len;

        if (!line_word(line, &word, &len))
                return false;
        end = word + len;
        return take_number(&word, end, min, max, ret) && word == end;
}

static bool read_int(Line *line, gint64 min, gint64 max, int *ret)
{
        gint64 number;

        if (!line_int(line, min, max, &number))
                return false;
        *ret = (int)number;
        return true;
}

static bool read_bool(Line *line, bool *ret)
{
        int number;

        if (!read_int(line, 0, 1, &number))
                return false;
        *ret = number;
        return true;
}

/* Of what put_text writes, and nothing else. */
static bool read_text(LineMemory *memory, const char *word, gsize len, char **ret)
{
        g_autoptr(GString) text = g_string_sized_new(len);

        for (const char *c = word; c < word + len; c++) {
                int byte;

                if (!g_ascii_isgraph(*c))
                        return false;
                if (*c != '%') {
                        g_string_append_c(text, *c);
                        continue;
                }
                if (len == 1)
                        break; /* "%" is the empty name */
                if (word + len - c < 3)
                        return false;
                if (!g_ascii_isxdigit(c[1]) || !g_ascii_isxdigit(c[2]))
                        return false;
                byte = g_ascii_xdigit_value(c[1]) << 4 | g_ascii_xdigit_value(c[2]);
                if (byte == 0)
                        return false;
                g_string_append_c(text, (char)byte);
                c += 2;
        }
        *ret = g_string_chunk_insert_len(memory->strings, text->str, (gssize)text->len);
        return true;
}

static bool read_name(Line *line, LineMemory *memory, const char **ret)
{
        const char *word;
        char *name;
        gsize len;

        if (!line_word(line, &word, &len) || !read_text(memory, word, len, &name))
                return false;
        *ret = name;
        return true;
}

static bool is_nothing(const char *word, gsize len)
{
        return len == 1 && *word == '-';
}

static bool read_resources(Line *line, Resources *ret)
{
        const char *word, *end;
        gint64 kind, amount;
        gsize len;

        *ret = (Resources){ 0 };
        if (!line_word(line, &word, &len))
                return false;
        if (is_nothing(word, len))
                return true;
        for (end = word + len;; word++) {
                if (!take_number(&word, end, 0, RESOURCE_KINDS_MAX - 1, &kind) || word == end ||
                    *word++ != ':')
                        return false;
                if (!take_number(&word, end, 0, G_MAXINT64, &amount))
                        return false;
                ret->amount[kind] = amount;
                if (word == end)
                        return true;
                if (*word != ',')
                        return false;
        }
}

static bool read_labels(Line *line, LineMemory *memory, const char *const **ret)
{
        const char *word, *end;
        gsize len;

        *ret = NULL;
        if (!line_word(line, &word, &len))
                return false;
        if (is_nothing(word, len))
                return true;
        for (end = word + len; word <= end;) {
                const char *comma = memchr(word, ',', (gsize)(end - word));
                char *label;

                if (!read_text(memory, word, (gsize)((comma ? comma : end) - word), &label) ||
                    memory->labels->len == LABELS_MAX)
                        return false;
                g_ptr_array_add(memory->labels, label);
                word = comma ? comma + 1 : end + 1;
        }
        g_ptr_array_add(memory->labels, NULL);
        *ret = (const char *const *)memory->labels->pdata;
        return true;
}

static bool read_tasks(Line *line, LineMemory *memory)
{
        const char *word, *end;
        gint64 node;
        gsize len;

        if (!line_word(line, &word, &len))
                return false;
        if (is_nothing(word, len))
                return true;
        for (end = word + len;; word++) {
                SchedTask task = { 0 };

                if (!take_number(&word, end, -1, ID_MAX, &node))
                        return false;
                task.node = (int)node;
                if (word < end && *word == '/') {
                        word++;
                        if (!take_unsigned(&word, end, 16, G_MAXUINT64, &task.devices))
                                return false;
                }
                g_array_append_val(memory->tasks, task);
                if (word == end)
                        return true;
                if (*word != ',' || memory->tasks->len > REPLICAS_MAX)
                        return false;
        }
}

bool line_read_kinds(Line *line, LineMemory *memory)
{
        const char *name;

        memory_empty(memory);
        for (int kind = 0; !line_done(line); kind++) {
                if (!read_name(line, memory, &name) || resource_intern("the journal", name, NULL) != kind)
                        return false;
        }
        return true;
}

bool line_read_node(Line *line, LineMemory *memory, SchedNode *ret)
{
        *ret = (SchedNode){ 0 };
        memory_empty(memory);
        return read_int(line, 0, ID_MAX, &ret->id) && read_int(line, 0, ID_MAX, &ret->cluster) &&
               read_bool(line, &ret->usable) && read_name(line, memory, &ret->name) &&
               read_resources(line, &ret->total) && read_labels(line, memory, &ret->labels) &&
               line_done(line);
}

bool line_read_queue(Line *line, LineMemory *memory, SchedQueue *ret)
{
        int state, preemption, order;

        *ret = (SchedQueue){ 0 };
        memory_empty(memory);
        if (!read_int(line, 0, ID_MAX, &ret->id) || !read_int(line, 0, ID_MAX, &ret->cluster) ||
            !read_int(line, -1, ID_MAX, &ret->parent) || !read_name(line, memory, &ret->name) ||
            !read_int(line, 0, QUEUE_STATES - 1, &state) || !read_resources(line, &ret->min) ||
            !read_resources(line, &ret->max) || !read_resources(line, &ret->reserved) ||
            !read_int(line, 1, G_MAXINT, &ret->weight) ||
            !read_int(line, G_MININT, G_MAXINT, &ret->priority) || !read_bool(line, &ret->reclaimable) ||
            !read_int(line, 0, QUEUE_PREEMPTIONS - 1, &preemption) ||
            !read_int(line, 0, QUEUE_ORDERS - 1, &order) || !read_bool(line, &ret->backfill) ||
            !read_int(line, 0, G_MAXINT, &ret->max_running_per_user) ||
            !read_labels(line, memory, &ret->labels) || !line_done(line))
                return false;
        ret->state = (QueueState)state;
        ret->preemption = (QueuePreemption)preemption;
        ret->order = (QueueOrder)order;
        return true;
}

static bool read_roles(Line *line, LineMemory *memory, SchedJob *ret)
{
        gint64 total = 0;

        if (!read_int(line, 0, ROLES_MAX, &ret->n_roles))
                return false;
        for (int i = 0; i < ret->n_roles; i++) {
                SchedRole role;

                if (!read_resources(line, &role.each) || !read_int(line, 0, REPLICAS_MAX, &role.replicas) ||
                    !read_int(line, 0, role.replicas, &role.min))
                        return false;
                total += role.replicas;
                g_array_append_val(memory->roles, role);
        }
        ret->roles = (const SchedRole *)(void *)memory->roles->data;
        return total <= REPLICAS_MAX;
}

static bool read_state(Line *line, LineMemory *memory, SchedJob *ret)
{
        int state;

        if (!read_int(line, SCHED_PENDING, SCHED_ENDING, &state))
                return false;
        ret->state = (SchedJobState)state;
        if (ret->state == SCHED_PENDING)
                return true;
        if (!line_int(line, 0, G_MAXINT64, &ret->started) || !line_int(line, 0, G_MAXINT64, &ret->saved) ||
            !read_tasks(line, memory))
                return false;
        ret->tasks = (const SchedTask *)(void *)memory->tasks->data;
        return (int)memory->tasks->len == count_replicas(ret);
}

bool line_read_job(Line *line, LineMemory *memory, SchedJob *ret)
{
        *ret = (SchedJob){ 0 };
        memory_empty(memory);
        return line_int(line, 1, G_MAXINT64, &ret->key) && read_int(line, 0, ID_MAX, &ret->queue) &&
               read_int(line, 0, G_MAXINT, &ret->user) &&
               read_int(line, -SCHED_PRIORITY_MAX, SCHED_PRIORITY_MAX, &ret->priority) &&
               line_int(line, 0, G_MAXINT64, &ret->submitted) &&
               line_int(line, 0, G_MAXINT64, &ret->not_before) &&
               line_int(line, 0, G_MAXINT64, &ret->time_limit_ms) &&
               line_int(line, 0, G_MAXINT64, &ret->grace_ms) && read_bool(line, &ret->held) &&
               read_bool(line, &ret->preemptable) && read_int(line, 0, G_MAXINT, &ret->array) &&
               read_int(line, 0, G_MAXINT, &ret->array_max) && read_int(line, -1, ID_MAX, &ret->topology) &&
               read_bool(line, &ret->topology_required) && read_labels(line, memory, &ret->labels) &&
               read_roles(line, memory, ret) && read_state(line, memory, ret) && line_done(line);
}

bool line_read_decision(Line *line, LineMemory *memory, DecisionKind kind, Decision *ret)
{
        const char *rule;
        gsize len;

        *ret = (Decision){ .kind = (guint8)kind, .rule = RULES };
        memory_empty(memory);
        if (!line_word(line, &rule, &len))
                return false;
        for (int i = 0; i < RULES; i++) {
                const char *name = decision_rule_name((DecisionRule)i);

                if (strlen(name) == len && memcmp(name, rule, len) == 0)
                        ret->rule = (guint8)i;
        }
        if (ret->rule == RULES || !line_int(line, 1, G_MAXINT64, &ret->key) ||
            !line_int(line, 0, G_MAXINT64, &ret->for_key) || !read_tasks(line, memory))
                return false;
        ret->n_tasks = (int)memory->tasks->len;
        return line_done(line);
}
