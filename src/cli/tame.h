/* Output of a job on a person's terminal: colours stay, and everything else that a terminal would obey is
 * shown as text ("^[]0;title^G"): titles, the clipboard, the cursor, answers that the terminal would type.
 * Pure. */
#pragma once

#include <glib.h>

/* What is left over of a text that ends within a colour: the start of the next one. */
typedef struct {
        GString *open; /* NULL: nothing */
} Tame;

/* Appends `text` to `out`. Its last few bytes may wait in `tame` for the next text. */
void tame_add(Tame *tame, const char *text, gsize len, GString *out);
/* Nothing follows: appends what waits. */
void tame_end(Tame *tame, GString *out);
void tame_clear(Tame *tame);
