/* Ignore rules (see ignore.h), following gitignore(5). A pattern is matched byte by byte, as git does. Each
 * kind of star backtracks only to its last occurrence, so the worst case is the product of the lengths, not
 * exponential. */
#include "package/ignore.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/keyed-hash.h"

typedef struct {
        char *base;    /* the file's directory, "" or "a/b/" */
        char **parts;  /* of the pattern, split at slashes */
        bool anchored; /* it had a slash: it matches the path below `base`, otherwise the last name */
        bool dir_only;
        bool negated;
} Rule;

typedef struct {
        guint64 size;
        gint64 mtime_ns;
} Foreign;

struct IgnoreRules {
        GPtrArray *rules;    /* Rule *, in the order in which they were added */
        GHashTable *foreign; /* path -> Foreign */
        GHashTable *secret;  /* a set of paths */
};

/* They precede the rules of files, so that files can override them. */
static const char defaults[] = ".ipynb_checkpoints/\n"
                               ".mypy_cache/\n"
                               ".pytest_cache/\n"
                               ".ruff_cache/\n"
                               ".tox/\n"
                               ".nox/\n"
                               ".idea/\n"
                               ".vscode/\n"
                               "node_modules/\n"
                               ".DS_Store\n";

static void rule_free(Rule *rule)
{
        g_free(rule->base);
        g_strfreev(rule->parts);
        g_free(rule);
}

void ignore_free(IgnoreRules *rules)
{
        if (!rules)
                return;
        g_ptr_array_unref(rules->rules);
        g_hash_table_unref(rules->foreign);
        g_hash_table_unref(rules->secret);
        g_free(rules);
}

/* Reading a file of rules */

/* The line without a carriage return and unescaped trailing blanks. */
static char *line_trim(const char *line, gsize len)
{
        gsize keep = 0;

        if (len > 0 && line[len - 1] == '\r')
                len--;
        for (gsize i = 0; i < len; i++) {
                if (line[i] == '\\' && i + 1 < len)
                        i++;
                else if (line[i] == ' ')
                        continue;
                keep = i + 1;
        }
        return g_strndup(line, keep);
}

static void add_line(IgnoreRules *rules, const char *base, const char *line)
{
        g_autofree char *pattern = NULL;
        Rule *rule;
        gsize len;
        bool negated = *line == '!', dir_only;

        if (!*line || *line == '#')
                return;
        line += negated;
        len = strlen(line);
        dir_only = len > 0 && line[len - 1] == '/';
        pattern = g_strndup(line, len - dir_only);
        if (!*pattern)
                return;
        rule = g_new0(Rule, 1);
        rule->base = *base ? g_strconcat(base, "/", NULL) : g_strdup("");
        rule->negated = negated;
        rule->dir_only = dir_only;
        rule->anchored = strchr(pattern, '/') != NULL;
        rule->parts = g_strsplit(*pattern == '/' ? pattern + 1 : pattern, "/", -1);
        g_ptr_array_add(rules->rules, rule);
}

void ignore_add(IgnoreRules *rules, const char *base, const char *text)
{
        if (g_str_has_prefix(text, "\xef\xbb\xbf"))
                text += 3; /* a byte order mark */
        while (*text) {
                gsize len = strcspn(text, "\n");
                g_autofree char *line = line_trim(text, len);

                add_line(rules, base, line);
                text += len + (text[len] == '\n');
        }
}

IgnoreRules *ignore_new(void)
{
        IgnoreRules *rules = g_new0(IgnoreRules, 1);

        rules->rules = g_ptr_array_new_with_free_func((GDestroyNotify)rule_free);
        rules->foreign = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, g_free);
        rules->secret = g_hash_table_new_full(keyed_hash, g_str_equal, g_free, NULL);
        ignore_add(rules, "", defaults);
        return rules;
}

guint ignore_count(const IgnoreRules *rules)
{
        return rules->rules->len;
}

void ignore_truncate(IgnoreRules *rules, guint count)
{
        if (count < rules->rules->len)
                g_ptr_array_set_size(rules->rules, (int)count);
}

/* Matching */

static bool class_has(const char *name, gsize len, unsigned char c)
{
        static const struct {
                const char *name;
                int (*is)(int c);
        } classes[] = {
                { "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank }, { "cntrl", iscntrl },
                { "digit", isdigit }, { "graph", isgraph }, { "lower", islower }, { "print", isprint },
                { "punct", ispunct }, { "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(classes); i++)
                if (strlen(classes[i].name) == len && memcmp(classes[i].name, name, len) == 0)
                        return classes[i].is(c) != 0;
        return false;
}

/* One character of a bracket expression, with its backslash; NUL at the end of the pattern. */
static unsigned char bracket_char(const char **at)
{
        if (**at == '\\')
                (*at)++;
        return **at ? (unsigned char)*(*at)++ : 0;
}

/* `*at` is after the '[', and afterwards after the ']'. False for an unclosed bracket, which matches
 * nothing. */
static bool match_bracket(const char **at, unsigned char c, bool *ret)
{
        bool negated = **at == '!' || **at == '^', found = false;

        *at += negated;
        for (bool first = true; first || **at != ']'; first = false) {
                const char *end = g_str_has_prefix(*at, "[:") ? strstr(*at + 2, ":]") : NULL;
                unsigned char low, high;

                if (end) {
                        found |= class_has(*at + 2, (gsize)(end - *at - 2), c);
                        *at = end + 2;
                        continue;
                }
                low = high = bracket_char(at);
                if (low && **at == '-' && (*at)[1] && (*at)[1] != ']') {
                        (*at)++;
                        high = bracket_char(at);
                }
                if (!high)
                        return false;
                found |= low <= c && c <= high;
        }
        (*at)++;
        *ret = found != negated;
        return true;
}

/* Matches one pattern character (not '*') against one byte; moves *at past it. */
static bool match_one(const char **at, unsigned char c)
{
        bool found = false;

        switch (**at) {
        case '?': (*at)++; return true;
        case '[': (*at)++; return match_bracket(at, c, &found) && found;
        case '\\':
                (*at)++;
                if (!**at)
                        return false;
                break;
        default: break;
        }
        return (unsigned char)*(*at)++ == c;
}

static bool match_name(const char *pattern, const char *name, gsize len)
{
        const char *star = NULL, *star_name = NULL, *end = name + len;

        while (name < end) {
                const char *next = pattern;

                if (*pattern == '*') {
                        star = ++pattern;
                        star_name = name;
                } else if (*pattern && match_one(&next, (unsigned char)*name)) {
                        pattern = next;
                        name++;
                } else if (star) {
                        pattern = star;
                        name = ++star_name;
                } else {
                        return false;
                }
        }
        while (*pattern == '*')
                pattern++;
        return !*pattern;
}

/* Matches all parts of an anchored pattern against the whole path. "**" matches any number of directories; as
 * the last part it matches at least one name. */
static bool match_path(char *const *parts, const char *path)
{
        char *const *star = NULL;
        const char *star_path = NULL;

        while (*path) {
                gsize len = strcspn(path, "/");

                if (*parts && strcmp(*parts, "**") == 0) {
                        if (!parts[1])
                                return true;
                        star = ++parts;
                        star_path = path;
                } else if (*parts && match_name(*parts, path, len)) {
                        parts++;
                        path += len + (path[len] == '/');
                } else if (star) {
                        star_path += strcspn(star_path, "/");
                        star_path += *star_path == '/';
                        parts = star;
                        path = star_path;
                } else {
                        return false;
                }
        }
        return !*parts;
}

static bool rule_matches(const Rule *rule, const char *path, bool is_dir)
{
        const char *name = strrchr(path, '/');

        if ((rule->dir_only && !is_dir) || !g_str_has_prefix(path, rule->base))
                return false;
        name = name ? name + 1 : path;
        return rule->anchored ? match_path(rule->parts, path + strlen(rule->base))
                              : match_name(rule->parts[0], name, strlen(name));
}

static bool is_always_out(const char *path)
{
        const char *name = strrchr(path, '/');

        name = name ? name + 1 : path;
        return strcmp(name, ".git") == 0 || strcmp(name, "__pycache__") == 0;
}

/* The last rule that matches, or NULL. */
static const Rule *deciding_rule(const IgnoreRules *rules, const char *path, bool is_dir)
{
        for (guint i = rules->rules->len; i > 0; i--) {
                const Rule *rule = rules->rules->pdata[i - 1];

                if (rule_matches(rule, path, is_dir))
                        return rule;
        }
        return NULL;
}

static bool matches_here(const IgnoreRules *rules, const char *path, bool is_dir)
{
        const Rule *rule = deciding_rule(rules, path, is_dir);

        return is_always_out(path) || (rule && !rule->negated);
}

bool ignore_takes_back(const IgnoreRules *rules, const char *path, bool is_dir)
{
        const Rule *rule = deciding_rule(rules, path, is_dir);

        return rule && rule->negated;
}

static bool has_file(int dir, const char *name, const char *file)
{
        g_autofree char *mark = g_build_filename(name, file, NULL);

        return faccessat(dir, mark, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void ignore_add_secret(IgnoreRules *rules, const char *path)
{
        g_hash_table_add(rules->secret, g_strdup(path));
}

bool ignore_is_secret(const IgnoreRules *rules, int dir, const char *name, const char *path, bool is_dir)
{
        return g_hash_table_contains(rules->secret, path) || (is_dir && has_file(dir, name, "paddle.db"));
}

void ignore_add_foreign(IgnoreRules *rules, const char *path, guint64 size, gint64 mtime_ns)
{
        Foreign *foreign = g_new(Foreign, 1);

        *foreign = (Foreign){ size, mtime_ns };
        g_hash_table_insert(rules->foreign, g_strdup(path), foreign);
}

static bool is_taken_back(const IgnoreRules *rules, const char *path)
{
        for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
                g_autofree char *above = g_strndup(path, (gsize)(slash - path));

                if (ignore_takes_back(rules, above, true))
                        return true;
        }
        return ignore_takes_back(rules, path, false);
}

bool ignore_is_foreign(const IgnoreRules *rules, int dir, const char *name, const char *path)
{
        const Foreign *foreign = g_hash_table_lookup(rules->foreign, path);
        struct stat st;

        return foreign && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
               (guint64)st.st_size == foreign->size && file_mtime_ns(&st) == foreign->mtime_ns &&
               !is_taken_back(rules, path);
}

bool ignore_leaves_out(const IgnoreRules *rules, int dir, const char *name, const char *path, bool is_dir)
{
        return matches_here(rules, path, is_dir) || ignore_is_secret(rules, dir, name, path, is_dir) ||
               (is_dir && has_file(dir, name, "pyvenv.cfg") && !ignore_takes_back(rules, path, true)) ||
               (!is_dir && ignore_is_foreign(rules, dir, name, path));
}

bool ignore_matches(const IgnoreRules *rules, const char *path, bool is_dir)
{
        for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
                g_autofree char *above = g_strndup(path, (gsize)(slash - path));

                if (matches_here(rules, above, true))
                        return true;
        }
        return matches_here(rules, path, is_dir);
}
