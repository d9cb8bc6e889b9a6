/* Hides secrets in a line of a member's output before the platform writes it into a reason, an event and the
 * database. Pure. It protects against mistakes: a program can still print an encoded value. */
#pragma once

#include <glib.h>

enum {
        MASK_MIN = 4,          /* bytes of the shortest value, or line of a value, that is searched for */
        MASK_RUN = 8,          /* this many consecutive bytes of a longer value are hidden, even without the
                                  rest */
        MASK_LINES_MAX = 64,   /* the first short lines of one value that are searched for */
        MASK_CODED_MAX = 4096, /* longer values are not searched for in base 64 and percent-encoding */
};

typedef struct Mask Mask;

/* `line`: the result of last_line_of, valid UTF-8. */
Mask *mask_new(const char *line);
/* Hides the parts of the line that contain this value: plain, in base 64 or percent-encoded. */
void mask_hide(Mask *mask, const char *value, gsize len);
/* The line, with "***" for each hidden part; the caller's. Frees the mask. */
char *mask_end(Mask *mask);
