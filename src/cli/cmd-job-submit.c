/* paddle job submit: the form of PaddlePaddle Cloud (doc/reference/paddle-cloud.md, "Flags of paddle job
 * submit"), only flags. */
#include "cli/submission.h"
#include "cli/verbs.h"

static bool run(Cli *cli, const void *options, char *const *words, GError **error)
{
        return submission_run(cli, options, SUBMIT_FLAGS, words, error);
}

#define ABOUT                                                                                                \
        "The directory of --package-path is packed (.gitignore and .paddleignore exclude files), files "     \
        "that the server does not have are sent, and the entry point runs in a copy of it, once for each "   \
        "process. A requirements.txt in it becomes the job's Python "                                        \
        "environment. Parameter servers run the same entry point with TRAINING_ROLE=PSERVER.\n\n"            \
        "A value follows its flag after a blank, '=' or ':'."

#define EXAMPLE(verb)                                                                                        \
        "paddle " verb                                                                                       \
        " --job-name=digits --package-path=./digits --entry-point=\"python train.py\" --trainers=4 "         \
        "--pservers=2 --input=/pfs/local/public/digits --output=digits-model\t4 trainers with 2 parameter "  \
        "servers"

const Verb verb_job_submit = {
        .name = "job submit",
        .args = "",
        .summary = "Send a directory and run a distributed job from it",
        .about = ABOUT,
        .examples = EXAMPLE("job submit"),
        .options = submission_options,
        .size = sizeof(Submission),
        .max_words = -1, /* extra words have their own error message */
        .run = run,
};

const Verb verb_train = {
        .name = "train",
        .args = "",
        .summary = "The same as 'job submit'",
        .about = ABOUT,
        .examples = EXAMPLE("train"),
        .options = submission_options,
        .size = sizeof(Submission),
        .max_words = -1,
        .run = run,
};
