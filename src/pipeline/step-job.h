/* The job of a step: an instance of a step as a specification of a job, by its variables (doc/reference/pipelines.md,
 * "Jobs of steps"). Pure: queues and flavours come from a catalog, which never changes, so any thread may call this. */
#pragma once

#include "model/catalog.h"
#include "model/spec.h"
#include "pipeline/definition.h"
#include "pipeline/render.h"

/* What all steps of a run share. Borrowed. Grants on queues and for priorities are no matter of this: the engine checks
 * them when the job is submitted. */
typedef struct {
        const Definition *definition;
        const Catalog *catalog;
        const char *queue; /* for steps that name none; NULL: QUEUE_SEEDED */
        /* The directory that was sent with the run: `package` is its content hash, `package_name` and `requirements`
         * are as in Spec. NULL: none. A step's own `package` or `requirements` replace them. */
        const char *package, *package_name, *requirements;
        bool image_optional; /* steps without an image are allowed */
} StepRun;

/* The specification of one instance of a step. `name`: of the job. `rendered`: of render_instance. NULL with ERR_INVALID
 * and "RE-05: " with the reason, on one line. */
Spec *step_job(const StepRun *run, guint32 component, const char *name, const Rendered *rendered,
               GError **error);

/* A name for the job of a node that no other job of the run has, "run-000007-train-12": a DNS label if the id of the run
 * is one of at most 24 characters. The caller's. */
char *step_job_name(const char *run_id, const char *step, guint32 node);

/* The command of a step as sh runs it. A leading "bash -c" or "sh -c" is dropped, if text without quotes follows, since
 * the step's command is a command line already. The caller's. */
char *step_command(const char *command);
