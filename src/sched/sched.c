/* First come, first served (see sched.h). One pass over the waiting jobs in the order of their submission;
 * what is admitted is taken from a copy of the free resources at once, so that the pass as a whole never
 * gives away more than there is. */
#include "sched/sched.h"

static bool may_start(const SchedJob *job, gint64 now)
{
        return job->ready && job->not_before <= now;
}

void sched_pass(const SchedSnapshot *snapshot, GArray *ret_admitted, int *ret_head)
{
        Resources free = snapshot->free;

        *ret_head = -1;
        for (int i = 0; i < snapshot->n_jobs; i++) {
                const SchedJob *job = &snapshot->jobs[i];

                if (!may_start(job, snapshot->now) || !resources_fit(&job->want, &snapshot->total))
                        continue;
                if (!resources_fit(&job->want, &free)) {
                        *ret_head = i;
                        return;
                }
                resources_subtract(&free, &job->want);
                g_array_append_val(ret_admitted, i);
        }
}

/* ---- why a job waits ---- */

static const struct {
        const char *one, *many; /* NULL for an amount in bytes */
        size_t offset;
} kinds[] = {
        { "core", "cores", G_STRUCT_OFFSET(Resources, cpu_milli) },
        { "GPU", "GPUs", G_STRUCT_OFFSET(Resources, gpus) },
        { NULL, "memory", G_STRUCT_OFFSET(Resources, memory) },
};

static gint64 amount_of(const Resources *resources, size_t kind)
{
        return *(const gint64 *)((const char *)resources + kinds[kind].offset);
}

/* "2", "1.5", "4Gi". */
static char *amount_format(size_t kind, gint64 amount)
{
        if (!kinds[kind].one)
                return memory_format(amount);
        if (kinds[kind].offset != G_STRUCT_OFFSET(Resources, cpu_milli))
                return g_strdup_printf("%" G_GINT64_FORMAT, amount);
        if (amount % 1000 == 0)
                return g_strdup_printf("%" G_GINT64_FORMAT, amount / 1000);
        return amount % 100 == 0 ? g_strdup_printf("%.1f", (double)amount / 1000)
                                 : g_strdup_printf("%.3f", (double)amount / 1000);
}

/* "2 cores", "1 core", "4Gi of memory". */
static char *amount_named(size_t kind, gint64 amount)
{
        g_autofree char *text = amount_format(kind, amount);
        gint64 one = kinds[kind].offset == G_STRUCT_OFFSET(Resources, cpu_milli) ? 1000 : 1;

        if (!kinds[kind].one)
                return g_strdup_printf("%s of memory", text);
        return g_strdup_printf("%s %s", text, amount == one ? kinds[kind].one : kinds[kind].many);
}

/* "1.5 cores: asks for 4, 2.5 of 8 are free" for each kind that lacks. */
static void say_lacks(GString *out, const Resources *want, const Resources *have, const Resources *total)
{
        for (size_t kind = 0; kind < G_N_ELEMENTS(kinds); kind++) {
                gint64 lacks = amount_of(want, kind) - amount_of(have, kind);
                g_autofree char *lacking = lacks > 0 ? amount_named(kind, lacks) : NULL;
                g_autofree char *asked = amount_format(kind, amount_of(want, kind));
                g_autofree char *there = amount_format(kind, MAX(amount_of(have, kind), 0));
                g_autofree char *all = amount_format(kind, amount_of(total, kind));

                if (lacking)
                        g_string_append_printf(out, "%s%s: asks for %s, %s of %s %s free",
                                               out->len ? "; and for " : "waits for ", lacking, asked, there,
                                               all, kinds[kind].one ? "are" : "is");
        }
}

static void say_too_large(GString *out, const Resources *want, const Resources *total)
{
        for (size_t kind = 0; kind < G_N_ELEMENTS(kinds); kind++) {
                g_autofree char *asked = amount_named(kind, amount_of(want, kind));
                g_autofree char *all = amount_format(kind, amount_of(total, kind));

                if (amount_of(want, kind) > amount_of(total, kind))
                        g_string_append_printf(out, "%s%s, this machine has %s",
                                               out->len ? "; for " : "can never start: asks for ", asked,
                                               all);
        }
}

static void say_ahead(GString *out, int ahead)
{
        if (ahead > 0)
                g_string_append_printf(out, "; %d job%s ahead of it", ahead, ahead == 1 ? " is" : "s are");
}

char *sched_explain(const SchedJob *job, const Resources *total, const Resources *have, int ahead, gint64 now)
{
        GString *out = g_string_new(NULL);

        if (!resources_fit(&job->want, total)) {
                say_too_large(out, &job->want, total);
                return g_string_free(out, FALSE);
        }
        if (job->not_before > now) {
                g_string_append_printf(out, "waits %.1f s before its next attempt",
                                       (double)(job->not_before - now) / 1000);
                return g_string_free(out, FALSE);
        }
        if (!job->ready) {
                g_string_append(out, "waits for its environment, which is being built");
                return g_string_free(out, FALSE);
        }
        say_lacks(out, &job->want, have, total);
        if (!out->len)
                g_string_append(out, ahead > 0 ? "waits for its turn" : "is about to start");
        say_ahead(out, ahead);
        return g_string_free(out, FALSE);
}
