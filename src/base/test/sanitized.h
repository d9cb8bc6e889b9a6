/* Whether this is built with a sanitizer. Long walks take ten times as long then, so they do only a part; the
 * release build does all (the suite `long`). */
#pragma once

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif
