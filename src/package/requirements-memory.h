/* Caches the requirements of packages by their hash, because gathering them takes up to a second for a
 * package that is designed to be slow (package/requirements.h). Keeps the last REQUIREMENTS_KEPT; they never
 * change. Any thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { REQUIREMENTS_KEPT = 64 };

typedef struct RequirementsMemory RequirementsMemory;

RequirementsMemory *requirements_memory_new(void);
void requirements_memory_free(RequirementsMemory *memory); /* NULL is a no-op */
/* False: not cached. Else *ret_text (the caller's; NULL: no requirements) or the error of the first call.
 * Both outputs may be NULL. */
bool requirements_memory_get(RequirementsMemory *memory, const char *hash, char **ret_text, GError **error);
/* Either a text (NULL: no requirements) or an error. */
void requirements_memory_put(RequirementsMemory *memory, const char *hash, const char *text,
                             const GError *error);
