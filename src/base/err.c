/* Errors: one domain, one table of meanings (see err.h). */
#include "base/err.h"

#include <errno.h>
#include <string.h>

static const ErrRow err_rows[ERR_CODES] = {
        [ERR_FAILED] = { "failed", 500, 1, EIO, 13 },
        [ERR_INVALID] = { "invalid", 400, 2, EINVAL, 3 },
        [ERR_UNAUTHENTICATED] = { "unauthenticated", 401, 3, EACCES, 16 },
        [ERR_DENIED] = { "denied", 403, 3, EPERM, 7 },
        [ERR_NOT_FOUND] = { "not_found", 404, 1, ENOENT, 5 },
        [ERR_EXISTS] = { "exists", 409, 3, EEXIST, 6 },
        [ERR_CONFLICT] = { "conflict", 409, 1, EBUSY, 9 },
        [ERR_STALE] = { "stale", 412, 1, EBUSY, 9 },
        [ERR_GONE] = { "gone", 410, 1, ESTALE, 11 },
        [ERR_TOO_LARGE] = { "too_large", 413, 1, EFBIG, 8 },
        [ERR_QUOTA] = { "quota", 429, 3, EDQUOT, 8 },
        [ERR_UNAVAILABLE] = { "unavailable", 503, 1, EAGAIN, 14 },
        [ERR_UNREACHABLE] = { "unreachable", 502, 4, EHOSTUNREACH, 14 },
        [ERR_NO_SPACE] = { "no_space", 507, 1, ENOSPC, 8 },
        [ERR_TIMEOUT] = { "timeout", 504, 1, ETIMEDOUT, 4 },
        [ERR_USAGE] = { "usage", 400, 2, EINVAL, 3 },
        [ERR_METHOD] = { "method", 405, 2, ENOSYS, 12 },
        [ERR_SECOND_FACTOR] = { "second_factor", 401, 3, EACCES, 16 },
};

/* The parts of an error besides code and message. */
typedef struct {
        gint64 wait_s;
} ErrPrivate;

static void err_private_init(ErrPrivate *more)
{
        more->wait_s = 0;
}

static void err_private_copy(const ErrPrivate *from, ErrPrivate *to)
{
        *to = *from;
}

static void err_private_clear(ErrPrivate *more)
{
}

G_DEFINE_EXTENDED_ERROR(Err, err)

const ErrRow *err_row(const GError *error)
{
        if (!error || error->domain != ERR_DOMAIN || error->code < 0 || error->code >= ERR_CODES)
                return &err_rows[ERR_FAILED];
        return &err_rows[error->code];
}

ErrCode err_from_word(const char *word)
{
        for (int code = 0; word && code < ERR_CODES; code++)
                if (strcmp(err_rows[code].word, word) == 0)
                        return code;
        return ERR_FAILED;
}

ErrCode err_from_errno(int err)
{
        switch (err) {
        case ENOENT:
        case ENOTDIR: return ERR_NOT_FOUND;
        case EEXIST: return ERR_EXISTS;
        case EACCES:
        case EPERM:
        case EROFS: return ERR_DENIED;
        case ENOSPC:
        case EDQUOT: return ERR_NO_SPACE;
        case EINVAL:
        case ENAMETOOLONG:
        case ELOOP: return ERR_INVALID;
        case EFBIG: return ERR_TOO_LARGE;
        case EAGAIN:
        case EMFILE:
        case ENFILE:
        case ENOMEM: return ERR_UNAVAILABLE;
        case ECONNREFUSED:
        case EHOSTUNREACH:
        case ENETUNREACH: return ERR_UNREACHABLE;
        case ETIMEDOUT: return ERR_TIMEOUT;
        case ECANCELED: return ERR_UNAVAILABLE; /* base/cancel.h */
        default: return ERR_FAILED;
        }
}

bool unichar_is_control(gunichar c)
{
        static const struct {
                gunichar first, last;
        } ranges[] = {
                { 0x061c, 0x061c },
                { 0x200e, 0x200f }, /* direction marks */
                { 0x2028, 0x202e }, /* separators; embeddings and overrides */
                { 0x2066, 0x2069 }, /* isolates */
        };

        for (gsize i = 0; i < G_N_ELEMENTS(ranges); i++)
                if (c >= ranges[i].first && c <= ranges[i].last)
                        return true;
        return g_unichar_iscntrl(c);
}

/* Text from outside is shown on terminals and in logs: replaces each byte of its control characters by '?',
 * but keeps the newline before the hint. */
static void clean(char *text)
{
        for (char *at = text; *at;) {
                gunichar c = g_utf8_get_char_validated(at, -1);
                bool valid = c != (gunichar)-1 && c != (gunichar)-2;
                gsize len = valid ? (gsize)(g_utf8_next_char(at) - at) : 1;

                if (valid && c != '\n' && unichar_is_control(c))
                        memset(at, '?', len);
                at += len;
        }
}

/* Repairs text that was cut within a character, or was not UTF-8. */
static void make_valid(GError *error)
{
        g_autofree char *message = error->message;

        error->message = g_utf8_make_valid(message, -1);
}

bool(err_set)(GError **error, ErrCode code, const char *format, ...)
{
        va_list args;

        if (!error)
                return false;
        va_start(args, format);
        *error = g_error_new_valist(ERR_DOMAIN, code, format, args);
        va_end(args);
        clean((*error)->message);
        make_valid(*error);
        return false;
}

bool(err_set_errno)(GError **error, int err, const char *format, ...)
{
        g_autofree char *text = NULL;
        va_list args;

        if (!error)
                return false;
        va_start(args, format);
        text = g_strdup_vprintf(format, args);
        va_end(args);
        return err_set(error, err_from_errno(err), "%s: %s%s", text, g_strerror(err),
                       err_from_errno(err) == ERR_NO_SPACE ? "\nFree some space on that disk." : "");
}

bool(err_add_wait)(GError **error, gint64 wait_s)
{
        if (error && *error && (*error)->domain == ERR_DOMAIN)
                err_get_private(*error)->wait_s = wait_s;
        return false;
}

gint64 err_wait_s(const GError *error)
{
        return error && error->domain == ERR_DOMAIN ? err_get_private(error)->wait_s : 0;
}

bool(err_prefix)(GError **error, const char *format, ...)
{
        va_list args;

        if (!error || !*error)
                return false;
        va_start(args, format);
        g_autofree char *prefix = g_strdup_vprintf(format, args);
        va_end(args);
        g_prefix_error(error, "%s", prefix);
        return false;
}

char *err_shown(const char *text)
{
        char letters[0x81] = "";

        for (int i = 0; i < 0x80; i++)
                letters[i] = (char)(0x80 + i);
        return g_strescape(text, g_utf8_validate(text, -1, NULL) ? letters : NULL);
}

bool err_is(const GError *error, ErrCode code)
{
        return error && error->domain == ERR_DOMAIN && error->code == (int)code;
}

const char *err_hint(const GError *error)
{
        const char *newline = error ? strchr(error->message, '\n') : NULL;

        return newline && newline[1] ? newline + 1 : NULL;
}

char *err_text(const GError *error)
{
        return error ? g_strndup(error->message, strcspn(error->message, "\n")) : NULL;
}

static bool ends_sentence(const GString *line)
{
        return !line->len || strchr(".:;,!?", line->str[line->len - 1]);
}

char *err_line(const char *message)
{
        g_auto(GStrv) lines = message ? g_strsplit(message, "\n", -1) : NULL;
        g_autoptr(GString) line = g_string_new(NULL);

        for (char **at = lines; at && *at; at++) {
                const char *text = g_strstrip(*at);

                if (*text && line->len)
                        g_string_append(line, ends_sentence(line) ? " " : ". ");
                g_string_append(line, text);
        }
        return message ? g_string_free(g_steal_pointer(&line), FALSE) : NULL;
}
