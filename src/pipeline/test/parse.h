/* Definitions in tests: a short body behind a name and an image. */
#pragma once

#include <string.h>

#include "pipeline/definition.h"

#define HEAD "name: demo\ndocker_env: img\n"

/* A body that begins with '!' is the whole text. */
static inline char *whole_text(const char *body)
{
        return *body == '!' ? g_strdup(body + 1) : g_strconcat(HEAD, body, NULL);
}

static inline Definition *parse_with(const char *body, const DefinitionRequest *request, Problems *problems)
{
        g_autofree char *text = whole_text(body);

        return definition_parse(text, strlen(text), request, problems);
}

/* Of a body that must be valid. */
static inline Definition *parse_valid(const char *body, const DefinitionRequest *request)
{
        static const DefinitionRequest none;
        g_auto(Problems) problems = { 0 };
        Definition *definition;

        problems_init(&problems);
        definition = parse_with(body, request ? request : &none, &problems);
        for (guint i = 0; i < problems.list->len; i++) {
                g_autofree char *text = problem_format(problems.list->pdata[i]);

                g_test_message("%s", text);
        }
        g_assert_nonnull(definition);
        return definition;
}

/* The component with this path below the entry points ("d.a"), the library or post_process. */
static inline guint32 component_named(const Definition *definition, const char *path)
{
        for (guint32 i = DEFINITION_FIRST; i < definition->n_components; i++) {
                g_autofree char *own = component_path(definition, i);

                if (strcmp(strchr(own, '.') + 1, path) == 0)
                        return i;
        }
        g_assert_not_reached();
}
