/* The sandbox of a pod: holds its namespaces, reaps orphans, ends when told to. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void on_end(int signo)
{
        _exit(0);
}

static void on_child(int signo)
{
        while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
}

int main(void)
{
        struct sigaction end = { .sa_handler = on_end },
                         child = { .sa_handler = on_child, .sa_flags = SA_NOCLDSTOP };

        sigaction(SIGTERM, &end, NULL);
        sigaction(SIGINT, &end, NULL);
        sigaction(SIGCHLD, &child, NULL);
        for (;;)
                pause();
}
