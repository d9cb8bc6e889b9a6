/* A Python package for environments of tests, which ask no index: a wheel that holds one module. */
#pragma once

#include <archive.h>
#include <archive_entry.h>
#include <glib.h>
#include <string.h>

static inline void add_member(struct archive *zip, const char *name, const char *text)
{
        struct archive_entry *entry = archive_entry_new();

        archive_entry_set_pathname(entry, name);
        archive_entry_set_size(entry, (la_int64_t)strlen(text));
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_perm(entry, 0644);
        g_assert_cmpint(archive_write_header(zip, entry), ==, ARCHIVE_OK);
        g_assert_cmpint(archive_write_data(zip, text, strlen(text)), ==, (la_ssize_t)strlen(text));
        archive_entry_free(entry);
}

/* tinything 1.0 into the directory `links`, for PIP_FIND_LINKS. */
static inline void write_wheel(const char *links)
{
        g_autofree char *path = g_build_filename(links, "tinything-1.0-py3-none-any.whl", NULL);
        struct archive *zip = archive_write_new();

        archive_write_set_format_zip(zip);
        archive_write_zip_set_compression_store(zip);
        g_assert_cmpint(archive_write_open_filename(zip, path), ==, ARCHIVE_OK);
        add_member(zip, "tinything.py", "VALUE = 42\n");
        add_member(zip, "tinything-1.0.dist-info/METADATA",
                   "Metadata-Version: 2.1\nName: tinything\nVersion: 1.0\n");
        add_member(zip, "tinything-1.0.dist-info/WHEEL",
                   "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n");
        add_member(zip, "tinything-1.0.dist-info/RECORD",
                   "tinything.py,,\ntinything-1.0.dist-info/METADATA,,\ntinything-1.0.dist-info/"
                   "WHEEL,,\ntinything-1.0.dist-info/RECORD,,\n");
        g_assert_cmpint(archive_write_close(zip), ==, ARCHIVE_OK);
        archive_write_free(zip);
}
