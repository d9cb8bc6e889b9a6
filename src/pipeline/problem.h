/* The errors of a definition. Each has a class (PE-10), a place, a path and a sentence. The classes:
 * doc/reference/pipelines.md, "Classes of errors". Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum {
        PE_01 = 1,
        PE_02,
        PE_03,
        PE_04,
        PE_05,
        PE_06,
        PE_07,
        PE_08,
        PE_09,
        PE_10,
        PE_11,
        PE_12,
        PE_13,
        PE_14,
        PE_15,
        PE_16,
        PE_17,
        PE_18,
        PE_19,
        PE_20,
        PE_21,
        PE_22,
        PE_23,
        PE_24,
        PE_25,
        PE_26,
        PE_27,
        PE_28,
        PE_29,
        PE_30,
        PE_31,
        PE_32,
        PE_33,
        PE_34,
        PE_35,        /* a limit of ours: depth, number of components, of variables */
        PE_IMAGE,     /* PE-02, but found later: a step without an image */
        PE_ARGUMENTS, /* not of the definition: the request contradicts it */
        PE_WARNING,   /* no error */
        PE_CLASSES,
} ProblemClass;

/* "PE-10", "InvalidArguments". */
const char *problem_class_name(ProblemClass class);

typedef struct {
        ProblemClass class;
        guint32 line, column; /* 0: the error is not in the text, but in the request */
        char *path;           /* "entry_points.main.parameters.p"; "" for the whole text */
        char *text;           /* one sentence; may have a hint after a newline */
} Problem;

/* In the order in which they are found; at most PROBLEMS_MAX are kept. */
typedef struct {
        GPtrArray *list; /* Problem * */
        guint n;         /* all that were found */
        GPtrArray *
                warnings; /* Problem *, of class PE_WARNING: valid, but it cannot work. At most PROBLEMS_MAX */
} Problems;

enum { PROBLEMS_MAX = 1000 };

void problems_init(Problems *problems);
void problems_clear(Problems *problems);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Problems, problems_clear)

/* Takes `path` and `text`. */
void problems_add(Problems *problems, ProblemClass class, guint32 line, guint32 column, char *path,
                  char *text);

/* The same for a warning. */
void problems_warn(Problems *problems, guint32 line, guint32 column, char *path, char *text);

/* Lines and columns mean nothing to the reader: a program made the text. */
void problems_forget_places(Problems *problems);

/* The problem that a server reports: the first in the order of validation. NULL if there is none. */
const Problem *problems_first(const Problems *problems);

/* Sorts by place, for a person who goes through the text. */
void problems_sort(Problems *problems);

/* "line 3, column 5: entry_points.main: ... (PE-10)", without the hint; the caller's. */
char *problem_format(const Problem *problem);

/* The sentence and the hint, each the caller's; the hint is NULL if there is none. */
char *problem_sentence(const Problem *problem);
const char *problem_hint(const Problem *problem);
