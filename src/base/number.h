/* Numbers from outside: the one parser. It takes decimal digits only: no sign, no blank, no trailing byte, no
 * overflow. */
#pragma once

#include <glib.h>
#include <stdbool.h>

/* Parse `text` as an integer of min..max (inclusive, 0 <= min). False with ERR_INVALID, which names `what`,
 * the text and the range: "--trainers: '-1' is not a whole number from 0 to 10000". *ret is set only on
 * success. */
bool number_parse(const char *what, const char *text, gint64 min, gint64 max, gint64 *ret, GError **error);

/* Parse a duration: "90", "90s", "15m", "2h", "1d", "250ms"; a bare number counts seconds. Result in
 * milliseconds. */
bool duration_parse(const char *what, const char *text, gint64 *ret_ms, GError **error);

/* The same from a person, who has to name the unit: other systems take a bare number for minutes or days. "0"
 * needs none. */
bool duration_parse_unit(const char *what, const char *text, gint64 *ret_ms, GError **error);

/* Parse a yes or no: true/false, yes/no, on/off, 1/0, any case. */
bool boolean_parse(const char *what, const char *text, bool *ret, GError **error);

/* The shortest text that is read back as the same number: "0.1", "1e-05", "nan". The caller's. */
char *double_format(double number);

/* "1.4 MiB", "12 B"; the caller's. */
char *bytes_format(guint64 bytes);

/* "1h 02m", "3m 12s", "4.2 s", "85 ms"; the caller's. */
char *duration_format(gint64 ms);
