/* Stored pipelines on the command line: NAME or NAME@VERSION. */
#pragma once

#include "cli/cli.h"

typedef struct {
        char *name;     /* or its id */
        gint64 version; /* 0: none is given */
} PipelineWord;
void pipeline_word_clear(PipelineWord *word);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PipelineWord, pipeline_word_clear)

/* False with ERR_USAGE: what follows the '@' is not a number of a version. */
bool pipeline_word_parse(const char *text, PipelineWord *ret, GError **error);

/* "/v1/pipelines/<name, encoded><suffix>", with ?user= if that is not NULL; the caller's. */
char *pipeline_path(const char *name, const char *suffix, const char *user);
