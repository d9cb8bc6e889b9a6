/* What the files of rendering share. Internal to render*.c. */
#pragma once

#include "pipeline/render.h"

static inline const char *text_at(const RenderContext *context, guint32 text)
{
        return definition_text(context->definition, text);
}

/* False with ERR_INVALID: the text is longer than RENDER_TEXT_MAX. */
bool render_fits(const GString *text, GError **error);
/* Adds `more` bytes to *len, which counts texts together. False with ERR_INVALID: they are longer than RENDER_ALL_MAX.
 * `what`: the texts, for the message. */
bool render_all_fit(gsize *len, gsize more, const char *what, GError **error);
/* Adds to RenderMemo.work. */
void render_count_work(const RenderContext *context, gsize bytes);

/* ---- render-artifacts.c ---- */

/* The paths of the output artifacts of an instance, by name: a new object. NULL with ERR_INVALID ("RE-03: ..."). */
json_t *render_outputs(const RenderContext *context, const RenderDag *dag, guint32 component, guint32 seq,
                       GError **error);
