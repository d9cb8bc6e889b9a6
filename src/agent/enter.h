/* A command among a member's surroundings: its cgroups, mounts, user, directory and environment. A role of
 * paddle-spawner, which is small, static and there. */
#pragma once

/* enter PID JOB tty|pipe WORD...: becomes the command, whose standard streams are ours. PID is a process of
 * the member; its environment has to name the job (numbers are used again). Returns only when that fails,
 * with an exit status: 126 or 127 as a shell's, 125 when there is no such member; standard error says why. */
int enter_main(int argc, char **argv);
