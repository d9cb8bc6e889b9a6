/* Results of jobs (see results.h). */
#include "model/results.h"

#include <math.h>
#include <string.h>

enum { NAME_MAX_LEN = 63 };

typedef struct {
        char *name;
        double last, min, max;
        bool ranged; /* min and max hold */
        int member, attempt;
} Result;

static void result_free(gpointer data)
{
        Result *result = data;

        g_free(result->name);
        g_free(result);
}

/* ---- texts ---- */

static char *number_text(double number)
{
        char text[G_ASCII_DTOSTR_BUF_SIZE];

        return g_strdup(g_ascii_dtostr(text, sizeof text, number));
}

static char *result_format(const Result *result)
{
        g_autofree char *last = number_text(result->last);
        g_autofree char *min = result->ranged ? number_text(result->min) : g_strdup("-");
        g_autofree char *max = result->ranged ? number_text(result->max) : g_strdup("-");

        return g_strdup_printf("%s %s %s %s %d %d", result->name, last, min, max, result->member,
                               result->attempt);
}

/* NULL: a database that somebody changed. */
static Result *result_parse(const char *text)
{
        g_auto(GStrv) words = g_strsplit(text, " ", 7);
        Result *result;

        if (g_strv_length(words) != 6)
                return NULL;
        result = g_new0(Result, 1);
        *result = (Result){ .name = g_strdup(words[0]),
                            .last = g_ascii_strtod(words[1], NULL),
                            .min = g_ascii_strtod(words[2], NULL),
                            .max = g_ascii_strtod(words[3], NULL),
                            .ranged = strcmp(words[2], "-") != 0,
                            .member = (int)g_ascii_strtoll(words[4], NULL, 10),
                            .attempt = (int)g_ascii_strtoll(words[5], NULL, 10) };
        return result;
}

static GPtrArray *parse_all(char *const *results)
{
        GPtrArray *all = g_ptr_array_new_with_free_func(result_free);

        for (; results && *results; results++) {
                Result *result = result_parse(*results);

                if (result)
                        g_ptr_array_add(all, result);
        }
        return all;
}

static Result *find(const GPtrArray *all, const char *name)
{
        for (guint i = 0; i < all->len; i++)
                if (strcmp(((Result *)all->pdata[i])->name, name) == 0)
                        return all->pdata[i];
        return NULL;
}

/* ---- lines ---- */

static bool name_is_result(const char *name)
{
        gsize len = strlen(name);

        if (len == 0 || len > NAME_MAX_LEN || (!g_ascii_isalpha(name[0]) && name[0] != '_'))
                return false;
        for (const char *at = name; *at; at++)
                if (!g_ascii_isalnum(*at) && !strchr("._-/", *at))
                        return false;
        return true;
}

static void fold(Result *result, double number)
{
        result->last = number;
        if (!isfinite(number))
                return;
        result->min = result->ranged ? MIN(result->min, number) : number;
        result->max = result->ranged ? MAX(result->max, number) : number;
        result->ranged = true;
}

static void take_line(GPtrArray *said, char *line)
{
        char *equals = strchr(line, '='), *end;
        Result *result;
        double number;

        if (!equals)
                return;
        *equals = '\0';
        g_strstrip(line);
        number = g_ascii_strtod(equals + 1, &end);
        if (end == equals + 1 || *g_strstrip(end) || !name_is_result(line))
                return;
        result = find(said, line);
        if (!result && said->len == RESULTS_NAMES_MAX)
                return;
        if (!result) {
                result = g_new0(Result, 1);
                result->name = g_strdup(line);
                g_ptr_array_add(said, result);
        }
        fold(result, number);
}

static GPtrArray *parse_lines(const char *text)
{
        GPtrArray *said = g_ptr_array_new_with_free_func(result_free);
        g_autofree char *copy = g_strndup(text, RESULTS_TEXT_MAX);
        g_auto(GStrv) lines = g_strsplit(copy, "\n", -1);

        for (char **line = lines; *line; line++)
                take_line(said, *line);
        return said;
}

/* ---- merging ---- */

static void take_range(Result *to, const Result *from)
{
        if (!from->ranged)
                return;
        to->min = to->ranged ? MIN(to->min, from->min) : from->min;
        to->max = to->ranged ? MAX(to->max, from->max) : from->max;
        to->ranged = true;
}

/* What `said` makes of `have`: of the same attempt the member that comes first counts alone. */
static void merge_one(Result *have, const Result *said)
{
        bool later = said->attempt > have->attempt;

        if (said->attempt < have->attempt || (!later && said->member > have->member))
                return;
        if (!later && said->member < have->member)
                have->ranged = false;
        have->last = said->last;
        have->member = said->member;
        have->attempt = said->attempt;
        take_range(have, said);
}

char **results_merge(char *const *have, const char *text, int member, int attempt)
{
        g_autoptr(GPtrArray) all = parse_all(have), said = parse_lines(text);
        g_autoptr(GStrvBuilder) list = g_strv_builder_new();

        for (guint i = 0; i < said->len; i++) {
                Result *result = said->pdata[i], *known = find(all, result->name);

                result->member = member;
                result->attempt = attempt;
                if (known) {
                        merge_one(known, result);
                } else if (all->len < RESULTS_NAMES_MAX) {
                        Result *added = g_memdup2(result, sizeof *result);

                        added->name = g_strdup(result->name);
                        g_ptr_array_add(all, added);
                }
        }
        for (guint i = 0; i < all->len; i++) {
                g_autofree char *line = result_format(all->pdata[i]);

                g_strv_builder_add(list, line);
        }
        return all->len ? g_strv_builder_end(list) : NULL;
}

static json_t *finite_or_null(double number)
{
        return isfinite(number) ? json_real(number) : json_null();
}

json_t *results_format(char *const *results)
{
        g_autoptr(GPtrArray) all = parse_all(results);
        json_t *object = json_object();

        for (guint i = 0; i < all->len; i++) {
                const Result *result = all->pdata[i];

                json_object_set_new(object, result->name,
                                    json_pack("{s:o, s:o, s:o}", "last", finite_or_null(result->last), "min",
                                              result->ranged ? json_real(result->min) : json_null(), "max",
                                              result->ranged ? json_real(result->max) : json_null()));
        }
        return object;
}
