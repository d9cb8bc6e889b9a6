/* Inside model/: a specification while it is read. Its strings are borrowed from the JSON, its lists and made
 * texts owned by `lists`. Functions called take_ read members of `object` into the draft; those that are not
 * there, or null, stay as they are. */
#pragma once

#include "model/spec.h"

enum { SPEC_DAY_MS = 24 * 3600 * 1000 };

typedef struct {
        Spec spec;
        Role roles[SPEC_ROLES_MAX];
        GPtrArray *lists;   /* of char **, g_strfreev */
        bool foreign_kinds; /* unknown kinds of resources are registered */
        bool gpu_said, gpu_value;
} Draft;

/* Takes ownership of a list of texts; NULL when it is empty. */
char **draft_own(Draft *draft, GPtrArray *list);
/* Takes ownership of one text. */
char *draft_own_text(Draft *draft, char *text);

bool is_given(const json_t *object, const char *name);

/* Seconds as a number, or text such as "90s", "2h"; at most `max` ms. */
bool take_duration(const json_t *object, const char *name, gint64 max, gint64 *ret, GError **error);
/* One of two words; absent: the first. */
bool take_choice(const json_t *object, const char *name, const char *first, const char *second,
                 bool *ret_first, GError **error);

/* "secrets" and "secret_files" (spec-secrets.c). Call it after the variables are read: their names may not be
 * repeated. */
bool take_secrets(Draft *draft, const json_t *object, GError **error);
void secrets_format(const Spec *spec, json_t *object);

/* Letters, digits and '_', not beginning with a digit. */
bool env_name_is_valid(const char *name, size_t len);

/* "sweep" (sweep.c). Call it after the array is read: a sweep creates the array if none is given. */
bool take_sweep(Draft *draft, const json_t *object, GError **error);

/* Fields for the scheduler: queue, priority, labels, dependencies, times, evictions (spec-schedule.c). */
extern const char *const spec_schedule_fields[]; /* NULL-terminated */
bool take_schedule(Draft *draft, const json_t *object, GError **error);
/* Adds those of these members that differ from their default. */
void schedule_format(const Spec *spec, json_t *object);
