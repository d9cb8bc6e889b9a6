/* Inside the gate (main.c): what its files share. */
#pragma once

#include <stdbool.h>

enum {
        NOT_RUN = 126, /* as a shell says it: it is there, but ... */
        USAGE = 2,
        ASKED_TO_END = 128 + 15, /* TERM */
};

/* To the log, and where the kubelet takes the reason of an end from. */
void __attribute__((noreturn, format(printf, 2, 3))) fail(int status, const char *format, ...);

bool is_port(const char *text);    /* "36000" */
bool is_address(const char *text); /* "HOST:PORT" or "HOST:PORT,PORT" */
int reach(char *address);          /* a connection, when it listens at last; blocking */

/* The verbs `unpack` (unpack.c), `serve` and `call` (shell.c). */
int unpack(int argc, char **argv);
int serve(int argc, char **argv);
int call(int argc, char **argv);
