/* A job as clients of PaddleFlow ask for it, made a specification (doc/reference/paddleflow-api.md, "Fields
 * of a job" and "Frameworks and roles"; doc/reference/scheduling.md, "Variables of members"). All checks of
 * that page come first, in its order; then the cluster's: what it has no way to run is refused with a reason,
 * and the job is taken all the same.
 *
 *   body ─▶ checks ─▶ members with their flavours ─▶ roles of a framework's row ─▶ Spec
 *                                                      └─ none: a refusal
 *
 * What was asked for is kept as the specification's origin, and shown from there. */
#include <string.h>

#include "api/paddleflow/internal.h"
#include "model/baseline.h"
#include "model/extension.h"
#include "model/framework.h"

enum { MEMBERS_MAX = 1000, NAME_MAX_BYTES = 512, PORT_MAX = 65534, ALWAYS_RETRY = 1000, ID_MAX = 63 };
enum { KEPT_AROUND = 32 }; /* bytes of the origin around what is kept */

#define CUSTOM_FLAVOUR "customFlavour"
#define LIMIT_FLAVOUR "PF_JOB_LIMIT_FLAVOUR"

/* One member of the job as it was asked for, checked. */
typedef struct {
        const json_t *body; /* borrowed */
        json_t *run;        /* the same with what it leaves to its template */
        PaddleFlowRole role;
        int replicas;
        json_t *flavour; /* {"name", "cpu", "mem", "scalarResources"}, filled in */
        Resources each;
} Wish;

typedef struct {
        const Call *call;
        JobRoute route;
        const json_t *body;
        const Queue *queue;
        int priority;
        const PaddleFlowFramework *framework; /* NULL: of a workflow */
        int counts[PADDLEFLOW_ROLES];
        const char *mode;
        GArray *wishes;  /* Wish */
        json_t *implied; /* members that the template says; or NULL */
        GError *unfit;   /* what is wrong with them; or NULL */
} Asking;

static void wish_clear(void *arg)
{
        json_decref(((Wish *)arg)->flavour);
        json_decref(((Wish *)arg)->run);
}

void asked_clear(Asked *asked)
{
        if (asked->spec)
                spec_unref(asked->spec);
        g_free(asked->id);
        g_free(asked->refusal);
}

/* ---- id, name, queue, priority ---- */

static bool check_names(const json_t *body, GError **error)
{
        const char *id = go_text(body, "id");

        if (*id && !name_is_valid(id))
                return paddleflow_set(error, CODE_InvalidNamePattern,
                                      "id '%.80s' is not a label of at most 63 of a-z, 0-9 and '-'", id);
        return strlen(go_text(body, "name")) <= NAME_MAX_BYTES ||
               paddleflow_set(error, CODE_InvalidNamePattern, "name is longer than %d bytes", NAME_MAX_BYTES);
}

static const json_t *policy_of(const json_t *body)
{
        return json_object_get(body, "schedulingPolicy");
}

static bool check_queue(Asking *asking, GError **error)
{
        const char *name = go_text(policy_of(asking->body), "queue");

        name = *name ? name : QUEUE_SEEDED;
        asking->queue = catalog_queue(asking->call->catalog, name);
        if (!asking->queue)
                return paddleflow_set(error, CODE_QueueNameNotFound, "there is no queue '%.255s'", name);
        if (!queue_is_granted(asking->call, asking->queue))
                return paddleflow_set(
                        error, CODE_AccessDenied,
                        "'%s' has no grant on queue '%s'\nRoot grants it: paddleflow queue grant %s %s.",
                        asking->call->user, name, asking->call->user, name);
        if (!auth_check_queue(http_request_caller(asking->call->request), name, error))
                return false;
        return !asking->queue->closed || paddleflow_set(error, CODE_QueueActionIsNotSupported,
                                                        "queue '%s' is closed for new jobs", name);
}

/* Creating takes three of the five words. */
static bool take_priority(const json_t *body, int *ret, GError **error)
{
        static const struct {
                const char *word;
                int priority;
        } words[] = { { "LOW", -100 }, { "NORMAL", 0 }, { "HIGH", 100 } };
        const char *word = go_text(policy_of(body), "priority");

        if (!*word)
                return true;
        for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
                if (g_ascii_strcasecmp(words[i].word, word) != 0)
                        continue;
                *ret = words[i].priority;
                return true;
        }
        return paddleflow_set(error, CODE_JobInvalidField, "priority '%.40s' is not one of LOW, NORMAL, HIGH",
                              word);
}

/* ---- templates ---- */

static const json_t *template_of(const json_t *body)
{
        return json_object_get(body, "extensionTemplate");
}

static const char *named_kind(const Asking *asking)
{
        return go_text(json_object_get(asking->body, "annotations"), EXTENSION_KIND_ANNOTATION);
}

/* For jobs that bring none; NULL: there is no such. */
static const json_t *default_of(const Asking *asking)
{
        if (template_of(asking->body) || !asking->framework)
                return NULL;
        return templates_find(asking->call->flow->templates, paddleflow_framework_name(asking->framework),
                              asking->mode, named_kind(asking));
}

static const json_t *base_of(const Asking *asking)
{
        const json_t *own = template_of(asking->body);

        return own ? own : default_of(asking);
}

static const json_t *container_of(const Asking *asking, const Wish *wish)
{
        const json_t *own = asking->route == ROUTE_SINGLE ? NULL : template_of(wish->body);
        const json_t *template = own ? own : base_of(asking);

        return extension_container(extension_pod(template, paddleflow_role_name(wish->role)));
}

/* ---- flavours ---- */

static json_t *text_copy(const json_t *object, const char *name)
{
        return json_string(go_text(object, name));
}

static json_t *scalars_copy(const json_t *object)
{
        json_t *scalars = json_object_get(object, "scalarResources");

        return scalars ? json_deep_copy(scalars) : json_object();
}

/* If neither is given, the flavour is one core and 1Gi. */
static json_t *inline_flavour(const json_t *said)
{
        bool whole = *go_text(said, "cpu") && *go_text(said, "mem");

        return json_pack("{s:o, s:o, s:o, s:o}", "name", text_copy(said, "name"), "cpu",
                         whole ? text_copy(said, "cpu") : json_string("1"), "mem",
                         whole ? text_copy(said, "mem") : json_string("1Gi"), "scalarResources",
                         scalars_copy(said));
}

static json_t *named_flavour(const Asking *asking, const char *name, GError **error)
{
        const Flavour *flavour = catalog_flavour(asking->call->catalog, name);

        if (!flavour || (flavour->cluster && g_strcmp0(flavour->cluster, asking->queue->cluster) != 0)) {
                paddleflow_set(error, CODE_FlavourNotFound, "there is no flavour '%.60s'%s%s", name,
                               flavour ? " in cluster " : "", flavour ? asking->queue->cluster : "");
                return NULL;
        }
        return json_pack("{s:s, s:s, s:s, s:o}", "name", name, "cpu", flavour->cpu, "mem", flavour->memory,
                         "scalarResources", labels_format(flavour->scalars));
}

/* An unknown resource may only be requested with amount 0. */
static bool take_scalars(const json_t *flavour, Resources *ret, GError **error)
{
        const char *name;
        json_t *value;

        json_object_foreach(json_object_get(flavour, "scalarResources"), name, value) {
                int kind = resource_find(name);
                gint64 amount = 0;
                g_autofree char *what = g_strdup_printf("flavour: scalarResources.%.80s", name);

                if (!quantity_parse(what, kind < 0 ? RESOURCE_GPU : kind, json_string_value(value), &amount,
                                    error))
                        return false;
                if (kind < 0 && amount > 0)
                        return err_set(error, ERR_INVALID, "%s: there is no such resource here", what);
                if (kind >= 0)
                        ret->amount[kind] = amount;
        }
        return true;
}

static bool take_amounts(const json_t *flavour, Resources *ret, GError **error)
{
        g_autoptr(GError) why = NULL;

        *ret = (Resources){ 0 };
        if (!cpu_parse("flavour: cpu", go_text(flavour, "cpu"), &ret->cpu_milli, &why) ||
            !memory_parse("flavour: mem", go_text(flavour, "mem"), &ret->memory, &why) ||
            !take_scalars(flavour, ret, &why))
                return paddleflow_set(error, CODE_FlavourInvalidField, "%s", why->message);
        return (ret->cpu_milli > 0 && ret->memory > 0) ||
               paddleflow_set(error, CODE_FlavourInvalidField, "flavour: cpu and mem must be more than 0");
}

/* The limit is said by a variable; only what it names is compared. */
static bool check_limit(const Asking *asking, const json_t *env, const Resources *each, GError **error)
{
        const char *name = go_text(env, LIMIT_FLAVOUR);
        g_autoptr(json_t) limit = NULL;
        Resources most;

        if (!*name || strcmp(name, "NONE") == 0)
                return true;
        limit = named_flavour(asking, name, error);
        if (!limit || !take_amounts(limit, &most, error))
                return false;
        for (int kind = 0; kind < resource_kinds(); kind++)
                if (most.amount[kind] > 0 && each->amount[kind] > most.amount[kind])
                        return paddleflow_set(
                                error, CODE_FlavourInvalidField,
                                "flavour: more %s than the limit of flavour '%s' (" LIMIT_FLAVOUR ")",
                                resource_name(kind), name);
        return true;
}

static bool take_flavour(const Asking *asking, Wish *wish, GError **error)
{
        g_autoptr(json_t) implied = extension_flavour(container_of(asking, wish));
        const json_t *own = json_object_get(wish->body, "flavour"), *said = own ? own : implied;
        const char *name = go_text(said, "name");

        wish->flavour = *name && strcmp(name, CUSTOM_FLAVOUR) != 0 ? named_flavour(asking, name, error)
                                                                   : inline_flavour(said);
        return wish->flavour && take_amounts(wish->flavour, &wish->each, error) &&
               check_limit(asking, json_object_get(wish->body, "env"), &wish->each, error);
}

/* ---- members ---- */

static bool check_sum(const Asking *asking, GError **error)
{
        const Queue *queue = asking->queue;
        Resources most = queue_max(asking->call->catalog, queue), sum = { 0 };

        if (asking->call->flow->skip_resource_check)
                return true;
        for (guint i = 0; i < asking->wishes->len; i++) {
                const Wish *wish = &g_array_index(asking->wishes, Wish, i);

                if (!resources_add(&sum, &wish->each, wish->replicas))
                        return paddleflow_set(error, CODE_QueueResourceNotMatch,
                                              "together the members ask for more than can be counted");
        }
        for (int kind = 0; kind < resource_kinds(); kind++) {
                g_autofree char *asked = quantity_format(kind, sum.amount[kind]);
                g_autofree char *limit = quantity_format(kind, most.amount[kind]);

                if (sum.amount[kind] > most.amount[kind])
                        return paddleflow_set(error, CODE_QueueResourceNotMatch,
                                              "%s of %s are more than the %s of queue '%s'", asked,
                                              resource_name(kind), limit, queue->object.name);
        }
        return true;
}

/* There are no file systems behind this face yet: what names one cannot be found. */
static bool check_fs(const json_t *fs, GError **error)
{
        const char *name = *go_text(fs, "name") ? go_text(fs, "name") : go_text(fs, "id");
        const char *path = go_text(fs, "mountPath");

        if (!*name && !*path)
                return true;
        if (strcmp(path, "/") == 0 || strcmp(path, ".") == 0 || strcmp(path, "..") == 0)
                return paddleflow_set(error, CODE_InvalidArguments, "fs: mountPath '%s' cannot be mounted on",
                                      path);
        return paddleflow_set(error, CODE_FileSystemNotExist, "fs: there is no file system '%.120s'", name);
}

static bool check_all_fs(const json_t *body, GError **error)
{
        const json_t *item;
        size_t i;

        json_array_foreach(json_object_get(body, "extraFS"), i, item) {
                if (!check_fs(item, error))
                        return false;
        }
        return check_fs(json_object_get(body, "fs"), error);
}

static bool check_rest(const Asking *asking, const Wish *wish, GError **error)
{
        gint64 port = json_integer_value(json_object_get(wish->body, "port"));

        if (!*go_text(wish->body, "image") && !json_object_get(wish->body, "extensionTemplate") &&
            !json_object_get(asking->body, "extensionTemplate"))
                return paddleflow_set(error, CODE_JobInvalidField, "image is missing");
        if (port < 0 || port > PORT_MAX)
                return paddleflow_set(error, CODE_JobInvalidField,
                                      "port %" G_GINT64_FORMAT " is not one of 0 to %d", port, PORT_MAX);
        return check_all_fs(wish->body, error);
}

static bool check_member_policy(const Asking *asking, const json_t *member, GError **error)
{
        const char *queue = go_text(policy_of(member), "queue");
        int priority = 0;

        if (*queue && strcmp(queue, asking->queue->object.name) != 0)
                return paddleflow_set(error, CODE_JobInvalidField,
                                      "a member names queue '%.255s', and the job queue '%s'", queue,
                                      asking->queue->object.name);
        return take_priority(member, &priority, error);
}

static bool take_role(Asking *asking, Wish *wish, GError **error)
{
        gint64 replicas = json_integer_value(json_object_get(wish->body, "replicas"));
        g_autoptr(GError) why = NULL;

        if (replicas < 1 || replicas > SPEC_REPLICAS_MAX)
                return paddleflow_set(error, CODE_JobInvalidField,
                                      "replicas %" G_GINT64_FORMAT " are not 1 to %d", replicas,
                                      SPEC_REPLICAS_MAX);
        if (!paddleflow_role_parse(asking->framework, go_text(wish->body, "role"), &wish->role, &why))
                return paddleflow_set(error, CODE_JobInvalidField, "%s", why->message);
        wish->replicas = (int)replicas;
        asking->counts[wish->role] += wish->replicas;
        return true;
}

/* An administrator may ask for anything. */
static bool check_rights(const Asking *asking, const json_t *template, GError **error)
{
        const Queue *queue = asking->queue;
        const BaselinePlace place = baseline_place(asking->call->catalog, queue, queue->namespace);

        return asking->call->root || baseline_check(template, &place, error);
}

static bool check_own_template(const Asking *asking, const json_t *member, GError **error)
{
        const json_t *template = template_of(member);
        g_autoptr(GError) why = NULL;

        if (template && !extension_check_pods(template, &why))
                return paddleflow_set(error, CODE_JobInvalidField, "a member's %s", why->message);
        return check_rights(asking, template, error);
}

static bool take_member(Asking *asking, const json_t *body, GError **error)
{
        Wish *wish;

        g_array_append_val(asking->wishes, ((Wish){ .body = body }));
        wish = &g_array_index(asking->wishes, Wish, asking->wishes->len - 1);
        return check_member_policy(asking, body, error) && take_role(asking, wish, error) &&
               take_flavour(asking, wish, error) && check_rest(asking, wish, error) &&
               check_own_template(asking, body, error);
}

static bool take_list(Asking *asking, const json_t *members, GError **error)
{
        g_autoptr(GError) why = NULL;
        const json_t *member;
        size_t i;

        if (json_array_size(members) > MEMBERS_MAX)
                return paddleflow_set(error, CODE_JobInvalidField, "members: more than %d", MEMBERS_MAX);
        json_array_foreach(members, i, member) {
                if (!take_member(asking, member, error))
                        return false;
        }
        if (!check_sum(asking, error))
                return false;
        return paddleflow_counts_check(asking->framework, asking->counts, &asking->mode, &why) ||
               paddleflow_set(error, CODE_JobInvalidField, "%s", why->message);
}

/* A template without members is taken as it is: what is wrong with it is the cluster's affair. */
static bool take_members(Asking *asking, GError **error)
{
        const json_t *members = json_object_get(asking->body, "members");

        if (json_array_size(members) > 0)
                return take_list(asking, members, error);
        if (!template_of(asking->body))
                return paddleflow_set(error, CODE_JobInvalidField, "members are missing");
        asking->implied = extension_members(template_of(asking->body));
        (void)take_list(asking, asking->implied, &asking->unfit);
        return true;
}

/* ---- extension templates ---- */

static bool check_template(const Asking *asking, GError **error)
{
        const json_t *template = template_of(asking->body);
        const char *named = named_kind(asking);
        const char *framework = asking->framework ? paddleflow_framework_name(asking->framework) : "";
        g_autoptr(GError) why = NULL;

        if (template && !extension_check(framework, named, template, &why))
                return paddleflow_set(error, CODE_JobInvalidField, "%s", why->message);
        return check_rights(asking, template, error);
}

static void add_texts(json_t *words, const json_t *list)
{
        json_t *item;
        size_t i;

        json_array_foreach(list, i, item) {
                if (json_is_string(item))
                        json_array_append(words, item);
        }
}

/* The body of a member with what it leaves to its template: image and command. A new reference. */
static json_t *with_template(const Asking *asking, const Wish *wish)
{
        const json_t *container = container_of(asking, wish);
        json_t *body = json_copy((json_t *)wish->body), *words;

        if (!*go_text(body, "image") && *go_text(container, "image"))
                json_object_set(body, "image", json_object_get(container, "image"));
        if (*go_text(body, "command") || json_array_size(json_object_get(body, "args")) > 0)
                return body;
        words = json_array();
        add_texts(words, json_object_get(container, "command"));
        add_texts(words, json_object_get(container, "args"));
        json_object_set_new(body, "args", words);
        return body;
}

static bool take_framework(Asking *asking, GError **error)
{
        const char *name = go_text(asking->body, "framework");
        g_autofree char *lower = g_ascii_strdown(name, -1), *known = paddleflow_framework_names();

        asking->framework = paddleflow_framework_find(asking->route == ROUTE_SINGLE ? "standalone" : lower);
        return (asking->framework && (asking->route == ROUTE_SINGLE || strcmp(lower, "standalone") != 0)) ||
               paddleflow_set(error, CODE_JobInvalidField, "framework '%.40s' is not one of %s", name, known);
}

static bool take_single(Asking *asking, GError **error)
{
        Wish *wish;

        g_array_append_val(asking->wishes,
                           ((Wish){ .body = asking->body, .role = PADDLEFLOW_WORKER, .replicas = 1 }));
        wish = &g_array_index(asking->wishes, Wish, 0);
        asking->counts[PADDLEFLOW_WORKER] = 1;
        asking->mode = "Pod";
        return take_flavour(asking, wish, error) && check_sum(asking, error) &&
               check_rest(asking, wish, error);
}

static bool take_parts(Asking *asking, GError **error)
{
        if (asking->route == ROUTE_WORKFLOW)
                return template_of(asking->body)
                               ? check_template(asking, error)
                               : paddleflow_set(error, CODE_JobInvalidField,
                                                "extensionTemplate is missing: the workflow");
        if (!take_framework(asking, error) || !check_template(asking, error))
                return false;
        return asking->route == ROUTE_SINGLE ? take_single(asking, error) : take_members(asking, error);
}

/* ---- commands ---- */

static bool add_words(GString *out, const json_t *list)
{
        const json_t *item;
        size_t i;

        json_array_foreach(list, i, item) {
                g_autofree char *quoted = g_shell_quote(json_string_value(item));

                g_string_append_printf(out, " %s", quoted);
        }
        return json_array_size(list) > 0;
}

/* argv of one member: sh takes the command, and the args behind it. */
static json_t *argv_of(const json_t *body)
{
        const char *command = go_text(body, "command");
        json_t *argv = json_array(), *args = json_object_get(body, "args");

        if (*command) {
                json_array_append_new(argv, json_string("sh"));
                json_array_append_new(argv, json_string("-c"));
                json_array_append_new(argv, json_string(command));
        }
        json_array_extend(argv, args);
        return argv;
}

/* How a member of several that share a role finds its place among them. */
static char *place_script(const Framework *row, int masters)
{
        if (strcmp(row->name, "pytorch") == 0)
                return g_strdup_printf("i=$((RANK - %d))\n", masters);
        if (strcmp(row->name, "tensorflow") == 0)
                return g_strdup("i=${TF_CONFIG##*'\"index\":'}\ni=${i%%[!0-9]*}\n");
        return g_strdup("i=$PADDLE_TRAINER_ID\n");
}

static void add_branch(GString *script, const Wish *wish, int below)
{
        g_autoptr(json_t) argv = argv_of(wish->run);
        const char *name;
        json_t *value;

        g_string_append_printf(script, "if [ \"$i\" -lt %d ]; then exec env", below);
        json_object_foreach(json_object_get(wish->body, "env"), name, value) {
                g_autofree char *pair = g_strdup_printf("%s=%s", name, json_string_value(value));
                g_autofree char *quoted = g_shell_quote(pair);

                g_string_append_printf(script, " %s", quoted);
        }
        (void)add_words(script, argv);
        g_string_append(script, "; fi\n");
}

/* Members of one role are one role of a specification: which of them a process is, a script decides. */
static json_t *shared_argv(const Asking *asking, const Framework *row, PaddleFlowRole role)
{
        int masters = role == PADDLEFLOW_MASTER ? 0 : asking->counts[PADDLEFLOW_MASTER], below = 0;
        g_autofree char *place = place_script(row, masters);
        g_autoptr(GString) script = g_string_new(place);

        for (guint i = 0; i < asking->wishes->len; i++) {
                const Wish *wish = &g_array_index(asking->wishes, Wish, i);

                if (wish->role != role)
                        continue;
                below += wish->replicas;
                add_branch(script, wish, below);
        }
        g_string_append(script, "echo \"no member has the place $i\" >&2\nexit 1\n");
        return json_pack("[s, s, s]", "sh", "-c", script->str);
}

/* ---- the specification ---- */

static const Wish *first_of(const Asking *asking, PaddleFlowRole role, int *ret_n)
{
        const Wish *first = NULL;

        *ret_n = 0;
        for (guint i = 0; i < asking->wishes->len; i++) {
                const Wish *wish = &g_array_index(asking->wishes, Wish, i);

                if (wish->role != role)
                        continue;
                first = first ? first : wish;
                ++*ret_n;
        }
        return first;
}

/* Nothing here runs the program that an image begins with. */
static bool has_command(const Framework *row, const Wish *wish, GError **error)
{
        const char *role = paddleflow_role_name(wish->role);

        return *go_text(wish->run, "command") || json_array_size(json_object_get(wish->run, "args")) > 0 ||
               framework_role(row, role)->program ||
               err_set(error, ERR_INVALID,
                       "no command of the role '%s' says what to run\n"
                       "Give the member a command or args: the program that its image begins with is not "
                       "run.",
                       role);
}

static bool fit_together(const Asking *asking, const Framework *row, PaddleFlowRole role, const Wish *first,
                         GError **error)
{
        for (guint i = 0; i < asking->wishes->len; i++) {
                const Wish *wish = &g_array_index(asking->wishes, Wish, i);

                if (wish->role == role && !resources_equal(&wish->each, &first->each))
                        return err_set(error, ERR_INVALID,
                                       "members: all members of the role '%s' have one flavour here",
                                       paddleflow_role_name(role));
                if (wish->role == role && !has_command(row, wish, error))
                        return false;
        }
        return true;
}

/* Amounts that are 0 are not asked for. */
static json_t *spec_amounts(const Resources *each)
{
        json_t *amounts = json_object();

        for (int kind = 0; kind < resource_kinds(); kind++) {
                g_autofree char *text = quantity_format(kind, each->amount[kind]);

                if (each->amount[kind] > 0)
                        json_object_set_new(amounts, resource_name(kind), json_string(text));
        }
        return amounts;
}

static json_t *role_of(const Asking *asking, const Framework *row, PaddleFlowRole role, GError **error)
{
        int n;
        const Wish *first = first_of(asking, role, &n);
        const char *flavour = first ? go_text(first->flavour, "name") : "";
        json_t *object, *argv;

        if (!fit_together(asking, row, role, first, error))
                return NULL;
        argv = n > 1 ? shared_argv(asking, row, role) : argv_of(first->run);
        object = json_pack("{s:s, s:i, s:o}", "name", framework_role(row, paddleflow_role_name(role))->name,
                           "replicas", asking->counts[role], "resources", spec_amounts(&first->each));
        if (json_array_size(argv) > 0)
                json_object_set(object, "command", argv);
        json_decref(argv);
        if (n == 1 && json_object_get(first->body, "env"))
                json_object_set(object, "env", json_object_get(first->body, "env"));
        if (*flavour && strcmp(flavour, CUSTOM_FLAVOUR) != 0)
                json_object_set_new(object, "flavour", json_string(flavour));
        return object;
}

/* Roles of the row, or why there are none. */
static json_t *roles_of(const Asking *asking, const Framework *row, GError **error)
{
        g_autoptr(json_t) roles = json_array();

        for (int role = 0; role < PADDLEFLOW_ROLES; role++) {
                json_t *object;

                if (asking->counts[role] == 0)
                        continue;
                object = role_of(asking, row, role, error);
                if (!object)
                        return NULL;
                json_array_append_new(roles, object);
        }
        return g_steal_pointer(&roles);
}

/* Pods are restarted by a rule that is said by a variable. */
static bool restarts(const json_t *env)
{
        const char *policy = go_text(env, "PF_JOB_RESTART_POLICY");

        return strcmp(policy, "Always") == 0 || strcmp(policy, "OnFailure") == 0;
}

/* Adds the members that are the same for all kinds of jobs. */
static void add_common(const Asking *asking, const char *id, const json_t *kept, json_t *spec)
{
        static const char *const maps[] = { "labels", "annotations" };

        json_object_set_new(spec, "name", json_string(id));
        json_object_set_new(spec, "queue", json_string(asking->queue->object.name));
        json_object_set_new(spec, "priority", json_integer(asking->priority));
        if (asking->queue->namespace)
                json_object_set_new(spec, "namespace", json_string(asking->queue->namespace));
        for (gsize i = 0; i < G_N_ELEMENTS(maps); i++)
                if (json_object_get(asking->body, maps[i]))
                        json_object_set(spec, maps[i], json_object_get(asking->body, maps[i]));
        json_object_set_new(spec, "origin", json_pack("{s:O}", "paddleflow", kept));
}

static json_t *running_spec(const Asking *asking, GError **error)
{
        const Framework *row;
        const char *image;
        json_t *roles, *spec;

        if (asking->route == ROUTE_WORKFLOW) {
                err_set(error, ERR_INVALID, "there is nothing here that runs workflows");
                return NULL;
        }
        if (asking->unfit) {
                if (error)
                        *error = g_error_copy(asking->unfit);
                return NULL;
        }
        row = paddleflow_framework_row(asking->framework, asking->counts, error);
        roles = row ? roles_of(asking, row, error) : NULL;
        if (!roles)
                return NULL;
        spec = json_pack("{s:s, s:o}", "framework", row->name, "roles", roles);
        image = go_text(g_array_index(asking->wishes, Wish, 0).run, "image");
        if (*image)
                json_object_set_new(spec, "image", json_string(image));
        if (asking->route == ROUTE_SINGLE && restarts(json_object_get(asking->body, "env")))
                json_object_set_new(spec, "retries", json_integer(ALWAYS_RETRY));
        return spec;
}

/* ---- what is kept ---- */

static json_t *kept_member(const Asking *asking, const Wish *wish)
{
        json_t *kept = json_deep_copy(wish->body), *env = json_object_get(kept, "env");

        json_object_set(kept, "flavour", wish->flavour);
        if (!env) {
                env = json_object();
                json_object_set_new(kept, "env", env);
        }
        json_object_set_new(env, "PF_JOB_NAMESPACE", text_or_blank(asking->queue->namespace));
        if (asking->route == ROUTE_SINGLE)
                json_object_set_new(env, "PF_JOB_MODE", json_string(asking->mode));
        else
                json_object_set_new(kept, "role", json_string(paddleflow_role_name(wish->role)));
        return kept;
}

static json_t *kept_of(const Asking *asking, const char *id)
{
        static const char *const types[] = { "single", "distributed", "workflow" };
        static const char *const drops[] = { "labels", "annotations", "schedulingPolicy", "userName" };
        json_t *kept = asking->route == ROUTE_SINGLE
                               ? kept_member(asking, &g_array_index(asking->wishes, Wish, 0))
                               : json_deep_copy(asking->body);
        json_t *members = json_array();

        for (guint i = 0; asking->route != ROUTE_SINGLE && i < asking->wishes->len; i++)
                json_array_append_new(members, kept_member(asking, &g_array_index(asking->wishes, Wish, i)));
        if (json_array_size(members) > 0)
                json_object_set(kept, "members", members);
        json_decref(members);
        for (gsize i = 0; i < G_N_ELEMENTS(drops); i++)
                json_object_del(kept, drops[i]);
        if (default_of(asking))
                json_object_set(kept, "defaultTemplate", (json_t *)default_of(asking));
        json_object_set_new(kept, "id", json_string(id));
        json_object_set_new(kept, "type", json_string(types[asking->route]));
        if (asking->framework)
                json_object_set_new(kept, "framework",
                                    json_string(paddleflow_framework_name(asking->framework)));
        return kept;
}

/* ---- all ---- */

static bool check_kept(const json_t *kept, GError **error)
{
        g_autofree char *text = json_format(kept);
        gsize len = strlen(text), most = SPEC_ORIGIN_MAX - KEPT_AROUND;

        return len <= most || paddleflow_set(error, CODE_JobInvalidField,
                                             "the job is too long to be kept: %" G_GSIZE_FORMAT
                                             " of at most %d bytes\nTemplate, commands and variables can be "
                                             "files of its image.",
                                             len, (int)SPEC_ORIGIN_MAX);
}

/* A job that breaks a rule of its framework is accepted, and fails on the cluster. */
static bool make(const Asking *asking, Asked *ret, GError **error)
{
        const char *id = go_text(asking->body, "id");
        g_autoptr(GError) why = NULL;
        g_autoptr(json_t) spec = NULL, refused = NULL, kept = NULL;
        g_autofree char *text = NULL;

        for (guint i = 0; i < asking->wishes->len; i++) {
                Wish *wish = &g_array_index(asking->wishes, Wish, i);

                wish->run = with_template(asking, wish);
        }
        ret->id = *id ? g_strdup(id) : job_new_id();
        kept = kept_of(asking, ret->id);
        if (!check_kept(kept, error))
                return false;
        spec = running_spec(asking, &why);
        if (spec) {
                add_common(asking, ret->id, kept, spec);
                ret->spec = spec_parse(spec, &why);
        }
        if (ret->spec)
                return true;
        text = paddleflow_message(why);
        ret->refusal = g_strdup_printf("submit job to cluster failed: %s", text);
        refused = json_pack("{s:[s]}", "command", "false"); /* stands for it, and is never started */
        add_common(asking, ret->id, kept, refused);
        g_clear_error(&why);
        ret->spec = spec_parse(refused, &why);
        return ret->spec || paddleflow_set(error, CODE_JobInvalidField, "%s", why->message);
}

bool job_request_read(const Call *call, JobRoute route, const json_t *body, Asked *ret, GError **error)
{
        Asking asking = { .call = call, .route = route, .body = body, .mode = "" };
        bool good;

        *ret = (Asked){ 0 };
        asking.wishes = g_array_new(FALSE, TRUE, sizeof(Wish));
        g_array_set_clear_func(asking.wishes, wish_clear);
        good = check_names(body, error) && check_queue(&asking, error) &&
               take_priority(body, &asking.priority, error) && take_parts(&asking, error) &&
               make(&asking, ret, error);
        g_array_unref(asking.wishes);
        json_decref(asking.implied);
        g_clear_error(&asking.unfit);
        return good;
}
