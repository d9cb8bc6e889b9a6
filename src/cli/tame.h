/* Filters a job's output for the user's terminal: colours are kept, all other control sequences are shown as
 * text ("^[]0;title^G"): titles, the clipboard, the cursor, and queries that the terminal would answer.
 * Pure. */
#pragma once

#include <glib.h>

/* The rest of a text that ends within a colour sequence, to which the next text is added. */
typedef struct {
        GString *open; /* NULL: nothing */
} Tame;

/* Appends `text` to `out`. Its last few bytes may wait in `tame` for the next text. */
void tame_add(Tame *tame, const char *text, gsize len, GString *out);
/* The end of the text: appends the rest. */
void tame_end(Tame *tame, GString *out);
void tame_clear(Tame *tame);
