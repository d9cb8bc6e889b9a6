/* Archives from outside, unpacked with small limits into a store in memory (/dev/shm, else /tmp). What is
 * refused leaves nothing behind; what is accepted is a tree that packs to the same name again. */
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "package/package.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *scratch;
static PackageStore *store;

static void clean(void)
{
        package_store_close(store);
        (void)file_remove_tree(scratch, NULL); /* the end of a test program */
}

static void open_store(void)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *dir = NULL;

        scratch = g_strdup(access("/dev/shm", W_OK) == 0 ? "/dev/shm/fuzz-archive-XXXXXX"
                                                         : "/tmp/fuzz-archive-XXXXXX");
        if (!g_mkdtemp(scratch))
                g_error("no scratch directory");
        dir = g_build_filename(scratch, "packages", NULL);
        store = package_store_open(dir, &error);
        if (!store)
                g_error("%s", error->message);
        package_store_limit(store, 64, 1 << 20);
        if (atexit(clean) != 0)
                g_error("no atexit");
}

/* Of what leaves its data out on purpose, the packed tree differs: ignore files, .git and __pycache__. */
static bool has_rules(const char *tree)
{
        const char *argv[] = { "find",        tree, "-name", ".git",     "-o", "-name",
                               "__pycache__", "-o", "-name", ".*ignore", NULL };
        g_autofree char *found = NULL;

        return !g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &found, NULL, NULL,
                             NULL) ||
               *found;
}

static void check_tree(const char *hash)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *tree = package_store_path(store, hash);
        g_autoptr(Manifest) again = manifest_of_directory(tree, NULL, NULL, &error);

        if ((!again || strcmp(again->hash, hash) != 0) && !has_rules(tree))
                g_error("the tree is not what its name says: %s", error ? error->message : again->hash);
        if (!package_store_remove(store, hash, &error))
                g_error("%s", error->message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autoptr(GError) error = NULL;
        g_autofree char *archive = NULL, *upload = NULL;
        char hash[HASH_LEN + 1] = "";

        if (!store)
                open_store();
        archive = g_build_filename(scratch, "archive", NULL);
        if (!g_file_set_contents_full(archive, (const char *)data, (gssize)size, G_FILE_SET_CONTENTS_NONE,
                                      0600, NULL))
                g_error("cannot write '%s'", archive);
        if (package_store_unpack(store, "ann", archive, hash, &error))
                check_tree(hash);
        else if (!error)
                g_error("refused without a reason");
        upload = g_build_filename(scratch, "packages", "upload", NULL);
        if (g_rmdir(upload) < 0 || g_mkdir(upload, 0755) < 0)
                g_error("something is left behind in '%s'", upload);
        return 0;
}
