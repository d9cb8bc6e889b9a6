/* The one error domain of every program, and the one table that says what each code means outside:
 * an HTTP status, an exit status, an errno, a gRPC code, a word for the JSON error body.
 *
 * A call that can fail returns bool (or a pointer) and takes `GError **error` last. Libraries fill it once,
 * where the facts are known; callers may prefix it; only the edge prints. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum {
        ERR_FAILED,          /* something went wrong that no other code names */
        ERR_INVALID,         /* input that breaks a rule */
        ERR_UNAUTHENTICATED, /* no or wrong credentials */
        ERR_DENIED,          /* known caller, not allowed */
        ERR_NOT_FOUND,
        ERR_EXISTS,      /* a name is taken */
        ERR_CONFLICT,    /* not possible in the current state */
        ERR_STALE,       /* changed since the caller looked at it (If-Match) */
        ERR_GONE,        /* existed, and was removed */
        ERR_TOO_LARGE,   /* over a size limit */
        ERR_QUOTA,       /* over a quota or a rate */
        ERR_UNAVAILABLE, /* try again later: shutting down, not connected, too busy */
        ERR_UNREACHABLE, /* the server could not be reached at all */
        ERR_NO_SPACE,    /* the disk is full */
        ERR_TIMEOUT,
        ERR_USAGE,         /* wrong command line */
        ERR_METHOD,        /* the route exists, but not with this method */
        ERR_SECOND_FACTOR, /* the password is right; a code of the second factor is needed too */
        ERR_CODES,
} ErrCode;

typedef struct {
        const char *word; /* `code` of the JSON error body, "not_found" */
        int http;         /* HTTP status */
        int exit;         /* exit status of `paddle`: 1 failed, 2 usage, 3 refused, 4 not reached */
        int sys;          /* errno */
        int grpc;         /* gRPC status code */
} ErrRow;

GQuark err_quark(void);
#define ERR_DOMAIN (err_quark())

/* The row of a code; an error of a foreign domain, or NULL, reads as ERR_FAILED. */
const ErrRow *err_row(const GError *error);

/* The code whose `word` this is; ERR_FAILED when there is none. */
ErrCode err_from_word(const char *word);

/* The code for an errno: ENOSPC -> ERR_NO_SPACE, ENOENT -> ERR_NOT_FOUND, ... else ERR_FAILED. */
ErrCode err_from_errno(int err);

/* Sets *error (NULL is ignored) and returns false, so that failing is one line. Control characters in the
 * message become '?', and invalid UTF-8 becomes U+FFFD. After a newline a message may have a hint: what to do
 * next ("job 'a' is taken\nCancel it, or choose another --job-name."). */
bool err_set(GError **error, ErrCode code, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* As err_set, with the code and text of `err` (an errno) appended: "cannot open '/x': Permission denied"; a
 * full disk gets a hint. */
bool err_set_errno(GError **error, int err, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* True for control characters, line and paragraph separators, and controls of the writing direction. Text
 * from outside is shown without them, as they could rearrange the screen. */
bool unichar_is_control(gunichar c);

/* A text from outside for use in a message: quotes, control characters and invalid UTF-8 are escaped as in C.
 * The caller frees it. */
char *err_shown(const char *text);

/* Stores in *error after how many seconds a retry may succeed (Retry-After). Copies of the error keep it.
 * Returns false. */
bool err_add_wait(GError **error, gint64 wait_s);

/* Seconds until a retry may succeed; 0: unknown. */
gint64 err_wait_s(const GError *error);

/* Puts text before the message of *error. Returns false. */
bool err_prefix(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

bool err_is(const GError *error, ErrCode code);

/* The hint of a message: the text after its first newline, or NULL. Borrowed from the error. */
const char *err_hint(const GError *error);

/* The message without its hint; the caller's. */
char *err_text(const GError *error);

/* A message and its hint on one line: "no context 'a'. There are: b." The caller frees it; NULL for NULL. */
char *err_line(const char *message);

/* These functions always return false. The macros tell the compiler, which would warn of unset results
 * otherwise. */
#define err_set(...)                                                                                         \
        ({                                                                                                   \
                (void)err_set(__VA_ARGS__);                                                                  \
                false;                                                                                       \
        })
#define err_set_errno(...)                                                                                   \
        ({                                                                                                   \
                (void)err_set_errno(__VA_ARGS__);                                                            \
                false;                                                                                       \
        })
#define err_add_wait(...)                                                                                    \
        ({                                                                                                   \
                (void)err_add_wait(__VA_ARGS__);                                                             \
                false;                                                                                       \
        })
#define err_prefix(...)                                                                                      \
        ({                                                                                                   \
                (void)err_prefix(__VA_ARGS__);                                                               \
                false;                                                                                       \
        })
