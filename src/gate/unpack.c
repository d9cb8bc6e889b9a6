/* unpack TAR DIRECTORY [NAME]: a package into a directory of the pod, where its contents are `work` and,
 * under their own name, `path/NAME`. Tars are those that the server writes (src/package/tar.c): GNU's form, with
 * directories, files and symbolic links. All that is made may be changed by everybody in the pod. It may be
 * done again. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gate/gate.h"

enum {
        BLOCK = 512,
        NAME_SIZE = 100, /* of a name in a header; longer ones stand in an entry of their own */
        LONG_SIZE = 4096,
        PATH_SIZE = 2 * LONG_SIZE,
        EXECUTABLE = 0100,
};

typedef struct {
        char name[NAME_SIZE], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type,
                target[NAME_SIZE];
        char rest[BLOCK - 257];
} Header;

_Static_assert(sizeof(Header) == BLOCK, "the header of a tar is a block");

typedef struct {
        const char *tar, *directory;
        int fd;
        char name[LONG_SIZE], target[LONG_SIZE]; /* of the next entry, "" where its header says it */
} Unpacking;

static void read_block(const Unpacking *unpacking, void *into)
{
        size_t len = 0;

        while (len < BLOCK) {
                ssize_t got = read(unpacking->fd, (char *)into + len, BLOCK - len);

                if (got <= 0)
                        fail(NOT_RUN, "unpack: '%s': %s", unpacking->tar, got ? strerror(errno) : "cut off");
                len += (size_t)got;
        }
}

static unsigned long number(const char *field, size_t size)
{
        char text[16]; /* octal digits of a field of at most 12 */

        (void)snprintf(text, sizeof text, "%.*s", (int)size, field);
        return strtoul(text, NULL, 8);
}

/* It stays below the directory. */
static void check_name(const Unpacking *unpacking, const char *name)
{
        bool up = strcmp(name, "..") == 0 || strncmp(name, "../", 3) == 0 || strstr(name, "/../") ||
                  (strlen(name) > 3 && strcmp(name + strlen(name) - 3, "/..") == 0);

        if (!*name || *name == '/' || up)
                fail(NOT_RUN, "unpack: '%s': '%s' leads out of it", unpacking->tar, name);
}

static void made(int status, const char *path)
{
        if (status != 0 && errno != EEXIST)
                fail(NOT_RUN, "unpack: cannot make '%s': %s", path, strerror(errno));
}

static void write_all(int fd, const char *data, size_t len, const char *path)
{
        while (len > 0) {
                ssize_t put = write(fd, data, len);

                if (put < 0)
                        fail(NOT_RUN, "unpack: cannot write '%s': %s", path, strerror(errno));
                data += put;
                len -= (size_t)put;
        }
}

static void make_file(const Unpacking *unpacking, const char *path, bool executable, unsigned long size)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, executable ? 0777 : 0666);
        char block[BLOCK];

        if (fd < 0)
                fail(NOT_RUN, "unpack: cannot make '%s': %s", path, strerror(errno));
        for (; size > 0; size -= size < BLOCK ? size : BLOCK) {
                read_block(unpacking, block);
                write_all(fd, block, size < BLOCK ? size : BLOCK, path);
        }
        (void)close(fd);
}

/* A name that its header has no room for. */
static void read_long(const Unpacking *unpacking, unsigned long size, char into[LONG_SIZE])
{
        char block[BLOCK];

        if (size >= LONG_SIZE)
                fail(NOT_RUN, "unpack: '%s': a name is too long", unpacking->tar);
        for (unsigned long at = 0; at < size; at += BLOCK) {
                size_t part = size - at < BLOCK ? size - at : BLOCK;

                read_block(unpacking, block);
                memcpy(into + at, block, part);
        }
        into[size] = '\0';
}

static void take_short(char into[LONG_SIZE], const char field[NAME_SIZE])
{
        if (!*into)
                (void)snprintf(into, LONG_SIZE, "%.*s", NAME_SIZE, field);
}

static void make_entry(Unpacking *unpacking, const Header *header)
{
        unsigned long size = number(header->size, sizeof header->size);
        char path[PATH_SIZE];

        take_short(unpacking->name, header->name);
        take_short(unpacking->target, header->target);
        check_name(unpacking, unpacking->name);
        (void)snprintf(path, sizeof path, "%s/%s", unpacking->directory, unpacking->name);
        switch (header->type) {
        case '5': made(mkdir(path, 0777), path); break;
        case '2': made(symlink(unpacking->target, path), path); break;
        case '0':
                make_file(unpacking, path, number(header->mode, sizeof header->mode) & EXECUTABLE, size);
                break;
        default: fail(NOT_RUN, "unpack: '%s': '%s' is of no known kind", unpacking->tar, unpacking->name);
        }
        unpacking->name[0] = unpacking->target[0] = '\0';
}

static void unpack_all(Unpacking *unpacking)
{
        for (;;) {
                Header header;
                unsigned long size;

                read_block(unpacking, &header);
                if (!header.name[0])
                        return; /* the end is blocks of zeros */
                size = number(header.size, sizeof header.size);
                if (header.type == 'L')
                        read_long(unpacking, size, unpacking->name);
                else if (header.type == 'K')
                        read_long(unpacking, size, unpacking->target);
                else
                        make_entry(unpacking, &header);
        }
}

static void link_name(const char *directory, const char *name)
{
        char path[PATH_SIZE];

        (void)snprintf(path, sizeof path, "%s/path", directory);
        made(mkdir(path, 0777), path);
        (void)snprintf(path, sizeof path, "%s/path/%s", directory, name);
        made(symlink("../work", path), path);
}

int unpack(int argc, char **argv)
{
        static Unpacking unpacking;

        if (argc < 2 || argc > 3)
                fail(USAGE, "unpack TAR DIRECTORY [NAME]");
        (void)umask(0);
        unpacking.tar = argv[0];
        unpacking.directory = argv[1];
        unpacking.fd = open(argv[0], O_RDONLY | O_CLOEXEC);
        if (unpacking.fd < 0)
                fail(NOT_RUN, "unpack: '%s': %s", argv[0], strerror(errno));
        unpack_all(&unpacking);
        (void)close(unpacking.fd);
        if (argc == 3 && *argv[2])
                link_name(argv[1], argv[2]);
        return 0;
}
