/* Searches of conditions (see pattern.h).
 *
 * PCRE2's usual matcher goes back and tries again, so its time may be exponential; its limits do not count repeats of
 * single characters. Its second matcher (pcre2_dfa_match, through g_regex_match_all) follows all ways at once. The
 * search is one match from the begin of the text to its end: "anything, the expression, anything".
 *
 * That matcher counts how often "a+" has matched, so that each place in the text may add one to its set. "(?:a)+" has no
 * such number. So the expression is written again while it is scanned, with a group around what has a repeat. */
#include "pipeline/pattern.h"

#include <string.h>

#include "base/err.h"

enum {
        GROUPS_MAX = 100,       /* in one another */
        AROUND = 10,            /* places of what pattern_search puts around an expression */
        COMPILING = 500 * 1000, /* work of compiling an expression and beginning a search */
};

/* A group that is open: the places of its finished items, and of the last one, which a repeat multiplies. */
typedef struct {
        guint64 before, last;
        bool lines; /* "$" is the end of a line: (?m) */
} Group;

typedef struct {
        const char *at;
        Group groups[GROUPS_MAX + 1];
        int depth;
        bool repeated; /* the last item has a repeat already */
        GString *out;  /* the expression as it is searched */
        gsize item;    /* where its last item begins */
        bool simple;   /* that item is no group */
        GError **error;
} Scanner;

static bool refuse(Scanner *scanner, const char *fault)
{
        return err_set(scanner->error, ERR_INVALID, "%s", fault);
}

static void add_item(Scanner *scanner, guint64 places)
{
        Group *group = &scanner->groups[scanner->depth];

        group->before += group->last;
        group->last = places;
        scanner->repeated = false;
}

/* An item of one character or class, which is written as it stands in the expression from `from` on. */
static void add_simple(Scanner *scanner, const char *from, guint64 places)
{
        add_item(scanner, places);
        scanner->item = scanner->out->len;
        scanner->simple = true;
        g_string_append_len(scanner->out, from, scanner->at - from);
}

/* After \Q: text as it is, as far as \E. */
static void add_quoted(Scanner *scanner)
{
        const char *end = strstr(scanner->at, "\\E");

        end = end ? end : scanner->at + strlen(scanner->at);
        while (scanner->at < end) {
                gunichar c = g_utf8_get_char(scanner->at);

                add_item(scanner, 1);
                scanner->item = scanner->out->len;
                scanner->simple = true;
                if (c < 128 && g_ascii_ispunct((char)c))
                        g_string_append_c(scanner->out, '\\');
                g_string_append_unichar(scanner->out, c);
                scanner->at = g_utf8_next_char(scanner->at);
        }
        scanner->at += *end ? 2 : 0;
}

/* ---- items ---- */

/* After a backslash. */
static bool skip_escape(Scanner *scanner)
{
        const char *from = scanner->at - 1;
        char c = *scanner->at;

        if ((c >= '1' && c <= '9') || c == 'k' || c == 'g')
                return refuse(scanner, "has a reference to a group");
        if (c && strchr("CGKRX", c))
                return refuse(scanner, "has an escape that is not part of the language");
        if (c)
                scanner->at = g_utf8_next_char(scanner->at);
        if (c == 'Q') {
                add_quoted(scanner);
                return true;
        }
        if (c && strchr("pPxo", c) && *scanner->at == '{') /* the braces are part of the escape */
                scanner->at += strcspn(scanner->at, "}") + (strchr(scanner->at, '}') != NULL);
        else if (c && strchr("pPx", c))
                scanner->at += c == 'x' ? MIN(strspn(scanner->at, "0123456789abcdefABCDEF"), 2)
                                        : *scanner->at != '\0';
        add_simple(scanner, from, 1);
        return true;
}

/* After '['. A class counts more than a character, since each of its parts is compared. */
static bool skip_class(Scanner *scanner)
{
        const char *from = scanner->at - 1;

        scanner->at += *scanner->at == '^';
        scanner->at += *scanner->at == ']';
        while (*scanner->at && *scanner->at != ']') {
                const char *end =
                        scanner->at[0] == '[' && scanner->at[1] == ':' ? strstr(scanner->at, ":]") : NULL;

                if (end)
                        scanner->at = end + 2;
                else
                        scanner->at += scanner->at[0] == '\\' && scanner->at[1] ? 2 : 1;
        }
        scanner->at += *scanner->at == ']';
        add_simple(scanner, from, 1 + (guint64)(scanner->at - from) / 8);
        return true;
}

/* "m" or "-m" among flags sets whether "$" is the end of a line. */
static void read_flags(Group *group, const char *flags, gsize n)
{
        bool on = true;

        for (gsize i = 0; i < n; i++) {
                on = on && flags[i] != '-';
                if (flags[i] == 'm')
                        group->lines = on;
        }
}

/* Behind "(?": flags, a name, or neither. False for all other groups of PCRE2. `group` is the new one, `around` that
 * around it, for which flags alone hold. */
static bool skip_group_type(Scanner *scanner, Group *group, Group *around)
{
        const char *from = scanner->at, *at = from + strspn(from, "imsU-");
        bool name = g_str_has_prefix(at, "P<") || (at[0] == '<' && at[1] != '=' && at[1] != '!');

        if (*at == ':' || *at == ')') {
                read_flags(*at == ':' ? group : around, from, (gsize)(at - from));
                scanner->at = at + (*at == ':');
        } else if (name && at == from) {
                scanner->at = at + strcspn(at, ">");
        } else {
                return refuse(scanner, "looks ahead or back, or calls itself");
        }
        return true;
}

static bool open_group(Scanner *scanner)
{
        const char *from = scanner->at - 1;
        Group *around = &scanner->groups[scanner->depth], group = { .lines = around->lines };

        if (*scanner->at == '*')
                return refuse(scanner, "has '(*'");
        if (*scanner->at == '?') {
                scanner->at++;
                if (!skip_group_type(scanner, &group, around))
                        return false;
        }
        if (scanner->depth == GROUPS_MAX)
                return refuse(scanner, "has too many groups in one another");
        scanner->groups[++scanner->depth] = group;
        scanner->repeated = false;
        scanner->simple = false;
        g_string_append_len(scanner->out, from, scanner->at - from);
        return true;
}

static bool close_group(Scanner *scanner)
{
        Group group = scanner->groups[scanner->depth];

        if (scanner->depth == 0)
                return refuse(scanner, "has ')' without '('");
        scanner->depth--;
        add_item(scanner, group.before + group.last + 3);
        scanner->simple = false;
        g_string_append_c(scanner->out, ')');
        return true;
}

/* Only (?m) makes "$" the end of a line; otherwise it is the end of the text, also behind a last newline. */
static bool end_of_text(Scanner *scanner)
{
        add_item(scanner, 1);
        scanner->simple = false;
        g_string_append(scanner->out, scanner->groups[scanner->depth].lines ? "$" : "\\z");
        return true;
}

/* ---- repeats ---- */

enum { ENDLESS = 0 };

/* "{2}", "{2,}" or "{2,5}": the end and how often at most, ENDLESS for the second; NULL for other text. */
static const char *braces_end(const char *at, guint64 *ret_least, guint64 *ret)
{
        char *end = NULL;
        guint64 least = g_ascii_strtoull(at + 1, &end, 10), most = least;

        if (!g_ascii_isdigit(at[1]))
                return NULL;
        if (*end == ',') {
                const char *from = end + 1;

                most = g_ascii_isdigit(*from) ? MAX(g_ascii_strtoull(from, &end, 10), 1) : ENDLESS;
                end = g_ascii_isdigit(*from) ? end : (char *)from;
        }
        *ret_least = MAX(least, 1);
        *ret = most;
        return *end == '}' ? end + 1 : NULL;
}

/* PCRE2 counts how often a character has matched, and writes out how often a group does, each in the one before. */
static guint64 places_of(guint64 places, bool simple, guint64 times)
{
        return MIN((simple ? places : places + 4) * times + 4, (guint64)PATTERN_PLACES_MAX + 1);
}

static bool repeat(Scanner *scanner, const char *end, guint64 least, guint64 most)
{
        Group *group = &scanner->groups[scanner->depth];

        if (MAX(least, most) > PATTERN_REPEAT_MAX)
                return refuse(scanner, "repeats something more than 1000 times");
        if (scanner->repeated)
                return refuse(scanner, "has a repeat of a repeat");
        if (scanner->simple && most == ENDLESS && *scanner->at != '*') {
                g_string_insert(scanner->out, (gssize)scanner->item, "(?:");
                g_string_append_c(scanner->out, ')');
        }
        end += *end == '?'; /* lazy */
        g_string_append_len(scanner->out, scanner->at, end - scanner->at);
        scanner->at = end;
        group->last = places_of(group->last, scanner->simple, MAX(least, most));
        scanner->repeated = true;
        return true;
}

/* ---- the scan ---- */

static bool scan_item(Scanner *scanner)
{
        char c = *scanner->at;
        guint64 least = 1, most = c == '?' ? 1 : ENDLESS;
        const char *end = c == '{'           ? braces_end(scanner->at, &least, &most)
                          : strchr("*+?", c) ? scanner->at + 1
                                             : NULL;

        if (end)
                return repeat(scanner, end, least, most);
        scanner->at = g_utf8_next_char(scanner->at);
        switch (c) {
        case '\\': return skip_escape(scanner);
        case '[': return skip_class(scanner);
        case '(': return open_group(scanner);
        case ')': return close_group(scanner);
        case '$': return end_of_text(scanner);
        default: add_simple(scanner, g_utf8_prev_char(scanner->at), 1); return true;
        }
}

/* The number of places; 0 with an error. The expression is written again to `out`. */
static guint scan(const char *pattern, GString *out, GError **error)
{
        Scanner scanner = { .at = pattern, .out = out, .error = error };
        guint64 places;

        if (strlen(pattern) > PATTERN_MAX) {
                err_set(error, ERR_INVALID, "has more than %d bytes", PATTERN_MAX);
                return 0;
        }
        while (*scanner.at)
                if (!scan_item(&scanner))
                        return 0;
        places = scanner.groups[0].before + scanner.groups[0].last + AROUND;
        if (scanner.depth)
                refuse(&scanner, "has '(' without ')'");
        else if (places > PATTERN_PLACES_MAX)
                refuse(&scanner, "has too many repeats");
        return scanner.depth || places > PATTERN_PLACES_MAX ? 0 : (guint)places;
}

guint pattern_places(const char *pattern, GError **error)
{
        g_autoptr(GString) out = g_string_new(NULL);

        return scan(pattern, out, error);
}

guint64 pattern_work(guint places, gsize len)
{
        return COMPILING + (guint64)places * places * (len + 1);
}

/* First the expression alone, since what is valid only with something around it is none. */
static GRegex *compile(const char *pattern, GError **error)
{
        g_autoptr(GString) out = g_string_new(NULL);
        g_autoptr(GError) cause = NULL;
        g_autoptr(GRegex) alone = NULL;
        g_autofree char *whole = NULL;

        if (!scan(pattern, out, error))
                return NULL;
        alone = g_regex_new(pattern, 0, 0, &cause);
        if (!alone) {
                err_set(error, ERR_INVALID, "is not a regular expression");
                return NULL;
        }
        whole = g_strdup_printf("\\A(?s:.*?)(?:%s)(?s:.*)\\z", out->str);
        return g_regex_new(whole, 0, 0, error);
}

bool pattern_search(const char *pattern, const char *text, bool *ret, GError **error)
{
        g_autoptr(GRegex) regex = compile(pattern, error);
        g_autoptr(GError) cause = NULL;

        if (!regex)
                return false;
        *ret = g_regex_match_all_full(regex, text, -1, 0, 0, NULL, &cause);
        return !cause || err_set(error, ERR_INVALID, "cannot be searched");
}
