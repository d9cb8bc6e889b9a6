/* The environment of a member. Later wins:
 *   1. what is inherited from the server (of PATH and library paths a member that is somebody else has what
 * search-path.h leaves): PATH, locale, time zone, proxies, certificates, CUDA and library
 * paths; nothing else of it;
 *   2. what the runtime sets by default: HOME, USER, LOGNAME, LANG, PYTHONUNBUFFERED;
 *   3. what the engine gives: the platform's variables, the framework's, the user's --env;
 *   4. directories, which only the runtime knows: PADDLE_INPUT, INPUT, PADDLE_OUTPUT, OUTPUT,
 * TRAINER_PACKAGE, PF_WORK_DIR, PWD, PADDLE_READY_FILE, PADDLE_PROGRESS_FILE, VIRTUAL_ENV; and how GPUs are
 * numbered. PATH and PYTHONPATH are the user's (or inherited) with ours in front of them. Pure. */
#pragma once

#include <glib.h>

typedef struct {
        const char *user;
        const char *home;    /* NULL: the server's */
        const char *work;    /* working directory */
        const char *by_name; /* directory in which the package stands under its own name; NULL: the job has no
                                package */
        const char *environment;                            /* its Python environment, or NULL */
        const char *input, *output, *ready_file, *progress; /* real paths, or NULL */
        const char *gpus, *gpus_seen; /* a list of GPUs as the engine gives it, and how CUDA numbers them for
                                         the member; or NULL */
        const char *fallback_path;    /* directory to be searched after all others, or NULL */
        const char *sdk;              /* holds our Python package; likewise, for modules */
} MemberPlace;

/* Parts 1 and 2 without USER, from the server's own environment; the caller's g_strfreev. */
char **variables_inherit(char *const *environ_list);

/* The whole; every name once. The caller's g_strfreev. */
char **variables_complete(char *const *inherited, const MemberPlace *place, char *const *task_env);
