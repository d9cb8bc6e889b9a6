/* The store of packages: offers, uploads, resuming, commits, removals, and many threads at once. */
#include "package/package-send.h"
#include "package/package.h"
#include "package/requirements-memory.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "package/manifest.h"
#include "storage/gc.h"
#include "storage/test/scratch.h"
#include "storage/test/small-disk.h"

typedef struct {
        char *dir, *store_dir, *files;
        PackageStore *store;
} Fixture;

static void set_up(Fixture *fixture, gconstpointer unused)
{
        g_autoptr(GError) error = NULL;

        fixture->dir = scratch_new();
        fixture->store_dir = g_build_filename(fixture->dir, "packages", NULL);
        fixture->files = g_build_filename(fixture->dir, "files", NULL);
        fixture->store = package_store_open(fixture->store_dir, &error);
        g_assert_no_error(error);
}

static void tear_down(Fixture *fixture, gconstpointer unused)
{
        package_store_close(fixture->store);
        scratch_free(fixture->dir);
        g_free(fixture->store_dir);
        g_free(fixture->files);
}

static char *spool(const Fixture *fixture, const void *data, gsize len)
{
        static gint number;
        g_autofree char *name = g_strdup_printf("spool.%d", g_atomic_int_add(&number, 1));

        put(fixture->dir, name, data, (gssize)len);
        return g_build_filename(fixture->dir, name, NULL);
}

static bool send_bytes(const Fixture *fixture, const char *hash, guint64 offset, const void *data, gsize len,
                       bool last, GError **error)
{
        g_autofree char *file = spool(fixture, data, len);

        return package_store_blob_write(fixture->store, "ann", hash, offset, file, last, error);
}

static bool send_blobs(const Fixture *fixture, const char *body, gsize len, GError **error)
{
        g_autofree char *file = spool(fixture, body, len);

        return package_store_blobs_write(fixture->store, "ann", file, error);
}

/* The operations of package_send, with a store in this process. */

typedef struct {
        const Fixture *fixture;
        guint offers, bodies, pieces, commits;
        guint break_after; /* pieces until the connection breaks; 0: never */
} Wire;

static json_t *wire_offer(void *arg, const char *text, gsize len, GError **error)
{
        Wire *wire = arg;
        g_autoptr(Manifest) manifest = manifest_parse(text, len, error);
        g_autoptr(GPtrArray) missing = NULL;
        g_autoptr(json_t) items = json_array();

        wire->offers++;
        if (!manifest || !package_store_offer(wire->fixture->store, "ann", manifest, &missing, error))
                return NULL;
        for (guint i = 0; i < missing->len; i++)
                json_array_append_new(items,
                                      json_pack("{s:s, s:I}", "hash", missing->pdata[i], "have",
                                                (json_int_t)package_store_blob_size(wire->fixture->store,
                                                                                    "ann",
                                                                                    missing->pdata[i])));
        return json_pack("{s:O, s:b}", "missing", items, "ready",
                         package_store_has(wire->fixture->store, "ann", manifest->hash));
}

static bool wire_blobs(void *arg, const void *data, gsize len, GError **error)
{
        Wire *wire = arg;

        wire->bodies++;
        g_assert_cmpuint(len, <=, SEND_BODY);
        return send_blobs(wire->fixture, data, len, error);
}

static bool wire_piece(void *arg, const char *hash, guint64 offset, const void *data, gsize len, bool last,
                       guint64 *ret_have, GError **error)
{
        Wire *wire = arg;

        if (wire->break_after && wire->pieces >= wire->break_after)
                return err_set(error, ERR_UNAVAILABLE, "the line is cut");
        wire->pieces++;
        if (send_bytes(wire->fixture, hash, offset, data, len, last, error))
                return true;
        *ret_have = package_store_blob_size(wire->fixture->store, "ann", hash);
        return false;
}

static bool wire_commit(void *arg, const char *hash, GError **error)
{
        Wire *wire = arg;

        wire->commits++;
        return package_store_commit(wire->fixture->store, "ann", hash, error);
}

static const PackageOps wire_ops = { wire_offer, wire_blobs, wire_piece, wire_commit };

static Manifest *pack_files(const Fixture *fixture)
{
        g_autoptr(GError) error = NULL;
        Manifest *manifest = manifest_of_directory(fixture->files, NULL, NULL, &error);

        g_assert_no_error(error);
        return manifest;
}

static void test_send(Fixture *fixture, gconstpointer unused)
{
        Wire wire = { .fixture = fixture };
        g_autofree char *script = g_build_filename(fixture->files, "run.sh", NULL), *tree = NULL,
                        *text = NULL, *run = NULL;
        g_autofree char *link = g_build_filename(fixture->files, "l", NULL), *requirements = NULL;
        g_autoptr(Manifest) manifest = NULL;
        g_autoptr(GError) error = NULL;
        struct stat st;

        put(fixture->files, "a/b.py", "print(1)\n", -1);
        put(fixture->files, "a/same.py", "print(1)\n", -1);
        put(fixture->files, "run.sh", "#!/bin/sh\n", -1);
        put(fixture->files, "empty", "", 0);
        put(fixture->files, "requirments.txt", "numpy\n", -1);
        g_assert_cmpint(chmod(script, 0755), ==, 0);
        g_assert_cmpint(symlink("a/b.py", link), ==, 0);
        manifest = pack_files(fixture);
        g_assert_true(package_send(fixture->files, manifest, &wire_ops, &wire, NULL, NULL, &error));
        g_assert_cmpuint(wire.bodies, ==, 1);
        g_assert_true(package_store_has(fixture->store, "ann", manifest->hash));
        tree = package_store_path(fixture->store, manifest->hash);
        text = get(tree, "l");
        g_assert_cmpstr(text, ==, "print(1)\n");
        run = g_build_filename(tree, "run.sh", NULL);
        g_assert_cmpint(stat(run, &st), ==, 0);
        g_assert_cmpint(st.st_mode & 0777, ==, 0555);
        g_assert_cmpint(stat(tree, &st), ==, 0);
        g_assert_cmpint(st.st_mode & 0777, ==, 0555);
        requirements = package_store_requirements(fixture->store, manifest->hash, &error);
        g_assert_cmpstr(requirements, ==, "numpy\n");
        g_assert_true(package_send(fixture->files, manifest, &wire_ops, &wire, NULL, NULL, &error));
        g_assert_cmpuint(wire.bodies, ==, 1); /* nothing is sent twice */
        g_assert_cmpuint(wire.commits, ==, 1);
        g_assert_cmpuint(count_names(fixture->store_dir, "upload/ann"), ==, 0);
}

static void test_requirements(Fixture *fixture, gconstpointer unused)
{
        Wire wire = { .fixture = fixture };
        g_autoptr(Manifest) manifest = NULL, none = NULL;
        g_autoptr(GError) error = NULL;
        g_autofree char *text = NULL, *path = g_build_filename(fixture->files, "requirements.txt", NULL),
                        *absent = NULL;

        put(fixture->files, "requirements.txt", "first\n", -1);
        put(fixture->files, "requirments.txt", "second\n", -1);
        manifest = pack_files(fixture);
        g_assert_true(package_send(fixture->files, manifest, &wire_ops, &wire, NULL, NULL, &error));
        text = package_store_requirements(fixture->store, manifest->hash, &error);
        g_assert_cmpstr(text, ==, "first\n");
        g_assert_cmpint(unlink(path), ==, 0);
        g_clear_pointer(&path, g_free);
        path = g_build_filename(fixture->files, "requirments.txt", NULL);
        g_assert_cmpint(unlink(path), ==, 0);
        none = pack_files(fixture);
        g_assert_true(package_send(fixture->files, none, &wire_ops, &wire, NULL, NULL, &error));
        absent = package_store_requirements(fixture->store, none->hash, &error);
        g_assert_null(absent);
        g_assert_no_error(error);
        assert_refused(package_store_requirements(fixture->store, "../x", error_), ERR_INVALID, "not a hash");
}

static char *send_with_requirements(Fixture *fixture, const char *requirements)
{
        Wire wire = { .fixture = fixture };
        g_autoptr(Manifest) manifest = NULL;

        put(fixture->files, "requirements.txt", requirements, -1);
        manifest = pack_files(fixture);
        g_assert_true(package_send(fixture->files, manifest, &wire_ops, &wire, NULL, NULL, NULL));
        return g_strdup(manifest->hash);
}

/* Those of the last packages; errors as well. */
static void test_requirements_are_remembered(Fixture *fixture, gconstpointer unused)
{
        g_autofree char *good = send_with_requirements(fixture, "six\n");
        g_autofree char *bad = send_with_requirements(fixture, "-r ../up.txt\n"), *text = NULL;

        g_assert_false(package_store_knows_requirements(fixture->store, good));
        for (int again = 0; again < 2; again++) {
                text = package_store_requirements(fixture->store, good, NULL);
                g_assert_cmpstr(text, ==, "six\n");
                g_clear_pointer(&text, g_free);
                assert_refused(package_store_requirements(fixture->store, bad, error_), ERR_INVALID,
                               "../up.txt");
                g_assert_true(package_store_knows_requirements(fixture->store, good));
                g_assert_true(package_store_knows_requirements(fixture->store, bad));
        }
        for (int i = 0; i < REQUIREMENTS_KEPT; i++) {
                g_autofree char *line = g_strdup_printf("six==%d\n", i);
                g_autofree char *other = send_with_requirements(fixture, line);

                g_free(package_store_requirements(fixture->store, other, NULL));
        }
        g_assert_false(package_store_knows_requirements(fixture->store, good));
        text = package_store_requirements(fixture->store, good, NULL);
        g_assert_cmpstr(text, ==, "six\n");
}

/* 20 MiB in pieces of 8: the connection breaks after one, the next attempt resumes. */
static void test_resume(Fixture *fixture, gconstpointer unused)
{
        Wire wire = { .fixture = fixture, .break_after = 1 };
        gsize len = 20 << 20;
        g_autofree char *big = g_malloc0(len), *name = NULL;
        g_autoptr(Manifest) manifest = NULL;
        g_autoptr(GError) error = NULL;
        const Entry *entry;

        big[len - 1] = 'x';
        put(fixture->files, "big", big, (gssize)len);
        manifest = pack_files(fixture);
        entry = manifest->entries->pdata[0];
        assert_refused(package_send(fixture->files, manifest, &wire_ops, &wire, NULL, NULL, error_),
                       ERR_UNAVAILABLE, "cut");
        g_assert_cmpuint(package_store_blob_size(fixture->store, "ann", entry->hash), ==, SEND_BODY);
        assert_refused(package_store_commit(fixture->store, "ann", manifest->hash, error_), ERR_CONFLICT,
                       "content of 'big' is missing");
        wire = (Wire){ .fixture = fixture };
        g_assert_true(package_send(fixture->files, manifest, &wire_ops, &wire, NULL, NULL, &error));
        g_assert_cmpuint(wire.pieces, ==, 2);
        g_assert_cmpuint(package_store_blob_size(fixture->store, "ann", entry->hash), ==, len);
}

/* Another client has sent wrong bytes under that hash: too few, or too many. */
static void test_poisoned(Fixture *fixture, gconstpointer unused)
{
        gsize len = 600 << 10;
        g_autofree char *big = g_malloc0(len), *rubbish = g_strnfill(700 << 10, '?');

        for (int i = 0; i < 2; i++) {
                Wire wire = { .fixture = fixture };
                g_autoptr(Manifest) manifest = NULL;
                g_autoptr(GError) error = NULL;

                big[0] = (char)('0' + i);
                put(fixture->files, "big", big, (gssize)len);
                manifest = pack_files(fixture);
                g_assert_true(send_bytes(fixture, ((Entry *)manifest->entries->pdata[0])->hash, 0, rubbish,
                                         i ? 700 << 10 : 1000, false, &error));
                g_assert_true(package_send(fixture->files, manifest, &wire_ops, &wire, NULL, NULL, &error));
                g_assert_no_error(error);
                g_assert_true(package_store_has(fixture->store, "ann", manifest->hash));
        }
}

static void test_blob_refused(Fixture *fixture, gconstpointer unused)
{
        char hash[HASH_LEN + 1];
        g_autofree char *upper = NULL;
        g_autoptr(GError) error = NULL;

        hash_bytes("abcdef", 6, hash);
        upper = g_ascii_strup(hash, -1);
        assert_refused(send_bytes(fixture, "../../etc/passwd", 0, "x", 1, false, error_), ERR_INVALID,
                       "64 lower-case hex");
        assert_refused(send_bytes(fixture, upper, 0, "x", 1, false, error_), ERR_INVALID,
                       "64 lower-case hex");
        g_assert_true(send_bytes(fixture, hash, 0, "abc", 3, false, &error));
        assert_refused(send_bytes(fixture, hash, 0, "abc", 3, false, error_), ERR_CONFLICT,
                       "3 bytes were received");
        assert_refused(send_bytes(fixture, hash, 4, "ef", 2, true, error_), ERR_CONFLICT,
                       "3 bytes were received");
        assert_refused(send_bytes(fixture, hash, 3, "xyz", 3, true, error_), ERR_INVALID, "discarded");
        g_assert_cmpuint(package_store_blob_size(fixture->store, "ann", hash), ==, 0);
        g_assert_true(send_bytes(fixture, hash, 0, "abcdef", 6, true, &error));
        g_assert_cmpuint(package_store_blob_size(fixture->store, "ann", hash), ==, 6);
        g_assert_true(send_bytes(fixture, hash, 0, "abc", 3, false, &error)); /* it exists: nothing to do */
        g_assert_cmpuint(package_store_blob_size(fixture->store, "ann", hash), ==, 6);
        g_assert_cmpuint(count_names(fixture->store_dir, "upload/ann"), ==, 0);
}

static void test_blobs_refused(Fixture *fixture, gconstpointer unused)
{
        static const struct {
                const char *format, *says;
        } cases[] = {
                { "%s 4\nabc", "ends after 3 of 4" },
                { "%s 3\nabd", "have the hash" },
                { "%s -3\nabc", "is not '<64 hex digits> <size>'" },
                { "%s 3 \nabc", "is not '<64 hex digits> <size>'" },
                { "%s 99999999999999999999\nabc", "is not '<64 hex digits> <size>'" },
                { "%s 3\nabc\n", "is not '<64 hex digits> <size>'" },
                { "x%s 3\nabc", "is not '<64 hex digits> <size>'" },
        };
        char hash[HASH_LEN + 1];

        hash_bytes("abc", 3, hash);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *body = g_strdup_printf(cases[i].format, hash);

                assert_refused(send_blobs(fixture, body, strlen(body), error_), ERR_INVALID, cases[i].says);
                g_assert_cmpuint(package_store_blob_size(fixture->store, "ann", hash), ==, 0);
                g_assert_cmpuint(count_names(fixture->store_dir, "upload/ann"), ==, 0);
        }
}

static void test_lies(Fixture *fixture, gconstpointer unused)
{
        char hash[HASH_LEN + 1];
        g_autofree char *body = NULL, *text = NULL;
        g_autoptr(Manifest) manifest = NULL;
        g_autoptr(GPtrArray) missing = NULL;
        g_autoptr(GError) error = NULL;

        hash_bytes("abc", 3, hash);
        body = g_strdup_printf("%s 3\nabc", hash);
        g_assert_true(send_blobs(fixture, body, strlen(body), &error));
        text = g_strdup_printf("paddle-package 1\nf 644 5 %s a\n", hash);
        manifest = manifest_parse(text, strlen(text), &error);
        g_assert_true(package_store_offer(fixture->store, "ann", manifest, &missing, &error));
        g_assert_cmpuint(missing->len, ==, 0);
        assert_refused(package_store_commit(fixture->store, "ann", manifest->hash, error_), ERR_INVALID,
                       "said to have 5 bytes");
        g_assert_false(package_store_has(fixture->store, "ann", manifest->hash));
        assert_refused(package_store_commit(fixture->store, "ann", hash, error_), ERR_NOT_FOUND,
                       "does not know it");
}

static GPtrArray *offer_as(const Fixture *fixture, const char *user, const Manifest *manifest)
{
        g_autoptr(GError) error = NULL;
        GPtrArray *missing = NULL;

        g_assert_true(package_store_offer(fixture->store, user, manifest, &missing, &error));
        return missing;
}

/* Packages of ann do not exist for bob until he has sent them. */
static void test_owners(Fixture *fixture, gconstpointer unused)
{
        static const char half[] = "half of it";
        Wire wire = { .fixture = fixture };
        g_autoptr(Manifest) manifest = NULL;
        g_autoptr(GPtrArray) before = NULL, after = NULL, again = NULL;
        g_autoptr(GError) error = NULL;
        g_autofree char *body = NULL, *file = NULL;
        char hash[HASH_LEN + 1], whole[HASH_LEN + 1];

        put(fixture->files, "secret", "4711", -1);
        hash_bytes("4711", 4, hash);
        manifest = pack_files(fixture);
        g_assert_true(package_send(fixture->files, manifest, &wire_ops, &wire, NULL, NULL, &error));
        g_assert_true(package_store_has(fixture->store, "ann", manifest->hash));
        g_assert_false(package_store_has(fixture->store, "bob", manifest->hash));
        g_assert_cmpuint(package_store_blob_size(fixture->store, "bob", hash), ==, 0);
        assert_refused(package_store_commit(fixture->store, "bob", manifest->hash, error_), ERR_NOT_FOUND,
                       "does not know it");
        before = offer_as(fixture, "bob", manifest);
        g_assert_cmpuint(before->len, ==, 1);
        assert_refused(package_store_commit(fixture->store, "bob", manifest->hash, error_), ERR_CONFLICT,
                       "the content of 'secret' is missing");
        body = g_strdup_printf("%s 4\n4711", hash);
        file = spool(fixture, body, strlen(body));
        g_assert_true(package_store_blobs_write(fixture->store, "bob", file, &error));
        after = offer_as(fixture, "bob", manifest);
        g_assert_cmpuint(after->len, ==, 0);
        g_assert_true(package_store_commit(fixture->store, "bob", manifest->hash, &error));
        g_assert_true(package_store_has(fixture->store, "bob", manifest->hash));
        again = offer_as(fixture, "carol", manifest);
        g_assert_cmpuint(again->len, ==, 1);

        hash_bytes("half of it and the rest", 23, whole);
        g_assert_true(send_bytes(fixture, whole, 0, half, strlen(half), false, &error));
        g_assert_cmpuint(package_store_blob_size(fixture->store, "ann", whole), ==, strlen(half));
        g_assert_cmpuint(package_store_blob_size(fixture->store, "bob", whole), ==, 0);
        g_assert_false(package_store_has(fixture->store, "../ann", manifest->hash));
}

static void test_remove(Fixture *fixture, gconstpointer unused)
{
        Wire wire = { .fixture = fixture };
        g_autoptr(Manifest) one = NULL, two = NULL;
        g_autoptr(GError) error = NULL;
        g_autofree char *tree = NULL, *text = NULL;
        char shared[HASH_LEN + 1], own[HASH_LEN + 1];

        hash_bytes("shared", 6, shared);
        hash_bytes("own", 3, own);
        put(fixture->files, "shared", "shared", -1);
        two = pack_files(fixture);
        g_assert_true(package_send(fixture->files, two, &wire_ops, &wire, NULL, NULL, &error));
        put(fixture->files, "own", "own", -1);
        one = pack_files(fixture);
        g_assert_true(package_send(fixture->files, one, &wire_ops, &wire, NULL, NULL, &error));
        g_assert_true(package_store_remove(fixture->store, one->hash, &error));
        g_assert_false(package_store_has(fixture->store, "ann", one->hash));
        g_assert_cmpuint(package_store_blob_size(fixture->store, "ann", own), ==, 0);
        g_assert_cmpuint(package_store_blob_size(fixture->store, "ann", shared), ==, 6);
        tree = package_store_path(fixture->store, two->hash);
        text = get(tree, "shared");
        g_assert_cmpstr(text, ==, "shared");
        assert_refused(package_store_remove(fixture->store, one->hash, error_), ERR_NOT_FOUND,
                       "there is no package");
        g_assert_true(package_send(fixture->files, one, &wire_ops, &wire, NULL, NULL, &error));
        g_assert_true(package_store_has(fixture->store, "ann", one->hash));
}

static bool drop(const Fixture *fixture, GcKind kind, const char *name, gint64 since)
{
        g_autofree char *path = g_build_filename("packages", name, NULL);
        g_autoptr(GError) error = NULL;
        bool gone;

        g_assert_true(package_store_drop(fixture->store, kind, path, since, &gone, &error));
        g_assert_no_error(error);
        return gone;
}

/* Decisions of an older survey: things used since then are kept. */
static void test_drop(Fixture *fixture, gconstpointer unused)
{
        Wire wire = { .fixture = fixture };
        gint64 before = clock_now_ms() - 1000, after = clock_now_ms() + 60 * 1000;
        g_autoptr(Manifest) manifest = NULL;
        g_autoptr(GError) error = NULL;
        g_autofree char *content = NULL, *mark = NULL;
        struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
        char own[HASH_LEN + 1];

        hash_bytes("own", 3, own);
        content = g_strdup_printf("blobs/%.2s/%s", own, own);
        g_assert_true(send_bytes(fixture, own, 0, "own", 3, true, &error));
        g_assert_false(drop(fixture, GC_CONTENT, content, before));
        put(fixture->files, "own", "own", -1);
        manifest = pack_files(fixture);
        g_assert_true(package_send(fixture->files, manifest, &wire_ops, &wire, NULL, NULL, &error));
        g_assert_false(drop(fixture, GC_PACKAGE, manifest->hash, before));
        g_assert_false(drop(fixture, GC_CONTENT, content, after)); /* a tree contains it */
        mark = g_build_filename(fixture->store_dir, "owners/ann/packages", manifest->hash, NULL);
        g_assert_cmpint(utimensat(AT_FDCWD, mark, old, 0), ==, 0);
        g_assert_false(package_store_use(fixture->store, "bob", manifest->hash));
        g_assert_true(package_store_use(fixture->store, "ann", manifest->hash));
        g_assert_false(drop(fixture, GC_PACKAGE, manifest->hash, before));
        g_assert_true(drop(fixture, GC_PACKAGE, manifest->hash, after));
        g_assert_false(package_store_use(fixture->store, "ann", manifest->hash));
        g_assert_cmpuint(count_names(fixture->store_dir, "owners/ann/packages"), ==, 0);
        g_assert_cmpuint(count_names(fixture->store_dir, "manifests"), ==, 0);
        g_assert_cmpuint(package_store_blob_size(fixture->store, "ann", own), ==, 0);
        g_assert_false(drop(fixture, GC_PACKAGE, manifest->hash, after)); /* already removed */
        g_assert_false(drop(fixture, GC_CONTENT, content, after));
        g_assert_true(package_send(fixture->files, manifest, &wire_ops, &wire, NULL, NULL, &error));
        g_assert_true(package_store_has(fixture->store, "ann", manifest->hash));
}

/* Leftovers of a crash do not count as complete, and are deleted when they are old. */
static void test_leftovers(Fixture *fixture, gconstpointer unused)
{
        static const char *const names[] = { "upload/staging.x/0", ".tree.x/a", "upload/new" };
        struct timespec old[2] = { { .tv_sec = time(NULL) - 2 * 86400 },
                                   { .tv_sec = time(NULL) - 2 * 86400 } };
        g_autofree char *staging = g_build_filename(fixture->store_dir, "upload/staging.x", NULL);
        g_autofree char *tree = g_build_filename(fixture->store_dir, ".tree.x", NULL);
        g_autoptr(GError) error = NULL;

        for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
                put(fixture->store_dir, names[i], "x", 1);
        put(fixture->store_dir, ".gone.x/a", "x", 1);
        g_assert_cmpint(utimensat(AT_FDCWD, staging, old, 0), ==, 0);
        g_assert_cmpint(utimensat(AT_FDCWD, tree, old, 0), ==, 0);
        package_store_close(fixture->store);
        fixture->store = package_store_open(fixture->store_dir, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(count_names(fixture->store_dir, "upload"), ==, 1);
        g_assert_cmpuint(count_names(fixture->store_dir, "."), ==, 4); /* blobs, manifests, owners, upload */
}

/* Four threads send equal and overlapping packages while another removes them. */

typedef struct {
        Fixture *fixture;
        Manifest *manifests[4];
        char *dirs[4];
        gint sent;
} Crowd;

static gpointer send_all(gpointer arg)
{
        Crowd *crowd = arg;

        for (int i = 0; i < 12; i++) {
                Wire wire = { .fixture = crowd->fixture };
                g_autoptr(GError) error = NULL;
                int n = i % 4;

                if (package_send(crowd->dirs[n], crowd->manifests[n], &wire_ops, &wire, NULL, NULL, &error))
                        g_atomic_int_inc(&crowd->sent);
                else if (!err_is(error, ERR_CONFLICT) &&
                         !err_is(error, ERR_NOT_FOUND)) /* removed in between, three times in a row */
                        g_error("%s", error->message);
        }
        return NULL;
}

static gpointer remove_some(gpointer arg)
{
        Crowd *crowd = arg;

        for (int i = 0; i < 12; i++) {
                g_autoptr(GError) error = NULL;

                if (!package_store_remove(crowd->fixture->store, crowd->manifests[i % 4]->hash, &error) &&
                    !err_is(error, ERR_NOT_FOUND))
                        g_error("%s", error->message);
                g_thread_yield();
        }
        return NULL;
}

static void test_threads(Fixture *fixture, gconstpointer unused)
{
        Crowd crowd = { .fixture = fixture };
        GThread *threads[5];
        g_autofree char *large = g_malloc0(400 << 10);

        for (int i = 0; i < 4; i++) {
                crowd.dirs[i] = g_strdup_printf("%s/p%d", fixture->dir, i);
                put(crowd.dirs[i], "common.py", "common", -1);
                put(crowd.dirs[i], "own.py", (char[]){ (char)('a' + i), 0 }, -1);
                put(crowd.dirs[i], "large", large, 400 << 10);
                crowd.manifests[i] = manifest_of_directory(crowd.dirs[i], NULL, NULL, NULL);
        }
        for (int i = 0; i < 5; i++)
                threads[i] = g_thread_new("crowd", i < 4 ? send_all : remove_some, &crowd);
        for (int i = 0; i < 5; i++)
                g_thread_join(threads[i]);
        g_assert_cmpint(crowd.sent, >, 0);
        for (int i = 0; i < 4; i++) {
                Wire wire = { .fixture = fixture };
                g_autoptr(GError) error = NULL;
                g_autofree char *tree = package_store_path(fixture->store, crowd.manifests[i]->hash);
                g_autoptr(Manifest) again = NULL;

                g_assert_true(package_send(crowd.dirs[i], crowd.manifests[i], &wire_ops, &wire, NULL, NULL,
                                           &error));
                again = manifest_of_directory(tree, NULL, NULL, &error);
                g_assert_cmpstr(again->hash, ==, crowd.manifests[i]->hash);
                manifest_free(crowd.manifests[i]);
                g_free(crowd.dirs[i]);
        }
        g_assert_cmpuint(count_names(fixture->store_dir, "upload/ann"), ==, 0);
}

/* A child sends and removes packages in a loop and is killed, each time at another step. */

static void send_for_ever(Fixture *fixture, int steps)
{
        for (guint i = 0;; i++) {
                Wire wire = { .fixture = fixture };
                g_autoptr(Manifest) manifest = NULL;
                g_autofree char *text = g_strdup_printf("%u", i);

                put(fixture->files, "a/changes", text, -1);
                manifest = manifest_of_directory(fixture->files, NULL, NULL, NULL);
                if (!manifest ||
                    !package_send(fixture->files, manifest, &wire_ops, &wire, NULL, NULL, NULL) ||
                    write(steps, "x", 1) != 1)
                        _exit(1);
                if (i % 3 == 2)
                        (void)package_store_remove(fixture->store, manifest->hash, NULL);
        }
}

/* Checks that every tree matches its name. Returns their number. */
static guint check_trees(const Fixture *fixture)
{
        GDir *stream = g_dir_open(fixture->store_dir, 0, NULL);
        guint count = 0;

        for (const char *name; (name = g_dir_read_name(stream));) {
                g_autofree char *tree = g_build_filename(fixture->store_dir, name, NULL);
                g_autoptr(Manifest) manifest = NULL;

                if (!package_store_has(fixture->store, "ann", name))
                        continue;
                manifest = manifest_of_directory(tree, NULL, NULL, NULL);
                g_assert_cmpstr(manifest->hash, ==, name);
                count++;
        }
        g_dir_close(stream);
        return count;
}

static void check_blobs(const Fixture *fixture)
{
        for (int i = 0; i < 256; i++) {
                g_autofree char *dir = g_strdup_printf("%s/blobs/%02x", fixture->store_dir, (unsigned)i);
                GDir *stream = g_dir_open(dir, 0, NULL);

                for (const char *name; (name = g_dir_read_name(stream));) {
                        g_autofree char *blob = g_build_filename(dir, name, NULL);
                        char hash[HASH_LEN + 1];

                        g_assert_true(hash_file(blob, hash, NULL, NULL));
                        g_assert_cmpstr(hash, ==, name);
                }
                g_dir_close(stream);
        }
}

static void test_killed(Fixture *fixture, gconstpointer unused)
{
        g_autofree char *large = g_malloc0(300 << 10);
        guint trees = 0;

        put(fixture->files, "large", large, 300 << 10);
        for (int round = 0; round < 12; round++) {
                g_autoptr(GError) error = NULL;
                int steps[2], status;
                char byte;
                pid_t pid;

                g_assert_cmpint(pipe2(steps, O_CLOEXEC), ==, 0);
                pid = fork();
                if (pid == 0)
                        send_for_ever(fixture, steps[1]);
                close(steps[1]);
                for (int i = 0; i <= round; i++)
                        g_assert_cmpint(read(steps[0], &byte, 1), ==, 1);
                g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
                g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
                g_assert_true(WIFSIGNALED(status));
                close(steps[0]);
                package_store_close(fixture->store);
                fixture->store = package_store_open(fixture->store_dir, &error);
                g_assert_no_error(error);
                trees += check_trees(fixture);
                check_blobs(fixture);
        }
        g_assert_cmpuint(trees, >, 0);
}

static void test_speed(Fixture *fixture, gconstpointer unused)
{
        Wire wire = { .fixture = fixture };
        g_autofree char *data = g_malloc0(10000);
        g_autoptr(Manifest) manifest = NULL;
        g_autoptr(GError) error = NULL;
        gint64 start;

        for (int i = 0; i < 1000; i++) {
                g_autofree char *name = g_strdup_printf("d%d/f%d.py", i % 20, i);

                memcpy(data, &i, sizeof i);
                put(fixture->files, name, data, 10000);
        }
        manifest = pack_files(fixture);
        start = g_get_monotonic_time();
        g_assert_true(package_send(fixture->files, manifest, &wire_ops, &wire, NULL, NULL, &error));
        g_test_message("first sending: %" G_GINT64_FORMAT " us", g_get_monotonic_time() - start);
        g_assert_cmpuint(wire.bodies, ==, 2);
        start = g_get_monotonic_time();
        g_assert_true(package_send(fixture->files, manifest, &wire_ops, &wire, NULL, NULL, &error));
        g_test_message("second sending: %" G_GINT64_FORMAT " us", g_get_monotonic_time() - start);
        g_assert_cmpuint(wire.bodies, ==, 2);
}

enum { FULL = 3 << 20 }; /* bytes, more than the disk has */

static void fill_disk(const char *dir)
{
        Fixture fixture = { .dir = (char *)dir };
        g_autofree char *large = g_strnfill(FULL, 'x'), *body = NULL;
        g_autoptr(GError) error = NULL;
        char hash[HASH_LEN + 1];

        fixture.store_dir = g_build_filename(dir, "disk/packages", NULL);
        fixture.store = package_store_open(fixture.store_dir, &error);
        g_assert_no_error(error);
        hash_bytes(large, FULL, hash);
        assert_refused(send_bytes(&fixture, hash, 0, large, FULL, true, error_), ERR_NO_SPACE,
                       "Free some space");
        g_assert_cmpuint(package_store_blob_size(fixture.store, "ann", hash), ==, 0);
        body = g_strdup_printf("%s %d\n%s", hash, FULL, large);
        assert_refused(send_blobs(&fixture, body, strlen(body), error_), ERR_NO_SPACE, "Free some space");
        g_assert_cmpuint(package_store_blob_size(fixture.store, "ann", hash), ==, 0);
        package_store_close(fixture.store);
        g_free(fixture.store_dir);
}

static void test_full_disk(void)
{
        on_small_disk(fill_disk);
}

int main(int argc, char **argv)
{
        static const struct {
                const char *path;
                void (*run)(Fixture *fixture, gconstpointer unused);
        } tests[] = {
                { "/package/package-store/send", test_send },
                { "/package/package-store/requirements", test_requirements },
                { "/package/package-store/requirements-are-remembered", test_requirements_are_remembered },
                { "/package/package-store/resume", test_resume },
                { "/package/package-store/poisoned", test_poisoned },
                { "/package/package-store/blob-refused", test_blob_refused },
                { "/package/package-store/blobs-refused", test_blobs_refused },
                { "/package/package-store/lies", test_lies },
                { "/package/package-store/owners", test_owners },
                { "/package/package-store/remove", test_remove },
                { "/package/package-store/drop", test_drop },
                { "/package/package-store/leftovers", test_leftovers },
                { "/package/package-store/threads", test_threads },
                { "/package/package-store/killed", test_killed },
                { "/package/package-store/speed", test_speed },
        };

        g_test_init(&argc, &argv, NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
                g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].run, tear_down);
        g_test_add_func("/package/package-store/full-disk", test_full_disk);
        return g_test_run();
}
