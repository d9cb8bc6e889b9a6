/* ADDRESS[/BITS][:PORT] (see egress.h). */
#include "runtime/local/egress.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/number.h"

enum { RULES_MAX = 256, PORT_MAX = 65535 };

/* Splits at the last `mark`, if there is one; a number of at most `max` must follow. */
static bool cut_number(char *text, char mark, gint64 max, gint64 *ret, GError **error)
{
        char *at = strrchr(text, mark);

        if (!at)
                return true;
        *at = '\0';
        return number_parse(mark == '/' ? "bits" : "port", at + 1, mark == '/' ? 0 : 1, max, ret, error);
}

static bool parse_item(const char *item, json_t *list, GError **error)
{
        bool is_6 = *item == '[' || strchr(item, ':') != strrchr(item, ':');
        g_autofree char *text = g_strdup(item);
        char *bracket = *text == '[' ? strchr(text, ']') : NULL, *rest = bracket ? bracket + 1 : text;
        char *address = bracket ? text + 1 : text;
        gint64 bits = is_6 ? 128 : 32, port = 0;
        struct in6_addr binary;

        if ((!is_6 || bracket) && !cut_number(rest, ':', PORT_MAX, &port, error))
                return false;
        if (!cut_number(rest, '/', bits, &bits, error))
                return false;
        if (bracket && *rest)
                return err_set(error, ERR_USAGE, "'%s' follows the address", rest);
        if (bracket)
                *bracket = '\0';
        if (inet_pton(is_6 ? AF_INET6 : AF_INET, address, &binary) != 1)
                return err_set(error, ERR_USAGE, "'%s' is no address; names are not looked up", address);
        json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "address", address, "bits", (json_int_t)bits,
                                              "port", (json_int_t)port));
        return true;
}

bool egress_parse(const char *text, char **ret, GError **error)
{
        g_auto(GStrv) items = g_strsplit(text, ",", -1);
        g_autoptr(json_t) list = json_array();

        if (!*text)
                return err_set(error, ERR_USAGE, "'' names no address; 'none' is for no connections at all");
        if (g_strv_length(items) > RULES_MAX)
                return err_set(error, ERR_USAGE, "more than %d items", RULES_MAX);
        for (char **item = items; *item; item++)
                if (strcmp(text, "none") != 0 && !parse_item(*item, list, error))
                        return err_prefix(error, "'%s': ", *item);
        *ret = json_format(list);
        return true;
}
