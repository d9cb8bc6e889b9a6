/* The table of codes, and errors that have one; see codes.h. */
#include "api/paddleflow/codes.h"

#include <string.h>

static const struct {
        const char *word;
        int status;
} codes[CODES_COUNT] = {
#define CODE_ROW(word, status) [CODE_##word] = { #word, status },
        CODES(CODE_ROW)
#undef CODE_ROW
};

/* The default codes of errors. */
static const CodeMap usual[] = {
        { ERR_INVALID, CODE_InvalidArguments },
        { ERR_UNAUTHENTICATED, CODE_AuthInvalidToken },
        { ERR_DENIED, CODE_AccessDenied },
        { ERR_NOT_FOUND, CODE_ResourceNotFound },
        { ERR_EXISTS, CODE_DuplicatedName },
        { ERR_CONFLICT, CODE_ActionNotAllowed },
        { ERR_GONE, CODE_ResourceNotFound },
        { ERR_TOO_LARGE, CODE_InvalidHTTPRequest },
        { ERR_QUOTA, CODE_ActionNotAllowed },
        { ERR_METHOD, CODE_MethodNotAllowed },
        CODE_MAP_END,
};

GQuark paddleflow_quark(void)
{
        return g_quark_from_static_string("paddleflow-code");
}

const char *code_word(Code code)
{
        return code == CODE_DecodeBase64 ? "Decode base64" : codes[code].word; /* the one with a blank */
}

int code_status(Code code)
{
        return codes[code].status;
}

bool(paddleflow_set)(GError **error, Code code, const char *format, ...)
{
        va_list args;

        if (!error)
                return false;
        va_start(args, format);
        *error = g_error_new_valist(PADDLEFLOW_DOMAIN, (gint)code, format, args);
        va_end(args);
        for (char *at = (*error)->message; *at; at++)
                if (g_ascii_iscntrl(*at) && *at != '\n')
                        *at = '?';
        return false;
}

static bool find_code(const CodeMap *map, const GError *error, Code *ret)
{
        for (; map && map->from != ERR_CODES; map++) {
                if (!err_is(error, map->from))
                        continue;
                *ret = map->to;
                return true;
        }
        return false;
}

Code code_of(const GError *error, const CodeMap *map)
{
        Code code = CODE_InternalError;

        if (error->domain == PADDLEFLOW_DOMAIN)
                return (Code)error->code;
        if (!find_code(map, error, &code))
                (void)find_code(usual, error, &code);
        return code;
}

GError *paddleflow_translate(GError *error, const CodeMap *map)
{
        g_autoptr(GError) from =
                error; /* errors of a domain are laid out as it says, so it cannot be changed */

        if (!from || from->domain == PADDLEFLOW_DOMAIN)
                return g_steal_pointer(&from);
        return g_error_new_literal(PADDLEFLOW_DOMAIN, (gint)code_of(from, map), from->message);
}

char *paddleflow_message(const GError *error)
{
        g_auto(GStrv) lines = g_strsplit(error->message, "\n", 2);

        return lines[0] && lines[1] ? g_strdup_printf("%s. %s", lines[0], lines[1])
                                    : g_strdup(error->message);
}
