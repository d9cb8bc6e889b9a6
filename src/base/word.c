/* Suggestions for misspelled words (see word.h). */
#include "base/word.h"

#include <stdbool.h>
#include <string.h>

enum { COMPARED_MAX = 64 };

int word_distance(const char *a, const char *b)
{
        int rows[3][COMPARED_MAX + 1]; /* of this letter of `a`, and the two before it */
        int a_len = (int)strnlen(a, COMPARED_MAX), b_len = (int)strnlen(b, COMPARED_MAX);

        for (int j = 0; j <= b_len; j++)
                rows[0][j] = j;
        for (int i = 1; i <= a_len; i++) {
                int *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];

                row[0] = i;
                for (int j = 1; j <= b_len; j++) {
                        row[j] = MIN(MIN(row[j - 1], above[j]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                row[j] = MIN(row[j], two_above[j - 2] + 1);
                }
        }
        return rows[a_len % 3][b_len];
}

const char *word_nearest(const char *word, const char *const *list)
{
        const char *nearest = NULL;
        int best = (int)MIN(strlen(word), 12) / 3 + 2; /* the smallest distance that is too large */

        best = MIN(best, (int)strlen(word)); /* at least one letter must match */
        for (; *list; list++) {
                int far = word_distance(word, *list);

                if (far >= best)
                        continue;
                best = far;
                nearest = *list;
        }
        return nearest;
}

static bool ends_in_one_of(const char *noun, const char *const *ends)
{
        for (; *ends; ends++)
                if (g_str_has_suffix(noun, *ends))
                        return true;
        return false;
}

char *count_format(gint64 n, const char *noun)
{
        static const char *const hissing[] = { "s", "x", "z", "ch", "sh", NULL };
        static const char *const vowel_y[] = { "ay", "ey", "oy", "uy", NULL };
        size_t len = strlen(noun);

        if (n == 1)
                return g_strdup_printf("1 %s", noun);
        if (len > 0 && noun[len - 1] == 'y' && !ends_in_one_of(noun, vowel_y))
                return g_strdup_printf("%" G_GINT64_FORMAT " %.*sies", n, (int)len - 1, noun);
        return g_strdup_printf("%" G_GINT64_FORMAT " %s%s", n, noun,
                               ends_in_one_of(noun, hissing) ? "es" : "s");
}
