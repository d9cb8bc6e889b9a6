/* What most files include from outside, compiled once for each room: headers are two fifths of the time of a
 * build. No file counts on it: sanitized builds are made without it (b_pch=false), so each includes what it
 * uses. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
