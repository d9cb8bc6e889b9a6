/* What to do about an error of a program, by the line of its log that names the error: a table. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* "unless 'yaml' is a module of your own, add pyyaml to requirements.txt, or use an image that has it" for
 * "ModuleNotFoundError: No module named 'yaml'". NULL: the table has no such line. Of the line it only has a name of letters, digits and '_'. The caller's. */
char *advice_of(const char *line);

/* True if the line is the end of a traceback: "KeyError: 'lr'", "[rank0]: torch.OutOfMemoryError: ...". */
bool advice_is_error(const char *line);
