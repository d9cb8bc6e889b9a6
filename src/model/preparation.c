/* The kinds of preparations, and the state of a list of them (see preparation.h). Pure. */
#include "model/preparation.h"

#include <string.h>

static const char *text_or_none(const char *text)
{
        return text ? text : "";
}

static char *environment_recipe(const Spec *spec)
{
        return g_strjoin("\n", text_or_none(spec->requirements), text_or_none(spec->setup),
                         text_or_none(spec->setup_files), NULL);
}

static char *image_recipe(const Spec *spec)
{
        g_autofree char *environment = environment_recipe(spec);

        return g_strjoin("\n", text_or_none(spec->image), text_or_none(spec->package),
                         text_or_none(spec->package_name), environment, NULL);
}

/* Clients do not distinguish an environment from an image that contains one. */
#define ENVIRONMENT_WORDS                                                                                    \
        .is_environment = true, .reason = "environment", .event = "job.environment", .log = "environment",   \
        .waiting = "its environment is built first", .running = "its environment is being built",            \
        .failed = "its environment could not be made"

static const PreparationInfo kinds[PREPARE_KINDS] = {
        [PREPARE_ENVIRONMENT] = { .name = "environment",
                                  .needs = spec_has_environment,
                                  .recipe = environment_recipe,
                                  ENVIRONMENT_WORDS },
        [PREPARE_IMAGE] = { .name = "image",
                            .needs = spec_has_environment,
                            .recipe = image_recipe,
                            ENVIRONMENT_WORDS },
};

static const char *const states[PREPARATION_STATES] = {
        [PREPARATION_NONE] = "none",     [PREPARATION_RUNNING] = "building", [PREPARATION_READY] = "ready",
        [PREPARATION_FAILED] = "failed", [PREPARATION_WAITING] = "waiting",
};

const PreparationInfo *preparation_info(PreparationKind kind)
{
        return &kinds[kind];
}

bool preparation_parse(const char *name, PreparationKind *ret)
{
        for (int kind = 0; kind < PREPARE_KINDS; kind++) {
                if (strcmp(kinds[kind].name, name) != 0)
                        continue;
                *ret = (PreparationKind)kind;
                return true;
        }
        return false;
}

const char *preparation_state_name(PreparationState state)
{
        return states[state];
}

const Preparation *preparations_find(const Preparation *list, int n, PreparationState state)
{
        for (int i = 0; i < n; i++)
                if (list[i].state == state)
                        return &list[i];
        return NULL;
}

PreparationState preparations_state(const Preparation *list, int n)
{
        static const PreparationState first[] = { PREPARATION_FAILED, PREPARATION_WAITING,
                                                  PREPARATION_RUNNING, PREPARATION_READY };

        for (gsize s = 0; n > 0 && s < G_N_ELEMENTS(first); s++)
                if (preparations_find(list, n, first[s]))
                        return first[s];
        return PREPARATION_NONE;
}

bool preparations_are_ready(const Preparation *list, int n)
{
        for (int i = 0; i < n; i++)
                if (list[i].state != PREPARATION_READY)
                        return false;
        return true;
}
