/* A stored pipeline and its versions, as the store keeps them. The definition of a version lies once for each content,
 * by its hash. Times are ms since 1970. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

enum { PIPELINE_HASH_LEN = 64 }; /* hex digits */

typedef struct {
        gint64 seq;      /* the store's key; grows with creation, never used again */
        gint64 revision; /* of its last event */
        char *user, *name;
        char *note; /* what it is for, in the words of its owner; or NULL */
        int made;   /* versions that were ever created; the newest one has this number, if it still exists */
        gint64 created, updated;
} PipelineRecord;
void pipeline_record_free(PipelineRecord *record); /* NULL is a no-op */
PipelineRecord *pipeline_record_copy(const PipelineRecord *record);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipelineRecord, pipeline_record_free)

typedef struct {
        gint64 pipeline; /* seq */
        int version;     /* from 1 */
        char hash[PIPELINE_HASH_LEN + 1];
        gint64 size; /* bytes of the text */
        char *user;  /* who created it */
        char *fs;    /* the main file system of its runs, if the definition names none; or NULL */
        char *path;  /* of the file on `fs` from which the text was read; or NULL */
        char *text;  /* the definition, UTF-8; NULL: not read */
        char *files; /* the directory in which its commands begin: an object with "package", "package_name" and
                      * "requirements" as in the request of a run; NULL: none */
        char *packages; /* hashes of all directories that its runs use, also those of steps, separated by blanks; or NULL */
        gint64 created;
} PipelineVersion;
void pipeline_version_free(PipelineVersion *version); /* NULL is a no-op */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipelineVersion, pipeline_version_free)

/* ERR_NOT_FOUND: the pipeline has no such version; `newest` is the number of its newest one. Always false. */
bool pipeline_no_version(const char *name, int version, int newest, GError **error);

/* Completes the request of a run that names no package by the directory of the version; NULL: it has none. */
void pipeline_add_files(json_t *request, const char *files);

/* The hash of a definition. */
void pipeline_hash(const char *text, char ret[PIPELINE_HASH_LEN + 1]);

/* "ppl-000001" for the prefix "ppl": ids that people see and that count up; at least six digits. The caller's. */
char *numbered_id_format(const char *prefix, gint64 seq);
/* Only the text that numbered_id_format gives; false: it is none. */
bool numbered_id_parse(const char *prefix, const char *text, gint64 *ret);
