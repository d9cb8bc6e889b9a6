/* Files that a setup command names (see setup.h). Hashing a file too many only runs the command once more
 * than necessary; a file too few would miss a change. So a text is split twice, with its quotes ('my file')
 * and without (sh -c 'cd ops && make'). */
#include "package/setup.h"

#include <string.h>

#include "base/file.h"
#include "base/keyed-hash.h"

#define BLANKS " \t\r\n"
#define OPERATORS ";&|<>(){},"

/* ---- words ---- */

/* Splits like a shell, as far as file names are concerned. */
static GPtrArray *split_quoted(const char *text)
{
        GPtrArray *words = g_ptr_array_new_with_free_func(g_free);
        g_autoptr(GString) word = g_string_new(NULL);
        char quote = 0;

        for (const char *at = text; *at; at++) {
                if (quote ? *at == quote : *at == '\'' || *at == '"') {
                        quote = quote ? 0 : *at;
                } else if (*at == '\\' && quote != '\'' && at[1]) {
                        g_string_append_c(word, *++at);
                } else if (quote || !strchr(BLANKS OPERATORS, *at)) {
                        g_string_append_c(word, *at);
                } else {
                        g_ptr_array_add(words, g_strdup(word->str));
                        g_string_truncate(word, 0);
                }
        }
        g_ptr_array_add(words, g_strdup(word->str));
        return words;
}

static void split_plain(GPtrArray *words, const char *text)
{
        g_auto(GStrv) parts = g_strsplit_set(text, BLANKS OPERATORS "'\"\\", -1);

        for (char **part = parts; *part; part++)
                g_ptr_array_add(words, g_strdup(*part));
}

/* ---- candidates ---- */

/* The directory before a pattern. "[" alone is a program. */
static char *before_pattern(const char *word)
{
        const char *pattern = strpbrk(word, "*?[");
        g_autofree char *before = pattern ? g_strndup(word, (gsize)(pattern - word)) : NULL;
        char *slash;

        if (!pattern || strspn(word, "[") == strlen(word))
                return NULL;
        slash = strrchr(before, '/');
        return slash ? g_strndup(before, (gsize)(slash - before + 1)) : g_strdup(".");
}

static void add_path(GHashTable *candidates, const char *word)
{
        char *path =
                *word && *word != '/' && *word != '~' && !strpbrk(word, "$`") ? file_path_inside(word) : NULL;

        if (path)
                g_hash_table_add(candidates, path);
}

/* Adds the word, and also the word without a pattern: "./lib[extra]" is pip's syntax for ./lib. */
static void add_word(GHashTable *candidates, const char *word)
{
        g_autofree char *extra = g_strndup(word, strcspn(word, "["));
        g_autofree char *before = before_pattern(word);

        add_path(candidates, word);
        if (strlen(extra) < strlen(word))
                add_path(candidates, extra);
        else if (before)
                add_path(candidates, before);
}

static GHashTable *candidates_of(const char *command)
{
        g_autoptr(GPtrArray) words = split_quoted(command);
        GHashTable *candidates = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);

        split_plain(words, command);
        for (guint i = 0; i < words->len; i++) {
                const char *word = words->pdata[i], *equals = strchr(word, '=');

                add_word(candidates, word);
                if (equals)
                        add_word(candidates, equals + 1);
                if (word[0] == '-' && g_ascii_isalpha(word[1]))
                        add_word(candidates, word + 2);
        }
        return candidates;
}

/* ---- the package ---- */

/* The index of the first path that is not before `path`. */
static guint first_from(const GPtrArray *paths, const char *path)
{
        guint low = 0, high = paths->len;

        while (low < high) {
                guint middle = low + (high - low) / 2;

                if (strcmp(paths->pdata[middle], path) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

/* `path` "": all. */
static void mark(const GPtrArray *paths, const char *path, bool *marks)
{
        g_autofree char *below = *path ? g_strconcat(path, "/", NULL) : g_strdup("");
        guint at = first_from(paths, path);

        if (at < paths->len && strcmp(paths->pdata[at], path) == 0)
                marks[at] = true;
        for (at = first_from(paths, below); at < paths->len && g_str_has_prefix(paths->pdata[at], below);
             at++)
                marks[at] = true;
}

GArray *setup_named(const char *command, const GPtrArray *paths)
{
        g_autoptr(GHashTable) candidates = candidates_of(command);
        g_autofree bool *marks = g_new0(bool, paths->len + 1);
        GArray *named = g_array_new(FALSE, FALSE, sizeof(guint));
        GHashTableIter iter;
        gpointer path;

        g_hash_table_iter_init(&iter, candidates);
        while (g_hash_table_iter_next(&iter, &path, NULL))
                mark(paths, path, marks);
        for (guint i = 0; i < paths->len; i++)
                if (marks[i])
                        g_array_append_val(named, i);
        return named;
}

char *setup_fingerprint(const char *command, const Manifest *manifest)
{
        g_autoptr(GPtrArray) paths = g_ptr_array_new();
        g_autoptr(GArray) named = NULL;
        g_autoptr(GString) text = g_string_new("setup files 1\n");
        char hash[HASH_LEN + 1];

        for (guint i = 0; i < manifest->entries->len; i++)
                g_ptr_array_add(paths, ((const Entry *)manifest->entries->pdata[i])->path);
        named = setup_named(command, paths);
        if (named->len == 0)
                return NULL;
        for (guint i = 0; i < named->len; i++) {
                const Entry *entry = manifest->entries->pdata[g_array_index(named, guint, i)];

                g_string_append_printf(text, "%d %d %s %zu %s %s\n", entry->kind, entry->executable,
                                       entry->kind == ENTRY_FILE ? entry->hash : "-",
                                       entry->target ? strlen(entry->target) : 0,
                                       entry->target ? entry->target : "", entry->path);
        }
        hash_bytes(text->str, text->len, hash);
        return g_strdup(hash);
}
