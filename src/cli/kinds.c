/* The rows of object.h: queues, flavours, clusters, users, grants and file systems on the command line. */
#include <string.h>

#include "base/err.h"
#include "cli/object.h"
#include "cli/quota.h"
#include "cli/password.h"
#include "cli/table.h"
#include "cli/verbs.h"

/* clang-format off */
#define LIST_OPTIONS                                                                                         \
        { "limit", 'l', OPTION_INT, offsetof(ObjectTarget, limit), "N",                                      \
          "at most N; without it, all", .min = 1, .max = 100000000 },                                        \
        SHOW_OPTIONS
/* clang-format on */
#define SHOW_OPTIONS FORMAT_OPTION(offsetof(ObjectTarget, format)), COMMON_OPTIONS

static const Option list_options[] = { LIST_OPTIONS, { 0 } };
static const Option show_options[] = { SHOW_OPTIONS, { 0 } };
static const Option plain_options[] = { COMMON_OPTIONS, { 0 } };

#define LIST_VERB(kind, words_kind, summary_text)                                                            \
        {                                                                                                    \
                .name = kind " list", .args = "", .summary = summary_text, .options = list_options,          \
                .size = sizeof(ObjectTarget), .run = object_list, .row = words_kind                          \
        }
#define SHOW_VERB(kind, words_kind, name_words, n, summary_text)                                             \
        {                                                                                                    \
                .name = kind " show", .args = name_words, .summary = summary_text, .options = show_options,  \
                .size = sizeof(ObjectTarget), .min_words = n, .max_words = n, .words = WORDS_OBJECTS,        \
                .run = object_show, .row = words_kind                                                        \
        }
#define DELETE_VERB(kind, words_kind, name_words, n, most, summary_text, about_text)                         \
        {                                                                                                    \
                .name = kind " delete", .args = name_words, .summary = summary_text, .about = about_text,    \
                .options = plain_options, .size = sizeof(ObjectTarget), .min_words = n, .max_words = most,   \
                .words = WORDS_OBJECTS, .run = object_delete, .row = words_kind                              \
        }

static char *cell_running(const json_t *item, const Terminal *terminal)
{
        json_t *figures = json_object_get(item, "figures");

        return figures ? g_strdup_printf("%d", (int)int_of(figures, "running")) : NULL;
}

static char *cell_pending(const json_t *item, const Terminal *terminal)
{
        json_t *figures = json_object_get(item, "figures");

        return figures ? g_strdup_printf("%d", (int)int_of(figures, "pending")) : NULL;
}

/* ---- queues ---- */

#define QUEUE_FIELDS(ROW)                                                                                    \
        ROW(0, "max", AMOUNTS, "max", "LIST", "the most it may use at once: cpu=64,memory=256Gi,gpu=8")      \
        ROW(1, "min", AMOUNTS, "min", "LIST",                                                                \
            "what it always gets: while unused it is lent, and taken back when needed")                      \
        ROW(2, "reserved", AMOUNTS, "reserved", "LIST", "the part of min that is never lent")                \
        ROW(3, "parent", TEXT, "parent", "QUEUE", "the queue above it, whose share it is a part of")         \
        ROW(4, "cluster", TEXT, "cluster", "CLUSTER", "the cluster whose machines it uses")                  \
        ROW(5, "namespace", TEXT, "namespace", "NAME", "namespace of its jobs on a cluster that has such")   \
        ROW(6, "weight", NUMBER, "weight", "N",                                                              \
            "share of what no queue's min claims, relative to other queues: 1 to 65535")                     \
        ROW(7, "priority", NUMBER, "priority", "N",                                                          \
            "queues of higher priority are served first: -1000 to 1000")                                     \
        ROW(8, "order", TEXT, "ordering", "ORDER", "order of its jobs: priority, fifo or fair")              \
        ROW(9, "preemption", TEXT, "preemption", "WHOM",                                                     \
            "jobs that its jobs may evict in the queue: never or lower-priority")                            \
        ROW(10, "reclaimable", SWITCH, "reclaimable", NULL, "what it holds above its min may be taken back") \
        ROW(11, "backfill", SWITCH, "backfill", NULL,                                                        \
            "small jobs pass a blocked one only when that does not delay it")                                \
        ROW(12, "everyone", SWITCH, "everyone", NULL, "any user may submit; otherwise a grant is needed")    \
        ROW(13, "only-listed", SWITCH, "only_listed", NULL,                                                  \
            "kinds of resources that max does not name may not be used")                                     \
        ROW(14, "max-running-per-user", NUMBER, "max_running_per_user", "N",                                 \
            "jobs of one user that may run at once; 0: no limit")                                            \
        ROW(15, "max-open-per-user", NUMBER, "max_open_per_user", "N",                                       \
            "jobs of one user that may wait or run; 0: no limit")                                            \
        ROW(16, "location", LABELS, "location", "K=V", "its jobs run only on nodes with this label")         \
        ROW(17, "policies", WORDS, "policies", "LIST",                                                       \
            "scheduling policies of the older interface, kept as given")                                     \
        ROW(18, "quota-type", TEXT, "quota_type", "TYPE", "elasticQuota or volcanoCapabilityQuota")          \
        ROW(19, "defaults", AMOUNTS, "defaults", "LIST",                                                     \
            "default request and limit of members that request none: cpu=1,memory=4Gi")

/* clang-format off */
#define WHAT_IF_OPTION                                                                                       \
        { "what-if", 0, OPTION_BOOL, offsetof(ObjectTarget, what_if), NULL,                                  \
          "change nothing; list the jobs that would be affected" }
/* clang-format on */

static const Field queue_fields[] = { QUEUE_FIELDS(FIELD_ROW){ 0 } };
static const Option queue_create_options[] = { QUEUE_FIELDS(FIELD_OPTION) SHOW_OPTIONS, { 0 } };
static const Option queue_set_options[] = { QUEUE_FIELDS(FIELD_OPTION) WHAT_IF_OPTION, SHOW_OPTIONS, { 0 } };

static const Column queue_columns[] = {
        { "NAME", .member = "name" },
        { "STATE", .member = "state", .fit = { 1 } },
        { "PARENT", .member = "parent", .fit = { 4, 8 } },
        { "CLUSTER", true, .member = "cluster" },
        { "MIN", .member = "min", .fit = { 3, 10 } },
        { "MAX", .member = "max", .fit = { 2, 10 } },
        { "RESERVED", true, .member = "reserved" },
        { ">WEIGHT", true, .member = "weight" },
        { ">PRIORITY", true, .member = "priority" },
        { "ORDER", true, .member = "ordering" },
        { "EVERYONE", false, .member = "everyone", .fit = { 5 } },
        { ">RUNNING", .cell = cell_running },
        { ">PENDING", .cell = cell_pending },
        { 0 },
};

/* The total of the cluster's nodes: the length of a bar without a max. */
static ResourceLimits room_total(Cli *cli)
{
        g_autoptr(json_t) room = NULL;

        if (!http_call_json(cli->client, "GET", "/v1/scheduler", NULL, &room, NULL))
                return (ResourceLimits){ 0 };
        return amounts_of(room, "total");
}

/* The fields, then the usage as bars. */
static void show_queue(Cli *cli, json_t *queue)
{
        g_autoptr(json_t) figures = json_incref(json_object_get(queue, "figures"));
        g_autofree char *lines = NULL;
        ResourceLimits total;

        json_object_del(queue, "figures");
        members_print(queue);
        if (!json_is_object(figures))
                return;
        json_object_set(figures, "min", json_object_get(queue, "min"));
        json_object_set(figures, "max", json_object_get(queue, "max"));
        total = room_total(cli);
        lines = quota_lines(figures, &total, &cli->terminal);
        printf("\n%d running, %d waiting\n%s", (int)int_of(figures, "running"),
               (int)int_of(figures, "pending"), lines);
        if (*lines)
                printf("  %-15s %s\n  %s\n", "", quota_legend(cli->terminal.utf8), quota_note());
}

static const Kind queue_kind = {
        .word = "queue",
        .path = "/v1/queues",
        .columns = queue_columns,
        .fields = queue_fields,
        .show = show_queue,
        .empty = "no queue is open to you; an administrator grants one with `paddle grant "
                 "create USER QUEUE`"
};
static const Act queue_act = { .kind = &queue_kind };
static const Act queue_close = { &queue_kind, "closed", true, "is closed; its current jobs will finish" };
static const Act queue_open = { &queue_kind, "closed", false, "takes jobs" };

const Verb verb_queue_list = LIST_VERB("queue", &queue_act, "List queues");
const Verb verb_queue_show =
        SHOW_VERB("queue", &queue_act, "NAME", 1, "Show a queue: its quota, what is used, lent, borrowed");
const Verb verb_queue_create = {
        .name = "queue create",
        .args = "NAME",
        .summary = "Create a queue",
        .about = "A queue is a share of a cluster. min is guaranteed to its jobs: while they need less, "
                 "other queues borrow it, and give it back within one pass and the grace time of their jobs. "
                 "max limits all its jobs together. A resource that min does not name is 0 there; one that "
                 "max does not name has no limit.\n\nOnly administrators can create queues. Without "
                 "--everyone a user needs a grant to submit to it.",
        .examples = "paddle queue create vision --min cpu=32,gpu=4 --max cpu=64,gpu=8 --everyone\thalf is "
                    "ours, the "
                    "rest when it is free\n"
                    "paddle queue create nightly --parent vision --weight 1 --order fair\ta part of another "
                    "queue\n"
                    "paddle queue create urgent --max gpu=8 --preemption lower-priority\tits urgent jobs "
                    "evict others",
        .options = queue_create_options,
        .size = sizeof(ObjectTarget),
        .min_words = 1,
        .max_words = 1,
        .run = object_create,
        .row = &queue_act,
};
const Verb verb_queue_set = {
        .name = "queue set",
        .args = "NAME",
        .summary = "Change a queue, or ask what a change would do",
        .about = "Only the given options change; amounts are merged kind by kind, and `cpu=` removes one. An "
                 "empty value restores the default.\n\nA max below the present usage stops no running job: "
                 "no job starts until the usage has fallen. With --what-if the scheduler simulates the "
                 "change, and lists every job that would start at another time or wait for another reason.",
        .examples = "paddle queue set vision --max cpu=64 --what-if\twhat it would do\n"
                    "paddle queue set vision --max cpu=64,gpu=\tset one limit, take another away\n"
                    "paddle queue set vision --no-reclaimable\tkeep what was borrowed",
        .options = queue_set_options,
        .size = sizeof(ObjectTarget),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_OBJECTS,
        .run = object_set,
        .row = &queue_act,
};
const Verb verb_queue_close = {
        .name = "queue close",
        .args = "NAME...",
        .summary = "Close queues: they accept no new jobs; their current jobs will finish",
        .options = plain_options,
        .size = sizeof(ObjectTarget),
        .min_words = 1,
        .max_words = -1,
        .words = WORDS_OBJECTS,
        .run = object_switch,
        .row = &queue_close,
};
const Verb verb_queue_open = {
        .name = "queue open",
        .args = "NAME...",
        .summary = "Open closed queues: they accept jobs again",
        .options = plain_options,
        .size = sizeof(ObjectTarget),
        .min_words = 1,
        .max_words = -1,
        .words = WORDS_OBJECTS,
        .run = object_switch,
        .row = &queue_open,
};
const Verb verb_queue_delete = DELETE_VERB(
        "queue", &queue_act, "NAME...", 1, -1, "Delete queues",
        "A queue with open jobs, or with queues below it, cannot be deleted: close it and wait, or cancel "
        "its jobs. Its grants are deleted with it.");

/* ---- flavours ---- */

#define FLAVOUR_FIELDS(ROW)                                                                                  \
        ROW(0, "cpu", TEXT, "cpu", "N", "cores of one process: 4, 500m")                                     \
        ROW(1, "memory", TEXT, "memory", "SIZE", "memory of one process: 8Gi")                               \
        ROW(2, "scalars", AMOUNTS, "scalars", "LIST", "what else: gpu=1, rdma/hca=1")                        \
        ROW(3, "cluster", TEXT, "cluster", "CLUSTER", "only for this cluster")

static const Field flavour_fields[] = { FLAVOUR_FIELDS(FIELD_ROW){ 0 } };
static const Option flavour_options[] = { FLAVOUR_FIELDS(FIELD_OPTION) SHOW_OPTIONS, { 0 } };
static const Column flavour_columns[] = {
        { "NAME", .member = "name" },
        { "CPU", .member = "cpu" },
        { "MEMORY", .member = "memory" },
        { "SCALARS", .member = "scalars", .fit = { 1 } },
        { "CLUSTER", .member = "cluster", .fit = { 2 } },
        { "CREATOR", true, .member = "creator" },
        { "ID", true, .member = "id" },
        { "CREATED", true, .member = "created" },
        { 0 },
};
static const Kind flavour_kind = { .word = "flavour",
                                   .path = "/v1/flavours",
                                   .columns = flavour_columns,
                                   .fields = flavour_fields,
                                   .empty = "there are no flavours" };
static const Act flavour_act = { .kind = &flavour_kind };

const Verb verb_flavour_list = LIST_VERB("flavour", &flavour_act, "List flavours: named sizes of processes");
const Verb verb_flavour_show = SHOW_VERB("flavour", &flavour_act, "NAME", 1, "Show a flavour");
const Verb verb_flavour_create = {
        .name = "flavour create",
        .args = "NAME",
        .summary = "Create a flavour",
        .about = "A flavour is a named size: `paddle submit --flavour NAME` requests it for each process.",
        .examples = "paddle flavour create big --cpu 16 --memory 64Gi --scalars gpu=2",
        .options = flavour_options,
        .size = sizeof(ObjectTarget),
        .min_words = 1,
        .max_words = 1,
        .run = object_create,
        .row = &flavour_act,
};
const Verb verb_flavour_set = {
        .name = "flavour set",
        .args = "NAME",
        .summary = "Change a flavour; jobs that were submitted with it keep the old size",
        .examples = "paddle flavour set big --memory 128Gi",
        .options = flavour_options,
        .size = sizeof(ObjectTarget),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_OBJECTS,
        .run = object_set,
        .row = &flavour_act,
};
const Verb verb_flavour_delete =
        DELETE_VERB("flavour", &flavour_act, "NAME...", 1, -1, "Delete flavours", NULL);

/* ---- clusters ---- */

#define CLUSTER_FIELDS(ROW)                                                                                  \
        ROW(0, "type", TEXT, "type", "TYPE", "Local, Kubernetes or K3S")                                     \
        ROW(1, "endpoint", TEXT, "endpoint", "ADDRESS", "where it is reached")                               \
        ROW(2, "credential", SECRET, "credential", "@FILE", "a kubeconfig; it is never shown again")         \
        ROW(3, "namespaces", WORDS, "namespaces", "LIST",                                                    \
            "namespaces of queues and jobs; empty: of queues any")                                           \
        ROW(4, "status", TEXT, "status", "STATUS", "online or offline; on an offline cluster no job starts") \
        ROW(5, "version", TEXT, "version", "VERSION", "of Kubernetes: 1.16+")                                \
        ROW(6, "source", TEXT, "source", "TEXT", "whose it is: OnPremise")                                   \
        ROW(7, "description", TEXT, "description", "TEXT", "what it is for")                                 \
        ROW(8, "setting", TEXT, "setting", "JSON", "image, volumes and more; doc/guide/kubernetes.md")       \
        ROW(9, "kubeconfig", FILE, "credential", "FILE", "credential for its API: --credential @FILE")       \
        ROW(10, "defaults", AMOUNTS, "defaults", "LIST",                                                     \
            "default request of members, if their queue has none: cpu=1,memory=4Gi")

static const Field cluster_fields[] = { CLUSTER_FIELDS(FIELD_ROW){ 0 } };
static const Option cluster_options[] = { CLUSTER_FIELDS(FIELD_OPTION) SHOW_OPTIONS, { 0 } };
static const Column cluster_columns[] = {
        { "NAME", .member = "name" },
        { "TYPE", .member = "type", .fit = { 1 } },
        { "STATUS", .member = "status" },
        { "CONNECTED", .member = "connected", .fit = { 2 } },
        { "ENDPOINT", .member = "endpoint", .fit = { 3, 16 } },
        { "VERSION", true, .member = "version" },
        { "SOURCE", true, .member = "source" },
        { "DESCRIPTION", false, .member = "description", .fit = { 4 } },
        { "ID", true, .member = "id" },
        { 0 },
};

/* "0, 1 of 8" */
static char *cell_gpus(const json_t *node, const Terminal *terminal)
{
        const json_t *gpus = json_object_get(node, "gpus");
        g_autofree char *used = value_text(json_object_get(gpus, "used"));

        if (int_of(gpus, "total") == 0)
                return NULL;
        return g_strdup_printf("%s of %d", used ? used : "none", (int)int_of(gpus, "total"));
}

static const Column node_columns[] = {
        { "NODE", .member = "name" },
        { "USABLE", .member = "usable" },
        { "TOTAL", .member = "total", .fit = { 2, 16 } },
        { "USED", .member = "used", .fit = { 2, 16 } },
        { "OTHERS", .member = "others", .fit = { 3 } },
        { "GPUS IN USE", .cell = cell_gpus },
        { "WHY NOT", .member = "why", .fit = { 1, 20 } },
        { "LABELS", .member = "labels", .fit = { 4 } },
        { 0 },
};

/* Administrators get a list of the nodes, others only their names. */
static void show_cluster(Cli *cli, json_t *cluster)
{
        g_autofree char *name = url_escape(text_of(cluster, "name"));
        g_autofree char *path = g_strdup_printf("/v1/nodes?cluster=%s", name);
        g_autoptr(json_t) reply = NULL;
        g_autoptr(Listing) listing = NULL;
        gsize i;
        json_t *node;

        if (http_call_json(cli->client, "GET", path, NULL, &reply, NULL))
                json_object_del(cluster, "nodes");
        members_print(cluster);
        json_array_foreach(json_object_get(reply, "items"), i, node) {
                if (!listing) {
                        putchar('\n');
                        listing = listing_new(cli, FORMAT_TABLE, node_columns, "name");
                }
                listing_add(listing, node);
        }
        if (listing)
                listing_end(listing);
}

static const Kind cluster_kind = { .word = "cluster",
                                   .path = "/v1/clusters",
                                   .columns = cluster_columns,
                                   .fields = cluster_fields,
                                   .show = show_cluster,
                                   .empty = "there are no clusters" };
static const Act cluster_act = { .kind = &cluster_kind };

const Verb verb_cluster_list = LIST_VERB("cluster", &cluster_act, "List clusters");
const Verb verb_cluster_show = SHOW_VERB("cluster", &cluster_act, "NAME", 1, "Show a cluster and its nodes");
const Verb verb_cluster_create = {
        .name = "cluster create",
        .args = "NAME",
        .summary = "Create a cluster: connect a Kubernetes cluster to the server",
        .examples =
                "paddle cluster create lab --type Kubernetes --kubeconfig ~/.kube/config\ta cluster to run "
                "jobs on",
        .options = cluster_options,
        .size = sizeof(ObjectTarget),
        .min_words = 1,
        .max_words = 1,
        .run = object_create,
        .row = &cluster_act,
};
const Verb verb_cluster_set = {
        .name = "cluster set",
        .args = "NAME",
        .summary = "Change a cluster",
        .examples = "paddle cluster set lab --status offline\tnothing new starts there",
        .options = cluster_options,
        .size = sizeof(ObjectTarget),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_OBJECTS,
        .run = object_set,
        .row = &cluster_act,
};
const Verb verb_cluster_delete =
        DELETE_VERB("cluster", &cluster_act, "NAME...", 1, -1, "Delete clusters, with their queues",
                    "Refused while a job is open in one of its queues. The default cluster stays.");

/* ---- users ---- */

#define USER_FIELDS(ROW)                                                                                     \
        ROW(0, "admin", SWITCH, "admin", NULL, "an administrator can see and do everything")                 \
        ROW(1, "disabled", SWITCH, "disabled", NULL,                                                         \
            "cannot log in or use a token; open connections are closed; jobs continue")                      \
        ROW(2, "disk", TEXT, "disk", "SIZE",                                                                 \
            "disk limit of the user on the server, such as 200Gi; 0: no limit; '': the "                     \
            "default")                                                                                       \
        ROW(3, "files", TEXT, "files", "N",                                                                  \
            "limit of files there, such as 2M; 0: no limit; '': the default")                                \
        ROW(4, "oidc-subject", TEXT, "oidc_subject", "SUBJECT",                                              \
            "the issuer's 'sub' that single sign-on accepts for this user; '': none")                        \
        ROW(5, "ldap", SWITCH, "ldap", NULL, "the password is checked by the server's LDAP directory")

/* clang-format off */
#define PASSWORD_OPTIONS                                                                                     \
        { "password", 0, OPTION_BOOL, offsetof(ObjectTarget, password), NULL,                                \
          "ask for a password on the terminal" },                                                            \
        { "password-stdin", 0, OPTION_BOOL, offsetof(ObjectTarget, from_stdin), NULL,                        \
          "read the password from standard input" }
/* clang-format on */

static const Field user_fields[] = { USER_FIELDS(FIELD_ROW){ 0 } };
static const Option user_options[] = { USER_FIELDS(FIELD_OPTION) PASSWORD_OPTIONS, SHOW_OPTIONS, { 0 } };
static const Column user_columns[] = {
        { "NAME", .member = "name" },
        { "ADMIN", .member = "admin" },
        { "DISABLED", .member = "disabled" },
        { "PASSWORD", .member = "has_password" },
        { "2ND FACTOR", true, .member = "has_second_factor" },
        { "LDAP", true, .member = "ldap" },
        { "DISK", true, .member = "disk" },
        { "FILES", true, .member = "files" },
        { "CREATED", .member = "created", .fit = { 1 } },
        { 0 },
};

static bool set_password(Cli *cli, const ObjectTarget *target, const char *name, bool any, GError **error)
{
        g_autofree char *escaped = url_escape(name);
        g_autofree char *path = g_strdup_printf("/v1/users/%s/password", escaped);
        g_autoptr(json_t) body = json_object();
        g_autoptr(Password) old = NULL, secret = NULL;
        g_autofree char *self = NULL;
        bool both, vouched;

        if (!target->password && !target->from_stdin)
                return true;
        if (!who_am_i(cli, &self, &vouched, error))
                return false;
        both = !vouched && strcmp(self, name) == 0; /* users must know their own old password */
        if (both && !(old = password_ask(cli, "old password", target->from_stdin, false, error)))
                return false;
        secret = password_ask(cli, "new password", target->from_stdin, true, error);
        if (!secret)
                return false;
        if (old)
                json_object_set_new(body, "old", json_string(old));
        json_object_set_new(body, "password", json_string(secret));
        if (!http_call_json(cli->client, "PUT", path, body, NULL, error))
                return false;
        cli_say(cli, "user '%s' has a new password; earlier log-ins are void", name);
        return true;
}

static const Kind user_kind = { .word = "user",
                                .path = "/v1/users",
                                .columns = user_columns,
                                .fields = user_fields,
                                .after_set = set_password,
                                .empty = "there are no users" };
static const Act user_act = { .kind = &user_kind };

const Verb verb_user_list = LIST_VERB("user", &user_act, "List users");
const Verb verb_user_show = SHOW_VERB("user", &user_act, "NAME", 1, "Show a user");
const Verb verb_user_create = {
        .name = "user create",
        .args = "NAME",
        .summary = "Create a user",
        .about = "Without a password the user needs a token (`paddle token create --user NAME`), or access "
                 "to the server's Unix socket by its group.",
        .examples = "paddle user create ann --password\tasks for it twice\n"
                    "paddle user create ops --admin --password-stdin <secret.txt",
        .options = user_options,
        .size = sizeof(ObjectTarget),
        .min_words = 1,
        .max_words = 1,
        .run = object_create,
        .row = &user_act,
};
const Verb verb_user_set = {
        .name = "user set",
        .args = "NAME",
        .summary = "Change a user: password, administrator rights, access, disk quota",
        .about = "A new password ends all earlier log-ins of the user. Users who change their own over TCP "
                 "are also asked for the old one (with --password-stdin: the old one on the first line, the "
                 "new one on the second).",
        .examples = "paddle user set ann --password\n"
                    "paddle user set ann --no-admin\n"
                    "paddle user set ann --disabled\tuntil --no-disabled\n"
                    "paddle user set ann --disk 200Gi --files 2M\tsee `paddle storage usage --all`",
        .options = user_options,
        .size = sizeof(ObjectTarget),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_OBJECTS,
        .run = object_set,
        .row = &user_act,
};
const Verb verb_user_delete =
        DELETE_VERB("user", &user_act, "NAME...", 1, -1, "Delete users, with their grants and tokens",
                    "Refused while jobs of the user are open.");

/* ---- grants ---- */

static char *grant_name(char *const *words)
{
        return g_strconcat(words[0], "/queue/", words[1], NULL);
}

static bool grant_begin(json_t *body, char *const *words, GError **error)
{
        json_object_set_new(body, "user", json_string(words[0]));
        json_object_set_new(body, "type", json_string("queue"));
        json_object_set_new(body, "resource", json_string(words[1]));
        return true;
}

#define GRANT_FIELDS(ROW)                                                                                    \
        ROW(0, "max-priority", TEXT, "max_priority", "N",                                                    \
            "the highest priority of the user's jobs there: normal, high, very-high, or 0 to 1000")

static const Field grant_fields[] = { GRANT_FIELDS(FIELD_ROW){ 0 } };
static const Option grant_options[] = { GRANT_FIELDS(FIELD_OPTION) SHOW_OPTIONS, { 0 } };

static const Column grant_columns[] = {
        { "USER", .member = "user" },
        { "TYPE", .member = "type" },
        { "RESOURCE", .member = "resource" },
        { ">MAX PRIORITY", .member = "max_priority" },
        { "CREATED", true, .member = "created" },
        { 0 },
};
static const Kind grant_kind = { .word = "grant",
                                 .path = "/v1/grants",
                                 .columns = grant_columns,
                                 .fields = grant_fields,
                                 .name = grant_name,
                                 .begin = grant_begin,
                                 .empty = "there are no grants" };
static const Act grant_act = { .kind = &grant_kind };

const Verb verb_grant_list = LIST_VERB("grant", &grant_act, "List grants: who may submit to which queue");
const Verb verb_grant_show = SHOW_VERB("grant", &grant_act, "USER QUEUE", 2, "Show a grant");
const Verb verb_grant_create = {
        .name = "grant create",
        .args = "USER QUEUE",
        .summary = "Let a user submit to a queue",
        .about = "Priorities above normal need --max-priority; without it the user's jobs there have at most "
                 "normal priority.",
        .examples = "paddle grant create ann vision\n"
                    "paddle grant create bob vision --max-priority high",
        .options = grant_options,
        .size = sizeof(ObjectTarget),
        .min_words = 2,
        .max_words = 2,
        .run = object_create,
        .row = &grant_act,
};
const Verb verb_grant_set = {
        .name = "grant set",
        .args = "USER QUEUE",
        .summary = "Change the highest priority of a grant",
        .about = "Existing jobs keep their priority.",
        .examples = "paddle grant set ann vision --max-priority high\n"
                    "paddle grant set ann vision --max-priority normal",
        .options = grant_options,
        .size = sizeof(ObjectTarget),
        .min_words = 2,
        .max_words = 2,
        .run = object_set,
        .row = &grant_act,
};
const Verb verb_grant_delete =
        DELETE_VERB("grant", &grant_act, "USER QUEUE", 2, 2, "Delete a grant; existing jobs stay", NULL);

/* ---- file systems ---- */

static bool filesystem_begin(json_t *body, char *const *words, GError **error)
{
        json_object_set_new(body, "name", json_string(words[0]));
        json_object_set_new(body, "url", json_string(words[1]));
        return true;
}

/* clang-format off */
#define OWNER_OPTION                                                                                         \
        { "user", 'u', OPTION_STRING, offsetof(ObjectTarget, user), "NAME", "of this user (administrators)" }
/* clang-format on */

#define FILESYSTEM_FIELDS(ROW)                                                                               \
        ROW(0, "property", LABELS, "properties", "K=V",                                                      \
            "a property of its kind, such as pvc=NAME; '': none")                                            \
        ROW(1, "read-only", SWITCH, "read_only", NULL, "jobs and runs can only read it")
#define FILESYSTEM_URL(ROW) ROW(2, "url", TEXT, "url", "URL", "where it is: /data/sets, or local://data/sets")

/* `create` has the URL as a word. */
static const Field filesystem_fields[] = { FILESYSTEM_FIELDS(FIELD_ROW) FILESYSTEM_URL(FIELD_ROW){ 0 } };
static const Option filesystem_create_options[] = { FILESYSTEM_FIELDS(FIELD_OPTION) OWNER_OPTION,
                                                    SHOW_OPTIONS,
                                                    { 0 } };
static const Option filesystem_set_options[] = {
        FILESYSTEM_FIELDS(FIELD_OPTION) FILESYSTEM_URL(FIELD_OPTION) OWNER_OPTION, SHOW_OPTIONS, { 0 }
};
static const Option filesystem_list_options[] = { OWNER_OPTION, LIST_OPTIONS, { 0 } };
static const Option filesystem_show_options[] = { OWNER_OPTION, SHOW_OPTIONS, { 0 } };
static const Option filesystem_delete_options[] = { OWNER_OPTION, COMMON_OPTIONS, { 0 } };

static const Column filesystem_columns[] = {
        { "NAME", .member = "name", .fit = { 0, TABLE_WHOLE } },
        { "KIND", .member = "type", .fit = { 1 } },
        { "SERVER", true, .member = "server" },
        { "PATH", .member = "path", .fit = { 3, 16 } },
        { "READ ONLY", .member = "read_only", .fit = { 2 } },
        { "PROPERTIES", true, .member = "properties" },
        { "ID", true, .member = "id" },
        { "CREATED", true, .member = "created" },
        { 0 },
};
static const Kind filesystem_kind = { .word = "file system",
                                      .path = "/v1/filesystems",
                                      .columns = filesystem_columns,
                                      .fields = filesystem_fields,
                                      .begin = filesystem_begin,
                                      .empty = "there are no file systems" };
static const Act filesystem_act = { .kind = &filesystem_kind };

const Verb verb_fs_list = {
        .name = "fs list",
        .args = "",
        .summary = "List your file systems: names for directories that jobs and runs use",
        .options = filesystem_list_options,
        .size = sizeof(ObjectTarget),
        .run = object_list,
        .row = &filesystem_act,
};
const Verb verb_fs_show = {
        .name = "fs show",
        .args = "NAME",
        .summary = "Show a file system",
        .options = filesystem_show_options,
        .size = sizeof(ObjectTarget),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_OBJECTS,
        .run = object_show,
        .row = &filesystem_act,
};
const Verb verb_fs_create = {
        .name = "fs create",
        .args = "NAME URL",
        .summary = "Create a file system: a name for a directory of the server's machine",
        .about =
                "URL is an absolute path, or local://DIR/... for the directory /DIR/... . The directory has to be "
                "there, unless a Kubernetes cluster is set up, whose nodes may have others. mock://DIR/... is the "
                "same, and pods reach it by the claim in the properties pvc and namespace. Other kinds (hdfs, "
                "sftp, s3, bos, cfs, glusterfs, afs) need a connection, which this server does not have yet."
                "\n\nWhoever uses the file system has the rights of your Unix user there, not more. The file "
                "system `home` is built in: it is your home in the storage.",
        .examples = "paddle fs create data /data/sets --read-only\n"
                    "paddle fs create work mock://srv/work --property pvc=work --property namespace=lab",
        .options = filesystem_create_options,
        .size = sizeof(ObjectTarget),
        .min_words = 2,
        .max_words = 2,
        .run = object_create,
        .row = &filesystem_act,
};
const Verb verb_fs_set = {
        .name = "fs set",
        .args = "NAME",
        .summary = "Change a file system",
        .about = "Jobs that run keep what they have mounted.",
        .examples = "paddle fs set data --url /data/new\n"
                    "paddle fs set data --no-read-only",
        .options = filesystem_set_options,
        .size = sizeof(ObjectTarget),
        .min_words = 1,
        .max_words = 1,
        .words = WORDS_OBJECTS,
        .run = object_set,
        .row = &filesystem_act,
};
const Verb verb_fs_delete = {
        .name = "fs delete",
        .args = "NAME...",
        .summary = "Delete file systems; their files stay",
        .about = "Refused while something uses it.",
        .options = filesystem_delete_options,
        .size = sizeof(ObjectTarget),
        .min_words = 1,
        .max_words = -1,
        .words = WORDS_OBJECTS,
        .run = object_delete,
        .row = &filesystem_act,
};
