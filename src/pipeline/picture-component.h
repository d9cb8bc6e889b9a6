/* The box of a component in a picture, or of several as a stack: its name, state, lines and details. Pure. Internal to
 * picture*.c. */
#pragma once

#include "pipeline/picture-box.h"
#include "pipeline/picture-chain.h"
#include "pipeline/picture.h"

typedef struct {
        const Picture *picture;
        ChainMarks *marks; /* or NULL */
} BoxSource;

/* The component, or the one that it uses (`reference`). Borrowed. */
const Component *picture_body(const BoxSource *source, guint32 component);
/* `parent` is the part of the run in which it is, or RUN_PART_NONE; `around` the state of the DAG that it lies in. */
Box *picture_component(const BoxSource *source, guint32 component, guint32 parent, int around);

/* A stack of several components; `first` and `last` are the names at its ends. Each component is added by the box that it
 * would have. */
Box *picture_stack_new(const char *first);
void picture_stack_add(const BoxSource *source, Box *stack, guint32 component, guint32 parent, int around);
void picture_stack_finish(const BoxSource *source, Box *stack, const char *last);

/* Adds a line below the name of a box. Takes `note`. */
void picture_note(Box *box, char *note);
/* One line of a bounded number of characters; the caller's. Only the beginning of the text is read: a command may have 10 MB,
 * and many boxes may show it. */
char *picture_line(const char *text);
