/* JSON text written member by member, without a tree in between: for what every request writes.
 *
 *         JsonOut out = json_out_begin(1024);
 *         json_open(&out, '{');
 *         json_put_text(&out, "name", job->name);
 *         json_open_member(&out, "roles", '[');
 *         json_put_item_text(&out, "worker");
 *         json_close(&out, ']');
 *         json_close(&out, '}');
 *         char *text = json_out_end(&out);
 *
 * Each value is followed by a comma; json_close puts the bracket in the place of the last one. Names are string literals
 * without characters that JSON escapes. The caller puts no name twice into one object. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"

typedef struct {
        GString *text;
        bool brief; /* leaves out members that are null or {} */
} JsonOut;

JsonOut json_out_begin(gsize size); /* about so many bytes */
char *json_out_end(JsonOut *out);   /* the text without the last comma; the caller's, to be g_free()d */

void json_open(JsonOut *out, char bracket);
void json_close(JsonOut *out, char bracket);

/* `name` is "\"NAME\":" here: use the macros below. */
void json_out_open(JsonOut *out, const char *name, char bracket);
void json_out_text(JsonOut *out, const char *name, const char *text);
void json_out_int(JsonOut *out, const char *name, gint64 number);
void json_out_raw(JsonOut *out, const char *name, const char *json);
void json_out_time(JsonOut *out, const char *name, gint64 ms);
void json_out_value(JsonOut *out, const char *name, json_t *value);
/* The members of an object, which is freed. */
void json_put_members(JsonOut *out, json_t *object);
/* Members that were written before, as json_out_end gave them: not empty. */
void json_put_written(JsonOut *out, const char *members, gsize len);

#define JSON_NAME(name) "\"" name "\":"
#define json_open_member(out, name, bracket) json_out_open(out, JSON_NAME(name), bracket)
#define json_put_name(out, name) g_string_append((out)->text, JSON_NAME(name)) /* the value follows */
/* NULL: null. Bytes that are not UTF-8 are replaced, as g_utf8_make_valid does. */
#define json_put_text(out, name, text) json_out_text(out, JSON_NAME(name), text)
#define json_put_item_text(out, text) json_out_text(out, "", text)
#define json_put_int(out, name, number) json_out_int(out, JSON_NAME(name), number)
#define json_put_bool(out, name, value) json_out_raw(out, JSON_NAME(name), (value) ? "true" : "false")
#define json_put_null(out, name) json_out_raw(out, JSON_NAME(name), NULL)
/* A time of clock_format; null for 0. */
#define json_put_time(out, name, ms) json_out_time(out, JSON_NAME(name), ms)
/* A tree, which is freed; NULL: {}. */
#define json_put_value(out, name, value) json_out_value(out, JSON_NAME(name), value)
#define json_put_item(out, value) json_out_value(out, "", value)

/* ---- trees, for people ---- */

/* A line for each item and member, indented by two blanks; the caller's. Characters that control a terminal or the direction of
 * writing are escaped. */
char *json_format_lines(const json_t *value);

/* Appends the shortest text that is read back as the same number; it has a dot or an exponent. */
void json_write_real(GString *out, double number);
