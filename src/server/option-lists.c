/* Checks of options that are lists (see option-lists.h), and of programs. Each option is a row of the table,
 * each kind of item has a check. */
#include "server/option-lists.h"

#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "model/object-row.h"
#include "model/user.h"

enum { PORT_MAX = 65535, HOST_MAX = 253 };

/* ---- kinds of items ---- */

static bool is_host(const char *text, gsize len)
{
        if (len == 0 || len > HOST_MAX)
                return false;
        for (gsize i = 0; i < len; i++)
                if (!g_ascii_isalnum(text[i]) && !strchr(".-_", text[i]))
                        return false;
        return true;
}

/* The length of an IPv6 address inside brackets. */
static bool is_bracketed(const char *item, gsize *ret_len)
{
        const char *end = *item == '[' ? strchr(item, ']') : NULL;

        if (!end || end == item + 1)
                return false;
        for (const char *at = item + 1; at < end; at++)
                if (!g_ascii_isxdigit(*at) && *at != ':' && *at != '.')
                        return false;
        *ret_len = (gsize)(end + 1 - item);
        return true;
}

/* HOST[:PORT], as builds send it to their proxy, which sees no scheme and no path. */
static bool check_host(const char *option, const char *item, GError **error)
{
        const char *name = g_str_has_prefix(item, "*.") ? item + 2 : item;
        gsize len = strcspn(name, ":");
        gint64 port;

        if (strstr(item, "://"))
                return err_set(
                        error, ERR_USAGE,
                        "%s: '%s' is a URL; a host is needed\nWrite it without '%.*s' and path, such as "
                        "files.example.com, files.example.com:8080 or *.example.com.",
                        option, item, (int)(strstr(item, "://") + 3 - item), item);
        if (strcmp(item, "*") == 0)
                return err_set(error, ERR_USAGE,
                               "%s: '*' is not a host\n`--build-network host` lets builds reach everything.",
                               option);
        if (strchr(item, '/'))
                return err_set(
                        error, ERR_USAGE,
                        "%s: '%s' has a '/'; a host is needed, or its address\nOnly whole hosts can be "
                        "allowed: files.example.com, or *.example.com for all below it.",
                        option, item);
        if (!is_bracketed(name, &len) && !is_host(name, len))
                return err_set(error, ERR_USAGE,
                               "%s: '%s' is not HOST, HOST:PORT or *.DOMAIN, such as files.example.com:8080",
                               option, item);
        return !name[len] ||
               (name[len] == ':' && number_parse("port", name + len + 1, 1, PORT_MAX, &port, error)) ||
               (!*error &&
                err_set(error, ERR_USAGE, "%s: '%s' is not HOST, HOST:PORT or *.DOMAIN", option, item)) ||
               err_prefix(error, "%s: '%s': ", option, item);
}

/* A directory can only be kept below one that the sandbox replaces. */
static bool check_kept(const char *option, const char *item, GError **error)
{
        static const char *const points[] = { "/tmp", "/var/tmp", "/dev/shm" };
        g_autofree char *path = *item == '/' ? g_canonicalize_filename(item, "/") : NULL;

        if (!path)
                return err_set(error, ERR_USAGE, "%s: '%s' is not an absolute path", option, item);
        for (gsize i = 0; i < G_N_ELEMENTS(points); i++) {
                gsize len = strlen(points[i]);

                if (strncmp(path, points[i], len) == 0 && (path[len] == '/' || !path[len]))
                        return strstr(item, "/..") == NULL ||
                               err_set(error, ERR_USAGE, "%s: '%s' has '..' in it\nWrite '%s'.", option, item,
                                       path);
        }
        return err_set(error, ERR_USAGE,
                       "%s: '%s' is not below /tmp, /var/tmp or /dev/shm\nThe sandbox hides only these from "
                       "members; "
                       "they see all other directories as the machine has them.",
                       option, item);
}

static bool check_user(const char *option, const char *item, GError **error)
{
        return user_name_check(option, item, error);
}

static bool check_key(const char *option, const char *item, GError **error)
{
        return label_key_check(option, item, error);
}

/* ---- the table ---- */

static const struct {
        const char *option, *items; /* the kind of items, for the message */
        gsize offset;               /* of the text in ServerOptions */
        bool (*check)(const char *option, const char *item, GError **error);
        guint max; /* 0: unlimited */
} rows[] = {
        { "--build-allow", "HOST[:PORT]", offsetof(ServerOptions, build_allow), check_host, 0 },
        { "--sandbox-keep", "a directory", offsetof(ServerOptions, sandbox_keep), check_kept, KEEP_DIRS_MAX },
        { "--no-sandbox", "a user", offsetof(ServerOptions, no_sandbox), check_user, 0 },
        { "--topology", "the key of a label", offsetof(ServerOptions, topology), check_key, 0 },
        { "--allow-new-privileges", "a user", offsetof(ServerOptions, new_privileges), check_user, 0 },
};

static bool check_program(const char *option, const char *name, GError **error)
{
        g_autofree char *found = name && *name ? g_find_program_in_path(name) : NULL;

        return !name || !*name || found ||
               err_set(error, ERR_USAGE,
                       "%s: there is no program '%s'\nGive the path of one that can be run.", option, name);
}

bool option_lists_check(const ServerOptions *options, GError **error)
{
        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                const char *text = *(char *const *)(gconstpointer)((const char *)options + rows[i].offset);
                g_auto(GStrv) items = text ? g_strsplit(text, ",", -1) : NULL;

                if (rows[i].max && items && g_strv_length(items) > rows[i].max)
                        return err_set(error, ERR_USAGE, "%s: %u directories; at most %u are allowed",
                                       rows[i].option, g_strv_length(items), rows[i].max);
                for (char **item = items; item && *item; item++) {
                        if (!**item)
                                return err_set(
                                        error, ERR_USAGE,
                                        "%s: '%s' has an empty item; each is %s, with commas between and no "
                                        "blanks",
                                        rows[i].option, text, rows[i].items);
                        if (!rows[i].check(rows[i].option, *item, error))
                                return false;
                }
        }
        return check_program("--python", options->python, error) && check_program("--uv", options->uv, error);
}
