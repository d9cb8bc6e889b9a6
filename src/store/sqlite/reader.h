/* The readers' statements, by name: query.c has their SQL. */
#pragma once

#include "store/sqlite/sqlite.h"

enum { READ_WINDOW = 20000 }; /* rows scanned in one transaction: about 10 ms */

enum {
        JOB_BY_ID,
        JOB_BY_NAME,
        JOB_BY_KEY,
        JOB_BY_SEQ,
        SEQS_ALL,
        SEQS_OF_PHASE,
        SEQS_ACTIVE,
        SEQS_OF_USER,
        SEQS_OF_QUEUE,
        SEQS_NAMED_OPEN,
        SEQS_NAMED_ENDED,
        SEQS_OF_ARRAY,
        SEQS_LABELLED,
        ARRAY_COUNT,
        ARRAY_BY_NAME,
        ARRAY_JOBS,
        LABEL_COUNT,
        LAST_SEQ,
        RAN_FIRST,
        RAN_OPEN_FIRST,
        RAN_PAGE,
        EVENTS_BOUNDS,
        EVENTS_SINCE,
        EVENTS_OF_ONE,
        EVENTS_OF_SEVERAL,
        TOKEN_BY_HASH,
        TOKENS,
        READER_N_SQL,
};
