/* The flavour of a job's member: how much of each resource it requests. A flavour here is a JSON object {"name", "cpu",
 * "mem", "scalarResources"} with quantities as text, as PaddleFlow's job interface has it
 * (doc/reference/paddleflow-api.md, "Flavours"). Pure. Objects that are returned are new references. */
#pragma once

#include "base/json.h"
#include "model/catalog.h"

/* The variable of a member that names a flavour as its limit. */
#define JOB_LIMIT_FLAVOUR "PF_JOB_LIMIT_FLAVOUR"

/* The flavour of a request: the catalog's if it has a name, else its own amounts. One core and 1Gi, if it does not give
 * both cpu and mem, or is NULL. NULL with ERR_NOT_FOUND: there is no flavour of this name, or it belongs to another
 * cluster than the queue's. */
json_t *job_flavour(const Catalog *catalog, const Queue *queue, const json_t *said, GError **error);

/* False if it has a name that is only a word for own amounts: none, or "customFlavour". */
bool job_flavour_is_named(const char *name);

/* The amounts; ERR_INVALID for a quantity that is none, for cpu or memory of 0, and for an unknown resource. */
bool job_flavour_amounts(const json_t *flavour, Resources *ret, GError **error);

/* True if no resource in `each` is above what the flavour called `limit` has of it; resources that this does not have
 * are not compared. `limit` may be "" or "NONE". ERR_NOT_FOUND: there is no such flavour; ERR_INVALID: above. */
bool job_flavour_check_limit(const Catalog *catalog, const Queue *queue, const char *limit,
                             const Resources *each, GError **error);
