/* A flavour: a named set of resources that one member asks for (doc/reference/paddleflow-api.md, "Flavours").
 * The quantities are kept as they were written, since that is how they are shown. */
#pragma once

#include "model/object.h"
#include "model/resources.h"

typedef struct {
        Object object;
        char *cluster; /* bound to it; NULL: for all */
        char *creator; /* NULL: seeded */
        char *cpu, *memory;
        char **scalars; /* "nvidia.com/gpu=1" in the order given; NULL: none */
} Flavour;

/* What it asks for; unknown kinds of resources are ERR_INVALID naming the flavour. */
bool flavour_resources(const Flavour *flavour, Resources *ret, GError **error);
