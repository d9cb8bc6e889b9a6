/* A child that does not outlive its parent. No GLib. */
#pragma once

#include <sys/types.h>

/* From now on we get `signal` when the thread that started us ends; where `parent` has ended already, we end
 * here, with status 127. The kernel forgets it when our user changes. */
void die_with(pid_t parent, int signal);
