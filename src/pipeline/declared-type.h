/* Declared types of parameters (doc/reference/pipelines.md, "Parameters"): which values have a type, and what a text that
 * is given for a parameter becomes. Pure. */
#pragma once

#include <jansson.h>

#include "pipeline/definition.h"

/* "must be a whole number"; NULL: a value of this kind has the type. `text`: of a VALUE_TEXT without templates. All values
 * have TYPE_NONE. */
const char *type_fault(ValueType type, ValueKind kind, const char *text);

/* The kind that a value in JSON has; VALUE_NONE: true, false, null and maps. A number without fraction is VALUE_INT. */
ValueKind type_json_kind(const json_t *value);
/* The same as type_fault, of a value in JSON. */
const char *type_json_fault(ValueType type, const json_t *value);
/* False for a text with templates, a list with such a text, and values of no kind. */
bool type_is_plain(const json_t *value);

/* The value that a request gives, as the type asks for: a number or list that was given as a text, a whole number
 * that was given with a fraction. Others stay as they are. A new reference. */
json_t *type_convert(ValueType type, const json_t *given);
