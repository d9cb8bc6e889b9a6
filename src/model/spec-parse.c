/* A specification from JSON, checked completely (see spec.h): every field is bounded before it is copied, and
 * messages name the place as "roles[1].replicas".
 *
 * Invariants of the resulting Spec: it has 1..SPEC_ROLES_MAX different roles of its framework, a command for
 * every member, and counts and sizes within the limits of spec.h. */
#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "base/word.h"
#include "model/framework.h"
#include "model/mount.h"
#include "model/spec-block.h"
#include "model/spec-draft.h"

enum {
        IMAGE_MAX = 255,        /* the limit of registries */
        PACKAGE_NAME_MAX = 255, /* one file name */
        HASH_HEX_LEN = 64,
        GPUS_MAX = 1024,
        FLAVOUR_MAX = 60, /* bytes of its name */
        RETRIES_MAX = 1000,
        HANGUP_DEFAULT_MS = 60000,
        HANGUP_MIN_MS = 1000,
};

char **draft_own(Draft *draft, GPtrArray *list)
{
        char **words;

        if (list->len == 0) {
                g_ptr_array_unref(list);
                return NULL;
        }
        g_ptr_array_add(list, NULL);
        words = (char **)g_ptr_array_free(list, FALSE);
        g_ptr_array_add(draft->lists, words);
        return words;
}

char *draft_own_text(Draft *draft, char *text)
{
        GPtrArray *list = g_ptr_array_new();

        g_ptr_array_add(list, text);
        return *draft_own(draft, list);
}

bool is_given(const json_t *object, const char *name)
{
        const json_t *value = json_object_get(object, name);

        return value && !json_is_null(value);
}

/* ---- commands ---- */

static bool check_argument(const char *where, size_t i, const json_t *item, GError **error)
{
        if (!json_is_string(item))
                return err_set(error, ERR_INVALID, "%scommand[%zu] must be a string", where, i);
        if (json_string_length(item) >= SPEC_TEXT_MAX)
                return err_set(error, ERR_INVALID, "%scommand[%zu] is longer than %d bytes", where, i,
                               SPEC_TEXT_MAX - 1);
        return true;
}

static bool take_words(Draft *draft, const json_t *array, const char *where, char ***ret, GError **error)
{
        g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
        const json_t *item;
        size_t i;

        if (json_array_size(array) == 0)
                return err_set(error, ERR_INVALID, "%scommand is empty\nGive the program and its arguments.",
                               where);
        if (json_array_size(array) > SPEC_ARGV_MAX)
                return err_set(error, ERR_INVALID, "%scommand has more than %d items", where, SPEC_ARGV_MAX);
        json_array_foreach(array, i, item) {
                if (!check_argument(where, i, item, error))
                        return false;
                g_ptr_array_add(words, g_strdup(json_string_value(item)));
        }
        if (!*(const char *)words->pdata[0])
                return err_set(error, ERR_INVALID, "%scommand[0] is empty\nIt names the program.", where);
        *ret = draft_own(draft, g_steal_pointer(&words));
        return true;
}

static bool take_command(Draft *draft, const json_t *object, const char *where, char ***ret, GError **error)
{
        const json_t *value = json_object_get(object, "command");
        GPtrArray *words;

        if (!is_given(object, "command"))
                return true;
        if (json_is_array(value))
                return take_words(draft, value, where, ret, error);
        if (!json_is_string(value))
                return err_set(error, ERR_INVALID, "%scommand must be a string or a list of strings", where);
        if (json_string_length(value) >= SPEC_TEXT_MAX)
                return err_set(error, ERR_INVALID, "%scommand is longer than %d bytes", where,
                               SPEC_TEXT_MAX - 1);
        if (strspn(json_string_value(value), " \t\r\n") == json_string_length(value))
                return err_set(error, ERR_INVALID, "%scommand is empty\nGive the program and its arguments.",
                               where);
        words = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(words, g_strdup("sh"));
        g_ptr_array_add(words, g_strdup("-c"));
        g_ptr_array_add(words, g_strdup(json_string_value(value)));
        *ret = draft_own(draft, words);
        return true;
}

/* ---- variables ---- */

bool env_name_is_valid(const char *name, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (!(g_ascii_isalpha(name[i]) || name[i] == '_' || (i > 0 && g_ascii_isdigit(name[i]))))
                        return false;
        return len > 0;
}

/* Adds "K=V"; an existing name gets the new value at its old position. */
static bool add_env(GPtrArray *list, const char *where, const char *name, size_t len, const char *value,
                    GError **error)
{
        g_autofree char *shown = NULL;
        char *pair;

        if (!env_name_is_valid(name, len)) {
                g_autofree char *raw = g_strndup(name, MIN(len, 64));

                shown = err_shown(raw);
                return err_set(
                        error, ERR_INVALID,
                        "%senv: '%s' is not a variable's name: a letter or '_', then letters, digits and '_'",
                        where, shown);
        }
        if (len + 1 + strlen(value) >= SPEC_TEXT_MAX)
                return err_set(error, ERR_INVALID, "%senv: '%.64s' and its value are longer than %d bytes",
                               where, name, SPEC_TEXT_MAX - 1);
        pair = g_strdup_printf("%.*s=%s", (int)len, name, value);
        for (guint i = 0; i < list->len; i++) {
                if (strncmp(list->pdata[i], pair, len + 1) != 0)
                        continue;
                g_free(list->pdata[i]);
                list->pdata[i] = pair;
                return true;
        }
        g_ptr_array_add(list, pair);
        return true;
}

static char *env_value(const json_t *value)
{
        if (json_is_string(value))
                return g_strdup(json_string_value(value));
        return json_is_number(value) || json_is_boolean(value) ? json_format(value) : NULL;
}

static bool take_env_object(GPtrArray *list, const json_t *object, const char *where, GError **error)
{
        const char *name;
        json_t *item;

        json_object_foreach((json_t *)object, name, item) {
                g_autofree char *value = env_value(item);

                if (!value)
                        return err_set(error, ERR_INVALID,
                                       "%senv: the value of '%.64s' must be text, a number, true or false",
                                       where, name);
                if (!add_env(list, where, name, strlen(name), value, error))
                        return false;
        }
        return true;
}

static bool take_env_list(GPtrArray *list, const json_t *array, const char *where, GError **error)
{
        const json_t *item;
        size_t i;

        json_array_foreach(array, i, item) {
                const char *pair = json_string_value(item), *equals = pair ? strchr(pair, '=') : NULL;

                if (!equals)
                        return err_set(error, ERR_INVALID, "%senv[%zu]: '%.64s' is not NAME=VALUE", where, i,
                                       pair ? pair : "");
                if (!add_env(list, where, pair, (size_t)(equals - pair), equals + 1, error))
                        return false;
        }
        return true;
}

static bool take_env(Draft *draft, const json_t *object, const char *where, char ***ret, GError **error)
{
        const json_t *value = json_object_get(object, "env");
        g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);

        if (!is_given(object, "env"))
                return true;
        if (!json_is_object(value) && !json_is_array(value))
                return err_set(error, ERR_INVALID, "%senv must be an object or a list of NAME=VALUE", where);
        if (json_object_size(value) > SPEC_ENV_MAX || json_array_size(value) > SPEC_ENV_MAX)
                return err_set(error, ERR_INVALID, "%senv has more than %d variables", where, SPEC_ENV_MAX);
        if (!(json_is_object(value) ? take_env_object : take_env_list)(list, value, where, error))
                return false;
        *ret = draft_own(draft, g_steal_pointer(&list));
        return true;
}

/* ---- amounts and times ---- */

typedef bool (*QuantityFunc)(const char *what, const char *text, gint64 *ret, GError **error);

/* The value may be text or a number. */
static bool take_quantity(const json_t *object, const char *where, const char *name, QuantityFunc parse,
                          gint64 *ret, GError **error)
{
        const json_t *value = json_object_get(object, name);
        g_autofree char *what = NULL, *number = NULL;

        if (!is_given(object, name))
                return true;
        what = g_strconcat(where, name, NULL);
        if (json_is_number(value))
                number = json_format(value);
        else if (!json_is_string(value))
                return err_set(error, ERR_INVALID, "%s must be text or a number", what);
        return parse(what, number ? number : json_string_value(value), ret, error);
}

static gint64 round_up(double value)
{
        gint64 whole = (gint64)value;

        return whole + ((double)whole < value);
}

bool take_duration(const json_t *object, const char *name, gint64 max, gint64 *ret, GError **error)
{
        const json_t *value = json_object_get(object, name);
        g_autofree char *shown = is_given(object, name) ? json_format(value) : NULL;
        gint64 ms = 0;

        if (!shown)
                return true;
        if (json_is_string(value)) {
                if (!duration_parse(name, json_string_value(value), &ms, error))
                        return false;
        } else if (json_is_number(value) && json_number_value(value) >= 0 &&
                   json_number_value(value) < 1e12) {
                ms = round_up(json_number_value(value) * 1000);
        } else {
                return err_set(error, ERR_INVALID,
                               "%s: '%.40s' is not a duration such as 90s, 15m, 1h30m, 1:30:00 or 2d", name,
                               shown);
        }
        if (ms > max) {
                g_autofree char *days = count_format(max / SPEC_DAY_MS, "day");

                return err_set(error, ERR_INVALID, "%s: '%.40s' is longer than %s", name, shown, days);
        }
        *ret = ms;
        return true;
}

static bool take_times(Draft *draft, const json_t *object, GError **error)
{
        Spec *spec = &draft->spec;
        gint64 retries = 0;

        spec->start_timeout_ms = SPEC_START_TIMEOUT_MS;
        spec->grace_ms = 30000;
        spec->backoff_ms = 1000;
        if (!take_duration(object, "time_limit", (gint64)3650 * SPEC_DAY_MS, &spec->time_limit_ms, error) ||
            !take_duration(object, "start_timeout", (gint64)3650 * SPEC_DAY_MS, &spec->start_timeout_ms,
                           error) ||
            !take_duration(object, "grace", SPEC_DAY_MS, &spec->grace_ms, error) ||
            !take_duration(object, "backoff", SPEC_DAY_MS, &spec->backoff_ms, error) ||
            !json_get_int(object, "", "retries", 0, RETRIES_MAX, &retries, error))
                return false;
        spec->retries = (int)retries;
        return true;
}

/* ---- words ---- */

bool take_choice(const json_t *object, const char *name, const char *first, const char *second,
                 bool *ret_first, GError **error)
{
        const char *word = first;

        if (!json_get_string(object, "", name, 1000, &word, error))
                return false;
        if (strcmp(word, first) != 0 && strcmp(word, second) != 0)
                return err_set(error, ERR_INVALID, "%s: '%.40s' is not one of %s, %s", name, word, first,
                               second);
        *ret_first = strcmp(word, first) == 0;
        return true;
}

static bool check_image(const char *image, GError **error)
{
        g_autofree char *shown = err_shown(image);

        if (*image && g_ascii_isalnum(*image) &&
            !image[strspn(image, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/:@+-")])
                return true;
        return err_set(error, ERR_INVALID,
                       "image: '%.80s' is not an image reference such as paddlepaddle/paddle:2.6.2", shown);
}

static bool is_hash(const char *text)
{
        return strlen(text) == HASH_HEX_LEN && strspn(text, "0123456789abcdef") == HASH_HEX_LEN;
}

static bool check_package(const Spec *spec, GError **error)
{
        const char *name = spec->package_name;

        if (spec->package && !is_hash(spec->package))
                return err_set(error, ERR_INVALID,
                               "package: '%.80s' is not a content hash of %d hexadecimal digits",
                               spec->package, HASH_HEX_LEN);
        if (!name)
                return true;
        if (!spec->package)
                return err_set(error, ERR_INVALID, "package_name: '%.80s' is given without a package", name);
        for (const char *at = name; *at; at++)
                if (g_ascii_iscntrl(*at) || *at == '/' || *at == ':')
                        name = "";
        if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
                g_autofree char *shown = err_shown(spec->package_name);

                return err_set(error, ERR_INVALID, "package_name: '%.80s' is not the name of a directory",
                               shown);
        }
        return true;
}

/* Logs and reasons show it: of control characters it may contain only newlines and tabs. */
static bool check_setup(const Spec *spec, GError **error)
{
        if (spec->setup_files && (!spec->setup || !is_hash(spec->setup_files)))
                return err_set(error, ERR_INVALID,
                               "setup_files: it is filled in by the server\nLeave it out.");
        if (!spec->setup)
                return true;
        if (strspn(spec->setup, " \t\r\n") == strlen(spec->setup))
                return err_set(error, ERR_INVALID,
                               "setup is empty\nGive a command such as \"make -C ops\", or leave it out.");
        for (const char *at = spec->setup; *at; at = g_utf8_next_char(at))
                if (*at != '\n' && *at != '\t' && unichar_is_control(g_utf8_get_char(at)))
                        return err_set(error, ERR_INVALID,
                                       "setup has a control character (U+%04X)\nA command is printable "
                                       "text, of one or several lines.",
                                       g_utf8_get_char(at));
        return true;
}

/* Checks only the syntax; the storage checks what the path refers to. */
static bool check_path(const char *what, const char *path, GError **error)
{
        g_autofree char *normal = path ? pfs_path_normal(path, "-", "-", error) : NULL;

        return !path || normal ? true : err_prefix(error, "%s: ", what);
}

static bool take_texts(Draft *draft, const json_t *object, GError **error)
{
        Spec *spec = &draft->spec;
        const struct {
                const char *name;
                gsize max;
                char **field;
        } texts[] = {
                { "name", SPEC_TEXT_MAX, &spec->name },
                { "image", IMAGE_MAX, &spec->image },
                { "package", SPEC_TEXT_MAX, &spec->package },
                { "package_name", PACKAGE_NAME_MAX, &spec->package_name },
                { "requirements", SPEC_TEXT_MAX, &spec->requirements },
                { "setup", SPEC_SETUP_MAX, &spec->setup },
                { "setup_files", HASH_HEX_LEN, &spec->setup_files },
                { "input", SPEC_PATH_MAX, &spec->input },
                { "output", SPEC_PATH_MAX, &spec->output },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
                if (!json_get_string(object, "", texts[i].name, texts[i].max, (const char **)texts[i].field,
                                     error))
                        return false;
        return (!spec->name || name_check("name", spec->name, error)) &&
               (!spec->image || check_image(spec->image, error)) && check_package(spec, error) &&
               check_setup(spec, error) && check_path("input", spec->input, error) &&
               check_path("output", spec->output, error);
}

/* ---- roles ---- */

static const char *const role_fields[] = { "name", "replicas", "min",       "cpu",     "memory", "gpus",
                                           "env",  "command",  "resources", "flavour", NULL };

/* A role before its framework is known. */
typedef struct {
        const char *name;
        gint64 replicas;
} RoleHead;

static bool take_head(const json_t *object, size_t i, RoleHead *ret, GError **error)
{
        g_autofree char *where = g_strdup_printf("roles[%zu].", i);

        *ret = (RoleHead){ .replicas = 1 };
        if (!json_is_object(object))
                return err_set(error, ERR_INVALID, "roles[%zu] must be an object", i);
        if (!json_only(object, where, role_fields, error) ||
            !json_get_string(object, where, "name", SPEC_NAME_MAX, &ret->name, error) ||
            !json_get_int(object, where, "replicas", 0, SPEC_REPLICAS_MAX, &ret->replicas, error))
                return false;
        if (!ret->name)
                return err_set(error, ERR_INVALID, "%sname is missing", where);
        return true;
}

static bool take_heads(const json_t *object, RoleHead *ret, int *ret_n, json_t **ret_array, GError **error)
{
        const json_t *item;
        size_t i;

        if (!json_get_array(object, "", "roles", SPEC_ROLES_MAX, ret_array, error))
                return false;
        if (*ret_array && json_array_size(*ret_array) == 0)
                return err_set(error, ERR_INVALID, "roles is empty\nLeave it out for one process.");
        json_array_foreach(*ret_array, i, item)
                if (!take_head(item, i, &ret[i], error))
                        return false;
        *ret_n = (int)json_array_size(*ret_array);
        return true;
}

static gint64 replicas_of(const RoleHead *heads, int n, const char *name, const char *alias)
{
        for (int i = 0; i < n; i++)
                if (strcmp(heads[i].name, name) == 0 || (alias && strcmp(heads[i].name, alias) == 0))
                        return heads[i].replicas;
        return 0;
}

static bool refuse_framework(const char *name, GError **error)
{
        g_autofree char *known = framework_names();

        return err_set(error, ERR_INVALID, "framework: '%.64s' is not one of %s", name, known);
}

static bool take_framework(Draft *draft, const json_t *object, const RoleHead *heads, int n, GError **error)
{
        const char *name = NULL;

        if (!json_get_string(object, "", "framework", SPEC_TEXT_MAX, &name, error))
                return false;
        if (!name && replicas_of(heads, n, "pserver", NULL) > 0)
                name = "paddle-ps";
        else if (!name)
                name = replicas_of(heads, n, "trainer", NULL) > 1 ? "paddle-collective" : "plain";
        draft->spec.framework = framework_find(name);
        return draft->spec.framework || refuse_framework(name, error);
}

static bool refuse_role(const Framework *framework, const char *where, const char *name, GError **error)
{
        g_autoptr(GString) known = g_string_new(framework->roles[0].name);
        g_autofree char *shown = err_shown(name);

        for (int i = 1; i < FRAMEWORK_ROLES_MAX && framework->roles[i].name; i++)
                g_string_append_printf(known, ", %s", framework->roles[i].name);
        return err_set(error, ERR_INVALID, "%sname: '%.80s' is not a role of %s, which has %s", where, shown,
                       framework->name, known->str);
}

/* Fewer than all replicas can do only if each has a part of the same work. */
static bool take_min(const Draft *draft, const json_t *object, const char *where, Role *role, GError **error)
{
        gint64 min = role->replicas;

        if (!json_get_int(object, where, "min", MIN(role->replicas, 1), role->replicas, &min, error))
                return false;
        if (min < role->replicas && strcmp(role->name, draft->spec.framework->main_role) != 0)
                return err_set(error, ERR_INVALID,
                               "%smin: '%" G_GINT64_FORMAT "' of %d: a job of %s can do with fewer %ss only",
                               where, min, role->replicas, draft->spec.framework->name,
                               draft->spec.framework->main_role);
        role->min = (int)min;
        return true;
}

/* Resources other than cpu, memory and gpus. */
static bool take_resources(const Draft *draft, const json_t *object, const char *where, Role *role,
                           GError **error)
{
        g_autofree char *what = g_strconcat(where, "resources", NULL);
        static const char *const own[] = { "cpu", "memory", "gpus" };
        static const int kinds[] = { RESOURCE_CPU, RESOURCE_MEMORY, RESOURCE_GPU };
        ResourceLimits limits;

        if (!limits_parse(what, json_object_get(object, "resources"), draft->foreign_kinds, &limits, error))
                return false;
        for (int i = 0; i < 3; i++)
                if (limits.said & (1u << kinds[i]) && is_given(object, own[i]))
                        return err_set(error, ERR_INVALID,
                                       "%s sets %s, which %s%s sets, too\nLeave out one of the two.", what,
                                       resource_name(kinds[i]), where, own[i]);
        for (int kind = 0; kind < RESOURCE_KINDS_MAX; kind++)
                if (limits.said & (1u << kind))
                        role->each.amount[kind] = limits.amount.amount[kind];
        if (role->each.cpu_milli == 0) /* as for every kind: a request of 0 declares nothing */
                role->each.cpu_milli = -1;
        if (role->each.gpus > GPUS_MAX)
                return err_set(error, ERR_INVALID, "%s: %" G_GINT64_FORMAT " GPUs are more than %d", what,
                               role->each.gpus, GPUS_MAX);
        return true;
}

static bool take_flavour(const json_t *object, const char *where, Role *role, GError **error)
{
        return json_get_string(object, where, "flavour", FLAVOUR_MAX, (const char **)&role->flavour, error);
}

static bool take_role(Draft *draft, const json_t *object, const RoleHead *head, GError **error)
{
        int i = draft->spec.n_roles;
        g_autofree char *where = g_strdup_printf("roles[%d].", i);
        const FrameworkRole *row = framework_role(draft->spec.framework, head->name);
        Role *role = &draft->roles[i];

        if (!row)
                return refuse_role(draft->spec.framework, where, head->name, error);
        for (int k = 0; k < i; k++)
                if (draft->roles[k].name == row->name)
                        return err_set(error, ERR_INVALID, "%sname: '%s' is given twice", where, head->name);
        *role = (Role){ .name = row->name,
                        .replicas = (int)head->replicas,
                        .min = (int)head->replicas,
                        .each = { .cpu_milli = -1 } };
        draft->spec.n_roles++;
        return take_quantity(object, where, "cpu", cpu_parse, &role->each.cpu_milli, error) &&
               take_quantity(object, where, "memory", memory_parse, &role->each.memory, error) &&
               json_get_int(object, where, "gpus", 0, GPUS_MAX, &role->each.gpus, error) &&
               take_min(draft, object, where, role, error) &&
               take_resources(draft, object, where, role, error) &&
               take_flavour(object, where, role, error) &&
               take_command(draft, object, where, &role->command, error) &&
               take_env(draft, object, where, &role->env, error);
}

static void add_role(Draft *draft, const char *name)
{
        draft->roles[draft->spec.n_roles++] =
                (Role){ .name = name, .replicas = 1, .min = 1, .each = { .cpu_milli = -1 } };
}

static bool has_role(const Draft *draft, const char *name)
{
        for (int i = 0; i < draft->spec.n_roles; i++)
                if (strcmp(draft->roles[i].name, name) == 0)
                        return true;
        return false;
}

/* Without a list of roles, a job is one process of the main role. Roles that the framework cannot do without
 * are added: a list with MPI's workers may omit the launcher. */
static void complete_roles(Draft *draft)
{
        const Framework *framework = draft->spec.framework;

        if (draft->spec.n_roles == 0)
                add_role(draft, framework->main_role);
        for (int i = 0; framework->roles[i].name; i++)
                if (framework->roles[i].implied && !has_role(draft, framework->roles[i].name))
                        add_role(draft, framework->roles[i].name);
}

static bool take_roles(Draft *draft, const json_t *object, GError **error)
{
        RoleHead heads[SPEC_ROLES_MAX];
        json_t *array = NULL;
        int n = 0;

        if (!take_heads(object, heads, &n, &array, error) || !take_framework(draft, object, heads, n, error))
                return false;
        for (int i = 0; i < n; i++)
                if (!take_role(draft, json_array_get(array, (size_t)i), &heads[i], error))
                        return false;
        complete_roles(draft);
        return true;
}

/* ---- checks across fields ---- */

static bool check_commands(const Draft *draft, GError **error)
{
        for (int i = 0; !draft->spec.command && i < draft->spec.n_roles; i++)
                if (!draft->roles[i].command &&
                    !framework_role(draft->spec.framework, draft->roles[i].name)->program)
                        return err_set(error, ERR_INVALID,
                                       "command is missing\nIt is a list such as [\"python\", \"train.py\"], "
                                       "or text for sh.");
        return true;
}

static bool check_gpus(Draft *draft, GError **error)
{
        gint64 gpus = 0;

        for (int i = 0; i < draft->spec.n_roles; i++)
                gpus += draft->roles[i].replicas * draft->roles[i].each.gpus;
        if (draft->gpu_said && draft->gpu_value && gpus == 0)
                return err_set(error, ERR_INVALID,
                               "use_gpu is true, but no role asks for gpus\nGive a role \"gpus\": 1.");
        if (draft->gpu_said && !draft->gpu_value && gpus > 0)
                return err_set(error, ERR_INVALID,
                               "use_gpu is false, but the roles ask for %" G_GINT64_FORMAT
                               " gpus\nLeave out one of the two.",
                               gpus);
        draft->spec.use_gpu = gpus > 0;
        return true;
}

/* "tty", "detach", "hangup_after". */
static bool take_terminal(Draft *draft, const json_t *object, GError **error)
{
        Spec *spec = &draft->spec;

        spec->hangup_ms = HANGUP_DEFAULT_MS;
        if (!json_get_bool(object, "", "tty", &spec->tty, error) ||
            !json_get_bool(object, "", "detach", &spec->detach, error) ||
            !take_duration(object, "hangup_after", SPEC_DAY_MS, &spec->hangup_ms, error))
                return false;
        if (!spec->tty && (spec->detach || is_given(object, "hangup_after")))
                return err_set(error, ERR_INVALID, "%s needs tty: true\nIt is for jobs with a terminal.",
                               spec->detach ? "detach" : "hangup_after");
        if (spec->hangup_ms < HANGUP_MIN_MS)
                return err_set(
                        error, ERR_INVALID,
                        "hangup_after must be at least %d s\nUse `detach: true` for a job that continues "
                        "without a terminal.",
                        HANGUP_MIN_MS / 1000);
        return true;
}

/* Only a job of a single program can have a terminal. */
static bool check_terminal(const Spec *spec, GError **error)
{
        if (!spec->tty)
                return true;
        if (spec_members(spec) != 1)
                return err_set(error, ERR_INVALID,
                               "tty: a job with a terminal has one process, this one has %d",
                               spec_members(spec));
        if (spec->array || spec->retries)
                return err_set(error, ERR_INVALID, "tty: a job with a terminal cannot have %s",
                               spec->array ? "an array" : "retries");
        return true;
}

/* The framework's own rule, and the sum of all members. Needs the roles of a finished Spec. */
static bool check_counts(const Spec *spec, GError **error)
{
        Resources endless = { .cpu_milli = G_MAXINT64 }, sum; /* only its cores matter here */
        int members = spec_members(spec);

        if (members > SPEC_REPLICAS_MAX)
                return err_set(error, ERR_INVALID, "roles: %d members in all are more than %d", members,
                               SPEC_REPLICAS_MAX);
        if (!spec->framework->check(spec, error))
                return false;
        if (!spec_wants(spec, &endless, &sum))
                return err_set(error, ERR_INVALID, "roles: together they ask for more than can be counted");
        return true;
}

static const char *const spec_fields[] = {
        "name",          "framework",    "command",      "roles",   "env",     "image",
        "package",       "package_name", "requirements", "input",   "output",  "retries",
        "backoff",       "time_limit",   "grace",        "on_lost", "use_gpu", "ready",
        "network",       "secrets",      "secret_files", "tty",     "detach",  "hangup_after",
        "start_timeout", "setup",        "setup_files",  "mounts",  NULL
};

/* Merges the two lists of fields for json_only. */
static bool check_members(const json_t *object, GError **error)
{
        const char *known[G_N_ELEMENTS(spec_fields) + 32];
        size_t n = G_N_ELEMENTS(spec_fields) - 1;

        memcpy(known, spec_fields, n * sizeof *known);
        for (size_t i = 0; spec_schedule_fields[i]; i++) {
                g_assert(n + 1 < G_N_ELEMENTS(known));
                known[n++] = spec_schedule_fields[i];
        }
        known[n] = NULL;
        return json_only(object, "", known, error);
}

static bool take_mounts(Draft *draft, const json_t *object, GError **error)
{
        if (!is_given(object, "mounts"))
                return true;
        if (!mounts_parse(json_object_get(object, "mounts"), &draft->spec.mounts, error))
                return false;
        if (draft->spec.mounts)
                g_ptr_array_add(draft->lists, draft->spec.mounts);
        return true;
}

static bool take_all(Draft *draft, const json_t *object, GError **error)
{
        bool listens = true, on_host = true;

        draft->gpu_said = is_given(object, "use_gpu");
        if (!check_members(object, error) || !take_texts(draft, object, error) ||
            !take_roles(draft, object, error) ||
            !take_command(draft, object, "", &draft->spec.command, error) ||
            !take_env(draft, object, "", &draft->spec.env, error) || !take_times(draft, object, error) ||
            !take_choice(object, "on_lost", "retry", "fail", &draft->spec.restart_lost, error) ||
            !take_choice(object, "ready", "listen", "declared", &listens, error) ||
            !take_choice(object, "network", "host", "none", &on_host, error) ||
            !json_get_bool(object, "", "use_gpu", &draft->gpu_value, error) ||
            !take_terminal(draft, object, error) || !take_secrets(draft, object, error) ||
            !take_mounts(draft, object, error) || !take_schedule(draft, object, error))
                return false;
        draft->spec.ready_declared = !listens;
        draft->spec.network_none = !on_host;
        return check_commands(draft, error) && check_gpus(draft, error);
}

/* Each part has a limit, but there may be many. A body has one, too; a step of a pipeline repeats parameters of its run. */
static bool check_texts(gsize texts, GError **error)
{
        return texts <= SPEC_TEXTS_MAX ||
               err_set(error, ERR_INVALID,
                       "the job's command, variables and other texts are longer than "
                       "%d bytes together",
                       SPEC_TEXTS_MAX);
}

/* `stored`: it was accepted before, perhaps by other limits. */
static Spec *parse(const json_t *object, bool stored, GError **error)
{
        g_autoptr(GPtrArray) lists = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
        Draft draft = { .lists = lists, .foreign_kinds = stored };
        g_autoptr(Spec) spec = NULL;
        gsize texts;

        if (!json_is_object(object)) {
                err_set(error, ERR_INVALID, "a specification must be a JSON object");
                return NULL;
        }
        if (!take_all(&draft, object, error))
                return NULL;
        spec = spec_copy(&draft.spec, draft.roles, &texts);
        return (stored || check_texts(texts, error)) && check_counts(spec, error) &&
                               check_terminal(spec, error)
                       ? g_steal_pointer(&spec)
                       : NULL;
}

Spec *spec_parse(const json_t *object, GError **error)
{
        return parse(object, false, error);
}

Spec *spec_unpack(const json_t *object, GError **error)
{
        return parse(object, true, error);
}
