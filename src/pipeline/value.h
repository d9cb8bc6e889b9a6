/* Values of parameters as text. Pure. The rules: doc/reference/pipelines.md, "Text of values". */
#pragma once

#include <glib.h>

#include "pipeline/definition.h"

/* Append the shortest decimal text without exponent that is read back as the same number; an integral
 * number has no fraction. */
void value_write_real(GString *out, double real);

/* Append a value. Templates in texts are written as they are. */
void value_write(GString *out, const Definition *definition, const Value *value);

/* The number as the contract stores it in environment variables: at most 8 decimals, without trailing zeros. */
char *value_env_real(double real);

/* A double that is a whole number of 64 bits. */
bool value_whole(double real, gint64 *ret);
