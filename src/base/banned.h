/* Functions that our code must not call. Each has a safer replacement (GString, g_strlcpy, the parser in
 * base/number.h). The build includes this header into every file. System headers that use the names come
 * first. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <pthread.h>
#include <stdatomic.h>

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol atoll gmtime localtime ctime asctime gets
