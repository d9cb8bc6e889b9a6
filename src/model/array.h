/* An array of jobs as people name it: `sw` or its id is all of it, `sw[3]` or `sw-3` one element.
 *
 *     sw                  the newest array (or job) of this name
 *     a4k2m9xhz62wfk20s   an array by its id: "a" and the id of its first element
 *     sw[3], ID[3]        the element with the index 3
 *
 * Pure: what there is, the engine knows (engine_look_up). */
#pragma once

#include "model/job.h"

enum { ARRAY_ID_LEN = ID_LEN + 1 };

/* Writes the id of the array whose first element has the id `first`. */
void array_id_make(const char *first, char ret[ARRAY_ID_LEN + 1]);
/* The id of its first element, within `text`; NULL: it has not the form of an array's id. */
const char *array_id_first(const char *text);

/* The name of the array that the job is an element of: `sw` of `sw-3`. NULL: it is of none. The caller's. */
char *array_name(const Job *job);

/* "sw[3]": *ret_array is "sw", the caller's, and *ret_index 3. False: it has not this form. */
bool element_parse(const char *text, char **ret_array, int *ret_index);
/* A job's or an array's id or name, or "sw[3]". */
bool job_word_is_valid(const char *word);
/* "sw[3]", and of a job of no array its name. The caller's. */
char *element_name(const Job *job);
/* "job 'sw[3]' (ID)", for messages. The caller's. */
char *job_words(const Job *job);

/* The place of an index among those of the array (see spec_array), from 0; -1: there is none. */
int array_place(const Spec *spec, int index);
int array_size(const Spec *spec); /* 1: it is none */

/* What a whole array's state is, from how many of its elements are in which: the furthest of those that run,
 * else that of those that wait; of one that has ended `failed` if any failed, else `preempted`, `cancelled`,
 * `succeeded`. */
JobState array_state(const int counts[JOB_STATES]);
