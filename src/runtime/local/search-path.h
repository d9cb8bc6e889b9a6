/* PATH and LD_LIBRARY_PATH of members that run as other users: those directories of the server's that the
 * members may enter, and that only root or the server's user can write. Accesses the file system;
 * thread-safe. */
#pragma once

/* Restricts the search paths of programs and libraries among "A=K:V" entries (inherited, see variables.h).
 * Other entries are unchanged. The caller's g_strfreev. */
char **search_path_for_others(char *const *variables);
