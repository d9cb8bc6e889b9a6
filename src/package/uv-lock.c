/* The packages of a uv.lock (see requirements.h; the format is uv's, version 1).
 *
 * The file pins all packages for all platforms, but only those of this platform must be installed. A
 * dependency may have a marker. A package is needed if all markers on one path from the project to it hold. A
 * path is represented by the set of its markers, one bit each; a path whose set contains the set of another
 * is dropped. Starting at the project, each new path of a package is extended to its dependencies until there
 * are no new ones. */
#include "package/requirements.h"

#include <string.h>

#include "base/err.h"
#include "base/keyed-hash.h"
#include "base/toml.h"

enum {
        MARKERS_MAX = 64,        /* bits of a path; further markers count as true */
        WAYS_MAX = 64,           /* paths of one package; with more it is always needed */
        MARKER_MAX = 1024,       /* bytes of one marker */
        STEPS_MAX = 1000000,     /* visits of packages and dependencies: users are not trusted */
        LINES_MAX = 1024 * 1024, /* bytes of the result */
};

typedef struct {
        const json_t *package;
        const char *extra; /* NULL: the package itself, otherwise the additions of this extra */
        GArray *ways;      /* guint64 */
} Need;

typedef struct {
        GHashTable *by_name; /* name -> GPtrArray of json_t *, borrowed */
        GHashTable *needs;   /* "name version extra" -> Need */
        GQueue *todo;        /* Todo */
        GPtrArray *markers;  /* const char * */
        guint steps;
} Lock;

typedef struct {
        Need *need;
        guint64 way;
} Todo;

static const char *text_at(const json_t *object, const char *name)
{
        return json_string_value(json_object_get(object, name));
}

static void need_free(gpointer data)
{
        Need *need = data;

        g_array_unref(need->ways);
        g_free(need);
}

/* ---- markers and paths ---- */

static guint64 bit_of(Lock *lock, const char *marker)
{
        guint i = 0;

        if (!marker)
                return 0;
        while (i < lock->markers->len && strcmp(lock->markers->pdata[i], marker) != 0)
                i++;
        if (i == MARKERS_MAX)
                return 0;
        if (i == lock->markers->len)
                g_ptr_array_add(lock->markers, (gpointer)marker);
        return G_GUINT64_CONSTANT(1) << i;
}

/* False if there is a path that needs no more markers. With more than WAYS_MAX it is stored, and returned, as
 * a path that always holds. */
static bool add_way(GArray *ways, guint64 *way)
{
        for (guint i = 0; i < ways->len; i++)
                if ((g_array_index(ways, guint64, i) & *way) == g_array_index(ways, guint64, i))
                        return false;
        if (ways->len >= WAYS_MAX)
                *way = 0;
        for (guint i = ways->len; i-- > 0;)
                if ((g_array_index(ways, guint64, i) & *way) == *way)
                        g_array_remove_index(ways, i);
        g_array_append_val(ways, *way);
        return true;
}

/* ---- packages ---- */

/* The path of the project itself, or of a package in the workspace: neither is installed. */
static const char *own_path(const json_t *package)
{
        static const char *const kinds[] = { "virtual", "editable", "directory", "path" };
        const json_t *source = json_object_get(package, "source");

        for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
                if (text_at(source, kinds[i]))
                        return text_at(source, kinds[i]);
        return NULL;
}

static const json_t *find_project(const json_t *packages)
{
        const json_t *package;
        gsize i;

        json_array_foreach(packages, i, package) {
                if (g_strcmp0(own_path(package), ".") == 0)
                        return package;
        }
        return NULL;
}

static bool index_packages(Lock *lock, const json_t *packages, GError **error)
{
        json_t *package;
        gsize i;

        json_array_foreach(packages, i, package) {
                const char *name = text_at(package, "name");
                GPtrArray *list;

                if (!name || (!text_at(package, "version") && !own_path(package)))
                        return err_set(error, ERR_INVALID, "uv.lock: package[%zu] has no name or no version",
                                       i);
                list = g_hash_table_lookup(lock->by_name, name);
                if (!list) {
                        list = g_ptr_array_new();
                        g_hash_table_insert(lock->by_name, (gpointer)name, list);
                }
                g_ptr_array_add(list, package);
        }
        return true;
}

/* A dependency has a version only if the name is ambiguous. */
static const json_t *find_package(Lock *lock, const char *name, const char *version)
{
        const GPtrArray *list = name ? g_hash_table_lookup(lock->by_name, name) : NULL;

        for (guint i = 0; list && i < list->len; i++, lock->steps++)
                if (!version || g_strcmp0(text_at(list->pdata[i], "version"), version) == 0)
                        return list->pdata[i];
        return NULL;
}

static void put_need(Lock *lock, const json_t *package, const char *extra, guint64 way)
{
        const char *version = text_at(package, "version");
        g_autofree char *key = g_strdup_printf("%s %s %s", text_at(package, "name"), version ? version : "",
                                               extra ? extra : "");
        Need *need = g_hash_table_lookup(lock->needs, key);
        Todo *todo;

        if (!need) {
                need = g_new0(Need, 1);
                *need = (Need){ package, extra, g_array_new(FALSE, FALSE, sizeof(guint64)) };
                g_hash_table_insert(lock->needs, g_steal_pointer(&key), need);
        }
        if (!add_way(need->ways, &way))
                return;
        todo = g_new(Todo, 1);
        *todo = (Todo){ need, way };
        g_queue_push_tail(lock->todo, todo);
}

static bool too_much(GError **error)
{
        return err_set(error, ERR_TOO_LARGE,
                       "uv.lock: it is too large, or its markers are\n"
                       "`uv export --no-dev -o requirements.txt` writes a file that is read instead.");
}

static bool put_dependency(Lock *lock, const json_t *dependency, guint64 way, GError **error)
{
        const char *name = text_at(dependency, "name"), *marker = text_at(dependency, "marker");
        const json_t *package = find_package(lock, name, text_at(dependency, "version")), *extra;
        guint64 all = way | bit_of(lock, marker);
        gsize i;

        if (lock->steps++ > STEPS_MAX || (marker && strlen(marker) > MARKER_MAX))
                return too_much(error);
        if (!package)
                return err_set(error, ERR_INVALID,
                               "uv.lock: it has no package '%s', which another depends on\n"
                               "`uv lock` writes the file again.",
                               name ? name : "");
        put_need(lock, package, NULL, all);
        json_array_foreach(json_object_get(dependency, "extra"), i, extra) {
                if (json_is_string(extra))
                        put_need(lock, package, json_string_value(extra), all);
        }
        return true;
}

static bool follow(Lock *lock, const Todo *todo, GError **error)
{
        const json_t *package = todo->need->package, *dependency;
        const json_t *list = todo->need->extra
                                     ? json_object_get(json_object_get(package, "optional-dependencies"),
                                                       todo->need->extra)
                                     : json_object_get(package, "dependencies");
        gsize i;

        json_array_foreach(list, i, dependency) {
                if (!put_dependency(lock, dependency, todo->way, error))
                        return false;
        }
        return true;
}

static bool follow_all(Lock *lock, const json_t *project, GError **error)
{
        put_need(lock, project, NULL, 0);
        for (;;) {
                g_autofree Todo *todo = g_queue_pop_head(lock->todo);

                if (!todo)
                        return true;
                if (!follow(lock, todo, error))
                        return false;
        }
}

/* ---- lines ---- */

/* Appends "(a and b) or c"; nothing if it is always needed. */
static void append_marker(GString *line, const Lock *lock, const GArray *ways)
{
        const char *before = " ; ";

        if (ways->len == 1 && g_array_index(ways, guint64, 0) == 0)
                return;
        for (guint i = 0; i < ways->len; i++, before = " or ") {
                const char *join = before;

                for (guint bit = 0; bit < lock->markers->len; bit++) {
                        if (!(g_array_index(ways, guint64, i) & G_GUINT64_CONSTANT(1) << bit))
                                continue;
                        g_string_append_printf(line, "%s(%s)", join, (const char *)lock->markers->pdata[bit]);
                        join = " and ";
                }
        }
}

/* "https://host/x?rev=v1#COMMIT" -> "git+https://host/x@COMMIT" */
static void append_git(GString *line, const char *url)
{
        const char *commit = strchr(url, '#');

        g_string_append_printf(line, " @ git+%.*s%s%s", (int)strcspn(url, "?#"), url, commit ? "@" : "",
                               commit ? commit + 1 : "");
}

static char *line_of(const Lock *lock, const Need *need, GError **error)
{
        const json_t *source = json_object_get(need->package, "source");
        g_autoptr(GString) line = g_string_new(text_at(need->package, "name"));

        if (own_path(need->package)) {
                err_set(error, ERR_INVALID,
                        "uv.lock: package '%s' is the directory '%s', which is not installed\n"
                        "Put its modules beside the program, and list the packages in requirements.txt.",
                        line->str, own_path(need->package));
                return NULL;
        }
        if (text_at(source, "git"))
                append_git(line, text_at(source, "git"));
        else if (text_at(source, "url"))
                g_string_append_printf(line, " @ %s", text_at(source, "url"));
        else
                g_string_append_printf(line, "==%s", text_at(need->package, "version"));
        append_marker(line, lock, need->ways);
        if (strchr(line->str, '\n')) {
                err_set(error, ERR_INVALID, "uv.lock: package '%s' has a value of several lines", line->str);
                return NULL;
        }
        return g_string_free(g_steal_pointer(&line), FALSE);
}

static gint by_text(gconstpointer a, gconstpointer b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static char *format(const Lock *lock, const json_t *project, GError **error)
{
        g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
        GHashTableIter at;
        gpointer value;
        gsize total = 0;

        g_hash_table_iter_init(&at, lock->needs);
        while (g_hash_table_iter_next(&at, NULL, &value)) {
                const Need *need = value;
                char *line = need->extra || need->package == project ? NULL : line_of(lock, need, error);

                if (line) {
                        g_ptr_array_add(lines, line);
                        total += strlen(line);
                        if (total > LINES_MAX) {
                                (void)too_much(error);
                                return NULL;
                        }
                } else if (!need->extra && need->package != project)
                        return NULL;
        }
        g_ptr_array_sort(lines, by_text);
        g_ptr_array_add(lines, g_strdup("")); /* the last newline */
        g_ptr_array_add(lines, NULL);
        return g_strjoinv("\n", (char **)lines->pdata);
}

static void free_list(gpointer list)
{
        g_ptr_array_unref(list);
}

static char *read_lock(const json_t *file, GError **error)
{
        const json_t *packages = json_object_get(file, "package"), *project = find_project(packages);
        Lock lock = { g_hash_table_new_full(keyed_hash, g_str_equal, NULL, free_list),
                      g_hash_table_new_full(keyed_hash, g_str_equal, g_free, need_free), g_queue_new(),
                      g_ptr_array_new() };
        char *text = NULL;

        if (!project)
                err_set(error, ERR_INVALID,
                        "uv.lock: it has no package of this directory\nSend the directory that has the "
                        "project's "
                        "pyproject.toml, or list the packages in requirements.txt.");
        else if (index_packages(&lock, packages, error) && follow_all(&lock, project, error))
                text = format(&lock, project, error);
        g_hash_table_unref(lock.by_name);
        g_hash_table_unref(lock.needs);
        g_queue_free_full(lock.todo, g_free);
        g_ptr_array_unref(lock.markers);
        return text;
}

char *uv_lock_requirements(const char *text, GError **error)
{
        g_autoptr(json_t) file = toml_parse(text, strlen(text), "uv.lock", error);
        json_int_t version = json_integer_value(json_object_get(file, "version"));

        if (!file)
                return NULL;
        if (version != 1) {
                err_set(error, ERR_INVALID,
                        "uv.lock: its version is %d, and only 1 is supported\n`uv export --no-dev -o requirements.txt` writes a file that is read instead.",
                        (int)version);
                return NULL;
        }
        return read_lock(file, error);
}
