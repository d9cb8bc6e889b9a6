/* Templates in texts: {{ name }} and {{ component.name }}. Other text between double braces is text. Pure.
 * The rules: doc/reference/pipelines.md, "Templates". */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct {
        const char *at;    /* of "{{" */
        gsize len;         /* as far as behind "}}" */
        const char *part1; /* the component; NULL for a template of one part */
        gsize part1_len;
        const char *name;
        gsize name_len;
} Template;

/* The first template at or after `from`. */
bool template_find(const char *from, Template *ret);

/* True if the whole text is one template. */
bool template_is_whole(const char *text, Template *ret);
