/* The file of default templates (see templates.h). */
#include "api/paddleflow/templates.h"

#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/yaml.h"
#include "model/extension.h"

enum { FILE_MAX = 1 << 20 };

struct Templates {
        GHashTable *by_name; /* char -> json_t */
};

static void decref(gpointer value)
{
        json_decref(value);
}

void templates_free(Templates *templates)
{
        if (!templates)
                return;
        g_hash_table_unref(templates->by_name);
        g_free(templates);
}

/* The last comment line of the document; the caller's, or NULL. */
static char *name_of(const char *document)
{
        g_auto(GStrv) lines = g_strsplit(document, "\n", -1);

        for (guint n = g_strv_length(lines); n > 0; n--) {
                char *line = g_strstrip(lines[n - 1]);

                if (*line == '#')
                        return g_strdup(g_strstrip(line + strspn(line, "#")));
                if (*line)
                        return NULL;
        }
        return NULL;
}

static bool take_document(Templates *templates, const char *path, const char *document, guint number,
                          GError **error)
{
        g_autofree char *name = name_of(document);
        g_autofree char *where = g_strdup_printf("'%s', document %u", path, number);
        g_autoptr(json_t) object = yaml_parse(document, strlen(document), where, error);

        if (!object)
                return false;
        if (json_is_null(object)) /* nothing but comments */
                return true;
        if (!name || !*name)
                return err_set(error, ERR_INVALID,
                               "%s: no comment at its end names it, such as '# single-job'", where);
        if (g_hash_table_contains(templates->by_name, name))
                return err_set(error, ERR_INVALID, "%s: there is a template '%.80s' already", where, name);
        if (!json_is_object(object))
                return err_set(error, ERR_INVALID, "%s: '%.80s' is no object", where, name);
        if (!extension_check_pods(object, error))
                return err_prefix(error, "%s: '%.80s': ", where, name);
        g_hash_table_insert(templates->by_name, g_steal_pointer(&name), g_steal_pointer(&object));
        return true;
}

Templates *templates_read(const char *path, GError **error)
{
        g_autoptr(Templates) templates = g_new0(Templates, 1);
        g_autoptr(GRegex) line = g_regex_new("^---\\s*$", G_REGEX_MULTILINE, 0, NULL);
        g_autofree char *text = NULL;
        g_auto(GStrv) documents = NULL;
        gsize len;

        templates->by_name = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, decref);
        if (!file_read(path, FILE_MAX, &text, &len, error))
                return NULL;
        documents = g_regex_split(line, text, 0);
        for (guint i = 0; documents[i]; i++)
                if (!take_document(templates, path, documents[i], i + 1, error))
                        return NULL;
        return g_steal_pointer(&templates);
}

/* Frameworks whose jobs have no mode; single jobs are called by their route. */
static const struct {
        const char *framework, *name;
} plain[] = {
        { "standalone", "single-job" }, { "spark", "spark-job" }, { "mpi", "mpi-job" }, { "ray", "ray-job" }
};

static char *name_for(const char *framework, const char *mode, const char *named)
{
        g_autofree char *lower = g_ascii_strdown(mode, -1);
        const char *dot = strchr(named, '.');

        if (dot)
                return g_strdup_printf("%.*s-%s-%s", (int)(dot - named), named, dot + 1, lower);
        for (gsize i = 0; i < G_N_ELEMENTS(plain); i++)
                if (strcmp(plain[i].framework, framework) == 0)
                        return g_strdup(plain[i].name);
        return g_strdup_printf("%s-%s-job", framework, lower);
}

const json_t *templates_find(const Templates *templates, const char *framework, const char *mode,
                             const char *named)
{
        g_autofree char *name = name_for(framework, mode, named);

        return templates ? g_hash_table_lookup(templates->by_name, name) : NULL;
}
