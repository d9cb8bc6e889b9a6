/* Dates in the strings of conditions (condition.h). */
#pragma once

#include <stdbool.h>

/* True if the text is a date in one of the known forms; its seconds since the epoch. */
bool condition_time(const char *text, double *ret_s);
