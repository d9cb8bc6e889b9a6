/* Results of jobs (see results.h). */
#include "model/results.h"

#include <math.h>
#include <string.h>

enum { NAME_MAX_LEN = 63 };

/* The least and the greatest finite number, if there was one. */
typedef struct {
        double min, max;
        bool known;
} Range;

typedef struct {
        char *name;
        double last;
        Range range;   /* of the member's reports in this attempt */
        Range earlier; /* of earlier attempts */
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

static char *range_text(const Range *range)
{
        g_autofree char *min = range->known ? number_text(range->min) : g_strdup("-");
        g_autofree char *max = range->known ? number_text(range->max) : g_strdup("-");

        return g_strconcat(min, " ", max, NULL);
}

static Range range_parse(const char *min, const char *max)
{
        return (Range){ g_ascii_strtod(min, NULL), g_ascii_strtod(max, NULL), strcmp(min, "-") != 0 };
}

static char *result_format(const Result *result)
{
        g_autofree char *last = number_text(result->last), *range = range_text(&result->range),
                        *earlier = range_text(&result->earlier);

        return g_strdup_printf("%s %s %s %d %d %s", result->name, last, range, result->member,
                               result->attempt, earlier);
}

/* NULL: the database was modified by another program. */
static Result *result_parse(const char *text)
{
        g_auto(GStrv) words = g_strsplit(text, " ", 9);
        Result *result;

        if (g_strv_length(words) != 8)
                return NULL;
        result = g_new0(Result, 1);
        *result = (Result){ .name = g_strdup(words[0]),
                            .last = g_ascii_strtod(words[1], NULL),
                            .range = range_parse(words[2], words[3]),
                            .member = (int)g_ascii_strtoll(words[4], NULL, 10),
                            .attempt = (int)g_ascii_strtoll(words[5], NULL, 10),
                            .earlier = range_parse(words[6], words[7]) };
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

static void widen(Range *range, const Range *by)
{
        if (!by->known)
                return;
        range->min = range->known ? MIN(range->min, by->min) : by->min;
        range->max = range->known ? MAX(range->max, by->max) : by->max;
        range->known = true;
}

static void fold(Result *result, double number)
{
        result->last = number;
        widen(&result->range, &(Range){ number, number, isfinite(number) });
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

/* Merges `said` into `have`: of several members in one attempt, only the first member counts. */
static void merge_one(Result *have, const Result *said)
{
        bool later = said->attempt > have->attempt;

        if (said->attempt < have->attempt || (!later && said->member > have->member))
                return;
        if (later)
                widen(&have->earlier, &have->range);
        if (later || said->member < have->member)
                have->range = (Range){ 0 };
        have->last = said->last;
        have->member = said->member;
        have->attempt = said->attempt;
        widen(&have->range, &said->range);
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

static json_t *real_or_null(double number, bool is_known)
{
        return is_known ? json_real(number) : json_null();
}

json_t *results_format(char *const *results)
{
        g_autoptr(GPtrArray) all = parse_all(results);
        json_t *object = json_object();

        for (guint i = 0; i < all->len; i++) {
                const Result *result = all->pdata[i];
                Range all_attempts = result->earlier;

                widen(&all_attempts, &result->range);
                json_object_set_new(object, result->name,
                                    json_pack("{s:o, s:o, s:o}", "last",
                                              real_or_null(result->last, isfinite(result->last)), "min",
                                              real_or_null(all_attempts.min, all_attempts.known), "max",
                                              real_or_null(all_attempts.max, all_attempts.known)));
        }
        return object;
}
