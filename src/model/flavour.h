/* A flavour: a named set of resources that one member asks for (doc/reference/paddleflow-api.md, "Flavours").
 * The quantities are kept as they were written, since that is how they are shown. */
#pragma once

#include "model/object.h"
#include "model/resources.h"

typedef struct {
        Object object;
        char *cluster; /* only for this cluster; NULL: for all */
        char *creator; /* NULL: seeded */
        char *cpu, *memory;
        char **scalars; /* "nvidia.com/gpu=1" in the order given; NULL: none */
} Flavour;

/* The resources that it requests. ERR_INVALID names the flavour if a kind of resource is unknown. */
bool flavour_resources(const Flavour *flavour, Resources *ret, GError **error);
