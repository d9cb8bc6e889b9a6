/* Following a whole array: the lines of its elements in one text, each with its element in front. */
#pragma once

#include "cli/follow.h"

bool is_array(const json_t *job);   /* a whole one, as the server sent it */
bool is_element(const json_t *job); /* of one */

/* "sw[3]"; of what is no element its name. The caller's. */
char *element_text(const json_t *job);

/* Elements that have started, in order; with options->follow until all have ended, many at the same time.
 * `array` is the array as the server sent it; options->job is not looked at. */
bool follow_array(Cli *cli, const json_t *array, const FollowOptions *options, GError **error);

/* As follow_to_end. */
bool follow_array_to_end(Cli *cli, const json_t *array, GError **error);
