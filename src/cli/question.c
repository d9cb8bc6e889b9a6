/* Questions (see question.h). */
#include "cli/question.h"

#include <unistd.h>

bool question_is_possible(const Cli *cli)
{
        return isatty(STDIN_FILENO) && cli->terminal.err_is_terminal;
}

bool question_agreed(const char *question, bool standard)
{
        char answer[16] = "";

        fflush(stdout);
        fputs(question, stderr);
        fflush(stderr);
        if (!fgets(answer, sizeof answer, stdin)) {
                fputc('\n', stderr);
                return false;
        }
        g_strstrip(answer);
        if (!*answer)
                return standard;
        return g_ascii_strcasecmp(answer, "y") == 0 || g_ascii_strcasecmp(answer, "yes") == 0;
}
