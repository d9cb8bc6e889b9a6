/* Reasons why a job waits as objects of the API; private to engine/. See explain.c and reason.c. */
#pragma once

#include "base/json-out.h"
#include "engine/engine.h"

json_t *reason_new(const char *cause, const char *message); /* {"cause": ..., "message": ...} */
void reason_add_time(json_t *reason, gint64 ms);            /* "expected_start" */
/* Writes the object of engine_reason_format. Returns its message, the caller's. */
char *reason_write(Engine *engine, const Reason *reason, gint64 now, const char *user, JsonOut *out);
const char *reason_be(int kind, gint64 amount); /* "1 of 2 is free", "2 are free" */
