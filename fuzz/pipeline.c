/* Fuzz target: definitions of pipelines, in YAML and JSON, with and without the body of a run.
 *
 * Any bytes either become a definition, or have at least one error with a class and a sentence. All texts
 * of a definition can be walked. Templates are found in the order of the text. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "pipeline/definition.h"
#include "pipeline/template.h"
#include "pipeline/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(const Definition *definition)
{
        g_autoptr(GString) out = g_string_new(NULL);

        for (guint32 i = DEFINITION_FIRST; i < definition->n_components; i++) {
                g_autofree char *path = component_path(definition, i);
                const Component *component = &definition->components[i];

                g_assert_cmpuint(component->parent, <, i);
                g_assert_cmpuint(component_target(definition, i), <, definition->n_components);
                for (guint32 k = component->variables; k < component[1].variables; k++)
                        value_write(out, definition, &definition->variables[k]);
                for (guint32 k = component->dependencies; k < component[1].dependencies; k++)
                        g_assert_cmpuint(definition->components[definition->links[k]].parent, ==,
                                         component->parent);
        }
}

static void parse(const char *text, size_t len, bool json_body)
{
        DefinitionRequest request = { .json_body = json_body, .fs_name = json_body ? "home" : NULL };
        g_auto(Problems) problems = { 0 };
        g_autoptr(Definition) definition = NULL;

        problems_init(&problems);
        definition = definition_parse(text, len, &request, &problems);
        g_assert_cmpint(definition != NULL, ==, problems.n == 0);
        if (definition)
                walk(definition);
        else
                g_assert_nonnull(problem_class_name(problems_first(&problems)->class));
}

static void scan(const char *text)
{
        Template found;

        for (const char *from = text; template_find(from, &found); from = found.at + found.len)
                g_assert_true(found.at >= from && found.len >= 5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autofree char *text = g_strndup((const char *)data, size);

        scan(text);
        parse((const char *)data, size, false);
        parse((const char *)data, size, true);
        return 0;
}
