/* Changes of a pass that the caches do not show yet. Until they do, or 5 s have passed, the job must not be
 * looked at: a second pass over the same view would create everything twice. Embedded in what a controller
 * remembers of a job; on the client's thread. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/json.h"
#include "base/timer.h"
#include "kube/kind.h"

typedef struct {
        const KubeKind *kind;
        char *namespace, *name;
        char *uid;     /* made: the object with it is there; deleted: is not */
        char *version; /* written: this one, or a later one, is there */
        bool gone;
} Expected;
void expected_free(void *data);

/* An object as the caches have it; NULL: they have none. */
typedef const json_t *(*ExpectFind)(const KubeKind *kind, const char *namespace, const char *name, void *arg);

typedef struct {
        ExpectFind find;
        void *find_arg;
        void (*expired)(void *arg); /* something does not show: it is no longer waited for */
        void *arg;
        /* private */
        GPtrArray *list; /* Expected *, not yet seen; or NULL */
        Timer *timer;
} Expect;

void expect_take(Expect *expect, GPtrArray *list); /* Expected *; taken */
/* False once the caches show all of it. */
bool expect_is_pending(Expect *expect);
void expect_clear(Expect *expect);
