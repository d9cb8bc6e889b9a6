/* Texts of a definition for people. A pipeline that was described in Python passes values of other components on under generated
 * names ("condition_art_8a3rxgyo..."). In place of such a name stands where the value comes from: "{{best.result}}". */
#pragma once

#include "pipeline/definition.h"

/* A text of `component` (a target, no reference), of which about `max` bytes are wanted; the caller's. */
char *text_shown(const Definition *definition, guint32 component, Text text, gsize max);
