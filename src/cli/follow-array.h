/* Follows a whole array: prints the lines of its elements, with the element's name before each line. */
#pragma once

#include "cli/follow.h"

bool is_array(const json_t *job);   /* a whole array, as the server sent it */
bool is_element(const json_t *job); /* a job of an array */

/* "sw[3]"; for other jobs their name. The caller's. */
char *element_text(const json_t *job);

/* Shows the elements that have started, in order; with options->follow until all have ended, many at the same
 * time. `array` is the array as the server sent it; options->job is ignored. */
bool follow_array(Cli *cli, const json_t *array, const FollowOptions *options, GError **error);

/* Like follow_to_end(). */
bool follow_array_to_end(Cli *cli, const json_t *array, GError **error);
