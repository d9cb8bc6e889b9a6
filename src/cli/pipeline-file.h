/* Definitions of pipelines in files, with what a request would change: for the verbs of cmd-pipeline*.c. */
#pragma once

#include "cli/cli.h"
#include "pipeline/definition.h"

typedef struct {
        Common common;
        char *format, *name, *image, *fs, *disabled, *user, *run_id;
        GPtrArray *parameters; /* "NAME=VALUE" */
        bool runjson;
        bool warn; /* also look for warnings */
        gint64 limit;
} PipelineOptions;

/* clang-format off */
#define PIPELINE_OPTIONS                                                                                     \
        { "parameter", 'p', OPTION_LIST, offsetof(PipelineOptions, parameters), "NAME=VALUE",                \
          "set a parameter; STEP.NAME=VALUE sets that of one step" },                                        \
        { "image", 0, OPTION_STRING, offsetof(PipelineOptions, image), "IMAGE",                              \
          "image for steps that have none" },                                                                \
        { "fs", 0, OPTION_STRING, offsetof(PipelineOptions, fs), "NAME",                                     \
          "main file system if the file names none" },                                                       \
        { "disabled", 0, OPTION_STRING, offsetof(PipelineOptions, disabled), "STEPS",                        \
          "steps to skip, separated by commas" },                                                            \
        { "name", 0, OPTION_STRING, offsetof(PipelineOptions, name), "NAME", "name of the pipeline" },       \
        { "runjson", 0, OPTION_BOOL, offsetof(PipelineOptions, runjson), NULL,                               \
          "FILE is the body of a run as JSON, with dockerEnv, entryPoints and so on" }
/* clang-format on */

/* Reads FILE ("-": standard input) and adds its problems. *ret is NULL if there are any. False if the file
 * cannot be read or an option is wrong. */
bool pipeline_file_parse(const PipelineOptions *options, const char *path, Problems *problems,
                         Definition **ret, GError **error);

/* The same; problems are an error that shows the first. */
bool pipeline_file_load(const PipelineOptions *options, const char *path, Definition **ret, GError **error);

/* The parameters of the options, a new object; NULL with ERR_USAGE. */
json_t *pipeline_file_parameters(const PipelineOptions *options, GError **error);

/* The body of a run (doc/guide/rest.md, "Runs of pipelines"): the text, and what the options change. NULL with an error;
 * the caller's. */
json_t *pipeline_file_request(const PipelineOptions *options, const char *path, GError **error);

/* The name of the file for messages. */
const char *pipeline_file_name(const char *path);
