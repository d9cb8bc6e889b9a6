/* The tests' server: starts the real agent in a scratch directory, talks to it, and cleans up. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

enum { EXPECT_MS = 90 * 1000 }; /* before a test fails for lack of a message */

typedef struct {
        char *dir;  /* a scratch directory; the agent's state directory */
        char *bin;  /* where the built programs are */
        GPid agent; /* 0: none */
        int fd;     /* -1: not connected */
        GString *in;
        gsize in_at; /* start of the next line */
        gint64 epoch;
        int linger_ms;
        bool has_groups; /* the last hello said that limits are enforced: there are cgroups */
} Client;

Client *client_new(const char *name);
/* Kills the agent and everything that was started below the scratch directory, waits for it, and removes the
 * directory. */
void client_free(Client *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Client, client_free)

void client_start_agent(Client *client);
/* Connects, starting the agent if it is gone, and says hello with a newer epoch. */
void client_connect(Client *client);
void client_disconnect(Client *client);

/* False when the connection broke. */
bool client_send(Client *client, const char *line);
bool client_sendf(Client *client, const char *format, ...) G_GNUC_PRINTF(2, 3);
bool client_start(Client *client, const char *task, const char *argv_json, const char *more);

/* The next line as an object; NULL after `timeout_ms` or at the end of the connection (then fd is -1). */
json_t *client_receive(Client *client, int timeout_ms);
/* Waits for the next line with this `op` and task (NULL: any), at most 20 s; fails the test without one. */
json_t *client_expect(Client *client, const char *op, const char *task);

/* Pids of processes that have `text` in their command line or environment. */
GArray *client_processes(const char *text);
/* The groups that this client's agents have now, a line each; the caller's. */
char *client_cgroups(const Client *client);
