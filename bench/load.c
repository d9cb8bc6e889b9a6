/* Sends the same request COUNT times over a number of keep-alive connections to a Unix socket, one thread
 * each, and waits for each reply. usage: load SOCKET CONNECTIONS COUNT METHOD PATH [BODY]; prints JSON:
 * requests per second, replies that were not 2xx, latencies in ms. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static struct {
        struct sockaddr_un address;
        char *request;
        size_t request_len;
        long count;
        atomic_long next, bad;
        double *latency_ms;
} load;

static double now_ms(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Reads one reply with a Content-Length; its status, or -1. */
static int read_reply(int fd)
{
        char buffer[65536];
        size_t have = 0;
        char *end = NULL;

        while (!end) {
                ssize_t got = read(fd, buffer + have, sizeof buffer - 1 - have);

                if (got <= 0)
                        return -1;
                have += (size_t)got;
                buffer[have] = '\0';
                end = strstr(buffer, "\r\n\r\n");
        }
        const char *length = strcasestr(buffer, "\r\nContent-Length:");
        size_t whole =
                (size_t)(end + 4 - buffer) + (length && length < end ? strtoul(length + 17, NULL, 10) : 0);
        int status = (int)strtol(buffer + 9, NULL, 10);

        while (have < whole) {
                ssize_t got = read(fd, buffer, sizeof buffer < whole - have ? sizeof buffer : whole - have);

                if (got <= 0)
                        return -1;
                have += (size_t)got;
        }
        return status;
}

static void *connection(void *arg)
{
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        if (connect(fd, (struct sockaddr *)&load.address, sizeof load.address) < 0) {
                perror("connect");
                exit(1);
        }
        for (long i; (i = load.next++) < load.count;) {
                double start = now_ms();
                int status;

                if (write(fd, load.request, load.request_len) != (ssize_t)load.request_len)
                        exit(1);
                status = read_reply(fd);
                load.latency_ms[i] = now_ms() - start;
                if (status < 200 || status > 299)
                        load.bad++;
                if (status < 0) {
                        fprintf(stderr, "the connection broke off\n");
                        exit(1);
                }
        }
        close(fd);
        return arg;
}

static int by_value(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
        const char *body = argc > 6 ? argv[6] : "";
        long connections = argc > 5 ? strtol(argv[2], NULL, 10) : 0;
        pthread_t threads[64];
        double start;

        if (connections < 1 || connections > 64)
                return 2;
        load.count = strtol(argv[3], NULL, 10);
        load.latency_ms = calloc((size_t)load.count, sizeof *load.latency_ms);
        load.address.sun_family = AF_UNIX;
        snprintf(load.address.sun_path, sizeof load.address.sun_path, "%s", argv[1]);
        load.request_len = (size_t)asprintf(&load.request,
                                            "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                                            "application/json\r\nContent-Length: %zu\r\n\r\n%s",
                                            argv[4], argv[5], strlen(body), body);
        start = now_ms();
        for (long i = 0; i < connections; i++)
                pthread_create(&threads[i], NULL, connection, NULL);
        for (long i = 0; i < connections; i++)
                pthread_join(threads[i], NULL);
        double seconds = (now_ms() - start) / 1e3;

        qsort(load.latency_ms, (size_t)load.count, sizeof *load.latency_ms, by_value);
        printf("{\"rate\": %.1f, \"seconds\": %.3f, \"bad\": %ld, \"p50_ms\": %.3f, \"p99_ms\": %.3f, "
               "\"max_ms\": %.3f}\n",
               (double)load.count / seconds, seconds, (long)load.bad, load.latency_ms[load.count / 2],
               load.latency_ms[load.count * 99 / 100], load.latency_ms[load.count - 1]);
        return 0;
}
