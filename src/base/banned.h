/* Names that no file of ours may call: each has a safer twin (GString, g_strlcpy, the parser in
 * base/number.h). Included on the command line of every compilation; what a system header needs of them is
 * included first. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <pthread.h>
#include <stdatomic.h>

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol atoll gmtime localtime ctime asctime gets
