/* Whether this is built with a sanitizer. Long walks take ten times as long then: they go a part of the way,
 * and the whole way in the release build (the suite `long`). */
#pragma once

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif
