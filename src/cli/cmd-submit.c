/* paddle submit: the short form. The package is the current directory, the command is the words. */
#include "cli/submission.h"
#include "cli/verbs.h"

static bool run(Cli *cli, const void *options, char *const *words, GError **error)
{
        return submission_run(cli, options, SUBMIT_WORDS, words, error);
}

const Verb verb_submit = {
        .name = "submit",
        .args = "[[--] COMMAND [ARGUMENT]...]",
        .summary = "Send the current directory and run a command in it as a job",
        .about = "The current directory is packed (.gitignore and .paddleignore exclude files), files that "
                 "the server does not have are sent, and the command runs in a copy of it, once for each "
                 "process. The first word ends the options. A single word with blanks is run by the shell. "
                 "Settings come from the directory's paddle.yaml, if there is one (`paddle init` writes it): "
                 "options override it, and a command replaces the one in it. --no-file ignores it.\n\nName "
                 "and id of the job go to standard output. With --follow the command runs until the job has "
                 "ended: it shows the stages with their times and, while the job waits, the reason; then the "
                 "log of all processes, with the process's name before each line; at the end, a summary of "
                 "the times.",
        .examples = "paddle submit -n 4 --ps 2 python train.py\t4 trainers with 2 parameter servers\n"
                    "paddle submit --follow -- python -u train.py --epochs 3\tstay and watch\n"
                    "paddle submit --no-package -- nvidia-smi\ta command without files\n"
                    "paddle submit --array 0-99%10 -- python sweep.py\t100 jobs, ten at a time\n"
                    "paddle submit --queue vision -n 8 --min-trainers 2 --gpus 1 -- python train.py\tstarts "
                    "with 2, "
                    "grows to 8\n"
                    "paddle submit --cluster prod -n 4 --ps 2 -- python train.py\tas pods of a Kubernetes "
                    "cluster\n"
                    "paddle submit --after ok:prepare -- python train.py\twhen the newest job `prepare` has "
                    "succeeded\n"
                    "paddle submit --plan\twhat paddle.yaml would do; asks before it submits\n"
                    "paddle submit --dry-run --gpus 4 -- true\twould it start, where and when?",
        .options = submission_short_options,
        .size = sizeof(Submission),
        .stop_at_word = true,
        .max_words = -1,
        .words = WORDS_COMMAND,
        .run = run,
};
