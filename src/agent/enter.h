/* A command in a member's environment: its cgroups, mounts, directory and variables. A role of
 * paddle-spawner, because that is small, static and present. */
#pragma once

/* enter PARENT PID JOB UID GID GROUP,... sandboxed|confined|free tty|pipe|relay WORD...: runs the command,
 * whose standard streams are ours, as that user with these supplementary groups ("": none, "=": our own user
 * and groups). "confined": it gains no rights by set-uid programs (no_new_privs). PARENT is the process that
 * starts us; PID is a process of the member; its environment has to name the job (numbers are used again),
 * and all its user and group numbers have to be UID and GID. Returns the command's exit status, 128 + N for
 * signal N; where it does not run 126 or 127 as a shell's, 125 when there is no such member, and standard
 * error says why.
 *
 * This process stays beside the command and passes HUP, INT and TERM on to its process group. 5 s after a HUP
 * the group gets KILL. The end of the thread that started it counts as HUP; when PARENT has gone
 * before we are there nothing is run.
 *
 * "relay terminal" and "relay PORT" run no program: standard input and output are connected with the member's
 * terminal (terminal/terminal.h), or with what listens on the port (listener.h). */
int enter_main(int argc, char **argv);
