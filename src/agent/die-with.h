/* A child that does not outlive its parent. No GLib. */
#pragma once

#include <sys/types.h>

/* From now on this process gets `signal` when the thread that started it ends. If `parent` has already ended,
 * it exits here with status 127. The kernel resets this when the process changes its user. */
void die_with(pid_t parent, int signal);
