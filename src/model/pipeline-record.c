/* Stored pipelines as the store keeps them (see pipeline-record.h). */
#include "model/pipeline-record.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/number.h"

void pipeline_record_free(PipelineRecord *record)
{
        if (!record)
                return;
        g_free(record->user);
        g_free(record->name);
        g_free(record->note);
        g_free(record);
}

PipelineRecord *pipeline_record_copy(const PipelineRecord *record)
{
        PipelineRecord *copy = g_memdup2(record, sizeof *record);

        copy->user = g_strdup(record->user);
        copy->name = g_strdup(record->name);
        copy->note = g_strdup(record->note);
        return copy;
}

void pipeline_version_free(PipelineVersion *version)
{
        if (!version)
                return;
        g_free(version->user);
        g_free(version->fs);
        g_free(version->path);
        g_free(version->text);
        g_free(version->files);
        g_free(version->packages);
        g_free(version);
}

bool pipeline_no_version(const char *name, int version, int newest, GError **error)
{
        return err_set(error, ERR_NOT_FOUND,
                       "pipeline '%s' has no version %d; its newest one is %d\n"
                       "`paddle pipeline show %s` shows its versions.",
                       name, version, newest, name);
}

void pipeline_add_files(json_t *request, const char *files)
{
        g_autoptr(json_t) object = files ? json_parse(files, strlen(files), NULL) : NULL;

        if (object && !json_string_value(json_object_get(request, "package")))
                json_object_update(request, object);
}

void pipeline_hash(const char *text, char ret[PIPELINE_HASH_LEN + 1])
{
        g_autofree char *hash =
                g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)text, strlen(text));

        g_strlcpy(ret, hash, PIPELINE_HASH_LEN + 1);
}

char *numbered_id_format(const char *prefix, gint64 seq)
{
        return g_strdup_printf("%s-%06" G_GINT64_FORMAT, prefix, seq);
}

bool numbered_id_parse(const char *prefix, const char *text, gint64 *ret)
{
        gsize len = strlen(prefix);
        g_autofree char *again = NULL;

        if (!g_str_has_prefix(text, prefix) || text[len] != '-' ||
            !number_parse("id", text + len + 1, 1, G_MAXINT64, ret, NULL))
                return false;
        again = numbered_id_format(prefix, *ret);
        return strcmp(again, text) == 0;
}
