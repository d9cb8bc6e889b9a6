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
        ERR_CONFLICT,    /* not possible in the present state */
        ERR_STALE,       /* changed since the caller looked at it (If-Match) */
        ERR_GONE,        /* was there, is kept no longer */
        ERR_TOO_LARGE,   /* over a size limit */
        ERR_QUOTA,       /* over a quota or a rate */
        ERR_UNAVAILABLE, /* try again later: shutting down, not connected, too busy */
        ERR_UNREACHABLE, /* the server could not be reached at all */
        ERR_NO_SPACE,    /* the disk is full */
        ERR_TIMEOUT,
        ERR_USAGE,         /* wrong command line */
        ERR_METHOD,        /* a route exists, not with this method */
        ERR_SECOND_FACTOR, /* the password is right, and a code of the second factor is needed, too */
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

/* Sets *error (NULL is ignored) and returns false, so that failing is one line. Control characters of what it
 * quotes become '?', and what is no UTF-8 U+FFFD. A message may end in a hint: what to do next, after a
 * newline ("job 'a' is taken\nCancel it, or choose another --job-name."). */
bool err_set(GError **error, ErrCode code, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* As err_set, with the code and text of `err` (an errno) appended: "cannot open '/x': Permission denied"; a
 * full disk gets a hint. */
bool err_set_errno(GError **error, int err, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* True for a character that moves or turns a line on a screen: control characters, separators of lines and
 * paragraphs, and the controls of writing direction. Text from outside is shown without them. */
bool unichar_is_control(gunichar c);

/* A text from outside, as a message quotes it: quotes, control characters and what is no UTF-8 as in C; the
 * caller's. */
char *err_shown(const char *text);

/* Says of *error after how many seconds trying again helps (Retry-After); copies of it say so, too. Returns
 * false. */
bool err_add_wait(GError **error, gint64 wait_s);

/* 0: not known. */
gint64 err_wait_s(const GError *error);

/* Puts text before the message of *error. Returns false. */
bool err_prefix(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

bool err_is(const GError *error, ErrCode code);

/* The hint of a message: the text after its first newline, or NULL. Borrowed from the error. */
const char *err_hint(const GError *error);

/* The message without its hint; the caller's. */
char *err_text(const GError *error);

/* A message and its hint in one line, where there is but one: "no context 'a'. There are: b." The
 * caller's; NULL for NULL. */
char *err_line(const char *message);

/* They always return false; said so that the compiler knows it, too, and does not warn of results that stay
 * unset. */
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
