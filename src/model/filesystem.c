/* File systems by name (see filesystem.h): names, URLs and properties of each kind. One table has the kinds. */
#include "model/filesystem.h"

#include <string.h>

#include "base/err.h"
#include "base/number.h"
#include "model/object-row.h"

enum {
        USER_MAX = 60,
        PROPERTY_MAX = 8 * 1024, /* bytes of a value: a Kerberos keytab in base 64 fits */
        STS_SECONDS_MIN = 60,
        STS_SECONDS_MAX = 129600,
        PORT_MAX = 65535,
        MODE_MAX = 0777777,
};

/* ---- names ---- */

char *filesystem_key(const char *user, const char *name)
{
        return g_strdup_printf("%s/%s", user, name);
}

char *filesystem_id(const char *user, const char *name)
{
        return g_strdup_printf("fs-%s-%s", user, name);
}

const char *filesystem_name(const Filesystem *filesystem)
{
        const char *slash = strchr(filesystem->object.name, '/');

        return slash ? slash + 1 : filesystem->object.name;
}

Filesystem *filesystem_new(const char *user, const char *name)
{
        g_autofree char *key = filesystem_key(user, name);
        Filesystem *filesystem = (Filesystem *)object_new(KIND_FILESYSTEM, key);

        g_free(filesystem->object.id);
        filesystem->object.id = filesystem_id(user, name);
        filesystem->user = g_strdup(user);
        return filesystem;
}

const char *filesystem_property(char *const *properties, const char *key)
{
        gsize len = strlen(key);

        for (; properties && *properties; properties++)
                if (strncmp(*properties, key, len) == 0 && (*properties)[len] == '=')
                        return *properties + len + 1;
        return NULL;
}

bool filesystem_name_check(const char *user, const char *name, GError **error)
{
        gsize len = strlen(name);
        bool good = len >= 1 && len <= FILESYSTEM_NAME_MAX;
        g_autofree char *shown = NULL;

        for (const char *at = name; good && *at; at++)
                good = g_ascii_isalnum(*at) || *at == '-' || *at == '_';
        if (!good) {
                shown = err_shown(name);
                return err_set(error, ERR_INVALID,
                               "name: '%.80s' is not a name of a file system\n"
                               "Use 1 to %d letters, digits, '-' and '_'.",
                               shown, FILESYSTEM_NAME_MAX);
        }
        if (strlen(user) + len > FILESYSTEM_NAMES_MAX)
                return err_set(error, ERR_INVALID,
                               "name: '%s' is too long: with the user's name '%s' it has %" G_GSIZE_FORMAT
                               " bytes, and the limit is %d",
                               name, user, strlen(user) + len, FILESYSTEM_NAMES_MAX);
        return strcmp(name, FILESYSTEM_HOME) != 0 ||
               err_set(error, ERR_EXISTS,
                       "name: '" FILESYSTEM_HOME "' is built in: it is the user's home in the storage\n"
                       "Choose another name.");
}

/* ---- URLs: their parts ---- */

/* The path with one slash between its parts and none at its end; NULL: it has a part "." or "..". */
static char *normal_path(const char *path)
{
        g_auto(GStrv) parts = g_strsplit(path, "/", -1);
        g_autoptr(GString) normal = g_string_new(NULL);

        for (char **part = parts; *part; part++) {
                if (strcmp(*part, ".") == 0 || strcmp(*part, "..") == 0)
                        return NULL;
                if (**part)
                        g_string_append_printf(normal, "/%s", *part);
        }
        return g_string_free(g_steal_pointer(&normal), FALSE);
}

static bool is_host(const char *text, gsize len)
{
        for (gsize i = 0; i < len; i++)
                if (!g_ascii_isalnum(text[i]) && !strchr("-._", text[i]))
                        return false;
        return len > 0;
}

static bool is_host_and_port(const char *text)
{
        const char *colon = strchr(text, ':');
        gint64 port;

        return colon && is_host(text, (gsize)(colon - text)) &&
               number_parse("port", colon + 1, 1, PORT_MAX, &port, NULL);
}

/* "host:9000,other:9000" */
static bool is_hosts_and_ports(const char *text)
{
        g_auto(GStrv) each = g_strsplit(text, ",", -1);

        for (char **one = each; *one; one++)
                if (!is_host_and_port(*one))
                        return false;
        return *each != NULL;
}

static bool is_one_host(const char *text)
{
        return is_host_and_port(text) || is_host(text, strlen(text));
}

/* Splits "SERVER/path" by the rule for the server. */
static bool split(const char *rest, bool (*is_server)(const char *text), FilesystemAddress *ret)
{
        const char *slash = strchr(rest, '/');

        if (!slash)
                return false;
        ret->server = g_strndup(rest, (gsize)(slash - rest));
        ret->path = normal_path(slash);
        if (ret->path && !*ret->path) {
                g_free(ret->path);
                ret->path = g_strdup("/");
        }
        return ret->path && is_server(ret->server);
}

/* ---- URLs: one function per shape ----
 * `rest` follows "://". False: it has not the shape. */

static bool parse_directory(const char *rest, char *const *properties, FilesystemAddress *ret)
{
        gsize first = strcspn(rest, "/");

        ret->server = g_strdup("");
        ret->path = normal_path(rest);
        return first > 0 && strncmp(rest, "root", MAX(first, strlen("root"))) != 0 && ret->path;
}

static bool parse_hdfs(const char *rest, char *const *properties, FilesystemAddress *ret)
{
        return split(rest, is_hosts_and_ports, ret);
}

static bool parse_sftp(const char *rest, char *const *properties, FilesystemAddress *ret)
{
        return split(rest, is_host_and_port, ret);
}

static bool parse_cfs(const char *rest, char *const *properties, FilesystemAddress *ret)
{
        return split(rest, is_one_host, ret);
}

static bool parse_afs(const char *rest, char *const *properties, FilesystemAddress *ret)
{
        g_autofree char *host = NULL;

        if (!split(rest, is_one_host, ret))
                return false;
        host = ret->server;
        ret->server = g_strconcat("afs://", host, NULL);
        return true;
}

/* "bucket" or "bucket/path". Where the bucket is, its properties tell. */
static bool parse_bucket(const char *rest, char *const *properties, FilesystemAddress *ret)
{
        g_autofree char *whole = strchr(rest, '/') ? g_strdup(rest) : g_strconcat(rest, "/", NULL);
        const char *endpoint = filesystem_property(properties, "endpoint");

        if (!properties || !*properties || !split(whole, is_one_host, ret))
                return false;
        g_free(ret->server);
        ret->server = g_strdup(endpoint ? endpoint : "");
        return true;
}

static bool parse_volume(const char *rest, char *const *properties, FilesystemAddress *ret)
{
        const char *colon = strchr(rest, ':');

        if (!colon || !is_host(rest, (gsize)(colon - rest)))
                return false;
        ret->server = g_strndup(rest, (gsize)(colon - rest));
        ret->path = g_strdup(colon + 1);
        return is_host(ret->path, strlen(ret->path));
}

/* ---- properties ---- */

static const char *const mock_needs[] = { "pvc", "namespace", NULL };
static const char *const hdfs_needs[] = { "user", "group", NULL };
static const char *const kerberos_needs[] = {
        "kerberos.keytab.data", "kerberos.principal",          "kerberos.realm",
        "kerberos.kdc",         "kerberos.namenode.principal", NULL
};
static const char *const sftp_needs[] = { "user", "password", NULL };
static const char *const bucket_needs[] = { "accessKey", "secretKey", "endpoint", NULL };
static const char *const afs_needs[] = { "username", "password", NULL };

static bool check_number(char *const *properties, const char *key, gint64 min, gint64 max, GError **error)
{
        const char *value = filesystem_property(properties, key);
        gint64 number;
        g_autofree char *shown = NULL;

        if (!value || number_parse(key, value, min, max, &number, NULL))
                return true;
        shown = err_shown(value);
        return err_set(error, ERR_INVALID,
                       "properties: %s: '%.40s' is not a whole number from %" G_GINT64_FORMAT
                       " to %" G_GINT64_FORMAT,
                       key, shown, min, max);
}

/* Temporary keys (`sts`) have a duration. */
static bool check_bos(char *const *properties, GError **error)
{
        const char *sts = filesystem_property(properties, "sts");

        if (sts && strcmp(sts, "true") != 0 && strcmp(sts, "false") != 0)
                return err_set(error, ERR_INVALID, "properties: sts must be true or false");
        return check_number(properties, "duration", STS_SECONDS_MIN, STS_SECONDS_MAX, error);
}

static bool check_keytab(char *const *properties, GError **error)
{
        const char *value = filesystem_property(properties, "kerberos.keytab.data");
        gsize letters = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
        gsize padding = strspn(value + letters, "=");

        return (letters > 0 && value[letters + padding] == '\0' && padding <= 2 &&
                (letters + padding) % 4 == 0) ||
               err_set(error, ERR_INVALID, "properties: kerberos.keytab.data is not in base 64");
}

/* ---- the table of kinds ---- */

static const struct {
        const char *name, *scheme, *shape; /* scheme NULL: no URL has it */
        bool (*parse)(const char *rest, char *const *properties, FilesystemAddress *ret);
        const char *const *needs; /* properties; NULL: none */
        bool (*check)(char *const *properties, GError **error);
        bool usable; /* there is a driver */
} kinds[FILESYSTEM_TYPES] = {
        [FILESYSTEM_LOCAL] = { "local", "local",
                               "local://DIR/..., for the directory /DIR/..., not below /root",
                               parse_directory, .usable = true },
        [FILESYSTEM_MOCK] = { "mock", "mock", "mock://DIR/..., for the directory /DIR/..., not below /root",
                              parse_directory, mock_needs, .usable = true },
        [FILESYSTEM_HDFS] = { "hdfs", "hdfs", "hdfs://HOST:PORT[,HOST:PORT]/PATH", parse_hdfs, hdfs_needs },
        [FILESYSTEM_HDFS_KERBEROS] = { "hdfsWithKerberos", .needs = kerberos_needs, .check = check_keytab },
        [FILESYSTEM_SFTP] = { "sftp", "sftp", "sftp://HOST:PORT/PATH", parse_sftp, sftp_needs },
        [FILESYSTEM_S3] = { "s3", "s3",
                            "s3://BUCKET[/PATH], with the properties accessKey, secretKey and endpoint",
                            parse_bucket, bucket_needs },
        [FILESYSTEM_BOS] = { "bos", "bos",
                             "bos://BUCKET[/PATH], with the properties accessKey, secretKey and endpoint",
                             parse_bucket, bucket_needs, check_bos },
        [FILESYSTEM_CFS] = { "cfs", "cfs", "cfs://HOST/PATH", parse_cfs },
        [FILESYSTEM_GLUSTERFS] = { "glusterfs", "glusterfs", "glusterfs://HOST:VOLUME", parse_volume },
        [FILESYSTEM_AFS] = { "afs", "afs", "afs://HOST/PATH", parse_afs, afs_needs },
        [FILESYSTEM_HOMES] = { FILESYSTEM_HOME, .usable = true },
};

const char *filesystem_type_name(FilesystemType type)
{
        return kinds[type].name;
}

/* The kind of the scheme; FILESYSTEM_TYPES: there is none. */
static FilesystemType find_scheme(const char *url, gsize len)
{
        for (FilesystemType type = 0; type < FILESYSTEM_TYPES; type++)
                if (kinds[type].scheme && strlen(kinds[type].scheme) == len &&
                    strncmp(url, kinds[type].scheme, len) == 0)
                        return type;
        return FILESYSTEM_TYPES;
}

static bool refuse_scheme(const char *url, GError **error)
{
        g_autoptr(GString) known = g_string_new(NULL);
        g_autofree char *shown = err_shown(url);

        if (!strstr(url, "://"))
                return err_set(error, ERR_INVALID,
                               "url: '%.200s' is not an absolute path\n"
                               "Give a directory of the server's machine, such as /data/sets.",
                               shown);
        for (FilesystemType type = 0; type < FILESYSTEM_TYPES; type++)
                if (kinds[type].scheme)
                        g_string_append_printf(known, "%s%s://", known->len ? ", " : "", kinds[type].scheme);
        return err_set(error, ERR_INVALID,
                       "url: '%.200s' does not begin with one of %s\n"
                       "The directory /data/sets of the server's machine is local://data/sets.",
                       shown, known->str);
}

/* What to write in place of a URL of this kind that has not its shape; "": the shape tells. */
static char *shape_advice(FilesystemType type, const char *rest)
{
        g_autofree char *shown = err_shown(rest + strspn(rest, "/"));

        if (!kinds[type].usable)
                return g_strdup_printf("\nThis server cannot connect to file systems of kind %s yet.",
                                       kinds[type].name);
        if (kinds[type].parse == parse_directory && *rest == '/' && *shown)
                return g_strdup_printf("\nThe directory /%.100s is %s://%.100s.", shown, kinds[type].scheme,
                                       shown);
        if (kinds[type].parse == parse_directory && g_str_has_prefix(rest, "root"))
                return g_strdup(
                        "\n/root is the administrator's home. Use a directory elsewhere, such as /srv/data.");
        return g_strdup("");
}

void filesystem_address_clear(FilesystemAddress *address)
{
        g_clear_pointer(&address->server, g_free);
        g_clear_pointer(&address->path, g_free);
}

static bool is_plain(const char *url)
{
        for (const char *at = url; *at; at = g_utf8_next_char(at))
                if (unichar_is_control(g_utf8_get_char(at)))
                        return false;
        return strlen(url) <= FILESYSTEM_URL_MAX;
}

bool filesystem_address_parse(const char *url, char *const *properties, FilesystemAddress *ret,
                              GError **error)
{
        g_auto(FilesystemAddress) address = { 0 };
        const char *mark = strstr(url, "://");
        FilesystemType type = mark ? find_scheme(url, (gsize)(mark - url)) : FILESYSTEM_TYPES;
        g_autofree char *shown = NULL, *advice = NULL;

        if (type == FILESYSTEM_TYPES)
                return refuse_scheme(url, error);
        if (!is_plain(url) || !kinds[type].parse(mark + strlen("://"), properties, &address)) {
                advice = shape_advice(type, mark + strlen("://"));
                shown = err_shown(url);
                return err_set(error, ERR_INVALID, "url: '%.200s' is not of the form %s%s", shown,
                               kinds[type].shape, advice);
        }
        address.type = type;
        for (char *const *at = properties; type == FILESYSTEM_HDFS && at && *at; at++)
                if (g_str_has_prefix(*at, "kerberos."))
                        address.type = FILESYSTEM_HDFS_KERBEROS;
        *ret = address;
        address = (FilesystemAddress){ 0 };
        return true;
}

static bool check_needs(FilesystemType type, char *const *properties, GError **error)
{
        const char *const *needs = kinds[type].needs;
        g_autofree char *all = needs ? g_strjoinv(", ", (char **)needs) : NULL;

        for (; needs && *needs; needs++) {
                const char *value = filesystem_property(properties, *needs);

                if (!value || !*value)
                        return err_set(error, ERR_INVALID,
                                       "properties: '%s' is missing: a file system of kind %s needs %s%s",
                                       *needs, kinds[type].name, all,
                                       kinds[type].usable ? "" : "\nThis server cannot connect to it yet.");
        }
        return true;
}

bool filesystem_properties_check(FilesystemType type, char *const *properties, GError **error)
{
        gsize bytes = 0;

        for (char *const *at = properties; at && *at; at++)
                bytes += strlen(*at);
        if (bytes > FILESYSTEM_PROPERTIES_BYTES)
                return err_set(error, ERR_INVALID,
                               "properties: they have %" G_GSIZE_FORMAT
                               " bytes together, and the limit is %d",
                               bytes, FILESYSTEM_PROPERTIES_BYTES);
        return check_needs(type, properties, error) &&
               check_number(properties, "fileMode", 0, MODE_MAX, error) &&
               check_number(properties, "dirMode", 0, MODE_MAX, error) &&
               (!kinds[type].check || kinds[type].check(properties, error));
}

bool filesystem_type_check(FilesystemType type, GError **error)
{
        return kinds[type].usable || err_set(error, ERR_CONFLICT,
                                             "this server cannot connect to file systems of kind %s yet\n"
                                             "It can use directories of its machine: local://DIR/...",
                                             kinds[type].name);
}

bool filesystem_check(const Filesystem *filesystem, GError **error)
{
        g_auto(FilesystemAddress) address = { 0 };

        if (!filesystem->url)
                return err_set(error, ERR_INVALID, "url is missing, such as local://data/sets");
        return filesystem_address_parse(filesystem->url, filesystem->properties, &address, error) &&
               filesystem_properties_check(address.type, filesystem->properties, error) &&
               filesystem_type_check(address.type, error);
}

void filesystem_place_clear(FilesystemPlace *place)
{
        g_free(place->id);
        g_free(place->user);
        g_free(place->name);
        g_free(place->root);
        g_free(place->claim);
        g_free(place->namespace);
        *place = (FilesystemPlace){ 0 };
}

/* ---- fields ---- */

/* An absolute path is short for a URL: "/data/sets" for local://data/sets. */
static char *keep_url(const char *value, const char *was)
{
        return *value == '/' ? g_strconcat("local://", value + strspn(value, "/"), NULL) : g_strdup(value);
}

static bool key_check(const char *what, const char *name, GError **error)
{
        return true; /* the catalog checks user and name separately */
}

bool filesystem_property_is_secret(const char *key)
{
        static const char *const parts[] = {
                "password", "passwd", "secret", "token", "keytab", "credential"
        };
        g_autofree char *lower = g_ascii_strdown(key, -1);

        for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
                if (strstr(lower, parts[i]))
                        return true;
        return false;
}

static const ObjectField fields[] = {
        { "user", FIELD_TEXT, offsetof(Filesystem, user), FIELD_FIXED, .max = USER_MAX },
        { "url", FIELD_TEXT, offsetof(Filesystem, url), .max = FILESYSTEM_URL_MAX, .keep = keep_url },
        { "properties", FIELD_PAIRS, offsetof(Filesystem, properties), .max = PROPERTY_MAX,
          .is_secret = filesystem_property_is_secret },
        { "read_only", FIELD_BOOL, offsetof(Filesystem, read_only) },
        { "independent_mount", FIELD_BOOL, offsetof(Filesystem, independent_mount), FIELD_FIXED },
        { NULL },
};

const ObjectRow filesystem_row = { "file system", "fs-", sizeof(Filesystem), fields, key_check };
