/* The parameters of a route (net/server.h) as OpenAPI 3.1 has them, for the documents of both faces. */
#pragma once

#include "base/json.h"
#include "net/server.h"

/* Those of its path, then those of its query; an array, the caller's. NULL: it has none. */
json_t *parameters_document(const HttpRoute *route);
