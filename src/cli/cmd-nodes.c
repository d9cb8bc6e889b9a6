/* paddle nodes: the machines, their capacity, usage, and free resources. */
#include <string.h>

#include "cli/listing.h"
#include "cli/quota.h"
#include "cli/verbs.h"

typedef struct {
        Common common;
        char *cluster, *format;
} Nodes;

static const Option options[] = {
        { "cluster", 0, OPTION_STRING, offsetof(Nodes, cluster), "NAME", "only those of this cluster" },
        FORMAT_OPTION(offsetof(Nodes, format)),
        COMMON_OPTIONS,
        { 0 },
};

/* ---- cells ---- */

/* "ready", or why no job is placed there. */
static char *cell_state(const json_t *node, const Terminal *terminal)
{
        if (json_is_true(json_object_get(node, "usable")))
                return g_strdup("ready");
        return g_strdup(json_is_true(json_object_get(node, "ready")) ? "closed" : "away");
}

static const char *paint_state(const char *state)
{
        return strcmp(state, "ready") == 0    ? "\033[32m"
               : strcmp(state, "closed") == 0 ? "\033[33m"
                                              : "\033[31m";
}

static gint64 amount_of(const json_t *node, const char *member, int kind)
{
        ResourceLimits amounts = amounts_of(node, member);

        return amounts.amount.amount[kind];
}

/* "1.5/4": requested by jobs and others, of the total. */
static char *asked_text(const json_t *node, int kind)
{
        gint64 total = amount_of(node, "total", kind), used = total - amount_of(node, "free", kind);
        g_autofree char *part = quantity_text(kind, MAX(used, 0)), *whole = quantity_text(kind, total);

        return total > 0 ? g_strdup_printf("%s/%s", part, whole) : NULL;
}

static char *free_text(const json_t *node, int kind)
{
        return amount_of(node, "total", kind) > 0 ? quantity_text(kind, amount_of(node, "free", kind)) : NULL;
}

/* Usage of the members; with '+' if some are not measured. NULL: none is. */
static char *used_text(const json_t *node, int kind, gint64 amount)
{
        const json_t *usage = json_object_get(node, "usage");
        g_autofree char *text = quantity_text(kind, amount);
        gint64 members = int_of(usage, "members"), measured = int_of(usage, "measured");

        if (measured == 0 && members > 0)
                return NULL;
        return g_strdup_printf("%s%s", text, measured < members ? "+" : "");
}

static char *cell_cpu_used(const json_t *node, const Terminal *terminal)
{
        double cores = json_number_value(json_object_get(json_object_get(node, "usage"), "cores"));

        return used_text(node, RESOURCE_CPU, (gint64)(cores * 1000 + 0.5));
}

static char *cell_memory_used(const json_t *node, const Terminal *terminal)
{
        return used_text(node, RESOURCE_MEMORY, int_of(json_object_get(node, "usage"), "memory"));
}

static char *cell_cpu(const json_t *node, const Terminal *terminal)
{
        return asked_text(node, RESOURCE_CPU);
}

static char *cell_memory(const json_t *node, const Terminal *terminal)
{
        return asked_text(node, RESOURCE_MEMORY);
}

static char *cell_gpu(const json_t *node, const Terminal *terminal)
{
        return asked_text(node, RESOURCE_GPU);
}

static char *cell_free_cpu(const json_t *node, const Terminal *terminal)
{
        return free_text(node, RESOURCE_CPU);
}

static char *cell_free_memory(const json_t *node, const Terminal *terminal)
{
        return free_text(node, RESOURCE_MEMORY);
}

static char *cell_free_gpu(const json_t *node, const Terminal *terminal)
{
        return free_text(node, RESOURCE_GPU);
}

static const Column columns[] = {
        { "NODE", .member = "name", .fit = { .min = 16, .middle = true } },
        { "CLUSTER", .member = "cluster", .fit = { 3 } },
        { "STATE", .cell = cell_state, .paint = paint_state },
        { ">CPU USED", .cell = cell_cpu_used },
        { ">CPU ASKED", .cell = cell_cpu },
        { ">MEM USED", .cell = cell_memory_used, .fit = { 2 } },
        { ">MEM ASKED", .cell = cell_memory },
        { ">GPUS ASKED", .cell = cell_gpu, .fit = { 2 } },
        { ">FREE CPU", true, cell_free_cpu },
        { ">FREE MEMORY", true, cell_free_memory },
        { ">FREE GPU", true, cell_free_gpu },
        { ">JOBS", .member = "jobs", .fit = { 2 } },
        { "LABELS", true, .member = "labels" },
        { "WHY", .member = "why", .fit = { 1, 20 } },
        { 0 },
};

static bool run(Cli *cli, const void *target, char *const *words, GError **error)
{
        const Nodes *nodes = target;
        g_autofree char *escaped = nodes->cluster ? url_escape(nodes->cluster) : NULL;
        g_autofree char *path = g_strconcat("/v1/nodes", escaped ? "?cluster=" : "", escaped, NULL);
        g_autofree char *cluster = g_strconcat("/v1/clusters/", escaped, NULL);
        g_autoptr(json_t) reply = NULL;
        g_autoptr(Listing) listing = NULL;
        const json_t *item;
        Format format;
        gsize i;

        if (!format_parse(cli, nodes->format, &format, error) || !cli_client(cli, error) ||
            (escaped && !http_call_json(cli->client, "GET", cluster, NULL, NULL, error)) ||
            !http_call_json(cli->client, "GET", path, NULL, &reply, error))
                return false;
        listing = listing_new(cli, format, columns, "name");
        json_array_foreach(json_object_get(reply, "items"), i, item)
                listing_add(listing, item);
        listing_end(listing);
        if (i > 0 && cli->terminal.out_is_terminal && (format == FORMAT_TABLE || format == FORMAT_WIDE))
                puts("USED: measured now. ASKED: reserved by jobs, of all.");
        if (i == 0)
                cli_say(cli, "cluster '%s' has reported no nodes", nodes->cluster ? nodes->cluster : "");
        return true;
}

const Verb verb_nodes = {
        .name = "nodes",
        .args = "",
        .summary = "List the machines that jobs run on: used, requested and total resources, number of jobs",
        .about = "USED is the measured usage of members now; a '+' means that some could not be measured. "
                 "ASKED is the amount reserved by jobs (on a Kubernetes cluster also by other pods), of the "
                 "total: it decides whether another job fits. -o wide also shows free amounts and labels. A "
                 "node is 'closed' if it accepts no new members, and 'away' if it is not ready; WHY has the "
                 "reason.",
        .examples = "paddle nodes --cluster prod\tof one cluster\n"
                    "paddle nodes -o json\twith exact amounts and the indices of GPUs in use",
        .options = options,
        .size = sizeof(Nodes),
        .run = run,
};
