/* In what two runs differ: definition, parameters, environment, settings, artifacts, states and durations. Pure: from the
 * server's replies to one JSON object, and from that to lines. */
#pragma once

#include <stdio.h>

#include "cli/cli.h"

enum {
        RUN_DIFF_FACTS_MAX = 200 * 1000,    /* parameters and variables of one run that are compared */
        RUN_DIFF_LINES_MAX = 1000,          /* of a definition, in the JSON */
        RUN_DIFF_LINES = 30,                /* of one part, on the terminal */
        RUN_DIFF_ARTIFACTS_MAX = 10 * 1000, /* of one run that are compared */
        RUN_DIFF_FILES_MAX =
                100, /* of two packages, in the JSON and, unless all are wanted, for the terminal */
};

/* One of the two. */
typedef struct {
        const json_t *run;        /* GET /v1/runs/{run} */
        const json_t *definition; /* .../definition */
        const json_t *steps;      /* .../steps */
        const json_t *artifacts;  /* an array of its outputs */
} RunSide;

/* {"a": {"id", "name", "user", "state", "version", "ms"}, "b", "same", "differs": ["definition", ...], "definition": [lines],
 * "definition_more": lines that are left out, "parameters", "environment", "settings": [{"path", "name", "a", "b"}],
 * "artifacts": [{"path", "name", "in": "a" | "b" | "both", "differs": true, false or null}],
 * "packages": [{"path", "a", "b", "files": null, "more": 0, "why": null}],
 * "steps": [{"path", "a", "b", "ratio", "differs"}]}. A value that there is not is null; "path" "" is the run itself, and in
 * paths of artifacts RUN stands for the id of the run that wrote it. "packages" has the pairs of packages that "environment" names
 * too. "same" is about everything but durations. The caller's. */
json_t *run_diff(const RunSide *a, const RunSide *b);
/* Whoever compares the two of "packages" sets "files": [{"path", "change": "new", "gone" or "differs"}], from a to b, and "more",
 * the number of files that are left out; or "why", a sentence, if they cannot be compared. */
/* Whoever compares the files "path_a" and "path_b" of an artifact sets its "differs", which is null until then, and calls this
 * at the end. */
void run_diff_settle(json_t *diff);

/* One screen, or everything with `all`. */
void run_diff_print(const json_t *diff, const Terminal *terminal, bool all, FILE *to);
