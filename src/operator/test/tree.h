/* What the small clusters of the tests do with JSON trees, as an API server would. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

json_t *tree_parse(const char *text);                 /* any value; the test ends when it is none */
void tree_merge(json_t *target, const json_t *patch); /* RFC 7396 */
/* A new version; `steady`: always the same, so that two clusters that came to one state are equal. */
void tree_stamp(json_t *object, bool steady, guint *counter);
/* The same of a uid, and a version. */
void tree_give_uid(json_t *object, const char *name, bool steady, guint *counter);

/* The text of a value in an expectation: a string without quotes, other values as JSON, "-" for NULL. */
char *tree_show(const json_t *value);
/* Expectations: "PATH=TEXT", "PATH=JSON" or "PATH=~TEXT" (contains TEXT). The test ends if text has no '='. */
char *tree_expected_path(const char *text);
bool tree_expect(const char *text, const char *value); /* false: a test message says what was found */
