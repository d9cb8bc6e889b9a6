/* The peer of the job rate: posix_spawn and wait, nothing else, with a number of processes in flight.
 * usage: spawn COUNT IN_FLIGHT PROGRAM; prints processes per second. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
        long count = argc > 3 ? strtol(argv[1], NULL, 10) : 0,
             in_flight = argc > 3 ? strtol(argv[2], NULL, 10) : 0;
        long started = 0, ended = 0;
        double start = now();

        if (count < 1 || in_flight < 1)
                return 2;
        while (ended < count) {
                pid_t pid;

                if (started < count && started - ended < in_flight) {
                        if (posix_spawnp(&pid, argv[3], NULL, NULL, argv + 3, environ) != 0)
                                return 1;
                        started++;
                } else if (wait(NULL) > 0) {
                        ended++;
                }
        }
        printf("%.1f\n", (double)count / (now() - start));
        return 0;
}
