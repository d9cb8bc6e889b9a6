/* Stored pipelines in the engine. Internal to pipelines.c and runs-command.c.
 *
 * The engine knows each pipeline with the numbers, hashes, sizes and directories of its versions, and not their texts:
 * those are in the store. The packages of a version are held as those of open jobs are, so that they are not removed. A change replaces the entry of a pipeline by another one; the entries that a batch replaced are kept until its
 * commit, and come back if that fails. */
#pragma once

#include "engine/state.h"
#include "model/pipeline-record.h"

enum {
        PIPELINES_MAX = 20000,             /* on the server */
        PIPELINES_OF_USER_MAX = 1000,      /* administrators have no such limit */
        PIPELINE_VERSIONS_MAX = 1000,      /* that one pipeline has at a time */
        PIPELINE_TEXTS_OF_USER = 64 << 20, /* bytes of all versions of a user's pipelines */
        PIPELINE_NOTE_MAX = 256,           /* bytes */
};

typedef struct {
        int version;
        char hash[PIPELINE_HASH_LEN + 1];
        gint64 size;
        char *files;         /* as in PipelineVersion; or NULL */
        GPtrArray *packages; /* hashes of what its runs use; or NULL */
} StoredVersion;

typedef struct {
        PipelineRecord *record;
        GArray *versions; /* StoredVersion: those that exist, in order */
} StoredPipeline;

/* NULL: there is none. */
const StoredPipeline *pipelines_find(Engine *engine, gint64 seq);
const StoredVersion *pipelines_version(const StoredPipeline *stored, int version);
