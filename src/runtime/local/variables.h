/* The environment of a member. Later values win:
 *   1. inherited from the server: what all programs inherit (base/inherited.h), LC_CTYPE and variables of CUDA, and
 *      nothing else (search-path.h restricts search paths for members that run as other users);
 *   2. defaults of the runtime: HOME, USER, LOGNAME, LANG, PYTHONUNBUFFERED;
 *   3. from the engine: variables of the platform and the framework, and the user's --env;
 *   4. paths that only the runtime knows: PADDLE_INPUT, INPUT, PADDLE_OUTPUT, OUTPUT, TRAINER_PACKAGE,
 *      PF_WORK_DIR, PWD, PADDLE_READY_FILE, PADDLE_PROGRESS_FILE, VIRTUAL_ENV; and the numbers of GPUs.
 * PATH and PYTHONPATH are the user's (or inherited) with ours in front of them. Pure. */
#pragma once

#include <glib.h>

typedef struct {
        const char *user;
        const char *home;    /* NULL: the server's */
        const char *work;    /* working directory */
        const char *by_name; /* directory that contains the package under its own name; NULL: the job has no
                                package */
        const char *environment;                            /* its Python environment, or NULL */
        const char *input, *output, *ready_file, *progress; /* real paths, or NULL */
        const char *gpus, *gpus_seen; /* the engine's list of GPUs, and CUDA's numbers for the member; or
                                         NULL */
        const char *fallback_path;    /* directory that is searched last, or NULL */
        const char *sdk;              /* contains our Python package; searched last, for modules */
} MemberPlace;

/* Parts 1 and 2 without USER, from the server's own environment; the caller's g_strfreev. */
char **variables_inherit(char *const *environ_list);

/* The complete environment; every name once. The caller's g_strfreev. */
char **variables_complete(char *const *inherited, const MemberPlace *place, char *const *task_env);
