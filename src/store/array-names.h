/* The newest array of a user and a name, as the database answered lately, also that there is none: each request that
 * names a job asks for it. All is forgotten when an array is submitted, or a job or a user deleted. Bounded: 4,096
 * names. Any thread. */
#pragma once

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>

typedef struct {
        pthread_mutex_t lock;
        GHashTable *seqs; /* "USER\nNAME" -> array_seq */
        guint64 generation;
} ArrayNames;

void array_names_init(ArrayNames *names);
void array_names_clear(ArrayNames *names);

/* True if it is known; *ret_seq 0: there is none. *ret_generation goes to array_names_put. */
bool array_names_get(ArrayNames *names, const char *user, const char *name, gint64 *ret_seq,
                     guint64 *ret_generation);
/* `generation`: of before the database was read; an answer that a commit has overtaken is not kept. */
void array_names_put(ArrayNames *names, const char *user, const char *name, gint64 seq, guint64 generation);
/* After a commit that may change an answer. */
void array_names_forget(ArrayNames *names);
