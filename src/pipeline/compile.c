/* From a document to a definition: keys and types of all maps (PE-02, PE-03), and the settings that steps
 * take from the top level. See doc/reference/pipelines.md, "Keys".
 *
 * Components are compiled in the order of their array. A DAG appends its children, which lie behind all
 * components so far: so children lie side by side, and all ranges are in the order of the components. A
 * value of the wrong type is treated as absent afterwards, so that one mistake gives one error. */
#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "pipeline/draft.h"
#include "pipeline/value.h"

enum {
        RETRIES_MAX = 1000,         /* as of a job */
        TIME_LIMIT_DAYS_MAX = 3650, /* as of a job */
        JOB_TEXT_KIB = 128,         /* of a text of a job: its directory, its requirements */
        MAPS_MAX = 1000,            /* mounts or scopes in one list */
        SCOPE_PATH_MAX = 4095, /* bytes of a path in the scope of a cache: the system takes no longer ones */
};

static const char *const kind_names[DOCUMENT_KINDS] = {
        [DOCUMENT_NULL] = "nothing",   [DOCUMENT_BOOL] = "true or false", [DOCUMENT_INT] = "a number",
        [DOCUMENT_FLOAT] = "a number", [DOCUMENT_TEXT] = "text",          [DOCUMENT_LIST] = "a list",
        [DOCUMENT_MAP] = "a map",
};

/* ---- the keys of a map ---- */

static char *suffix_of(const char *prefix, const char *name)
{
        return *prefix ? g_strdup_printf("%s.%s", prefix, name) : g_strdup(name);
}

/* yes, no, on and off without quotes, for keys that are true or false. */
static bool is_lenient_bool(const Draft *draft, guint32 node)
{
        static const char *const words[] = { "yes", "no", "on", "off", NULL };
        const DocumentNode *value = draft_node(draft, node);
        g_autofree char *lower = NULL;

        if (value->kind != DOCUMENT_TEXT || !value->plain)
                return false;
        lower = g_ascii_strdown(document_text(draft->document, node), -1);
        return g_strv_contains(words, lower);
}

static bool bool_of(const Draft *draft, guint32 node)
{
        if (!node)
                return false;
        if (draft_node(draft, node)->kind == DOCUMENT_BOOL)
                return draft_node(draft, node)->yes;
        return g_ascii_strcasecmp(document_text(draft->document, node), "yes") == 0 ||
               g_ascii_strcasecmp(document_text(draft->document, node), "on") == 0;
}

/* The keys of a component, and those in it that hold others. Mounts, caches and references have none. */
static void mark_refused(Draft *draft, guint32 component, guint places, Key key)
{
        if (places & (IN_TOP | IN_STEP | IN_DAG | IN_FS_OPTIONS | IN_ARTIFACTS))
                draft_mark_refused(draft, component, key);
        else if (places & IN_MOUNT)
                draft_mark_refused(draft, component,
                                   component == (guint32)DEFINITION_NONE ? KEY_MAIN_FS : KEY_EXTRA_FS);
}

/* False if a text has more bytes than its key may have. */
static bool check_length(Draft *draft, const KeyRow *row, guint32 node, guint32 component, const char *suffix)
{
        if (!row->max || draft_node(draft, node)->kind != DOCUMENT_TEXT ||
            strlen(document_text(draft->document, node)) <= row->max)
                return true;
        draft_refuse(draft, PE_02, node, component, suffix, "is longer than %u bytes", row->max);
        return false;
}

static void take_key(Draft *draft, Key key, guint32 node, guint32 component, const char *suffix, guint32 *ret)
{
        const KeyRow *row = &key_rows[key];
        DocumentKind kind = draft_node(draft, node)->kind;

        if (kind == DOCUMENT_NULL) /* as if it were absent */
                return;
        if (ret[key])
                draft_refuse(draft, PE_01, node, component, suffix, "the key is given in two spellings");
        else if ((row->kinds & (1U << kind)) ||
                 (row->kinds == 1U << DOCUMENT_BOOL && is_lenient_bool(draft, node)))
                ret[key] = check_length(draft, row, node, component, suffix) ? node : 0;
        else
                draft_refuse(draft, PE_02, node, component, suffix, "must be %s, not %s", row->type,
                             kind_names[kind]);
}

/* What is wrong with a known key is refused as the key itself. */
static void refuse_key(Draft *draft, guint32 node, guint places, guint32 component, const char *suffix)
{
        const char *name = document_text(draft->document, node);
        bool kept = draft->problems->n < PROBLEMS_MAX;
        Key meant = kept ? key_nearest(name, places) : KEYS;
        g_autofree char *advice = kept ? key_advice(name, places, meant) : g_strdup("");
        g_autofree char *shown = err_shown(name);

        if (meant < KEYS)
                mark_refused(draft, component, places, meant);
        draft_refuse(draft, PE_03, node, component, suffix, "there is no key '%.64s' here\n%s", shown,
                     advice);
}

/* Puts the node of each known key's value into `ret`, which has KEYS zeroes. */
static void read_keys(Draft *draft, guint32 map, guint places, guint32 component, const char *prefix,
                      guint32 *ret)
{
        const DocumentNode *nodes = draft->document->nodes;

        for (guint32 key = map + 1; key < nodes[map].next; key = nodes[key + 1].next) {
                const char *name = document_text(draft->document, key);
                Key known = key_find(name, places, draft->request->json_body);
                g_autofree char *suffix = known < KEYS ? suffix_of(prefix, name) : NULL;

                if (known == KEYS) {
                        refuse_key(draft, key, places, component, *prefix ? prefix : NULL);
                        continue;
                }
                take_key(draft, known, key + 1, component, suffix, ret);
                if (!ret[known] && draft_node(draft, key + 1)->kind != DOCUMENT_NULL)
                        mark_refused(draft, component, places, known);
        }
}

static const char *text_at(const Draft *draft, guint32 node)
{
        return node ? document_text(draft->document, node) : "";
}

/* A whole number, also as 5.0. */
static bool whole_at(Draft *draft, guint32 node, guint32 component, const char *suffix, gint64 *ret)
{
        const DocumentNode *value = draft_node(draft, node);

        if (value->kind == DOCUMENT_INT)
                *ret = value->whole;
        else if (!value_whole(value->real, ret)) {
                draft_refuse(draft, PE_02, node, component, suffix, "must be a whole number");
                return false;
        }
        return true;
}

/* ---- mounts ---- */

static StepMount read_mount(Draft *draft, guint32 map, guint32 component, const char *prefix, guint32 *keys)
{
        read_keys(draft, map, IN_MOUNT, component, prefix, keys);
        return (StepMount){ .name = draft_intern(draft, text_at(draft, keys[KEY_NAME])),
                            .mount_path = draft_intern(draft, text_at(draft, keys[KEY_MOUNT_PATH])),
                            .sub_path = draft_intern(draft, text_at(draft, keys[KEY_SUB_PATH])),
                            .read_only = bool_of(draft, keys[KEY_READ_ONLY]) };
}

/* Calls `one` for each map of a list. */
static void each_map(Draft *draft, guint32 list, guint32 component, const char *prefix,
                     void (*one)(Draft *draft, guint32 map, guint32 component, const char *prefix))
{
        const DocumentNode *nodes = draft->document->nodes;
        int n = 0;

        if (!list)
                return;
        if (nodes[list].count > MAPS_MAX) {
                draft_refuse(draft, PE_35, list, component, prefix, "has more than %d items", MAPS_MAX);
                return;
        }
        for (guint32 i = list + 1; i < nodes[list].next; i = nodes[i].next, n++) {
                g_autofree char *suffix = g_strdup_printf("%s[%d]", prefix, n);

                if (nodes[i].kind == DOCUMENT_MAP)
                        one(draft, i, component, suffix);
                else
                        draft_refuse(draft, PE_02, i, component, suffix, "must be a map, not %s",
                                     kind_names[nodes[i].kind]);
        }
}

static void add_mount(Draft *draft, guint32 map, guint32 component, const char *prefix)
{
        guint32 keys[KEYS] = { 0 };
        StepMount mount = read_mount(draft, map, component, prefix, keys);

        g_array_append_val(draft->mounts, mount);
        g_array_append_val(draft->mount_nodes, map);
}

/* The longest of the paths that `text` joins by commas. */
static gsize longest_path(const char *text)
{
        gsize longest = 0;

        for (gsize len; *text; text += len + (text[len] == ',')) {
                len = strcspn(text, ",");
                longest = MAX(longest, len);
        }
        return longest;
}

static void add_scope(Draft *draft, guint32 map, guint32 component, const char *prefix)
{
        guint32 keys[KEYS] = { 0 };
        CacheScope scope;

        read_keys(draft, map, IN_SCOPE, component, prefix, keys);
        scope.name = draft_intern(draft, text_at(draft, keys[KEY_NAME]));
        scope.path = draft_intern(draft, text_at(draft, keys[KEY_PATH]));
        if (longest_path(text_at(draft, keys[KEY_PATH])) > SCOPE_PATH_MAX)
                draft_refuse(
                        draft, PE_02, keys[KEY_PATH], component, prefix,
                        "has a path with more than %d bytes: the scopes of the cache name files by shorter ones",
                        SCOPE_PATH_MAX);
        g_array_append_val(draft->scopes, scope);
        g_array_append_val(draft->scope_nodes, map);
}

/* ---- cache ---- */

/* False for a text that is no number; "" is the default. */
static bool read_expiry(Draft *draft, guint32 node, guint32 component, CacheOptions *ret)
{
        const DocumentNode *value = draft_node(draft, node);
        const char *text;

        ret->expires = true;
        if (value->kind == DOCUMENT_INT) {
                ret->expiry_s = value->whole;
                return true;
        }
        if (value->kind == DOCUMENT_FLOAT && !value_whole(value->real, &ret->expiry_s)) {
                draft_refuse(draft, PE_02, node, component, "cache.max_expired_time",
                             "must be a whole number of seconds");
                return true;
        }
        if (value->kind == DOCUMENT_FLOAT)
                return true;
        text = text_at(draft, node);
        ret->expires = *text != '\0';
        return !*text || g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &ret->expiry_s, NULL);
}

static void read_fingerprint(Draft *draft, guint32 node, guint32 component, CacheOptions *ret)
{
        const char *text = text_at(draft, node);

        ret->has_fingerprint = true;
        ret->content = strcmp(text, "content") == 0;
        if (!ret->content && strcmp(text, "time") != 0)
                draft_refuse(draft, PE_02, node, component, "cache.fingerprint",
                             "must be 'time' or 'content', not '%.40s'", text);
}

static void read_cache(Draft *draft, guint32 map, guint32 component, guint32 *keys, CacheOptions *ret)
{
        read_keys(draft, map, IN_CACHE, component, "cache", keys);
        if (keys[KEY_ENABLE])
                ret->enable = bool_of(draft, keys[KEY_ENABLE]) ? CACHE_ON : CACHE_OFF;
        if (keys[KEY_MAX_EXPIRED_TIME] && !read_expiry(draft, keys[KEY_MAX_EXPIRED_TIME], component, ret))
                draft_refuse(draft, PE_27, keys[KEY_MAX_EXPIRED_TIME], component, "cache.max_expired_time",
                             "'%.40s' is not a whole number of seconds",
                             text_at(draft, keys[KEY_MAX_EXPIRED_TIME]));
        if (keys[KEY_FINGERPRINT])
                read_fingerprint(draft, keys[KEY_FINGERPRINT], component, ret);
        ret->scopes = draft->scopes->len;
        each_map(draft, keys[KEY_FS_SCOPE], component, "cache.fs_scope", add_scope);
        ret->n_scopes = draft->scopes->len - ret->scopes;
}

/* ---- keys of a step ---- */

static void read_time_limit(Draft *draft, guint32 node, guint32 component, Extra *extra)
{
        const DocumentNode *value = draft_node(draft, node);
        double seconds = value->kind == DOCUMENT_INT ? (double)value->whole : value->real;
        gint64 max = (gint64)TIME_LIMIT_DAYS_MAX * 24 * 3600 * 1000;
        bool ok = true;

        if (value->kind == DOCUMENT_TEXT)
                ok = duration_parse("time_limit", text_at(draft, node), &extra->time_limit_ms, NULL);
        else if (seconds >= 0 && seconds * 1000 <= (double)max)
                extra->time_limit_ms = (gint64)(seconds * 1000);
        else
                ok = false;
        if (!ok || extra->time_limit_ms > max)
                draft_refuse(draft, PE_02, node, component, "time_limit",
                             "must be seconds, or a duration such as 90s, 15m, 2h or 1d, of at most %d days",
                             TIME_LIMIT_DAYS_MAX);
}

static void read_retries(Draft *draft, guint32 node, guint32 component, Extra *extra)
{
        gint64 retries = 0;

        if (!whole_at(draft, node, component, "retries", &retries))
                return;
        if (retries < 0 || retries > RETRIES_MAX)
                draft_refuse(draft, PE_02, node, component, "retries", "must be a whole number from 0 to %d",
                             RETRIES_MAX);
        else
                extra->retries = (int)retries;
}

/* What is longer could not be submitted. */
static guint32 job_text(Draft *draft, const char *text, guint32 node, guint32 component, const char *suffix)
{
        if (strlen(text) > JOB_TEXT_KIB * 1024) {
                draft_refuse(draft, PE_02, node, component, suffix, "is longer than %d KiB", JOB_TEXT_KIB);
                return 0;
        }
        return draft_intern(draft, text);
}

static void read_requirements(Draft *draft, guint32 node, guint32 component, Extra *extra)
{
        g_autoptr(GString) lines = g_string_new(NULL);
        const DocumentNode *nodes = draft->document->nodes;

        if (nodes[node].kind == DOCUMENT_TEXT)
                g_string_append(lines, text_at(draft, node));
        for (guint32 i = node + 1; nodes[node].kind == DOCUMENT_LIST && i < nodes[node].next;
             i = nodes[i].next) {
                if (nodes[i].kind == DOCUMENT_TEXT)
                        g_string_append_printf(lines, "%s\n", text_at(draft, i));
                else
                        draft_refuse(draft, PE_02, i, component, "requirements",
                                     "each item must be text, not %s", kind_names[nodes[i].kind]);
        }
        extra->requirements = job_text(draft, lines->str, node, component, "requirements");
}

static void read_reference(Draft *draft, guint32 map, guint32 component, Extra *extra)
{
        guint32 keys[KEYS] = { 0 }, target;
        guint before = draft->problems->n;
        const char *name;

        read_keys(draft, map, IN_REFERENCE, component, "reference", keys);
        name = text_at(draft, keys[KEY_COMPONENT]);
        draft_mark_refused(draft, component, KEY_REFERENCE); /* until its target is found */
        if (!*name && draft->problems->n > before)
                return;
        if (!*name) {
                draft_refuse(draft, PE_22, map, component, "reference", "needs the key 'component'");
                return;
        }
        target = draft_child(draft, DEFINITION_LIBRARY, draft_interned(draft, name));
        if (target == (guint32)DEFINITION_NONE) {
                g_autofree char *hint = draft_nearest(draft_nearest_child(draft, DEFINITION_LIBRARY, name));
                g_autofree char *shown = err_shown(name);

                if (draft_is_refused(draft, DEFINITION_ROOT, KEY_COMPONENTS))
                        return;
                draft_refuse(draft, PE_22, keys[KEY_COMPONENT], component, "reference.component",
                             "there is no component '%.64s' under 'components'%s", shown, hint);
                return;
        }
        extra->reference = target;
        draft_clear_refused(draft, component, KEY_REFERENCE);
}

/* True if a component has one of the keys of an Extra. */
static bool needs_extra(const guint32 *keys)
{
        static const Key rare[] = { KEY_CONDITION,  KEY_LOOP_ARGUMENT, KEY_REFERENCE,
                                    KEY_PACKAGE,    KEY_REQUIREMENTS,  KEY_EXTRA_FS,
                                    KEY_TIME_LIMIT, KEY_RETRIES,       KEY_CACHE };

        for (size_t i = 0; i < G_N_ELEMENTS(rare); i++)
                if (keys[rare[i]])
                        return true;
        return false;
}

/* What a step has beside command, image and values. */
static void read_step(Draft *draft, guint32 i, const guint32 *keys, Extra *extra)
{
        Component *component = draft_component(draft, i);

        component->command = draft_text(draft, text_at(draft, keys[KEY_COMMAND]));
        component->image = draft_intern(draft, text_at(draft, keys[KEY_DOCKER_ENV]));
        if (!component->image && !keys[KEY_REFERENCE])
                component->image = draft->definition.image;
        if (keys[KEY_CACHE]) {
                guint32 cache[KEYS] = { 0 };

                read_cache(draft, keys[KEY_CACHE], i, cache, &extra->cache);
        }
        if (keys[KEY_RETRIES])
                read_retries(draft, keys[KEY_RETRIES], i, extra);
        if (keys[KEY_TIME_LIMIT])
                read_time_limit(draft, keys[KEY_TIME_LIMIT], i, extra);
        if (keys[KEY_REQUIREMENTS])
                read_requirements(draft, keys[KEY_REQUIREMENTS], i, extra);
        if (keys[KEY_REFERENCE])
                read_reference(draft, keys[KEY_REFERENCE], i, extra);
        extra->package = job_text(draft, text_at(draft, keys[KEY_PACKAGE]), keys[KEY_PACKAGE], i, "package");
        if (keys[KEY_EXTRA_FS]) {
                extra->mounts = draft->mounts->len;
                each_map(draft, keys[KEY_EXTRA_FS], i, "extra_fs", add_mount);
                extra->n_mounts = draft->mounts->len - extra->mounts;
        }
}

/* ---- dependencies ---- */

static void add_dependency(Draft *draft, guint32 i, guint32 node, const char *name)
{
        guint32 parent = draft_component(draft, i)->parent;
        guint32 sibling = draft_child(draft, parent, draft_interned(draft, name));

        if (sibling == (guint32)DEFINITION_NONE && parent == DEFINITION_POST)
                return; /* it may have none at all: check-post.c */
        if (sibling == (guint32)DEFINITION_NONE) {
                g_autofree char *hint = draft_nearest(draft_nearest_child(draft, parent, name));
                g_autofree char *shown = err_shown(name);

                draft_refuse(draft, PE_08, node, i, "deps", "there is no component '%.64s' beside this one%s",
                             shown, hint);
        } else if (g_array_index(draft->stamps, guint32, sibling) != i) {
                g_array_index(draft->stamps, guint32, sibling) = i;
                g_array_append_val(draft->links, sibling);
        }
}

static void read_dependencies(Draft *draft, guint32 i, guint32 node)
{
        g_auto(GStrv) names = g_strsplit(text_at(draft, node), ",", -1);

        for (int k = 0; names[k]; k++)
                if (*g_strstrip(names[k]))
                        add_dependency(draft, i, node, names[k]);
}

/* ---- components ---- */

static guint32 append_component(Draft *draft, guint32 parent, guint32 node)
{
        Component component = { .parent = parent };
        guint32 i = draft->components->len;

        if (node)
                component.name = draft_intern(draft, document_text(draft->document, node));
        g_array_append_val(draft->components, component);
        g_array_append_val(draft->component_nodes, node);
        g_array_set_size(draft->keys, draft->keys->len + KEYS);
        g_array_set_size(draft->stamps, i + 1);
        g_array_set_size(draft->refused, i + 1);
        if (node)
                g_hash_table_insert(draft->by_name, GSIZE_TO_POINTER((gsize)parent << 32 | component.name),
                                    GUINT_TO_POINTER(i));
        return i;
}

static void add_children(Draft *draft, guint32 parent, guint32 map)
{
        const DocumentNode *nodes = draft->document->nodes;

        if (!map)
                return;
        if (draft->components->len + nodes[map].count > DEFINITION_COMPONENTS_MAX + DEFINITION_FIRST) {
                draft_refuse(draft, PE_35, map, parent, NULL, "more than %d components",
                             DEFINITION_COMPONENTS_MAX);
                return;
        }
        for (guint32 key = map + 1; key < nodes[map].next; key = nodes[key + 1].next)
                (void)append_component(draft, parent, key);
}

static int depth_of(const Draft *draft, guint32 component)
{
        int depth = 0;

        for (; component >= DEFINITION_FIRST; component = draft_component(draft, component)->parent)
                depth++;
        return depth;
}

static bool is_dag(const Draft *draft, guint32 body)
{
        return document_get(draft->document, body, "entry_points") ||
               (draft->request->json_body && document_get(draft->document, body, "entryPoints"));
}

static void check_type(Draft *draft, guint32 i, guint32 node)
{
        const char *type = text_at(draft, node), *wanted = draft_component(draft, i)->dag ? "dag" : "step";

        if (*type && g_ascii_strcasecmp(type, wanted) != 0)
                draft_refuse(draft, PE_02, node, i, "type",
                             "this component is a %s, since it has %s 'entry_points'", wanted,
                             draft_component(draft, i)->dag ? "the key" : "no key");
}

static void read_dag(Draft *draft, guint32 i, guint32 body, const guint32 *keys)
{
        guint32 map = keys[KEY_ENTRY_POINTS];

        if (map && depth_of(draft, i) > DEFINITION_DEPTH_MAX)
                draft_refuse(draft, PE_35, map, i, NULL, "more than %d DAGs in one another",
                             DEFINITION_DEPTH_MAX);
        else if (map && draft_node(draft, map)->count)
                add_children(draft, i, map);
        else if (map || draft_node(draft, document_get(draft->document, body, "entry_points"))->kind ==
                                DOCUMENT_NULL)
                draft_refuse(draft, PE_34, draft_component_node(draft, i), i, "entry_points",
                             "a DAG needs at least one component");
}

static void read_body(Draft *draft, guint32 i, guint32 body, Extra *extra)
{
        Component *component = draft_component(draft, i);
        guint32 *keys = draft_keys(draft, i);
        guint32 own[KEYS] = { 0 };

        component->dag = is_dag(draft, body);
        read_keys(draft, body,
                  component->dag ? IN_DAG : IN_STEP | (draft->request->json_body ? IN_STEP_JSON : 0), i, "",
                  own);
        memcpy(keys, own, sizeof(own));
        check_type(draft, i, own[KEY_TYPE]);
        if (!component->dag)
                read_step(draft, i, own, extra);
        if (own[KEY_CONDITION] && *text_at(draft, own[KEY_CONDITION])) {
                extra->condition = draft_text(draft, text_at(draft, own[KEY_CONDITION]));
                component->looks = true;
        }
        compile_component_values(draft, i);
        if (own[KEY_LOOP_ARGUMENT])
                compile_loop(draft, i, own[KEY_LOOP_ARGUMENT], extra);
        if (own[KEY_DEPS])
                read_dependencies(draft, i, own[KEY_DEPS]);
}

static void compile_component(Draft *draft, guint32 i)
{
        guint32 body = draft_component_node(draft, i) + 1;
        Component *component = draft_component(draft, i);
        Extra extra = { 0 };

        component->children = draft->components->len;
        component->variables = draft->variables->len;
        component->dependencies = draft->links->len;
        if (i == DEFINITION_ROOT && draft->request->json_body)
                compile_shared_env(draft);
        if (i < DEFINITION_FIRST)
                return;
        if (draft_node(draft, body)->kind != DOCUMENT_MAP) {
                draft_refuse(draft, PE_02, body, i, NULL, "must be a map, not %s",
                             kind_names[draft_node(draft, body)->kind]);
                draft_mark_body(draft, i);
                return;
        }
        read_body(draft, i, body, &extra);
        if (needs_extra(draft_keys(draft, i))) {
                draft_component(draft, i)->extra = draft->extras->len;
                g_array_append_val(draft->extras, extra);
        }
        if (draft_component(draft, i)->dag)
                read_dag(draft, i, body, draft_keys(draft, i));
}

/* ---- the top level ---- */

static void read_parallelism(Draft *draft)
{
        Definition *definition = &draft->definition;
        int max = draft->request->parallelism_max ? draft->request->parallelism_max
                                                  : DEFINITION_PARALLELISM_MAX;
        gint64 wanted = 0;

        if (draft->top[KEY_PARALLELISM])
                (void)whole_at(draft, draft->top[KEY_PARALLELISM], (guint32)DEFINITION_NONE, "parallelism",
                               &wanted);
        definition->parallelism = (int)(wanted <= 0 ? DEFINITION_PARALLELISM : MIN(wanted, max));
}

static void read_strategy(Draft *draft)
{
        const char *strategy = draft->request->failure_strategy;
        guint32 keys[KEYS] = { 0 }, node = 0;

        if (draft->top[KEY_FAILURE_OPTIONS])
                read_keys(draft, draft->top[KEY_FAILURE_OPTIONS], IN_FAILURE_OPTIONS,
                          (guint32)DEFINITION_NONE, "failure_options", keys);
        if (!strategy) {
                node = keys[KEY_STRATEGY];
                strategy = node ? text_at(draft, node) : "fail_fast";
        }
        draft->definition.continues = strcmp(strategy, "continue") == 0;
        if (!draft->definition.continues && strcmp(strategy, "fail_fast") != 0) {
                g_autofree char *shown = err_shown(strategy);

                draft_refuse(draft, PE_30, node, (guint32)DEFINITION_NONE,
                             node ? "failure_options.strategy" : draft_request_path(draft, REQUEST_STRATEGY),
                             "must be 'fail_fast' or 'continue', not '%.40s'", shown);
        }
}

/* A request's file system is the main one, unless the definition names another. */
static void take_requested_fs(Draft *draft)
{
        const DefinitionRequest *request = draft->request;
        StepMount *main_fs = &draft->definition.main_fs;
        bool id = request->fs_id && *request->fs_id, name = request->fs_name && *request->fs_name;

        if (id && !name)
                draft_refuse(draft, PE_33, 0, (guint32)DEFINITION_NONE, "fsName",
                             "the request has the id of a file system, but not its name");
        if (!name)
                return;
        if (!main_fs->name)
                main_fs->name = draft_intern(draft, request->fs_name);
        else if (strcmp(draft->texts->str + main_fs->name, request->fs_name) != 0)
                draft_refuse(draft, PE_ARGUMENTS, 0, (guint32)DEFINITION_NONE,
                             draft_request_path(draft, REQUEST_FS),
                             "names the file system '%.64s', but main_fs of the definition is '%.64s'",
                             request->fs_name, draft->texts->str + main_fs->name);
}

static void read_file_systems(Draft *draft)
{
        Definition *definition = &draft->definition;
        guint32 keys[KEYS] = { 0 };

        if (draft->top[KEY_FS_OPTIONS])
                read_keys(draft, draft->top[KEY_FS_OPTIONS], IN_FS_OPTIONS, (guint32)DEFINITION_NONE,
                          "fs_options", keys);
        if (keys[KEY_MAIN_FS])
                definition->main_fs = read_mount(draft, keys[KEY_MAIN_FS], (guint32)DEFINITION_NONE,
                                                 "fs_options.main_fs", draft->main_fs_keys);
        definition->extra_mounts = draft->mounts->len;
        each_map(draft, keys[KEY_EXTRA_FS], (guint32)DEFINITION_NONE, "fs_options.extra_fs", add_mount);
        definition->n_extra_mounts = draft->mounts->len - definition->extra_mounts;
        take_requested_fs(draft);
        definition->has_main_fs = definition->main_fs.name != 0;
}

/* Artifacts need a main file system: the request may have one for definitions that name none. */
static void take_default_fs(Draft *draft)
{
        Definition *definition = &draft->definition;

        if (definition->has_main_fs || !draft->request->fs_default)
                return;
        for (guint i = 0; i < draft->variables->len && !definition->has_main_fs; i++)
                definition->has_main_fs = g_array_index(draft->variables, Value, i).role == ROLE_OUTPUT;
        if (definition->has_main_fs)
                definition->main_fs.name = draft_intern(draft, draft->request->fs_default);
}

static void read_settings(Draft *draft)
{
        const DefinitionRequest *request = draft->request;
        Definition *definition = &draft->definition;

        definition->name =
                draft_intern(draft, request->name ? request->name : text_at(draft, draft->top[KEY_NAME]));
        definition->image = draft_intern(draft, request->docker_env && *request->docker_env
                                                        ? request->docker_env
                                                        : text_at(draft, draft->top[KEY_DOCKER_ENV]));
        read_parallelism(draft);
        read_strategy(draft);
        read_file_systems(draft);
        if (draft->top[KEY_CACHE])
                read_cache(draft, draft->top[KEY_CACHE], (guint32)DEFINITION_NONE, draft->cache_keys,
                           &definition->cache);
}

static void compile_roots(Draft *draft)
{
        static const Key keys[] = { KEY_ENTRY_POINTS, KEY_COMPONENTS, KEY_POST_PROCESS };
        guint32 map = draft->top[KEY_ENTRY_POINTS];

        for (guint32 i = 0; i < DEFINITION_FIRST; i++) {
                (void)append_component(draft, i, 0);
                draft_component(draft, i)->dag = true;
        }
        for (guint32 i = 0; i < DEFINITION_FIRST; i++) {
                compile_component(draft, i);
                add_children(draft, i, draft->top[keys[i]]);
        }
        if (map && !draft_node(draft, map)->count)
                draft_refuse(draft, PE_34, map, (guint32)DEFINITION_NONE, "entry_points",
                             "a pipeline needs at least one component");
}

/* Ends the ranges, and adds the dependants: the dependencies the other way round. */
static void link_dependants(Draft *draft)
{
        guint32 n = draft->definition.n_components, n_links = draft->links->len;
        g_autofree guint32 *at = g_new0(guint32, n + 1);
        guint32 next = n_links;

        for (guint32 k = 0; k < n_links; k++)
                at[g_array_index(draft->links, guint32, k)]++;
        for (guint32 i = 0; i <= n; i++) {
                guint32 count = at[i];

                draft_component(draft, i)->dependants = at[i] = next;
                next += count;
        }
        g_array_set_size(draft->links, next);
        for (guint32 i = 0; i < n; i++)
                for (guint32 k = draft_component(draft, i)->dependencies;
                     k < draft_component(draft, i + 1)->dependencies; k++)
                        g_array_index(draft->links, guint32, at[g_array_index(draft->links, guint32, k)]++) =
                                i;
}

static void end_ranges(Draft *draft)
{
        Component end = { .children = draft->components->len,
                          .variables = draft->variables->len,
                          .dependencies = draft->links->len };

        draft->definition.n_components = draft->components->len;
        g_array_append_val(draft->components, end);
}

static bool is_missing(const Draft *draft, const char *key)
{
        guint32 node = document_get(draft->document, 0, key);

        return draft_node(draft, 0)->kind == DOCUMENT_MAP &&
               (!node || draft_node(draft, node)->kind == DOCUMENT_NULL);
}

void compile_definition(Draft *draft)
{
        bool json = draft->request->json_body;

        if (draft_node(draft, 0)->kind == DOCUMENT_MAP) {
                read_keys(draft, 0, IN_TOP | (json ? IN_TOP_JSON : 0), (guint32)DEFINITION_NONE, "",
                          draft->top);
        } else {
                draft_mark_body(draft, DEFINITION_ROOT);
                draft_refuse(draft, PE_02, 0, (guint32)DEFINITION_NONE, NULL,
                             "a definition must be a map, not %s", kind_names[draft_node(draft, 0)->kind]);
        }
        read_settings(draft);
        compile_roots(draft);
        for (guint32 i = DEFINITION_FIRST; i < draft->components->len && !draft->stopped; i++)
                compile_component(draft, i);
        if (draft->crowded)
                draft_refuse(draft, PE_35, draft->top[KEY_ENTRY_POINTS], (guint32)DEFINITION_NONE, NULL,
                             "more than %d templates and texts between them", DEFINITION_PIECES_MAX);
        if (draft->stopped)
                return;
        take_default_fs(draft);
        end_ranges(draft);
        link_dependants(draft);
        draft_sort_variables(draft);
        if (!draft->top[KEY_ENTRY_POINTS] && is_missing(draft, "entry_points") &&
            !(json && !is_missing(draft, "entryPoints")) &&
            !draft_is_refused(draft, DEFINITION_ROOT, KEY_ENTRY_POINTS))
                draft_refuse(draft, PE_02, 0, (guint32)DEFINITION_NONE, "entry_points",
                             "is missing: a map with the components of the pipeline");
}
