/* The first fingerprint of a step: what decides its result, apart from files (doc/reference/pipelines.md, "Cache").
 * Pure.
 *
 * It is a set of parts with names: "image", "command", "parameter lr", "env SEED", "input data", ... Each part is a
 * digest, so that two fingerprints can be compared part by part without their values. */
#pragma once

#include "pipeline/definition.h"
#include "pipeline/render.h"

typedef struct {
        const Definition *definition;
        guint32 component;   /* as it is written */
        const char *user;    /* owner of the run, for the ids of file systems */
        bool content;        /* paths of inputs do not count: their contents do, in the second fingerprint */
        const char *package; /* content hash of the directory that the step gets; NULL: none */
        const char *requirements; /* lines of packages; NULL: none */
        /* Of render_instance with RenderContext.keep_outputs, and keep_inputs if `content`. */
        const Rendered *rendered;
} FingerprintStep;

/* Name -> digest (64 hex digits) of each part, a new object. */
json_t *fingerprint_parts(const FingerprintStep *step);
/* Adds a part with this value. */
void fingerprint_add(json_t *parts, const char *name, const char *value);
/* One digest of all parts, whatever their order: 64 hex digits; the caller's. */
char *fingerprint_sum(const json_t *parts);
/* The same parts with 16 digits each, to be kept and compared by people: a new object. Names are never cut. Parts of one
 * kind, such as "parameter", are one part if there are more than FINGERPRINT_SHOWN_MAX of all, or if their names have more
 * than FINGERPRINT_NAMES_MAX bytes together. */
json_t *fingerprint_short(const json_t *parts);

enum { FINGERPRINT_SHOWN_MAX = 300, FINGERPRINT_NAMES_MAX = 32 * 1024 };
