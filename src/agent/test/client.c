/* The tests' server (see client.h). Every member has the scratch directory in its environment (PADDLE_TEST),
 * so that it can be found whatever happens to it. */
#include "agent/test/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cgroup.h"
#include "base/cgroup-id.h"
#include "base/file.h"
#include "base/json.h"

Client *client_new(const char *name)
{
        Client *client = g_new0(Client, 1);
        g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
        g_autofree char *pattern = g_strdup_printf("paddle-%s-XXXXXX", name);

        client->dir = g_dir_make_tmp(pattern, NULL);
        client->bin = g_path_get_dirname(self);
        client->fd = -1;
        client->in = g_string_new(NULL);
        client->linger_ms = 30000;
        g_assert_nonnull(client->dir);
        return client;
}

GArray *client_processes(const char *text)
{
        GArray *pids = g_array_new(FALSE, FALSE, sizeof(int));
        g_autoptr(GDir) dir = g_dir_open("/proc", 0, NULL);

        for (const char *name; (name = g_dir_read_name(dir));) {
                static const char *const files[] = { "cmdline", "environ" };
                int pid = (int)g_ascii_strtoll(name, NULL, 10);

                for (gsize i = 0; pid > 0 && pid != getpid() && i < G_N_ELEMENTS(files); i++) {
                        g_autofree char *path = g_strdup_printf("/proc/%d/%s", pid, files[i]),
                                        *content = NULL;
                        gsize len;

                        if (!g_file_get_contents(path, &content, &len, NULL) ||
                            !memmem(content, len, text, strlen(text)))
                                continue;
                        g_array_append_val(pids, pid);
                        break;
                }
        }
        return pids;
}

static void kill_all(Client *client)
{
        for (int pass = 0; pass < 5000; pass++) {
                g_autoptr(GArray) pids = client_processes(client->dir);

                for (guint i = 0; i < pids->len; i++)
                        (void)kill(g_array_index(pids, int, i), SIGKILL);
                while (waitpid(-1, NULL, WNOHANG) > 0)
                        ;
                if (pids->len == 0)
                        return;
                g_usleep(2000);
        }
        g_assert_not_reached(); /* one of its processes is still alive */
}

void client_disconnect(Client *client)
{
        if (client->fd >= 0)
                close(client->fd);
        client->fd = -1;
        g_string_truncate(client->in, 0);
        client->in_at = 0;
}

void client_start_agent(Client *client)
{
        g_autofree char *program = g_build_filename(client->bin, "paddle-agent", NULL);
        g_autofree char *linger = g_strdup_printf("%d", client->linger_ms);
        g_autofree char *log = g_build_filename(client->dir, "agent.log", NULL);
        pid_t pid = fork();

        g_assert_cmpint(pid, >=, 0);
        if (pid == 0) {
                int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);

                (void)dup2(fd, STDERR_FILENO);
                (void)dup2(fd, STDOUT_FILENO);
                (void)execl(program, program, "--state", client->dir, "--linger-ms", linger, NULL);
                _exit(127);
        }
        client->agent = pid;
}

static bool try_connect(Client *client)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        g_autofree char *path = g_build_filename(client->dir, "agent.sock", NULL);
        fd_auto int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        g_strlcpy(address.sun_path, path, sizeof address.sun_path);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
                return false;
        client->fd = fd_steal(&fd);
        return true;
}

void client_connect(Client *client)
{
        client_disconnect(client);
        for (int i = 0; !try_connect(client); i++) {
                if (client->agent > 0 && waitpid(client->agent, NULL, WNOHANG) == client->agent)
                        client->agent = 0;
                if (client->agent == 0)
                        client_start_agent(client);
                g_assert_cmpint(i, <, 18000);
                g_usleep(5000);
        }
        (void)client_sendf(client, "{\"op\":\"hello\",\"epoch\":%" G_GINT64_FORMAT "}", ++client->epoch);
}

bool client_send(Client *client, const char *line)
{
        gsize len = strlen(line);

        while (len > 0 && client->fd >= 0) {
                ssize_t put = send(client->fd, line, len, MSG_NOSIGNAL);

                if (put < 0 && errno == EINTR)
                        continue;
                if (put < 0)
                        client_disconnect(client);
                line += put > 0 ? put : 0;
                len -= put > 0 ? (gsize)put : 0;
        }
        return client->fd >= 0;
}

bool client_sendf(Client *client, const char *format, ...)
{
        g_autofree char *text = NULL, *line = NULL;
        va_list args;

        va_start(args, format);
        text = g_strdup_vprintf(format, args);
        va_end(args);
        line = g_strconcat(text, "\n", NULL);
        return client_send(client, line);
}

bool client_start(Client *client, const char *task, const char *argv_json, const char *more)
{
        return client_sendf(
                client,
                "{\"op\":\"start\",\"task\":\"%s\",\"argv\":%s,\"env\":[\"PATH=/usr/local/bin:/usr/bin:/"
                "bin\","
                "\"PADDLE_TEST=%s\"],\"dir\":\"%s\",\"log\":\"%s/logs/%s\",\"grace_ms\":5000%s%s}",
                task, argv_json, client->dir, client->dir, client->dir, task, *more ? "," : "", more);
}

static json_t *take_line(Client *client)
{
        char *start = client->in->str + client->in_at;
        char *newline = memchr(start, '\n', client->in->len - client->in_at);
        json_t *object;

        if (!newline) {
                g_string_erase(client->in, 0, (gssize)client->in_at);
                client->in_at = 0;
                return NULL;
        }
        object = json_parse(start, (gsize)(newline - start), NULL);
        g_assert_true(json_is_object(object));
        client->in_at += (gsize)(newline - start) + 1;
        if (g_strcmp0(json_string_value(json_object_get(object, "op")), "hello") == 0)
                client->has_groups = json_array_size(json_object_get(object, "limits")) > 0;
        return object;
}

json_t *client_receive(Client *client, int timeout_ms)
{
        gint64 until = g_get_monotonic_time() + timeout_ms * 1000;
        char chunk[16384];

        while (client->fd >= 0) {
                json_t *object = take_line(client);
                struct pollfd poller = { .fd = client->fd, .events = POLLIN };
                gint64 left = (until - g_get_monotonic_time()) / 1000;
                ssize_t got;

                if (object)
                        return object;
                if (poll(&poller, 1, (int)MAX(left, 0)) == 0)
                        return NULL;
                got = recv(client->fd, chunk, sizeof chunk, 0);
                if (got <= 0)
                        client_disconnect(client);
                else
                        g_string_append_len(client->in, chunk, got);
        }
        return NULL;
}

json_t *client_expect(Client *client, const char *op, const char *task)
{
        gint64 until = g_get_monotonic_time() + EXPECT_MS * G_GINT64_CONSTANT(1000);

        while (client->fd >= 0 && g_get_monotonic_time() < until) {
                json_t *object = client_receive(client, EXPECT_MS);

                if (!object)
                        break;
                if (strcmp(json_string_value(json_object_get(object, "op")), op) == 0 &&
                    (!task || g_strcmp0(json_string_value(json_object_get(object, "task")), task) == 0))
                        return object;
                json_decref(object);
        }
        g_error("the agent did not say '%s' of '%s'", op, task ? task : "any");
}

char *client_cgroups(const Client *client)
{
        static const char *const mounts[] = {
                "", "memory", "cpu", "cpuacct", "cpu,cpuacct", "pids", "unified"
        };
        g_autofree char *dir = g_build_filename(client->dir, "agent", NULL), *id = cgroup_id_of(dir);
        g_autoptr(GString) found = g_string_new(NULL);

        for (gsize i = 0; i < G_N_ELEMENTS(mounts); i++) {
                g_autofree char *group = g_build_filename("/sys/fs/cgroup", mounts[i], "paddle", id, NULL);

                if (g_file_test(group, G_FILE_TEST_IS_DIR))
                        g_string_append_printf(found, "%s\n", group);
        }
        return g_string_free(g_steal_pointer(&found), FALSE);
}

/* Deletes the groups that a killed agent left; the processes are gone. */
static void remove_cgroups(const Client *client)
{
        g_autofree char *groups = client_cgroups(client);
        g_auto(GStrv) list = g_strsplit(groups, "\n", -1);

        for (char **group = list; *group && **group; group++) {
                g_autoptr(GDir) dir = g_dir_open(*group, 0, NULL);

                for (const char *name; dir && (name = g_dir_read_name(dir));) {
                        g_autofree char *slot = g_build_filename(*group, name, NULL);

                        if (g_str_has_prefix(name, "slot-"))
                                (void)rmdir(slot); /* later checks would see what remains */
                }
                (void)rmdir(*group);
        }
}

void client_free(Client *client)
{
        if (!client)
                return;
        client_disconnect(client);
        kill_all(client);
        remove_cgroups(client);
        (void)file_remove_tree(client->dir, NULL); /* scratch */
        g_string_free(client->in, TRUE);
        g_free(client->dir);
        g_free(client->bin);
        g_free(client);
}
