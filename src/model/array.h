/* Names of job arrays: `sw` or the array's id means the whole array, `sw[3]` or `sw-3` one element.
 *
 *     sw                  the newest array (or job) of this name
 *     a4k2m9xhz62wfk20s   an array by its id: "a" and the id of its first element
 *     sw[3], ID[3]        the element with the index 3
 *
 * Pure: this parses names. engine_look_up finds what they name. */
#pragma once

#include "model/job.h"

enum { ARRAY_ID_LEN = ID_LEN + 1 };

/* Writes the id of the array whose first element has the id `first`. */
void array_id_make(const char *first, char ret[ARRAY_ID_LEN + 1]);
/* The id of the array's first element, within `text`; NULL: `text` is not an array id. */
const char *array_id_first(const char *text);

/* The name of the job's array: `sw` for `sw-3`. NULL: the job is in no array. The caller frees it. */
char *array_name(const Job *job);

/* Parses "sw[3]" into *ret_array "sw", which the caller frees, and *ret_index 3. False: another form. */
bool element_parse(const char *text, char **ret_array, int *ret_index);
/* A job's or an array's id or name, or "sw[3]". */
bool job_word_is_valid(const char *word);
/* "sw[3]", or the job's name if it is in no array. The caller frees it. */
char *element_name(const Job *job);
/* "job 'sw[3]' (ID)", for messages. The caller's. */
char *job_words(const Job *job);

/* The position of an index among the indices of the array (see spec_array), from 0; -1: not in the array. */
int array_place(const Spec *spec, int index);
int array_size(const Spec *spec); /* number of jobs; 1: not an array */

/* The state of a whole array, from the number of elements in each state. If elements run, it is the furthest
 * of their states; else the state of those that wait. If all have ended, it is `failed` if any failed, else
 * `preempted`, `cancelled` or `succeeded`, in this order. */
JobState array_state(const int counts[JOB_STATES]);
