/* A random definition: nested DAGs, loops, conditions, references, disabled components, both failure strategies,
 * post_process. */
#pragma once

#include "pipeline/definition.h"

typedef struct Part Part;
struct Part {
        char *name;
        Part *body;             /* of a reference: the library component; otherwise itself */
        bool dag, looks, loops; /* of the body */
        bool disabled;
        guint deps; /* bits: earlier siblings */
        GPtrArray *children;
};

typedef struct {
        GRand *rand;
        guint n;
        bool continues, post;
        int parallelism;
        GPtrArray *all;
        GPtrArray *library; /* Part */
        Part *root, *posts;
        GString *disabled;
} Plan;

/* The same seed gives the same definition. */
void plan_init(Plan *plan, guint32 seed);
void plan_clear(Plan *plan);

/* The compiled definition; the caller's. */
Definition *plan_compile(const Plan *plan);

/* True in so many of 100 cases, by the plan's random numbers. */
bool plan_chance(Plan *plan, int percent);
