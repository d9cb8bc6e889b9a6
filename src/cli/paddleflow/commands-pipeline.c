/* The commands of the older client about stored pipelines (see command.h). */
#include "cli/paddleflow/commands.h"

static const PaddleFlowParam pipeline_word[] = { { "PIPELINE_ID" }, { 0 } };
static const PaddleFlowParam version_words[] = { { "PIPELINE_ID" }, { "VERSION_ID" }, { 0 } };
static const PaddleFlowParam pipeline_create_words[] = { { "FS_NAME", .key = "fsname" }, { 0 } };
static const PaddleFlowParam pipeline_create_options[] = {
        { "yamlpath", "-yp", PADDLEFLOW_TEXT, "yamlPath", "the definition on the file system" },
        { "desc", "-d", PADDLEFLOW_TEXT, "desc", "what the pipeline is for" },
        { "username", "-u", PADDLEFLOW_TEXT, "username",
          "whose file system; only root may name another user" },
        { 0 },
};
static const PaddleFlowParam pipeline_update_words[] = {
        { "PIPELINE_ID" }, { "FS_NAME", .key = "fsName" }, { "YAML_PATH", .key = "yamlPath" }, { 0 }
};
static const PaddleFlowParam pipeline_update_options[] = {
        { "username", "-u", PADDLEFLOW_TEXT, "username",
          "whose file system; only root may name another user" },
        { "desc", "-d", PADDLEFLOW_TEXT, "desc", "what the pipeline is for" },
        { 0 },
};
static const PaddleFlowParam pipeline_list_options[] = {
        { "userfilter", "-u", PADDLEFLOW_TEXT, "userFilter", "only of these users: a,b" },
        { "namefilter", "-n", PADDLEFLOW_TEXT, "nameFilter", "only of these names: a,b" },
        MAXKEYS,
        MARKER,
        { 0 },
};
static const PaddleFlowParam pipeline_show_options[] = {
        { "fsfilter", "-f", PADDLEFLOW_TEXT, "fsFilter", "only versions of these file systems: a,b" },
        MAXKEYS,
        MARKER,
        { 0 },
};
static const PaddleFlowColumn pipeline_columns[] = {
        { "pipeline id", "pipelineID" },
        { "name", "name" },
        { "username", "username" },
        { "desc", "desc" },
        { "create time", "createTime" },
        { "update time", "updateTime" },
        { 0 },
};
/* Of a version, with what its pipeline has. */
static const PaddleFlowColumn version_columns[] = {
        { "pipeline id", "pipeline.pipelineID" },
        { "name", "pipeline.name" },
        { "desc", "pipeline.desc" },
        { "pipeline version id", "pipelineVersionID" },
        { "fs name", "fsName" },
        { "yaml path", "yamlPath" },
        { "username", "username" },
        { "create time", "createTime" },
        { "update time", "updateTime" },
        { "pipeline yaml", "pipelineYaml", true },
        { 0 },
};

static json_t *version_row(const json_t *reply, json_t *version)
{
        json_t *row = json_copy(version);

        json_object_set(row, "pipeline", json_object_get(reply, "pipeline"));
        return row;
}

static json_t *pipeline_versions(json_t *reply, GError **error)
{
        json_t *rows = json_array(), *version;
        gsize i;

        json_array_foreach(json_object_get(json_object_get(reply, "pplVersions"), "pplVersionList"), i,
                           version)
                json_array_append_new(rows, version_row(reply, version));
        json_object_set(reply, "nextMarker",
                        json_object_get(json_object_get(reply, "pplVersions"), "nextMarker"));
        return rows;
}

static json_t *pipeline_version(json_t *reply, GError **error)
{
        return json_pack("[o]", version_row(reply, json_object_get(reply, "pipelineVersion")));
}

const PaddleFlowCommand paddleflow_pipeline_commands[] = {
        { "create", "Store a pipeline.", pipeline_create_words, pipeline_create_options, "POST", "/pipeline",
          PADDLEFLOW_BODY,
          .done = "pipeline[{name}] create success, id[{pipelineID}], version id[{pipelineVersionID}]" },
        { "list", "List stored pipelines.", NULL, pipeline_list_options, "GET", "/pipeline",
          .items = "pipelineList", .columns = pipeline_columns, .marker = true },
        { "show", "Show a pipeline with its versions.", pipeline_word, pipeline_show_options, "GET",
          "/pipeline/{0}", .rows = pipeline_versions, .columns = version_columns, .marker = true },
        { "update", "Store a new version of a pipeline.", pipeline_update_words, pipeline_update_options,
          "POST", "/pipeline/{0}", PADDLEFLOW_BODY,
          .done = "pipeline[{pipelineID}] update success, new version id[{pipelineVersionID}]" },
        { "delete", "Delete a pipeline.", pipeline_word, NULL, "DELETE", "/pipeline/{0}",
          .done = "pipeline[{0}] delete success" },
        { "showversion", "Show a version of a pipeline.", version_words, NULL, "GET", "/pipeline/{0}/{1}",
          .rows = pipeline_version, .columns = version_columns },
        { "deleteversion", "Delete a version of a pipeline.", version_words, NULL, "DELETE",
          "/pipeline/{0}/{1}", .done = "pipeline[{0}] version[{1}] delete success" },
        { 0 },
};
