/* PATH and LD_LIBRARY_PATH of members that are somebody else: of the server's own only directories that these
 * may enter and nobody but root or the server's user may write. Looks at the file system; thread-safe. */
#pragma once

/* Of "A=K:V" lists of directories as variables.h inherits them, those of programs and libraries are narrowed;
 * all other entries are as they were. The caller's g_strfreev. */
char **search_path_for_others(char *const *variables);
