/* Problems (see problem.h). */
#include "pipeline/problem.h"

#include <string.h>

#include "base/text-cut.h"

/* The rank is the step of validation that finds the class: doc/reference/pipelines.md, "Order of
 * validation". */
static const struct {
        const char *name;
        int rank;
} classes[PE_CLASSES] = {
        [PE_01] = { "PE-01", 0 },
        [PE_02] = { "PE-02", 1 },
        [PE_03] = { "PE-03", 1 },
        [PE_34] = { "PE-34", 1 },
        [PE_35] = { "PE-35", 1 },
        [PE_24] = { "PE-24", 3 },
        [PE_23] = { "PE-23", 3 },
        [PE_33] = { "PE-33", 4 },
        [PE_ARGUMENTS] = { "InvalidArguments", 4 },
        [PE_04] = { "PE-04", 5 },
        [PE_05] = { "PE-05", 6 },
        [PE_09] = { "PE-09", 7 },
        [PE_25] = { "PE-25", 8 },
        [PE_32] = { "PE-32", 9 },
        [PE_26] = { "PE-26", 10 },
        [PE_08] = { "PE-08", 11 },
        [PE_18] = { "PE-18", 11 },
        [PE_19] = { "PE-19", 11 },
        [PE_31] = { "PE-31", 11 },
        [PE_IMAGE] = { "PE-02", 11 },
        [PE_06] = { "PE-06", 12 },
        [PE_07] = { "PE-07", 12 },
        [PE_10] = { "PE-10", 12 },
        [PE_11] = { "PE-11", 12 },
        [PE_12] = { "PE-12", 12 },
        [PE_13] = { "PE-13", 12 },
        [PE_14] = { "PE-14", 12 },
        [PE_15] = { "PE-15", 12 },
        [PE_16] = { "PE-16", 12 },
        [PE_17] = { "PE-17", 12 },
        [PE_20] = { "PE-20", 12 },
        [PE_21] = { "PE-21", 12 },
        [PE_22] = { "PE-22", 12 },
        [PE_27] = { "PE-27", 13 },
        [PE_30] = { "PE-30", 14 },
        [PE_28] = { "PE-28", 15 },
        [PE_29] = { "PE-29", 15 },
        [PE_WARNING] = { "warning", 16 },
};

const char *problem_class_name(ProblemClass class)
{
        return classes[class].name;
}

/* Takes `text`. A message may have cut a word within a character. */
static char *valid(char *text)
{
        char *ret = g_utf8_make_valid(text, -1);

        g_free(text);
        return ret;
}

static void problem_free(void *data)
{
        Problem *problem = data;

        g_free(problem->path);
        g_free(problem->text);
        g_free(problem);
}

void problems_init(Problems *problems)
{
        *problems = (Problems){ .list = g_ptr_array_new_with_free_func(problem_free),
                                .warnings = g_ptr_array_new_with_free_func(problem_free) };
}

void problems_clear(Problems *problems)
{
        g_clear_pointer(&problems->list, g_ptr_array_unref);
        g_clear_pointer(&problems->warnings, g_ptr_array_unref);
        problems->n = 0;
}

void problems_add(Problems *problems, ProblemClass class, guint32 line, guint32 column, char *path,
                  char *text)
{
        Problem problem = { class, line, column, valid(path), valid(text) };

        problems->n++;
        g_ptr_array_add(problems->list, g_memdup2(&problem, sizeof(problem)));
        if (problems->list->len > PROBLEMS_MAX)
                g_ptr_array_set_size(problems->list, PROBLEMS_MAX);
}

void problems_warn(Problems *problems, guint32 line, guint32 column, char *path, char *text)
{
        Problem problem = { PE_WARNING, line, column, valid(path), valid(text) };

        g_ptr_array_add(problems->warnings, g_memdup2(&problem, sizeof(problem)));
        if (problems->warnings->len > PROBLEMS_MAX)
                g_ptr_array_set_size(problems->warnings, PROBLEMS_MAX);
}

static void forget_place(void *data, void *arg)
{
        Problem *problem = data;

        problem->line = problem->column = 0;
}

void problems_forget_places(Problems *problems)
{
        g_ptr_array_foreach(problems->list, forget_place, NULL);
        g_ptr_array_foreach(problems->warnings, forget_place, NULL);
}

const Problem *problems_first(const Problems *problems)
{
        const Problem *first = NULL;

        for (guint i = 0; i < problems->list->len; i++) {
                const Problem *problem = problems->list->pdata[i];

                if (!first || classes[problem->class].rank < classes[first->class].rank)
                        first = problem;
        }
        return first;
}

static int by_place(const void *a, const void *b)
{
        const Problem *one = *(const Problem *const *)a, *two = *(const Problem *const *)b;

        if (one->line != two->line)
                return one->line < two->line ? -1 : 1;
        if (one->column != two->column)
                return one->column < two->column ? -1 : 1;
        return classes[one->class].rank - classes[two->class].rank;
}

void problems_sort(Problems *problems)
{
        g_ptr_array_sort(problems->list, by_place);
        g_ptr_array_sort(problems->warnings, by_place);
}

const char *problem_hint(const Problem *problem)
{
        const char *end = strchr(problem->text, '\n');

        return end ? end + 1 : NULL;
}

char *problem_sentence(const Problem *problem)
{
        return text_first_line(problem->text);
}

char *problem_format(const Problem *problem)
{
        GString *out = g_string_new(NULL);
        g_autofree char *sentence = problem_sentence(problem);

        if (problem->line)
                g_string_append_printf(out, "line %u, column %u: ", problem->line, problem->column);
        if (*problem->path)
                g_string_append_printf(out, "%s: ", problem->path);
        g_string_append_printf(out, "%s (%s)", sentence, classes[problem->class].name);
        return g_string_free(out, FALSE);
}
