/* Definitions of pipelines in files, with what a request would change: for the verbs of cmd-pipeline*.c. A file is a text in YAML
 * or JSON, or a program that makes one (pipeline-program.h). */
#pragma once

#include "cli/cli.h"
#include "pipeline/definition.h"

typedef struct {
        Common common;
        char *format, *name, *image, *fs, *disabled, *user, *run_id;
        GPtrArray *parameters; /* "NAME=VALUE" */
        bool runjson;
        bool stored; /* the word is a stored pipeline, also if there is a file of this name */
        bool warn;   /* also look for warnings */
        char *svg;   /* draw a picture: svg_file; or NULL */
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

/* A sentence for the help of verbs that take a FILE. */
#define PIPELINE_PROGRAM_HELP                                                                                \
        "FILE.py is a program in Python that describes the pipeline: see `paddle help run create`."

/* A word that can only be a file: names of pipelines have no dot and no slash. */
bool pipeline_is_file(const char *word);

/* Reads FILE ("-": standard input; "x.py": runs it) and adds its problems. *ret is NULL if there are any. False if the file
 * cannot be read or an option is wrong. */
bool pipeline_file_parse(const PipelineOptions *options, const char *path, Problems *problems,
                         Definition **ret, GError **error);

/* The same; problems are an error that shows the first. */
bool pipeline_file_load(const PipelineOptions *options, const char *path, Definition **ret, GError **error);

/* The same for a text, which messages call `label`. */
bool pipeline_text_load(const PipelineOptions *options, const char *label, const char *text, gsize len,
                        Definition **ret, GError **error);

/* The parameters of the options, a new object; NULL with ERR_USAGE. */
json_t *pipeline_file_parameters(const PipelineOptions *options, GError **error);

/* {"definition": the text of the file}; the caller's. NULL with an error, also the first of the definition: it is
 * checked before anything is sent, and messages have the name of the file. Functions of a program are sent before that, to the
 * server of `cli`, each with `directory` (NULL: none). *ret is the definition. */
json_t *pipeline_file_body(Cli *cli, const PipelineOptions *options, const char *path, const char *directory,
                           Definition **ret, GError **error);

/* Adds what the options change to the body of a run (doc/guide/rest.md, "Runs of pipelines"). */
bool pipeline_add_request(const PipelineOptions *options, json_t *body, GError **error);

/* The name of the file for messages. */
const char *pipeline_file_name(const char *path);
