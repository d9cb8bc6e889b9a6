/* Fuzz target: an object of the catalog as the store's text, and as the body of a request of /v1.
 *
 * The first byte chooses the kind. Any bytes are either refused with ERR_INVALID, or become an object that
 * survives packing and copying. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "model/filesystem.h"
#include "model/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round(const Object *object)
{
        g_autofree char *text = object_pack(object);
        g_autoptr(GError) error = NULL;
        g_autoptr(Object) back = object_unpack(object->kind, object->seq, object->name, text, &error);
        g_autoptr(Object) copy = object_copy(object);
        g_autoptr(json_t) first = object_format(object), second = NULL, third = object_format(copy);
        g_autofree char *again = NULL;

        g_assert_no_error(error);
        second = object_format(back);
        again = object_pack(back);
        g_assert_true(json_equal(first, second) && json_equal(first, third));
        g_assert_cmpstr(text, ==, again);
}

/* A URL is refused with ERR_INVALID, or its directory is absolute, normal and not below /root. */
static void check_filesystem(const Filesystem *filesystem)
{
        g_auto(FilesystemAddress) address = { 0 };
        g_autoptr(GError) error = NULL, refused = NULL;
        g_auto(GStrv) parts = NULL;

        if (!filesystem->url)
                return;
        if (!filesystem_address_parse(filesystem->url, filesystem->properties, &address, &error)) {
                g_assert_true(err_is(error, ERR_INVALID));
                return;
        }
        g_assert_true(filesystem_properties_check(address.type, filesystem->properties, &refused) ||
                      err_is(refused, ERR_INVALID));
        if (address.type != FILESYSTEM_LOCAL && address.type != FILESYSTEM_MOCK)
                return;
        parts = g_strsplit(address.path, "/", -1);
        g_assert_true(!*parts[0] && parts[1] && strcmp(parts[1], "root") != 0);
        for (char **part = parts + 1; *part; part++)
                g_assert_true(**part && strcmp(*part, ".") != 0 && strcmp(*part, "..") != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        ObjectKind kind = size ? data[0] % KINDS : KIND_USER;
        g_autofree char *text = size ? g_strndup((const char *)data + 1, size - 1) : NULL;
        g_autoptr(Object) stored = NULL, made = object_new(kind, "x1");
        g_autoptr(json_t) patch = NULL;
        g_autoptr(GError) error = NULL, refused = NULL;

        if (!text || size > 65536)
                return 0;
        stored = object_unpack(kind, 1, "x1", text, &error);
        g_assert_true(stored || err_is(error, ERR_INVALID));
        if (stored)
                check_round(stored);
        if (stored && kind == KIND_FILESYSTEM)
                check_filesystem((const Filesystem *)stored);
        patch = json_parse(text, strlen(text), NULL);
        if (patch && object_patch(made, patch, &refused))
                check_round(made);
        else
                g_assert_true(!patch || err_is(refused, ERR_INVALID));
        return 0;
}
