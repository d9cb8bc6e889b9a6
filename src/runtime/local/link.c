/* The link to the agent (see link.h). One thread, one poll(): the socket, and an eventfd that signals work.
 *
 * The lock protects the state, outgoing lines and undelivered observations. Other fields belong to the
 * thread. A forget is kept until the socket has taken its bytes. If the agent dies before it reads them, it
 * reports the task again, and the caller that applied the end sends the forget again. */
#include "runtime/local/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "runtime/local/message.h"

enum {
        CONNECT_MS = 10000,    /* the time for a new agent to start listening */
        CONNECT_STEP_MAX = 20, /* ms between two attempts; the first ones come faster */
        GREETING_MS = 10000,   /* the time limit for the answer to hello */
        STEADY_MS = 1000,      /* after a connection of this length the first retry is immediate */
        BACKOFF_FIRST = 10,    /* ms between two failed attempts */
        BACKOFF_MAX = 2000,
        REFUSED_MS = 5000, /* between attempts while a newer server has the agent */
        READ_CHUNK = 64 * 1024,
};

typedef enum { LINK_DOWN, LINK_GREETING, LINK_SYNCING, LINK_SYNCED } LinkState;

struct AgentLink {
        char *program, *state_dir, *socket_path, *log_path;
        gint64 epoch;
        LinkDeliver deliver;
        void *arg;
        pthread_t thread;
        bool opened;
        int wake; /* eventfd */

        pthread_mutex_t lock;
        LinkState state;
        bool closing;
        bool knows_users;       /* the agent's answer */
        bool gpus;              /* members may open only their own GPUs */
        bool devices;           /* the agent can deny devices */
        guint sandbox, wanted;  /* SandboxParts: those that the agent supports; those for members */
        char *egress;           /* allowed connections of members, as JSON; or NULL */
        char *unlimited;        /* why the limit cannot be enforced; or NULL */
        GString *out;           /* lines for the agent */
        GPtrArray *out_forgets; /* tasks whose forget is in `out` */
        GHashTable *kept;       /* tasks to forget at the next hello */
        GQueue posted;          /* Observation * */

        /* the rest belongs to the thread */
        int fd;
        pid_t child; /* the agent, if this process started it and it was not reaped; or 0 */
        GString *in;
        GString *writing; /* taken from `out` */
        gsize written;
        GPtrArray *writing_forgets;
        GHashTable *forgotten; /* sent after hello: their reports before `synced` are stale */
        char *last_reason;     /* of the last OBSERVED_DISCONNECTED */
        gint64 synced_at;      /* monotonic ms */
};

static GHashTable *set_new(void)
{
        return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

AgentLink *agent_link_new(const LinkConfig *config)
{
        AgentLink *link = g_new0(AgentLink, 1);

        link->program = g_strdup(config->program);
        link->state_dir = g_strdup(config->state_dir);
        link->socket_path = g_build_filename(config->state_dir, "agent.sock", NULL);
        link->log_path = g_build_filename(config->state_dir, "agent", "log", NULL);
        link->epoch = config->epoch;
        link->wanted = config->sandbox;
        link->gpus = config->gpus;
        link->egress = g_strdup(config->egress);
        link->deliver = config->deliver;
        link->arg = config->arg;
        link->fd = -1;
        link->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        pthread_mutex_init(&link->lock, NULL);
        link->out = g_string_new(NULL);
        link->out_forgets = g_ptr_array_new_with_free_func(g_free);
        link->kept = set_new();
        link->in = g_string_new(NULL);
        link->writing = g_string_new(NULL);
        link->writing_forgets = g_ptr_array_new_with_free_func(g_free);
        link->forgotten = set_new();
        return link;
}

void agent_link_free(AgentLink *link)
{
        if (!link)
                return;
        agent_link_close(link);
        g_queue_clear_full(&link->posted, (GDestroyNotify)observation_free);
        g_string_free(link->out, TRUE);
        g_string_free(link->in, TRUE);
        g_string_free(link->writing, TRUE);
        g_ptr_array_unref(link->out_forgets);
        g_ptr_array_unref(link->writing_forgets);
        g_hash_table_unref(link->kept);
        g_hash_table_unref(link->forgotten);
        pthread_mutex_destroy(&link->lock);
        fd_close_p(&link->wake);
        g_free(link->last_reason);
        g_free(link->egress);
        g_free(link->unlimited);
        g_free(link->program);
        g_free(link->state_dir);
        g_free(link->socket_path);
        g_free(link->log_path);
        g_free(link);
}

/* ---- any thread ---- */

static void wake_up(AgentLink *link)
{
        guint64 one = 1;

        (void)!write(link->wake, &one, sizeof one); /* if it is full, the thread is awake */
}

bool agent_link_check_users(AgentLink *link, GError **error)
{
        bool ignorant;

        pthread_mutex_lock(&link->lock);
        ignorant = link->state >= LINK_SYNCING && !link->knows_users;
        pthread_mutex_unlock(&link->lock);
        if (!ignorant)
                return true;
        return err_set(
                error, ERR_CONFLICT,
                "the running agent is not root's, or has an older version, and cannot run anything as another user\nStop it (SIGTERM to paddle-agent; members keep running): the server starts a new one.");
}

bool agent_link_check_egress(AgentLink *link, GError **error)
{
        g_autofree char *why = NULL;

        pthread_mutex_lock(&link->lock);
        why = g_strdup(link->unlimited);
        pthread_mutex_unlock(&link->lock);
        return !why ||
               err_set(error, ERR_UNAVAILABLE,
                       "the server limits what members may connect to (--egress), and cannot enforce it: %s\nAsk an administrator.",
                       why);
}

guint agent_link_sandbox(AgentLink *link)
{
        guint parts;

        pthread_mutex_lock(&link->lock);
        parts = link->state >= LINK_SYNCING ? link->sandbox : ~0u;
        pthread_mutex_unlock(&link->lock);
        return parts;
}

bool agent_link_denies_devices(AgentLink *link)
{
        bool ret;

        pthread_mutex_lock(&link->lock);
        ret = link->state < LINK_SYNCING || link->devices;
        pthread_mutex_unlock(&link->lock);
        return ret;
}

bool agent_link_send(AgentLink *link, const GString *lines)
{
        bool taken, first;

        pthread_mutex_lock(&link->lock);
        taken = link->state == LINK_SYNCED;
        first = link->out->len == 0;
        if (taken)
                g_string_append_len(link->out, lines->str, (gssize)lines->len);
        pthread_mutex_unlock(&link->lock);
        if (taken && first)
                wake_up(link);
        return taken;
}

void agent_link_forget(AgentLink *link, const char *task)
{
        bool first = false;

        pthread_mutex_lock(&link->lock);
        if (link->state == LINK_SYNCED) {
                first = link->out->len == 0;
                message_forget(link->out, task);
                g_ptr_array_add(link->out_forgets, g_strdup(task));
        } else {
                g_hash_table_add(link->kept, g_strdup(task));
        }
        pthread_mutex_unlock(&link->lock);
        if (first)
                wake_up(link);
}

void agent_link_post(AgentLink *link, Observation *observation)
{
        pthread_mutex_lock(&link->lock);
        g_queue_push_tail(&link->posted, observation);
        pthread_mutex_unlock(&link->lock);
        wake_up(link);
}

/* ---- the thread ---- */

static bool is_closing(AgentLink *link)
{
        bool closing;

        pthread_mutex_lock(&link->lock);
        closing = link->closing;
        pthread_mutex_unlock(&link->lock);
        return closing;
}

static void deliver_posted(AgentLink *link)
{
        GQueue posted;

        pthread_mutex_lock(&link->lock);
        posted = link->posted;
        g_queue_init(&link->posted);
        pthread_mutex_unlock(&link->lock);
        for (Observation *observation; (observation = g_queue_pop_head(&posted));)
                link->deliver(observation, link->arg);
}

/* Waits for the eventfd (and for `events` of `fd`, unless that is -1) and delivers observations. Returns the
 * ready events of `fd`. */
static short wait_for(AgentLink *link, int fd, short events, int timeout_ms)
{
        struct pollfd fds[2] = { { .fd = link->wake, .events = POLLIN }, { .fd = fd, .events = events } };
        guint64 count;

        if (poll(fds, 2, timeout_ms) < 0)
                return 0; /* EINTR: the caller checks its state again */
        if (fds[0].revents) {
                (void)!read(link->wake, &count,
                            sizeof count); /* reset before the check, so that nothing is missed */
                deliver_posted(link);
        }
        return fds[1].revents;
}

/* Waits until the time is over or the link closes. */
static void pause_for(AgentLink *link, gint64 ms)
{
        gint64 until = clock_monotonic_ms() + ms;

        for (gint64 left; !is_closing(link) && (left = until - clock_monotonic_ms()) > 0;)
                (void)wait_for(link, -1, 0, (int)left);
}

static void tell_disconnected(AgentLink *link, const char *reason, bool was_synced)
{
        Observation *observation;

        if (!was_synced && g_strcmp0(reason, link->last_reason) == 0)
                return;
        g_free(link->last_reason);
        link->last_reason = g_strdup(reason);
        observation = g_new0(Observation, 1);
        observation->kind = OBSERVED_DISCONNECTED;
        observation->time = clock_now_ms();
        observation->text = g_strdup(reason);
        link->deliver(observation, link->arg);
}

/* Reaps only this child, so that no other child's status is taken. True: it has ended, or there is none. */
static bool child_has_ended(AgentLink *link)
{
        if (link->child > 0 && waitpid(link->child, NULL, WNOHANG) == 0)
                return false;
        link->child = 0;
        return true;
}

static bool try_connect(AgentLink *link, int *ret_err)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        fd_auto int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        g_strlcpy(address.sun_path, link->socket_path, sizeof address.sun_path);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
                *ret_err = errno;
                return false;
        }
        link->fd = fd_steal(&fd);
        return true;
}

static int spawn_agent(AgentLink *link, int log)
{
        char *const argv[] = { link->program, (char *)"--state", link->state_dir, NULL };
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        sigset_t none, all;
        int err;

        sigemptyset(&none);
        sigfillset(&all);
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, log, STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, log, STDERR_FILENO);
        posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setflags(&attributes,
                                 POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &all);
        err = posix_spawn(&link->child, link->program, &actions, &attributes, argv, environ);
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
        if (err)
                link->child = 0;
        return err;
}

static bool start_agent(AgentLink *link, GError **error)
{
        g_autofree char *dir = g_path_get_dirname(link->log_path);
        fd_auto int log = -1;
        int err;

        if (!file_mkdirs(dir, 0700, error))
                return false;
        log = open(link->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (log < 0)
                return err_set_errno(error, errno, "cannot open '%s'", link->log_path);
        err = spawn_agent(link, log);
        if (err)
                return err_set_errno(error, err, "cannot start the agent '%s'", link->program);
        return true;
}

/* Connects, and starts the agent if none listens. Two servers may do so at once: the second agent finds the
 * lock taken and ends, and its server retries the socket of the first. */
static bool connect_agent(AgentLink *link, GError **error)
{
        gint64 until = clock_monotonic_ms() + CONNECT_MS;
        Backoff steps = { .first = 1, .max = CONNECT_STEP_MAX };
        int err;

        if (strlen(link->socket_path) >= sizeof((struct sockaddr_un *)NULL)->sun_path)
                return err_set(error, ERR_INVALID,
                               "'%s' is too long for a socket's name\nChoose a shorter state directory.",
                               link->socket_path);
        if (try_connect(link, &err))
                return true;
        if (err != ENOENT && err != ECONNREFUSED && err != EAGAIN)
                return err_set_errno(error, err, "cannot connect to '%s'", link->socket_path);
        if (child_has_ended(link) && !start_agent(link, error))
                return false;
        while (!is_closing(link) && clock_monotonic_ms() < until) {
                bool ended = child_has_ended(link);
                gint64 step = backoff_next(&steps);

                if (try_connect(link, &err))
                        return true;
                if (ended && step >= CONNECT_STEP_MAX)
                        break;
                pause_for(link, step);
        }
        return err_set(error, ERR_UNAVAILABLE, "the agent does not answer on '%s': its log is '%s'",
                       link->socket_path, link->log_path);
}

/* The answer to hello has arrived. */
static void set_syncing(AgentLink *link, const Message *hello)
{
        guint lacking = link->wanted & ~hello->sandbox;
        g_autofree char *words = sandbox_words(lacking), *unlimited = NULL;

        pthread_mutex_lock(&link->lock);
        link->state = LINK_SYNCING;
        link->knows_users = hello->users;
        link->sandbox = hello->sandbox;
        link->devices = hello->devices;
        g_clear_pointer(&link->unlimited, g_free);
        if (link->egress && (!hello->egress || *hello->egress))
                link->unlimited =
                        g_strdup(hello->egress ? hello->egress : "the agent is of an older version");
        unlimited = g_strdup(link->unlimited);
        pthread_mutex_unlock(&link->lock);
        if (unlimited)
                log_error("--egress cannot be enforced, so no member of a user is started", "reason",
                          unlimited, NULL);
        if (lacking)
                log_warning(
                        "the agent cannot give members all parts of a sandbox: this machine lacks them, or "
                        "the agent is of an older version",
                        "lacking", words, NULL);
        if (link->gpus && !hello->devices)
                log_warning(
                        "members can open GPUs that they were not given: the agent has no writable cgroup "
                        "for devices here, or is of an older version",
                        NULL);
}

/* Sends hello, followed by the waiting forgets. */
static void greet(AgentLink *link)
{
        GHashTableIter iter;
        void *task;

        g_string_truncate(link->in, 0);
        g_string_truncate(link->writing, 0);
        link->written = 0;
        message_hello(link->writing, link->epoch, link->egress);
        pthread_mutex_lock(&link->lock);
        link->state = LINK_GREETING;
        g_hash_table_iter_init(&iter, link->kept);
        while (g_hash_table_iter_next(&iter, &task, NULL)) {
                message_forget(link->writing, task);
                g_ptr_array_add(link->writing_forgets, g_strdup(task));
                g_hash_table_add(link->forgotten, g_strdup(task));
        }
        g_hash_table_remove_all(link->kept);
        pthread_mutex_unlock(&link->lock);
}

static void keep_forgets(GHashTable *kept, GPtrArray *tasks)
{
        for (guint i = 0; i < tasks->len; i++)
                g_hash_table_add(kept, g_strdup(tasks->pdata[i]));
        g_ptr_array_set_size(tasks, 0);
}

/* Forgets sent with an unanswered hello are kept for the next one. */
static void disconnect(AgentLink *link)
{
        GHashTableIter iter;
        void *task;

        fd_close_p(&link->fd);
        link->fd = -1;
        pthread_mutex_lock(&link->lock);
        g_hash_table_iter_init(&iter, link->forgotten);
        while (g_hash_table_iter_next(&iter, &task, NULL)) {
                g_hash_table_iter_steal(&iter);
                g_hash_table_add(link->kept, task);
        }
        link->state = LINK_DOWN;
        keep_forgets(link->kept, link->writing_forgets);
        keep_forgets(link->kept, link->out_forgets);
        g_string_truncate(link->out, 0);
        pthread_mutex_unlock(&link->lock);
}

/* Takes the waiting lines once the previous ones are written. True: there is something to write. */
static bool take_output(AgentLink *link)
{
        GString *empty = link->writing;
        GPtrArray *no_forgets = link->writing_forgets;

        if (link->written < link->writing->len)
                return true;
        g_ptr_array_set_size(link->writing_forgets, 0);
        g_string_truncate(empty, 0);
        link->written = 0;
        pthread_mutex_lock(&link->lock);
        link->writing = link->out;
        link->writing_forgets = link->out_forgets;
        link->out = empty;
        link->out_forgets = no_forgets;
        pthread_mutex_unlock(&link->lock);
        return link->writing->len > 0;
}

static bool write_output(AgentLink *link, GError **error)
{
        while (take_output(link)) {
                ssize_t put = send(link->fd, link->writing->str + link->written,
                                   link->writing->len - link->written, MSG_NOSIGNAL);

                if (put < 0 && errno == EAGAIN)
                        return true;
                if (put < 0 && errno != EINTR)
                        return err_set_errno(error, errno, "cannot write to the agent");
                link->written += (gsize)MAX(put, 0);
        }
        return true;
}

/* Forgets that were requested during the reports come first, before a task of the same name can start. */
static void begin_taking(AgentLink *link)
{
        GHashTableIter iter;
        void *task;

        link->synced_at = clock_monotonic_ms();
        pthread_mutex_lock(&link->lock);
        g_hash_table_iter_init(&iter, link->kept);
        while (g_hash_table_iter_next(&iter, &task, NULL)) {
                message_forget(link->out, task);
                g_ptr_array_add(link->out_forgets, g_strdup(task));
        }
        g_hash_table_remove_all(link->kept);
        link->state = LINK_SYNCED;
        pthread_mutex_unlock(&link->lock);
}

static void take_observation(AgentLink *link, Observation *observation)
{
        if (observation->kind == OBSERVED_SYNCED) {
                g_clear_pointer(&link->last_reason, g_free);
                g_hash_table_remove_all(link->forgotten);
                begin_taking(link);
        } else if (g_hash_table_contains(link->forgotten, observation->task)) {
                observation_free(observation);
                return;
        }
        link->deliver(observation, link->arg);
}

static bool take_line(AgentLink *link, const char *line, gsize len, GError **error)
{
        Message message;

        if (!message_parse(line, len, &message, error))
                return err_prefix(error, "a message of the agent cannot be read: ");
        if (message.kind == MESSAGE_REFUSED)
                return err_set(error, ERR_GONE,
                               "the agent serves a newer server (epoch %" G_GINT64_FORMAT
                               ", this one has %" G_GINT64_FORMAT ")",
                               message.epoch, link->epoch);
        if (link->state == LINK_GREETING) {
                if (message.kind == MESSAGE_HELLO && message.epoch == link->epoch) {
                        set_syncing(link, &message);
                        g_free(message.egress);
                        return true;
                }
                observation_free(message.observation);
                return err_set(error, ERR_INVALID,
                               "the agent does not answer hello with epoch %" G_GINT64_FORMAT, link->epoch);
        }
        if (message.observation)
                take_observation(link, message.observation);
        return true;
}

static bool take_lines(AgentLink *link, GError **error)
{
        gsize at = 0;

        for (char *newline; (newline = memchr(link->in->str + at, '\n', link->in->len - at));) {
                gsize len = (gsize)(newline - link->in->str) - at;

                if (!take_line(link, link->in->str + at, len, error))
                        return false;
                at += len + 1;
        }
        g_string_erase(link->in, 0, (gssize)at);
        if (link->in->len > MESSAGE_MAX)
                return err_set(error, ERR_TOO_LARGE, "the agent sent a line of more than %d bytes",
                               MESSAGE_MAX);
        return true;
}

static bool read_input(AgentLink *link, GError **error)
{
        gsize before = link->in->len;
        ssize_t got;

        g_string_set_size(link->in, before + READ_CHUNK);
        got = recv(link->fd, link->in->str + before, READ_CHUNK, 0);
        g_string_set_size(link->in, before + (gsize)MAX(got, 0));
        if (got == 0)
                return err_set(error, ERR_UNAVAILABLE, "the agent has closed the connection");
        if (got < 0 && errno != EAGAIN && errno != EINTR)
                return err_set_errno(error, errno, "cannot read from the agent");
        return take_lines(link, error);
}

/* Serves one connection to its end; true if the link itself was closed. */
static bool serve(AgentLink *link, GError **error)
{
        gint64 until = clock_monotonic_ms() + GREETING_MS;

        greet(link);
        for (;;) {
                bool greeting = link->state == LINK_GREETING;
                short ready;

                if (!write_output(link, error))
                        return false;
                if (is_closing(link))
                        return true;
                ready = wait_for(link, link->fd,
                                 (short)(POLLIN | (link->written < link->writing->len ? POLLOUT : 0)),
                                 greeting ? (int)MAX(0, until - clock_monotonic_ms()) : -1);
                if ((ready & (POLLIN | POLLHUP | POLLERR)) && !read_input(link, error))
                        return false;
                if (link->state == LINK_GREETING && clock_monotonic_ms() >= until)
                        return err_set(error, ERR_TIMEOUT, "the agent did not answer hello within %d s",
                                       GREETING_MS / 1000);
        }
}

static gint64 next_delay(AgentLink *link, Backoff *backoff, bool was_synced, const GError *failure)
{
        if (err_is(failure, ERR_GONE))
                return backoff->last = REFUSED_MS;
        if (was_synced && clock_monotonic_ms() - link->synced_at >= STEADY_MS) {
                backoff_reset(backoff);
                return 0;
        }
        return backoff_next(backoff);
}

static void *run(void *arg)
{
        AgentLink *link = arg;
        Backoff backoff = { .first = BACKOFF_FIRST, .max = BACKOFF_MAX };

        while (!is_closing(link)) {
                g_autoptr(GError) failure = NULL;
                bool was_synced;

                if (connect_agent(link, &failure) && serve(link, &failure))
                        break;
                was_synced = link->state == LINK_SYNCED;
                disconnect(link);
                if (is_closing(link))
                        break;
                tell_disconnected(link, failure->message, was_synced);
                pause_for(link, next_delay(link, &backoff, was_synced, failure));
        }
        disconnect(link);
        (void)child_has_ended(link);
        return NULL;
}

bool agent_link_open(AgentLink *link, GError **error)
{
        int err = pthread_create(&link->thread, NULL, run, link);

        if (err)
                return err_set_errno(error, err, "cannot start a thread");
        link->opened = true;
        return true;
}

void agent_link_close(AgentLink *link)
{
        if (!link->opened)
                return;
        pthread_mutex_lock(&link->lock);
        link->closing = true;
        pthread_mutex_unlock(&link->lock);
        wake_up(link);
        pthread_join(link->thread, NULL);
        link->opened = false;
}
