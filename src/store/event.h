/* An event: one change of one subject, at one revision. Events are committed together with the change itself. */
#pragma once

#include <glib.h>

#include "base/id.h"

/* The kinds of subjects. A row: the constant, its number in databases, and the table that holds the subjects. That
 * table has the columns `seq`, `name` and `user`: a listing finds a subject's name there, and its owner. To add a
 * kind, add a row (doc/internals/store.md, "Events"). */
#define SUBJECT_KINDS(ROW)                                                                                   \
        ROW(SUBJECT_JOB, 1, "job")                                                                           \
        ROW(SUBJECT_RUN, 2, "run") ROW(SUBJECT_PIPELINE, 3, "pipeline") ROW(SUBJECT_SCHEDULE, 4, "schedule")

#define SUBJECT_NUMBER(constant, number, table) constant = (number),
typedef enum {
        SUBJECT_NONE = 0, /* an object of the catalog, which the event's data names */
        SUBJECT_KINDS(SUBJECT_NUMBER)
} SubjectKind;

typedef struct {
        SubjectKind kind;
        gint64 seq;          /* its number among the subjects of its kind; 0 for SUBJECT_NONE */
        char id[ID_LEN + 1]; /* "" for SUBJECT_NONE */
        char *owner;         /* the user who may see its events; NULL: administrators only */
} Subject;

typedef struct {
        gint64 revision; /* grows by one; assigned by the engine */
        gint64 time;     /* ms */
        Subject subject;
        char *name; /* of the subject, or NULL; set by queries, not stored with the event */
        char *kind; /* "job.queued", "member.exited", ... (doc/guide/rest.md, "An event") */
        char *data; /* JSON object */
} Event;
void event_free(Event *event);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Event, event_free)
