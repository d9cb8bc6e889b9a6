/* Checks of file systems: mounts (PE-28, PE-29) and the scopes of caches (PE-28). */
#include <string.h>

#include "base/err.h"
#include "model/mount.h"
#include "pipeline/draft.h"

enum {
        SCOPE_PATHS_MAX =
                1000, /* of a step, with those of the definition: the engine looks at each before the step */
        SCOPE_KIB_MAX = 64, /* ... of their text */
};

static const char *text_of(const Draft *draft, guint32 text)
{
        return definition_text(&draft->definition, text);
}

/* The value of a key of a mount, in one of its two spellings; 0: there is none. */
static guint32 value_in(const Draft *draft, guint32 map, Key key)
{
        const KeyRow *row = &key_rows[key];
        guint32 node = document_get(draft->document, map, row->name);

        return node || !row->json ? node : document_get(draft->document, map, row->json);
}

/* `node`: its name in the text; 0: it is that of the request. */
static void check_name(Draft *draft, guint32 name, guint32 node, guint32 component, const char *suffix)
{
        g_autofree char *path = g_strconcat(suffix, ".name", NULL);

        if (strlen(text_of(draft, name)) > MOUNT_FS_MAX)
                draft_refuse(draft, PE_28, node, component, path, "is longer than %d bytes", MOUNT_FS_MAX);
}

static void check_mount(Draft *draft, guint32 mount, guint32 component, const char *suffix)
{
        const StepMount *row = &draft->definition.mounts[mount];
        guint32 node = g_array_index(draft->mount_nodes, guint32, mount);

        if (!row->name)
                draft_refuse(draft, PE_28, node, component, suffix, "a mount needs the key 'name'");
        check_name(draft, row->name, value_in(draft, node, KEY_NAME), component, suffix);
        if (*text_of(draft, draft->definition.mounts[mount].sub_path) == '/')
                draft_refuse(draft, PE_29, value_in(draft, node, KEY_SUB_PATH), component, suffix,
                             "sub_path is relative to the file system: it does not begin with '/'");
}

/* Paths of artifacts begin with it, and are joined by commas. */
static void check_comma(Draft *draft, guint32 text, guint32 key, const char *path)
{
        if (strchr(text_of(draft, text), ','))
                draft_refuse(draft, PE_29, draft->main_fs_keys[key], (guint32)DEFINITION_NONE, path,
                             "the paths of artifacts are separated by commas: it cannot have one");
}

static void check_main(Draft *draft)
{
        const guint32 *keys = draft->main_fs_keys;

        check_name(draft, draft->definition.main_fs.name, keys[KEY_NAME], (guint32)DEFINITION_NONE,
                   "fs_options.main_fs");
        if (draft->definition.main_fs.read_only)
                draft_refuse(draft, PE_29, keys[KEY_READ_ONLY], (guint32)DEFINITION_NONE,
                             "fs_options.main_fs.read_only",
                             "the main file system holds the artifacts: it cannot be "
                             "read-only");
        if (*text_of(draft, draft->definition.main_fs.sub_path) == '/')
                draft_refuse(draft, PE_29, keys[KEY_SUB_PATH], (guint32)DEFINITION_NONE,
                             "fs_options.main_fs.sub_path",
                             "is relative to the file system: it does not begin with '/'");
        check_comma(draft, draft->definition.main_fs.sub_path, KEY_SUB_PATH, "fs_options.main_fs.sub_path");
        check_comma(draft, draft->definition.main_fs.mount_path, KEY_MOUNT_PATH,
                    "fs_options.main_fs.mount_path");
}

static bool is_mounted_in(const Draft *draft, guint32 first, guint32 count, guint32 name)
{
        for (guint32 i = first; i < first + count; i++)
                if (draft->definition.mounts[i].name == name)
                        return true;
        return false;
}

static bool is_mounted(const Draft *draft, guint32 component, guint32 name)
{
        const Definition *definition = &draft->definition;
        const Extra *extra = component_extra(definition, component);

        return definition->main_fs.name == name ||
               is_mounted_in(draft, extra->mounts, extra->n_mounts, name) ||
               is_mounted_in(draft, definition->extra_mounts, definition->n_extra_mounts, name);
}

/* True if mounts of the step or of the pipeline have errors: the missing one may be among them. */
static bool may_be_mounted(const Draft *draft, guint32 component)
{
        return draft_is_refused(draft, component, KEY_EXTRA_FS) ||
               draft_is_refused(draft, DEFINITION_ROOT, KEY_FS_OPTIONS) ||
               draft_is_refused(draft, DEFINITION_ROOT, KEY_MAIN_FS) ||
               draft_is_refused(draft, DEFINITION_ROOT, KEY_EXTRA_FS);
}

static void check_scopes(Draft *draft, guint32 component, guint32 first, guint32 count)
{
        for (guint32 i = first; i < first + count; i++) {
                guint32 name = draft->definition.scopes[i].name;
                guint32 node = g_array_index(draft->scope_nodes, guint32, i);
                g_autofree char *shown = err_shown(text_of(draft, name));

                if (!name)
                        draft_refuse(draft, PE_28, node, component, "cache.fs_scope", "needs the key 'name'");
                else if (!is_mounted(draft, component, name) && !may_be_mounted(draft, component))
                        draft_refuse(
                                draft, PE_28, node, component, "cache.fs_scope",
                                "the file system '%.64s' is neither main_fs nor in extra_fs of this step",
                                shown);
        }
}

/* ---- how much they name ---- */

typedef struct {
        gsize paths, bytes;
} ScopeSize;

static bool is_too_large(const ScopeSize *size)
{
        return size->paths > SCOPE_PATHS_MAX || size->bytes > SCOPE_KIB_MAX * 1024;
}

/* Commas are between paths, also between empty ones. Ends above the limits: many scopes may share a long text. */
static void add_size(const Draft *draft, const CacheOptions *cache, ScopeSize *size)
{
        for (guint32 i = cache->scopes; i < cache->scopes + cache->n_scopes && !is_too_large(size); i++) {
                const char *text = text_of(draft, draft->definition.scopes[i].path);

                size->bytes += strlen(text);
                size->paths++;
                for (; *text && !is_too_large(size); text++)
                        size->paths += *text == ',';
        }
}

static void refuse_size(Draft *draft, guint32 node, guint32 component, const ScopeSize *size)
{
        g_autofree char *what = size->paths > SCOPE_PATHS_MAX
                                        ? g_strdup_printf("more than %d paths", SCOPE_PATHS_MAX)
                                        : g_strdup_printf("paths of more than %d KiB", SCOPE_KIB_MAX);

        draft_refuse(draft, PE_02, node, component, "cache.fs_scope",
                     "the scopes of a step, with those of the whole pipeline, name %s\n"
                     "Name directories instead of the files in them.",
                     what);
}

/* `shared`: of the definition. They count for each step but that of post_process. */
static void check_size(Draft *draft, guint32 step, bool global, const ScopeSize *shared)
{
        ScopeSize size = global ? *shared : (ScopeSize){ 0 };
        const CacheOptions *own = &component_extra(&draft->definition, step)->cache;

        if (own->n_scopes == 0 || is_too_large(&size)) /* what all steps share is reported once */
                return;
        add_size(draft, own, &size);
        if (is_too_large(&size))
                refuse_size(draft, draft_keys(draft, step)[KEY_CACHE], step, &size);
}

static void measure_shared(Draft *draft, ScopeSize *ret)
{
        *ret = (ScopeSize){ 0 };
        add_size(draft, &draft->definition.cache, ret);
        if (is_too_large(ret))
                refuse_size(draft, draft->top[KEY_CACHE], (guint32)DEFINITION_NONE, ret);
}

/* ---- scopes of the definition ---- */

/* The scopes of the definition that are not on file systems that every step has. Each step must have a mount for
 * them. One without a name is reported here. */
static GArray *find_open_scopes(Draft *draft)
{
        const Definition *definition = &draft->definition;
        guint32 first = definition->cache.scopes;
        GArray *open = g_array_new(FALSE, FALSE, sizeof(guint32));

        for (guint32 i = first; i < first + definition->cache.n_scopes; i++) {
                guint32 name = definition->scopes[i].name;

                if (!name)
                        check_scopes(draft, (guint32)DEFINITION_NONE, i, 1);
                else if (definition->main_fs.name != name &&
                         !is_mounted_in(draft, definition->extra_mounts, definition->n_extra_mounts, name))
                        g_array_append_val(open, i);
        }
        return open;
}

/* A scope that a step lacks is reported, and removed. */
static void check_open_scopes(Draft *draft, guint32 step, GArray *open)
{
        guint kept = 0;

        for (guint k = 0; k < open->len; k++) {
                guint32 scope = g_array_index(open, guint32, k);

                if (is_mounted(draft, step, draft->definition.scopes[scope].name))
                        g_array_index(open, guint32, kept++) = scope;
                else
                        check_scopes(draft, step, scope, 1);
        }
        g_array_set_size(open, kept);
}

/* ---- steps ---- */

static void check_step(Draft *draft, guint32 i, GArray *open, const ScopeSize *shared)
{
        const Extra *extra = component_extra(&draft->definition, i);
        guint32 n = extra->n_mounts, first = extra->mounts;
        bool global;

        for (guint32 k = 0; k < n; k++) {
                g_autofree char *suffix = g_strdup_printf("extra_fs[%u]", k);

                check_mount(draft, first + k, i, suffix);
        }
        draft_look(draft);
        extra = component_extra(&draft->definition, i);
        check_scopes(draft, i, extra->cache.scopes, extra->cache.n_scopes);
        (void)component_cache(&draft->definition, i, &global);
        check_size(draft, i, global, shared);
        if (global)
                check_open_scopes(draft, i, open);
}

void check_files(Draft *draft)
{
        const Definition *definition = &draft->definition;
        g_autoptr(GArray) open = find_open_scopes(draft);
        ScopeSize shared;

        measure_shared(draft, &shared);
        check_main(draft);
        for (guint32 k = 0; k < definition->n_extra_mounts; k++) {
                g_autofree char *suffix = g_strdup_printf("fs_options.extra_fs[%u]", k);

                check_mount(draft, definition->extra_mounts + k, (guint32)DEFINITION_NONE, suffix);
        }
        for (guint32 i = DEFINITION_FIRST; i < definition->n_components && draft->problems->n < PROBLEMS_MAX;
             i++)
                if (!draft_component(draft, i)->dag && !draft_keys(draft, i)[KEY_REFERENCE])
                        check_step(draft, i, open, &shared);
}
