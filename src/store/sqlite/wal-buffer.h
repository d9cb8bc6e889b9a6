/* One write to the log for each commit. SQLite writes every page in two pieces, its header and its content: some sixty
 * calls for a batch of five jobs. They follow each other in the file, so they are gathered in memory and written in one
 * piece before the log is synced. Nothing reads them earlier: SQLite publishes new pages after that sync.
 *
 *     xWrite ──▶ buffer ──▶ one write, when the file is synced, read or written elsewhere, or the buffer is full
 *
 * To sync a file that has grown, the file system also writes its new length. So the log grows by 256 KB at a time,
 * filled with zeros, and most commits leave its length as it is. */
#pragma once

#include "store/sqlite/conn.h"

/* From now on the connection's writes to its log are gathered. It must have journal_mode WAL, synchronous FULL, and
 * have read from the database; otherwise false with ERR_FAILED. The buffer is freed when the connection is closed. */
bool wal_buffer_install(Conn *writer, GError **error);
