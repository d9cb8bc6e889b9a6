/* Where a request ends (see framing.h). */
#include "net/framing.h"

#include <string.h>

#include "base/err.h"

/* RFC 9110, 5.6.2 */
static bool is_token(const char *text, gsize len)
{
        for (gsize i = 0; i < len; i++)
                if (!g_ascii_isalnum(text[i]) && (text[i] == '\0' || !strchr("!#$%&'*+-.^_`|~", text[i])))
                        return false;
        return len > 0;
}

/* RFC 9110, 5.5: no NUL, CR or LF. */
static bool is_value(const char *text, gsize len)
{
        return !memchr(text, '\0', len) && !memchr(text, '\r', len) && !memchr(text, '\n', len);
}

static bool is(const char *text, gsize len, const char *word)
{
        return len == strlen(word) && g_ascii_strncasecmp(text, word, len) == 0;
}

void framing_add(Framing *framing, const char *name, gsize name_len, const char *value, gsize value_len)
{
        if (!is_token(name, name_len))
                framing->wrong = "a header's name is not one word";
        if (!is_value(value, value_len))
                framing->wrong = "a header's value has a control character";
        if (is(name, name_len, "Host"))
                framing->hosts++;
        if (is(name, name_len, "Content-Length"))
                framing->lengths++;
        if (is(name, name_len, "Transfer-Encoding")) {
                framing->codings++;
                framing->chunked = is(value, value_len, "chunked");
        }
}

static const char *doubt_of(const Framing *framing, bool http_1_1)
{
        if (framing->wrong)
                return framing->wrong;
        if (framing->lengths > 1)
                return "it has more than one Content-Length";
        if (framing->codings > 1)
                return "it has more than one Transfer-Encoding";
        if (framing->lengths && framing->codings)
                return "it has both Content-Length and Transfer-Encoding";
        if (framing->codings && (!http_1_1 || !framing->chunked))
                return "its Transfer-Encoding is not 'chunked' of HTTP/1.1";
        if (framing->hosts > 1 || (http_1_1 && framing->hosts == 0))
                return "it has to have one Host";
        return NULL;
}

bool framing_check(const Framing *framing, bool http_1_1, GError **error)
{
        const char *doubt = doubt_of(framing, http_1_1);

        return !doubt || err_set(error, ERR_INVALID, "the request is refused: %s (RFC 9112)", doubt);
}
