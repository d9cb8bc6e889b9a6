/* Secrets in a line of a member's output, which the platform is about to put into a reason, an event and the
 * database. Pure. A program can still write a value in a code of its own: this is against mistakes. */
#pragma once

#include <glib.h>

enum {
        MASK_MIN = 4,          /* bytes of the shortest value, or line of it, that is looked for */
        MASK_RUN = 8,          /* so many bytes of a longer one in a row are hidden, also without the rest */
        MASK_LINES_MAX = 64,   /* short lines of one value that are looked for, the first */
        MASK_CODED_MAX = 4096, /* of longer values, base 64 and percent-encoding are not looked for */
};

typedef struct Mask Mask;

/* `line`: as last_line_of gives it, valid UTF-8. */
Mask *mask_new(const char *line);
/* Hides what the line has of this value: plain, in base 64 or percent-encoded. */
void mask_hide(Mask *mask, const char *value, gsize len);
/* The line, with "***" in the place of each hidden part; the caller's. Frees the mask. */
char *mask_end(Mask *mask);
