/* The box of a component in a picture, or of several as a stack, with its lines and its details (see picture-component.h). */
#include "pipeline/picture-component.h"

#include <string.h>

#include "base/number.h"
#include "base/word.h"
#include "pipeline/shown-text.h"

enum {
        NAMES_SHOWN = 12, /* of a stack, in its details */
        TEXT_MAX = 300,   /* characters of a value in details, with the blanks before it */
};

const Component *picture_body(const BoxSource *source, guint32 component)
{
        const Definition *definition = source->picture->definition;

        return &definition->components[component_target(definition, component)];
}

/* ---- texts ---- */

char *picture_line(const char *text)
{
        const char *start = text, *end;
        g_autofree char *line = NULL;
        int n = 0;

        for (; n < TEXT_MAX && g_ascii_isspace(*start); n++)
                start++;
        for (end = start; n < TEXT_MAX && *end; n++)
                end = g_utf8_next_char(end);
        line = g_strndup(start, (gsize)(end - start));
        g_strdelimit(line, "\n\r\t", ' ');
        g_strchomp(line);
        return *end ? g_strconcat(line, "…", NULL) : g_steal_pointer(&line);
}

void picture_note(Box *box, char *note)
{
        g_ptr_array_add(box->notes, note);
}

static void add_detail(GString *title, const char *what, const char *text)
{
        g_autofree char *line = text && *text ? picture_line(text) : NULL;

        if (line)
                g_string_append_printf(title, "\n%s%s%s", what, *what ? ": " : "", line);
}

static const char *definition_word(const BoxSource *source, guint32 text)
{
        return definition_text(source->picture->definition, text);
}

/* A text of what a component does, of which values of other components are shown as where they come from. */
static char *shown_of(const BoxSource *source, guint32 component, Text text)
{
        const Definition *definition = source->picture->definition;

        return text_shown(definition, component_target(definition, component), text, 4 * (TEXT_MAX + 1));
}

static char *loop_text(const BoxSource *source, guint32 component)
{
        const Definition *definition = source->picture->definition;
        const Extra *extra = component_extra(definition, component_target(definition, component));
        g_autofree char *list =
                extra->loop.kind == VALUE_LIST ? NULL : shown_of(source, component, extra->loop.text);
        g_autofree char *items = list ? picture_line(list) : count_format(extra->loop.list.count, "item");

        return g_strdup_printf("loop over %s", items);
}

static char *dependencies_text(const BoxSource *source, guint32 component)
{
        const Definition *definition = source->picture->definition;
        const Component *at = &definition->components[component];
        GString *names = g_string_new(NULL);

        for (guint32 k = at->dependencies; k < at[1].dependencies && names->len < TEXT_MAX; k++)
                g_string_append_printf(names, "%s%s", names->len ? ", " : "",
                                       component_name(definition, definition->links[k]));
        return g_string_free(names, FALSE);
}

/* "38 of 40 succeeded, 2 failed" */
static char *counts_text(const Box *box)
{
        static const NodeState order[] = { NODE_RUNNING,    NODE_STOPPING,  NODE_FAILED,
                                           NODE_TERMINATED, NODE_CANCELLED, NODE_SKIPPED };
        GString *text = g_string_new(NULL);

        g_string_append_printf(text, "%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT, box->counts[NODE_SUCCEEDED],
                               box->count);
        if (box->counts[NODE_SUCCEEDED] == box->count)
                return g_string_free(text, FALSE);
        for (gsize i = 0; i < G_N_ELEMENTS(order); i++)
                if (box->counts[order[i]] > 0)
                        g_string_append_printf(text, ", %" G_GINT64_FORMAT " %s", box->counts[order[i]],
                                               node_state_name(order[i]));
        if (box->waits > 0)
                g_string_append_printf(text, ", %" G_GINT64_FORMAT " queued", box->waits);
        return g_string_free(text, FALSE);
}

/* NULL: it has not begun, or a retry kept it. */
static char *part_duration(const BoxSource *source, const RunPart *part)
{
        gint64 end = part->finished ? part->finished : source->picture->now;

        return part->started ? duration_format(MAX(end - part->started, 0)) : NULL;
}

/* ---- a component ---- */

static const RunPart *part_of(const BoxSource *source, const Box *box)
{
        return source->picture->parts && box->part != (guint32)RUN_PART_NONE
                       ? run_part(source->picture->parts, box->part)
                       : NULL;
}

static void take_state(const BoxSource *source, Box *box, int around)
{
        const RunPart *part = part_of(source, box);

        if (!source->picture->parts)
                return;
        box->state = part ? run_part_state(part, (NodeState)around) : run_part_absent((NodeState)around);
        box->chain = source->marks && part && chain_marks_has(source->marks, box->part);
        box->paused = part && run_part_is_paused(part);
        if (!part)
                return;
        box->count = part->items;
        for (int i = 0; i < NODE_STATES; i++)
                box->counts[i] = part->counts[i];
        box->waits = MIN(part->queued, part->counts[NODE_RUNNING]);
        box->counts[NODE_RUNNING] -= box->waits;
        box->queued = box->state == NODE_RUNNING && box->waits > 0 && box->counts[NODE_RUNNING] == 0;
}

/* "from the cache", "3 from the cache" */
static char *cached_text(const RunPart *part)
{
        return part->cached == part->made ? g_strdup("from the cache")
                                          : g_strdup_printf("%u from the cache", part->cached);
}

static const char *pause_text(const RunPart *part)
{
        return part->pause == RUN_PAUSE_AFTER  ? "paused after it"
               : part->loops && part->made > 0 ? "paused before its next item"
                                               : "paused before it";
}

/* The lines of the box of a run: its duration, and what became of its items. */
static void note_run(const BoxSource *source, Box *box)
{
        const RunPart *part = part_of(source, box);
        bool several = part && part->items > 1, timed = part && box->state != NODE_SKIPPED && !box->queued;
        g_autofree char *time = timed ? part_duration(source, part) : NULL;
        g_autofree char *counts = several ? counts_text(box) : NULL;

        if (part && part->made > 0 && part->kept == part->made)
                picture_note(box, g_strdup("kept from an earlier run"));
        else if (time || counts)
                picture_note(box, g_strconcat(counts ? counts : "", counts && time ? "; in all " : "",
                                              time ? time : "", NULL));
        else if (box->queued)
                picture_note(box, g_strdup("queued"));
        else if (part && part->wait)
                picture_note(box, g_strdup("waits for another run"));
        if (part && part->cached > 0)
                picture_note(box, cached_text(part));
        if (part && part->pause)
                picture_note(box, g_strdup(pause_text(part)));
}

static void write_title(const BoxSource *source, Box *box)
{
        const Definition *definition = source->picture->definition;
        const Extra *extra = component_extra(definition, box->component);
        const Component *body = picture_body(source, box->component);
        const RunPart *part = part_of(source, box);
        g_autoptr(GString) title = g_string_new(component_name(definition, box->component));
        g_autofree char *after = dependencies_text(source, box->component);
        g_autofree char *loop = box->loops ? loop_text(source, box->component) : NULL;
        g_autofree char *command = shown_of(source, box->component, body->command);
        g_autofree char *time = part ? part_duration(source, part) : NULL;
        g_autofree char *counts = part && part->items > 1 ? counts_text(box) : NULL;

        if (box->state != BOX_DEFINITION)
                g_string_append_printf(title, ": %s%s%s",
                                       box->paused               ? "paused"
                                       : box->queued             ? "queued"
                                       : box->state == NODE_NONE ? "waits"
                                                                 : node_state_name((NodeState)box->state),
                                       time ? ", " : "", time ? time : "");
        add_detail(title, "", box->chain ? "on the longest chain" : NULL);
        add_detail(title, "", counts);
        add_detail(title, "", part ? part->message : NULL);
        add_detail(title, "", part ? part->wait : NULL);
        add_detail(title, "uses", extra->reference ? component_name(definition, extra->reference) : NULL);
        add_detail(title, "after", after);
        add_detail(title, "", loop);
        if (box->looks) {
                const Extra *inner =
                        component_extra(definition, component_target(definition, box->component));
                g_autofree char *condition = shown_of(source, box->component, inner->condition);

                add_detail(title, "if", condition);
        }
        add_detail(title, "image", definition_word(source, body->image));
        add_detail(title, "command", command);
        if (box->disabled)
                add_detail(title, "", "disabled");
        box->title = g_string_free(g_steal_pointer(&title), FALSE);
}

/* Without its texts. `around` is the state of the DAG that it lies in. */
static Box *bare_box(const BoxSource *source, guint32 component, guint32 parent, int around)
{
        const Definition *definition = source->picture->definition;
        const Component *body = picture_body(source, component);
        Box *box = box_new(body->dag ? BOX_DAG : BOX_STEP, component_name(definition, component));

        box->component = component;
        box->part = source->picture->parts && parent != (guint32)RUN_PART_NONE
                            ? run_parts_find(source->picture->parts, parent, component)
                            : (guint32)RUN_PART_NONE;
        box->loops = body->loops;
        box->looks = body->looks;
        box->disabled = definition->components[component].disabled;
        take_state(source, box, around);
        return box;
}

Box *picture_component(const BoxSource *source, guint32 component, guint32 parent, int around)
{
        const Definition *definition = source->picture->definition;
        const Extra *extra = component_extra(definition, component),
                    *inner = component_extra(definition, component_target(definition, component));
        Box *box = bare_box(source, component, parent, around);

        if (source->picture->parts)
                note_run(source, box);
        if (extra->reference)
                picture_note(box, g_strdup_printf("uses %s", component_name(definition, extra->reference)));
        if (box->loops && !source->picture->parts)
                picture_note(box, loop_text(source, component));
        if (box->looks) {
                g_autofree char *shown = shown_of(source, component, inner->condition),
                                *condition = picture_line(shown);

                picture_note(box, g_strdup_printf("if %s", condition));
        }
        if (box->disabled && !source->picture->parts)
                picture_note(box, g_strdup("disabled"));
        write_title(source, box);
        return box;
}

/* ---- several components as one box ---- */

/* What the whole is while its parts are counted. */
static int state_of_counts(const gint64 counts[NODE_STATES])
{
        static const NodeState order[] = { NODE_STOPPING, NODE_RUNNING,   NODE_FAILED,   NODE_TERMINATED,
                                           NODE_NONE,     NODE_CANCELLED, NODE_SUCCEEDED };

        for (gsize i = 0; i < G_N_ELEMENTS(order); i++)
                if (counts[order[i]] > 0)
                        return order[i] == NODE_NONE && counts[NODE_SUCCEEDED] > 0 ? NODE_RUNNING : order[i];
        return NODE_SKIPPED;
}

Box *picture_stack_new(const char *first)
{
        Box *box = box_new(BOX_STACK, first);

        box->title = g_strdup("");
        return box;
}

/* Adds a component to a stack, by the box that it would have. */
void picture_stack_add(const BoxSource *source, Box *stack, guint32 component, guint32 parent, int around)
{
        g_autoptr(Box) box = bare_box(source, component, parent, around);

        if (stack->count < NAMES_SHOWN) {
                g_autofree char *title = stack->title;

                stack->title = g_strconcat(title, *title ? ", " : "", box->name, NULL);
        }
        stack->count++;
        stack->chain |= box->chain;
        if (box->state != BOX_DEFINITION)
                stack->counts[box->state == NODE_LOOKING || box->state == NODE_STARTING ? NODE_NONE
                                                                                        : box->state]++;
}

void picture_stack_finish(const BoxSource *source, Box *stack, const char *last)
{
        g_autofree char *count = count_format(stack->count, "component"), *title = stack->title,
                        *counts = NULL;
        g_autofree char *name = stack->name;

        stack->name = stack->count > 1 ? g_strdup_printf("%s … %s", name, last) : g_strdup(name);
        if (source->picture->parts) {
                stack->state = state_of_counts(stack->counts);
                counts = counts_text(stack);
        }
        picture_note(stack, counts ? g_strdup_printf("%s: %s", count, counts) : g_strdup(count));
        stack->title = g_strdup_printf("%s\n%s%s", count, title, stack->count > NAMES_SHOWN ? ", …" : "");
}
