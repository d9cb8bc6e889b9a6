/* What packages ask for, remembered by their hash: to gather it takes up to a second for a package that is
 * made for that (package/requirements.h). The last REQUIREMENTS_KEPT are there; their contents never change. Any
 * thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { REQUIREMENTS_KEPT = 64 };

typedef struct RequirementsMemory RequirementsMemory;

RequirementsMemory *requirements_memory_new(void);
void requirements_memory_free(RequirementsMemory *memory); /* NULL is a no-op */
/* False: not remembered. Else *ret_text (the caller's; NULL: it asks for nothing) or the error of then; both
 * places may be NULL. */
bool requirements_memory_get(RequirementsMemory *memory, const char *hash, char **ret_text, GError **error);
/* Either a text (NULL: nothing is asked for) or an error. */
void requirements_memory_put(RequirementsMemory *memory, const char *hash, const char *text,
                             const GError *error);
