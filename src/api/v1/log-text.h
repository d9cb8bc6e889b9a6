/* What a member wrote, as lines to show. A carriage return begins a line anew, as progress bars do: of such a
 * line its last state is shown, with one CR in front, which marks it as redrawn ("\r100%\n"). A line that is
 * marked stays as it is when it is settled once more. CRs at the end of a line belong to its end (CR LF).
 *
 * Pure. Bytes in, bytes out: nothing here needs UTF-8 to be valid. */
#pragma once

#include <glib.h>

enum { LOG_PARTIAL_MAX = 1024 }; /* bytes of an unended line that are shown */

/* Appends `text`, line by line, each redrawn line as its last state. A last line may have no end. */
void log_text_settle(const char *text, gsize len, GString *out);

/* For the beginning of an unfinished line: the number of bytes that are only earlier states. The rest begins
 * with the CR that marks a redrawn line. */
gsize log_text_stale(const char *text, gsize len);

/* Appends what an unended line shows by now, whole characters of it: of a redrawn one its state from the
 * start, of another one its end, at most LOG_PARTIAL_MAX bytes and the mark. */
void log_text_partial(const char *text, gsize len, GString *out);
