/* Inside the gate (main.c): what its files share. */
#pragma once

enum {
        NOT_RUN = 126, /* as a shell says it: it is there, but ... */
        USAGE = 2,
};

/* To the log, and where the kubelet takes the reason of an end from. */
void __attribute__((noreturn, format(printf, 2, 3))) fail(int status, const char *format, ...);

/* The verb `unpack` (unpack.c). */
int unpack(int argc, char **argv);
