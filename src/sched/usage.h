/* What users and queues used of late; private to sched/. */
#pragma once

#include "sched/amounts.h"
#include "sched/memo.h"
#include "sched/scheduler.h"

typedef struct {
        gint64 value, at, rate; /* decayed micro-units of share × ms as of `at`, growing by `rate` per ms */
} Usage;

/* A user in a queue. */
typedef struct {
        int queue, user;
        guint refs; /* number of shapes */
        int running;
        Resources alloc;
        Usage usage;
        gint64 seen_usage;
        Memo seen_memo; /* key: the pass */
        bool ranked;    /* it is in its queue's ranking; rank: its place there, the same for equal ones */
        guint rank;
} Account;

typedef struct {
        int id;
        guint refs; /* number of shapes */
        int running;
        int queue;   /* of the first shape */
        bool spread; /* its shapes are of more than one queue */
} Array;

Account *account_get(Scheduler *s, int queue, int user); /* created if missing; borrowed */
GPtrArray *accounts_sorted(const Scheduler *s);

gint64 usage_at(const Scheduler *s, const Usage *usage, gint64 now);
/* The same at the scheduler's time. Many usages were changed at the same time: the decay since then is remembered. */
gint64 usage_now(Scheduler *s, const Usage *usage);
void usage_set_rate(const Scheduler *s, Usage *usage, gint64 rate, gint64 now);
void account_changed(Scheduler *s, Account *account); /* its alloc has changed: updates the rates */
