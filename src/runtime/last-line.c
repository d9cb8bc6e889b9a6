/* The end of a member's log as one line (see last-line.h). Only the last TAIL bytes are read. */
#include "runtime/last-line.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/file.h"
#include "runtime/advice.h"
#include "runtime/job-dir.h"

enum { TAIL = 16 * 1024, ESCAPE = 0x1b, BELL = 7 };

/* ---- one line ---- */

/* Behind an escape sequence (ECMA-48): ESC [ ... final byte, ESC ] ... BEL or ESC \, else ESC and one byte.
 */
static const char *skip_escape(const char *at, const char *end)
{
        bool csi = at + 1 < end && at[1] == '[', osc = at + 1 < end && at[1] == ']';

        at += MIN(2, end - at);
        if (csi) {
                while (at < end && (*at < 0x40 || *at > 0x7e))
                        at++;
                return at < end ? at + 1 : end;
        }
        while (osc && at < end && *at != BELL && *at != ESCAPE)
                at++;
        if (osc && at < end)
                at += *at == ESCAPE && at + 1 < end ? 2 : 1;
        return at;
}

static GString *without_escapes(const char *text, gsize len)
{
        GString *out = g_string_sized_new(len);
        const char *end = text + len;

        while (text < end) {
                if (*text == ESCAPE)
                        text = skip_escape(text, end);
                else
                        g_string_append_c(out, *text++);
        }
        return out;
}

/* Control characters and runs of blanks become one blank. */
static char *plain(const char *text, gsize len)
{
        g_autofree char *valid = g_utf8_make_valid(text, (gssize)len);
        GString *out = g_string_new(NULL);
        int n = 0;

        for (const char *at = valid; *at && n < LAST_LINE_MAX; at = g_utf8_next_char(at)) {
                gunichar c = g_utf8_get_char(at);
                bool blank = g_unichar_isspace(c) || g_unichar_iscntrl(c);

                if (blank && (n == 0 || out->str[out->len - 1] == ' '))
                        continue;
                if (++n == LAST_LINE_MAX)
                        c = 0x2026; /* an ellipsis */
                g_string_append_unichar(out, blank && n < LAST_LINE_MAX ? ' ' : c);
        }
        return g_strchomp(g_string_free(out, FALSE));
}

static bool says_something(const char *text)
{
        for (; *text; text = g_utf8_next_char(text))
                if (g_unichar_isalnum(g_utf8_get_char(text)))
                        return true;
        return false;
}

/* The last line that says something in text[0..*end), and its beginning as the next *end. NULL: there is none. */
static char *line_before(const char *text, gsize *end)
{
        while (*end > 0) {
                gsize start = *end;
                g_autofree char *line = NULL;

                while (start > 0 && text[start - 1] != '\n' && text[start - 1] != '\r')
                        start--;
                line = plain(text + start, *end - start);
                *end = start > 0 ? start - 1 : 0;
                if (says_something(line))
                        return g_steal_pointer(&line);
        }
        return NULL;
}

char *last_line_of(const char *text, gsize len)
{
        g_autoptr(GString) clean = without_escapes(text, len);
        gsize end = clean->len;
        g_autofree char *last = line_before(clean->str, &end), *line = g_strdup(last);

        for (int i = 0; line && !advice_is_error(line) && i < LAST_LINE_BEHIND; i++) {
                g_free(line);
                line = line_before(clean->str, &end);
        }
        if (line) {
                g_autofree char *advice = advice_of(line);

                if (advice)
                        return g_steal_pointer(&line);
        }
        return g_steal_pointer(&last);
}

/* ---- of a task ---- */

/* "logs" of ID.ATTEMPT.ROLE.INDEX, below the state directory; NULL: it is no such name. */
static char *log_path(const char *state_dir, const char *task)
{
        g_auto(GStrv) parts = g_strsplit(task, ".", 4);
        g_autofree char *dir = NULL;
        guint64 attempt;

        if (g_strv_length(parts) != 4 ||
            !g_ascii_string_to_unsigned(parts[1], 10, 1, G_MAXINT, &attempt, NULL))
                return NULL;
        dir = workdir_attempt(state_dir, parts[0], (int)attempt);
        return g_strdup_printf("%s/log/%s-%s", dir, parts[2], parts[3]);
}

char *last_line_of_task(const char *state_dir, const char *task)
{
        g_autofree char *path = log_path(state_dir, task), *text = g_malloc(TAIL);
        fd_auto int fd = path ? file_open_below(state_dir, path) : -1;
        struct stat st;
        ssize_t got;

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return NULL;
        got = pread(fd, text, TAIL, MAX(0, st.st_size - TAIL));
        return got > 0 ? last_line_of(text, (gsize)got) : NULL;
}
