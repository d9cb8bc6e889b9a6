/* A disk that fails on demand: a layer over SQLite's default file layer, which every database opened after
 * faulty_install goes through. */
#pragma once

#include <stdbool.h>

typedef enum { FAULT_NONE, FAULT_SYNC, FAULT_WRITE, FAULT_FULL, FAULT_QUOTA } Fault;

void faulty_install(void);
void faulty_remove(void);

/* The n-th operation of that kind (from 1) on a file whose name ends in `suffix` fails, and each one after it. A write
 * of several pages counts as one for each of them: what comes before the n-th is written. A failed sync of a `lossy`
 * disk loses what was appended since the last sync that succeeded. */
void faulty_set(Fault fault, const char *suffix, int n, bool lossy);
/* How many operations have failed since faulty_set. */
int faulty_count(void);
