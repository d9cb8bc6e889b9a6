/* Project ids of files and directories, by which ext4 and XFS count and limit trees (doc/guide/storage.md).
 * No GLib, since keepers' parents are linked with this. `fd` is open for reading. Functions that can fail
 * return false with errno: ENOTTY or EOPNOTSUPP where the file system has no project ids. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* *ret_inherit: new entries of this directory get its id. */
bool project_id_get(int fd, uint32_t *ret_id, bool *ret_inherit);
bool project_id_set(int fd, uint32_t id, bool inherit);
/* Gives `fd` the id that new entries of `dir` get. A file with another id cannot be renamed into `dir`
 * (EXDEV). Also true if `dir` passes on no id. */
bool project_id_follow(int fd, int dir);
