/* Inside auth/: one check of a password, through the throttle, the thread pool and the engine (login.c), for log-ins
 * and other actions that require a password. */
#pragma once

#include "api/auth/internal.h"
#include "base/err.h"

typedef struct Attempting Attempting;
struct Attempting {
        Auth *auth;
        char *user, *password, *old, *address, *by;
        Object *draft;  /* of auth_put_user, and the draft that a change of a second factor modifies */
        char *verified; /* User.password at the time of the comparison */
        Turn turn;
        ThreadPoolFunc work; /* runs when the turn comes */
        char secret[SECRET_LEN + 1], token_id[ID_LEN + 1];
        gint64 expires;
        bool known;     /* the caller is already authenticated by a token or the socket */
        bool published; /* the published password may be used, unless a job's member asks */
        int port;       /* of `address` */
        pid_t pid;
        AuthLoginDone login_done;
        EngineDone done;
        void *arg;

        /* fields for a directory (directory-login.c) */
        bool there;        /* the directory is to be asked, on its own thread pool */
        bool by_directory; /* the directory accepted the password */
        GError *trouble;   /* the directory could not be asked */

        /* fields for the second factor (factor-login.c) */
        char *code;            /* as it was given, or NULL */
        bool code_is_appended; /* to the password, by older clients */
        int tries;             /* attempts to store that a code was used */
        char *new_secret;      /* of auth_add_second_factor */
        char **recovery;
        AuthFactorDone factor_done;
};

/* Waits for a turn, then runs `work` on the thread pool. `work` must call end_attempt. */
void attempt(Attempting *at, ThreadPoolFunc work);
void end_attempt(Attempting *at, Attempt how);
/* Compares `given` with the user's current password; sets `verified`. On the thread pool. */
bool compare(Attempting *at, const char *given);
/* The end of every attempt: calls `login_done`, `factor_done` or `done` and frees. */
void finish(Attempting *at, const GError *error, gint64 wait_ms);
/* Creates a log-in's token for the user, then calls finish. On the thread pool, or as an EngineDone. */
void give_token(Attempting *at);
bool set_stopped(GError **error);

/* Counts a failed comparison. The error has `message`, unless the directory could not be asked. */
void refuse_attempt(Attempting *at, ErrCode code, const char *message, GError **error);

/* ---- directory-login.c ---- */

/* True if the directory checks the password of this account. Also for an account that does not exist yet, if
 * the first log-in may create it. */
bool asks_directory(const Auth *auth, const char *user);
/* compare() for these accounts. On the directory's thread pool. */
bool compare_there(Attempting *at, const char *given);
typedef void (*AttemptNext)(Attempting *at);
/* Calls `next` when the user exists; else finish. */
void make_user(Attempting *at, AttemptNext next);

/* ---- factor-login.c ---- */

/* Splits what an older client sends into password and code, if the account has a second factor. */
void split_code(Attempting *at);
/* Call it when the password was right, on the thread pool. Calls `next` if no code is needed, or when the code is
 * right and stored as used. Else calls finish with ERR_SECOND_FACTOR, ERR_UNAUTHENTICATED or ERR_QUOTA. Ends
 * the attempt. */
void check_factor(Attempting *at, AttemptNext next);
