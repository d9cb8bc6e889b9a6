/* File systems: names, URLs and properties as doc/reference/paddleflow-api.md, "File systems", says; the rules of the
 * catalog; looking one up. */
#include "model/filesystem.h"

#include <string.h>

#include "base/err.h"
#include "model/catalog.h"

#define X10 "xxxxxxxxxx"
#define X50 X10 X10 X10 X10 X10

static char **words(const char *text)
{
        return *text ? g_strsplit(text, ",", -1) : NULL;
}

static void assert_refused(bool ok, GError **error, ErrCode code, const char *says)
{
        g_assert_false(ok);
        g_test_message("%s", (*error)->message);
        g_assert_true(err_is(*error, code));
        g_assert_nonnull(strstr((*error)->message, says));
        g_clear_error(error);
}

/* ---- names ---- */

static void test_names(void)
{
        static const struct {
                const char *user, *name, *says; /* says NULL: good */
        } cases[] = {
                { "ann", "data", NULL },
                { "ann", "d", NULL },
                { "ann", "Data_1-x", NULL },
                { "ann", "-", NULL },
                { "ann", X50 "xxxxxx", NULL },         /* 3 + 56 */
                { "ann", X50 "xxxxxxx", "60 bytes" },  /* 3 + 57 */
                { "a", X50 X10 "xxxx", "63 letters" }, /* 64 */
                { "ann", "", "63 letters" },
                { "ann", "a.b", "'a.b'" },
                { "ann", "a/b", "'a/b'" },
                { "ann", "a b", "'a b'" },
                { "ann",
                  "gr\xc3\xb6\xc3\x9f"
                  "e",
                  "63 letters" },
                { "ann", "a\n", "63 letters" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(GError) error = NULL;
                bool ok = filesystem_name_check(cases[i].user, cases[i].name, &error);

                g_test_message("%s", cases[i].name);
                if (cases[i].says)
                        assert_refused(ok, &error, ERR_INVALID, cases[i].says);
                else
                        g_assert_true(ok);
        }
}

static void test_home_is_taken(void)
{
        g_autoptr(GError) error = NULL;

        assert_refused(filesystem_name_check("ann", "home", &error), &error, ERR_EXISTS, "built in");
}

static void test_ids(void)
{
        Filesystem *filesystem = filesystem_new("ann", "my-data");

        g_assert_cmpstr(filesystem->object.id, ==, "fs-ann-my-data");
        g_assert_cmpstr(filesystem->object.name, ==, "ann/my-data");
        g_assert_cmpstr(filesystem_name(filesystem), ==, "my-data");
        g_assert_cmpstr(filesystem->user, ==, "ann");
        object_unref(&filesystem->object);
}

/* ---- URLs ---- */

#define S3 "accessKey=a,secretKey=s,endpoint=s3.lab"
#define KERBEROS                                                                                             \
        "kerberos.keytab.data=a2V5,kerberos.principal=p,kerberos.realm=r,kerberos.kdc=k,"                    \
        "kerberos.namenode.principal=n"

/* What is said about a URL that is none. */
static void test_advice(void)
{
        static const struct {
                const char *url, *says;
        } cases[] = {
                { "sets", "url: 'sets' is not an absolute path\n"
                          "Give a directory of the server's machine, such as /data/sets." },
                { "ftp://h/x", "url: 'ftp://h/x' does not begin with one of local://, " },
                { "local:///data/a", "\nThe directory /data/a is local://data/a." },
                { "local://root/x",
                  "\n/root is the administrator's home. Use a directory elsewhere, such as /srv/data." },
                { "s3://bucket", "\nThis server cannot connect to file systems of kind s3 yet." },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(FilesystemAddress) address = { 0 };
                g_autoptr(GError) error = NULL;

                assert_refused(filesystem_address_parse(cases[i].url, NULL, &address, &error), &error,
                               ERR_INVALID, cases[i].says);
        }
}

static void test_addresses(void)
{
        static const struct {
                const char *url, *properties, *type, *server, *path; /* type NULL: refused */
        } cases[] = {
                { "local://data", "", "local", "", "/data" },
                { "local://data/sets/", "", "local", "", "/data/sets" },
                { "local://data//sets", "", "local", "", "/data/sets" },
                { "local://rootfs/x", "", "local", "", "/rootfs/x" },
                { "local://data/root", "", "local", "", "/data/root" },
                { "local://", "", NULL },
                { "local:///data", "", NULL },
                { "local://root", "", NULL },
                { "local://root/x", "", NULL },
                { "local://data/../root", "", NULL },
                { "local://data/..", "", NULL },
                { "local://./root", "", NULL },
                { "local://data/a\nb", "", NULL },
                { "mock://data/sets", "pvc=p,namespace=n", "mock", "", "/data/sets" },
                { "mock://root/x", "pvc=p,namespace=n", NULL },
                { "hdfs://h:9000/a", "user=u,group=g", "hdfs", "h:9000", "/a" },
                { "hdfs://h:9000,i:9001/a", "user=u,group=g", "hdfs", "h:9000,i:9001", "/a" },
                { "hdfs://h:9000/", "user=u,group=g", "hdfs", "h:9000", "/" },
                { "hdfs://h:9000/a", KERBEROS, "hdfsWithKerberos", "h:9000", "/a" },
                { "hdfs://h/a", "", NULL },
                { "hdfs://h:9000", "", NULL },
                { "hdfs://h:0/a", "", NULL },
                { "hdfs://h:65536/a", "", NULL },
                { "hdfs://h:9000,/a", "", NULL },
                { "sftp://h:22/a", "user=u,password=p", "sftp", "h:22", "/a" },
                { "sftp://h/a", "", NULL },
                { "sftp://h:22,i:22/a", "", NULL },
                { "s3://bucket", S3, "s3", "s3.lab", "/" },
                { "s3://bucket/a/b/", S3, "s3", "s3.lab", "/a/b" },
                { "s3:///a", S3, NULL },
                { "s3://bucket", "", NULL }, /* without properties the URL is refused */
                { "bos://bucket/a", S3, "bos", "s3.lab", "/a" },
                { "cfs://h/a", "", "cfs", "h", "/a" },
                { "cfs://h", "", NULL },
                { "glusterfs://h:vol", "", "glusterfs", "h", "vol" },
                { "glusterfs://h", "", NULL },
                { "glusterfs://h:", "", NULL },
                { "glusterfs://h:a/b", "", NULL },
                { "afs://h/a", "username=u,password=p", "afs", "afs://h", "/a" },
                { "afs:///a", "", NULL },
                { "home://x", "", NULL },
                { "hdfsWithKerberos://h:9000/a", "", NULL },
                { "ftp://h/a", "", NULL },
                { "LOCAL://data", "", NULL },
                { "data", "", NULL },
                { "", "", NULL },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(GStrv) properties = words(cases[i].properties);
                g_auto(FilesystemAddress) address = { 0 };
                g_autoptr(GError) error = NULL;
                bool ok = filesystem_address_parse(cases[i].url, properties, &address, &error);

                g_test_message("%s", cases[i].url);
                if (!cases[i].type) {
                        assert_refused(ok, &error, ERR_INVALID, "url: ");
                        continue;
                }
                g_assert_no_error(error);
                g_assert_cmpstr(filesystem_type_name(address.type), ==, cases[i].type);
                g_assert_cmpstr(address.server, ==, cases[i].server);
                g_assert_cmpstr(address.path, ==, cases[i].path);
        }
}

static void test_long_url(void)
{
        g_autofree char *dir = g_strnfill(FILESYSTEM_URL_MAX, 'x'), *url = g_strconcat("local://", dir, NULL);
        g_auto(FilesystemAddress) address = { 0 };
        g_autoptr(GError) error = NULL;

        assert_refused(filesystem_address_parse(url, NULL, &address, &error), &error, ERR_INVALID, "url: ");
        url[FILESYSTEM_URL_MAX] = '\0';
        g_assert_true(filesystem_address_parse(url, NULL, &address, NULL));
}

/* ---- properties ---- */

static void test_properties(void)
{
        static const struct {
                FilesystemType type;
                const char *properties, *says; /* says NULL: good */
        } cases[] = {
                { FILESYSTEM_LOCAL, "", NULL },
                { FILESYSTEM_LOCAL, "any=thing,fileMode=644,dirMode=755", NULL },
                { FILESYSTEM_LOCAL, "fileMode=rw", "fileMode" },
                { FILESYSTEM_LOCAL, "dirMode=-1", "dirMode" },
                { FILESYSTEM_LOCAL, "dirMode=", "dirMode" },
                { FILESYSTEM_MOCK, "pvc=p,namespace=n", NULL },
                { FILESYSTEM_MOCK, "pvc=p", "'namespace'" },
                { FILESYSTEM_MOCK, "namespace=n", "'pvc'" },
                { FILESYSTEM_MOCK, "pvc=,namespace=n", "'pvc'" },
                { FILESYSTEM_HDFS, "user=u,group=g", NULL },
                { FILESYSTEM_HDFS, "user=u", "'group'" },
                { FILESYSTEM_HDFS_KERBEROS, KERBEROS, NULL },
                { FILESYSTEM_HDFS_KERBEROS, "kerberos.keytab.data=a2V5", "'kerberos.principal'" },
                { FILESYSTEM_HDFS_KERBEROS,
                  "kerberos.keytab.data=a2V,kerberos.principal=p,kerberos.realm=r,kerberos.kdc=k,"
                  "kerberos.namenode.principal=n",
                  "base 64" },
                { FILESYSTEM_SFTP, "user=u,password=p", NULL },
                { FILESYSTEM_SFTP, "user=u", "'password'" },
                { FILESYSTEM_S3, S3, NULL },
                { FILESYSTEM_S3, S3 ",region=bj", NULL },
                { FILESYSTEM_S3, "accessKey=a,secretKey=s", "'endpoint'" },
                { FILESYSTEM_S3, "secretKey=s,endpoint=e", "'accessKey'" },
                { FILESYSTEM_BOS, S3, NULL },
                { FILESYSTEM_BOS, S3 ",sts=true,duration=60", NULL },
                { FILESYSTEM_BOS, S3 ",sts=true,duration=129600", NULL },
                { FILESYSTEM_BOS, S3 ",sts=true,duration=59", "duration" },
                { FILESYSTEM_BOS, S3 ",sts=true,duration=129601", "duration" },
                { FILESYSTEM_BOS, S3 ",sts=maybe", "sts" },
                { FILESYSTEM_CFS, "", NULL },
                { FILESYSTEM_GLUSTERFS, "", NULL },
                { FILESYSTEM_AFS, "username=u,password=p", NULL },
                { FILESYSTEM_AFS, "user=u,password=p", "'username'" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(GStrv) properties = words(cases[i].properties);
                g_autoptr(GError) error = NULL;
                bool ok = filesystem_properties_check(cases[i].type, properties, &error);

                g_test_message("%s %s", filesystem_type_name(cases[i].type), cases[i].properties);
                if (cases[i].says)
                        assert_refused(ok, &error, ERR_INVALID, cases[i].says);
                else
                        g_assert_true(ok);
        }
}

static void test_bytes_of_properties(void)
{
        g_autofree char *value = g_strnfill(FILESYSTEM_PROPERTIES_BYTES, 'x'),
                        *pair = g_strconcat("a=", value, NULL);
        char *properties[] = { pair, NULL };
        g_autoptr(GError) error = NULL;

        assert_refused(filesystem_properties_check(FILESYSTEM_LOCAL, properties, &error), &error, ERR_INVALID,
                       "properties: ");
        pair[FILESYSTEM_PROPERTIES_BYTES] = '\0';
        g_assert_true(filesystem_properties_check(FILESYSTEM_LOCAL, properties, NULL));
}

/* Only what needs no connection can be used. */
static void test_usable(void)
{
        for (FilesystemType type = 0; type < FILESYSTEM_TYPES; type++) {
                bool usable = type == FILESYSTEM_LOCAL || type == FILESYSTEM_MOCK || type == FILESYSTEM_HOMES;
                g_autoptr(GError) error = NULL;
                bool ok = filesystem_type_check(type, &error);

                if (usable)
                        g_assert_true(ok);
                else
                        assert_refused(ok, &error, ERR_CONFLICT, filesystem_type_name(type));
        }
}

/* ---- the catalog ---- */

static gint64 next_seq = 1;

static void put(Catalog **catalog, Object *object /* taken */)
{
        Catalog *next;

        object->seq = next_seq++;
        next = catalog_with(*catalog, object);
        object_unref(object);
        catalog_unref(*catalog);
        *catalog = next;
}

static Object *make(const char *user, const char *name, const char *fields)
{
        Filesystem *filesystem = filesystem_new(user, name);
        g_autoptr(json_t) patch = json_loads(fields, 0, NULL);
        g_autoptr(GError) error = NULL;

        object_patch(&filesystem->object, patch, &error);
        g_assert_no_error(error);
        return &filesystem->object;
}

static Catalog *house(void)
{
        Catalog *catalog = catalog_new();

        put(&catalog, object_new(KIND_USER, "ann"));
        put(&catalog, object_new(KIND_USER, "ben"));
        put(&catalog, object_new(KIND_USER, "ann-b"));
        put(&catalog, make("ann", "data", "{\"url\":\"local://data/sets\",\"read_only\":true}"));
        put(&catalog, make("ann", "b-c", "{\"url\":\"/srv/x\"}"));
        put(&catalog,
            make("ann", "claim",
                 "{\"url\":\"mock://srv/y\",\"properties\":{\"pvc\":\"p1\",\"namespace\":\"n1\"}}"));
        return catalog;
}

static void test_puts(void)
{
        static const struct {
                const char *user, *name, *fields;
                ErrCode code;
                const char *says;
        } cases[] = {
                { "ben", "data", "{\"url\":\"local://data\"}", ERR_CODES, NULL }, /* ann's is another one */
                { "ann", "data", "{\"url\":\"local://data\"}", ERR_EXISTS, "exists already" },
                { "ann-b", "c", "{\"url\":\"local://data\"}", ERR_EXISTS, "'fs-ann-b-c'" },
                { "ann", "home", "{\"url\":\"local://data\"}", ERR_EXISTS, "built in" },
                { "eve", "x", "{\"url\":\"local://data\"}", ERR_NOT_FOUND, "'eve'" },
                { "ann", "a.b", "{\"url\":\"local://data\"}", ERR_INVALID, "'a.b'" },
                { "ann", "x", "{}", ERR_INVALID, "url is missing" },
                { "ann", "x", "{\"url\":\"local://root\"}", ERR_INVALID, "'local://root'" },
                { "ann", "x", "{\"url\":\"/root/x\"}", ERR_INVALID, "root" },
                { "ann", "x", "{\"url\":\"mock://srv\"}", ERR_INVALID, "'pvc'" },
                { "ann", "x", "{\"url\":\"cfs://h/a\"}", ERR_CONFLICT, "cfs" },
                { "ann", "x", "{\"url\":\"sftp://h:22/a\"}", ERR_INVALID, "'user'" }, /* checked before */
        };
        g_autoptr(Catalog) catalog = house();

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autoptr(Object) object = make(cases[i].user, cases[i].name, cases[i].fields);
                g_autoptr(GError) error = NULL;
                bool ok = catalog_check_put(catalog, NULL, object, NULL, &error);

                g_test_message("%s/%s %s", cases[i].user, cases[i].name, cases[i].fields);
                if (cases[i].says)
                        assert_refused(ok, &error, cases[i].code, cases[i].says);
                else
                        g_assert_true(ok);
        }
}

static void test_limit(void)
{
        g_autoptr(Catalog) catalog = house();
        g_autoptr(Object) more = make("ben", "more", "{\"url\":\"local://data\"}");
        g_autoptr(GError) error = NULL;

        for (int i = 0; i < FILESYSTEMS_PER_USER; i++) {
                g_autofree char *name = g_strdup_printf("fs%d", i);

                g_assert_true(catalog_check_put(catalog, NULL, more, NULL, NULL));
                put(&catalog, make("ben", name, "{\"url\":\"local://data\"}"));
        }
        assert_refused(catalog_check_put(catalog, NULL, more, NULL, &error), &error, ERR_QUOTA, "100");
}

static char *two_jobs(const Filesystem *filesystem, void *arg)
{
        return strcmp(filesystem_name(filesystem), arg) == 0 ? g_strdup("mounted by 2 open jobs") : NULL;
}

static void test_drops(void)
{
        char used[] = "data";
        const CatalogFacts facts = { .filesystem_use = two_jobs, .arg = used };
        g_autoptr(Catalog) catalog = house();
        g_autoptr(GError) error = NULL;

        assert_refused(catalog_check_drop(catalog, &catalog_filesystem(catalog, "ann", "data")->object,
                                          &facts, &error),
                       &error, ERR_CONFLICT, "it is mounted by 2 open jobs");
        g_assert_true(catalog_check_drop(catalog, &catalog_filesystem(catalog, "ann", "claim")->object,
                                         &facts, NULL));
        g_assert_true(
                catalog_check_drop(catalog, &catalog_filesystem(catalog, "ann", "data")->object, NULL, NULL));
}

/* With a user go the file systems and the grants on them; with a file system its grants. */
static void test_followers(void)
{
        g_autoptr(Catalog) catalog = house();
        g_autoptr(GPtrArray) of_user = NULL, of_one = NULL;
        g_autofree char *key = grant_key("ben", GRANT_FS, "fs-ann-data");
        Grant *grant = (Grant *)object_new(KIND_GRANT, key);

        grant->user = g_strdup("ben");
        grant->type = GRANT_FS;
        grant->resource = g_strdup("fs-ann-data");
        g_assert_true(catalog_check_put(catalog, NULL, &grant->object, NULL, NULL));
        put(&catalog, &grant->object);
        of_user = catalog_followers(catalog, &catalog_user(catalog, "ann")->object);
        g_assert_cmpuint(of_user->len, ==, 4);
        of_one = catalog_followers(catalog, &catalog_filesystem(catalog, "ann", "data")->object);
        g_assert_cmpuint(of_one->len, ==, 1);
        g_assert_true(of_one->pdata[0] == catalog_grant(catalog, "ben", GRANT_FS, "fs-ann-data"));
}

/* ---- looking one up ---- */

static void test_places(void)
{
        g_autoptr(Catalog) catalog = house();
        g_auto(FilesystemPlace) data = { 0 }, claim = { 0 }, home = { 0 };

        g_assert_true(catalog_filesystem_place(catalog, "/s/home", "ann", "data", &data, NULL));
        g_assert_cmpint(data.type, ==, FILESYSTEM_LOCAL);
        g_assert_cmpstr(data.id, ==, "fs-ann-data");
        g_assert_cmpstr(data.user, ==, "ann");
        g_assert_cmpstr(data.name, ==, "data");
        g_assert_cmpstr(data.root, ==, "/data/sets");
        g_assert_true(data.read_only);
        g_assert_null(data.claim);
        g_assert_true(catalog_filesystem_place(catalog, NULL, "ann", "claim", &claim, NULL));
        g_assert_cmpint(claim.type, ==, FILESYSTEM_MOCK);
        g_assert_cmpstr(claim.root, ==, "/srv/y");
        g_assert_cmpstr(claim.claim, ==, "p1");
        g_assert_cmpstr(claim.namespace, ==, "n1");
        g_assert_false(claim.read_only);
        g_assert_true(catalog_filesystem_place(catalog, "/s/home", "ann", "home", &home, NULL));
        g_assert_cmpint(home.type, ==, FILESYSTEM_HOMES);
        g_assert_cmpstr(home.id, ==, "fs-ann-home");
        g_assert_cmpstr(home.root, ==, "/s/home/ann");
}

static void test_no_places(void)
{
        static const struct {
                const char *homes, *user, *name;
        } cases[] = {
                { "/s/home", "ann", "none" },
                { "/s/home", "ben", "data" }, /* ann's */
                { NULL, "ann", "home" },      /* the older interface does not know it */
                { "/s/home", "ann", "../x" },
        };
        g_autoptr(Catalog) catalog = house();

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(FilesystemPlace) place = { 0 };
                g_autoptr(GError) error = NULL;

                assert_refused(catalog_filesystem_place(catalog, cases[i].homes, cases[i].user, cases[i].name,
                                                        &place, &error),
                               &error, ERR_NOT_FOUND, cases[i].name);
                g_assert_null(place.root);
        }
}

/* A row of the store that this server cannot use. */
static void test_unusable_place(void)
{
        g_autoptr(Catalog) catalog = house();
        g_auto(FilesystemPlace) place = { 0 };
        g_autoptr(GError) error = NULL;

        put(&catalog, make("ben", "far", "{\"url\":\"cfs://h/a\"}"));
        assert_refused(catalog_filesystem_place(catalog, "/s/home", "ben", "far", &place, &error), &error,
                       ERR_CONFLICT, "'far'");
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/filesystem/names", test_names);
        g_test_add_func("/filesystem/home is taken", test_home_is_taken);
        g_test_add_func("/filesystem/ids", test_ids);
        g_test_add_func("/filesystem/addresses", test_addresses);
        g_test_add_func("/filesystem/advice", test_advice);
        g_test_add_func("/filesystem/long url", test_long_url);
        g_test_add_func("/filesystem/properties", test_properties);
        g_test_add_func("/filesystem/bytes of properties", test_bytes_of_properties);
        g_test_add_func("/filesystem/usable", test_usable);
        g_test_add_func("/filesystem/puts", test_puts);
        g_test_add_func("/filesystem/limit", test_limit);
        g_test_add_func("/filesystem/drops", test_drops);
        g_test_add_func("/filesystem/followers", test_followers);
        g_test_add_func("/filesystem/places", test_places);
        g_test_add_func("/filesystem/no places", test_no_places);
        g_test_add_func("/filesystem/unusable place", test_unusable_place);
        return g_test_run();
}
