/* The driver for directories of this machine: local, mock and home. The root is opened once; everything else is opened
 * below it by openat2, so that no link leads out. Files of /proc are refused: some say more about the server than the
 * user could read. */
#pragma once

#include "fs/vfs.h"

extern const VfsOps local_ops;
