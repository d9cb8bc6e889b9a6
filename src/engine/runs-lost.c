/* Whether the output files that a retry keeps are there (see runs.h). The file workers look, a thousand at a time. */
#include "base/err.h"
#include "engine/run-files.h"
#include "engine/runs.h"

enum {
        PART = 1000,        /* files of a question to the workers */
        FILES_MAX = 100000, /* files that are looked at; the others count as there */
        NAMED_MAX = 100,    /* steps that are named */
};

/* An output of a node that is kept. */
typedef struct {
        guint32 node, earlier; /* of the new run, and of the earlier one */
        const char *artifact;  /* of the definition */
        char *path;
} KeptFile;

struct KeptFiles {
        Engine *engine;
        char *user, *fs;
        GArray *files; /* KeptFile */
        guint at;      /* so many were looked at */
        GArray *gone;  /* guint32: indices in `files` */
        KeptFilesDone done;
        void *arg;
};

static void clear_file(gpointer file)
{
        g_free(((KeptFile *)file)->path);
}

void kept_files_free(KeptFiles *files)
{
        if (!files)
                return;
        g_array_unref(files->files);
        g_array_unref(files->gone);
        g_free(files->user);
        g_free(files->fs);
        g_free(files);
}

/* ---- which files ---- */

static void add_outputs(KeptFiles *files, LiveRun *live, guint32 node, guint32 earlier)
{
        const Definition *definition = live->plan->definition;
        guint32 target = component_target(definition, run_node(live->machine, node)->component);

        for (guint32 k = definition->components[target].variables;
             k < definition->components[target + 1].variables; k++) {
                const char *name = definition_text(definition, definition->variables[k].name);
                char *path = definition->variables[k].role == ROLE_OUTPUT ? runs_kept_output(live, node, name)
                                                                          : NULL;

                if (path)
                        g_array_append_vals(files->files, &(KeptFile){ node, earlier, name, path }, 1);
        }
}

KeptFiles *kept_files_new(Engine *engine, LiveRun *live, const RunKept *kept)
{
        const Definition *definition = live->plan->definition;
        KeptFiles *files;

        if (!live->plan->artifacts || !definition->has_main_fs)
                return NULL;
        files = g_new0(KeptFiles, 1);
        files->engine = engine;
        files->user = g_strdup(live->record->user);
        files->fs = g_strdup(definition_text(definition, definition->main_fs.name));
        files->files = g_array_new(FALSE, FALSE, sizeof(KeptFile));
        g_array_set_clear_func(files->files, clear_file);
        files->gone = g_array_new(FALSE, FALSE, sizeof(guint32));
        for (guint i = 0; i < kept->nodes->len && files->files->len < FILES_MAX; i++) {
                const RunNodeRecord *row = kept->nodes->pdata[i];

                if (row->job && row->state == NODE_SUCCEEDED)
                        add_outputs(files, live, row->node, g_array_index(kept->earlier, guint32, i));
        }
        return files;
}

/* ---- the questions ---- */

static void ask(KeptFiles *files);

static void note_looked(Engine *engine, const FilesTicket *ticket, const json_t *values, const GError *error)
{
        KeptFiles *files = ticket->arg;
        const char *index;
        json_t *value;

        json_object_foreach((json_t *)values, index, value) {
                guint32 at = (guint32)g_ascii_strtoull(index, NULL, 10);

                if (!json_is_true(json_object_get(value, "exists")))
                        g_array_append_val(files->gone, at);
        }
        if (!engine || error || files->at == files->files->len)
                files->done(engine, error, files->arg);
        else
                ask(files);
}

static void ask(KeptFiles *files)
{
        json_t *paths = json_object();
        guint end = MIN(files->at + PART, files->files->len);

        for (; files->at < end; files->at++) {
                g_autofree char *index = g_strdup_printf("%u", files->at);

                json_object_set_new(paths, index,
                                    json_string(g_array_index(files->files, KeptFile, files->at).path));
        }
        run_files_post(files->engine, &(FilesRequest){ .ticket = { .answered = note_looked, .arg = files },
                                                       .kind = FILES_STAT,
                                                       .user = files->user,
                                                       .fs = files->fs,
                                                       .paths = paths,
                                                       .unnamed = true });
}

bool kept_files_look(KeptFiles *files, KeptFilesDone done, void *arg)
{
        if (!files || files->files->len == 0)
                return false;
        files->done = done;
        files->arg = arg;
        ask(files);
        return true;
}

/* ---- what is gone ---- */

GHashTable *kept_files_gone(const KeptFiles *files)
{
        GHashTable *nodes;

        if (!files || files->gone->len == 0)
                return NULL;
        nodes = g_hash_table_new(NULL, NULL);
        for (guint i = 0; i < files->gone->len; i++) {
                guint32 at = g_array_index(files->gone, guint32, i);

                g_hash_table_add(nodes, GUINT_TO_POINTER(g_array_index(files->files, KeptFile, at).earlier));
        }
        return nodes;
}

static GHashTable *set_of(const GArray *nodes)
{
        GHashTable *set = g_hash_table_new(NULL, NULL);

        for (guint i = 0; i < nodes->len; i++)
                g_hash_table_add(set, GUINT_TO_POINTER(g_array_index(nodes, guint32, i)));
        return set;
}

json_t *kept_files_name(const KeptFiles *files, const LiveRun *live, const GArray *lost)
{
        g_autoptr(GHashTable) again = set_of(lost);
        json_t *list = json_array();

        for (guint i = 0; i < files->gone->len && json_array_size(list) < NAMED_MAX; i++) {
                guint32 at = g_array_index(files->gone, guint32, i);
                const KeptFile *file = &g_array_index(files->files, KeptFile, at);
                g_autofree char *step = NULL;

                if (!g_hash_table_contains(again, GUINT_TO_POINTER(file->earlier)))
                        continue;
                step = runs_node_path(live, file->node);
                json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "step", step, "artifact",
                                                      file->artifact, "path", file->path));
        }
        return list;
}
