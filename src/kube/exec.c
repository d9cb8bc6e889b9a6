/* A command in a container (see exec.h). The protocol is in k8s.io/apimachinery's
 * pkg/util/remotecommand/constants.go: the first byte of each binary message names its channel; what is sent
 * on the error channel at the end is a Status.
 *
 *     CHECKING --(the pod is there)--> CONNECTING --> ASKING --(101)--> OPEN --(Status)--> done
 *
 * The pod is asked for first, as kubectl does it, for an error that says what is wrong, and for credentials
 * that are good. The connection is libcurl's (TLS, proxies), made with CONNECT_ONLY; what goes over it is
 * ours. */
#include "kube/exec.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/timer.h"
#include "kube/internal.h"
#include "kube/request.h"
#include "kube/status.h"
#include "net/client-frame.h"
#include "net/client.h"
#include "net/reply-parser.h"
#include "net/websocket-accept.h"

enum {
        MESSAGE_MAX = 4 << 20,
        INPUT_PIECE = 32 << 10,
        SEND_PIECE = 16 << 10, /* a TLS record */
        OPEN_MS = 30000,
        REPLY_MAX = 1 << 20,
        READS_A_TURN = 64,
        KEY_BYTES = 16,
};

typedef enum { CHANNEL_INPUT, CHANNEL_OUTPUT, CHANNEL_ERRORS, CHANNEL_STATUS, CHANNEL_RESIZE } Channel;
/* Channels of a port (k8s.io/kubelet, pkg/cri/streaming/portforward/websocket.go). Each begins with the
 * port, lowest byte first. */
enum { PORT_DATA, PORT_ERROR, PORT_CHANNELS, PORT_BYTES = 2 };
enum { CHANNEL_CLOSE = 255 /* v5 */ };

typedef enum { EXEC_CHECKING, EXEC_CONNECTING, EXEC_ASKING, EXEC_OPEN, EXEC_ENDED } ExecState;

struct KubeExec {
        int refs;
        ExecState state;
        KubeClient *client;
        KubeExecConfig config; /* its strings are not kept */
        char *path, *pod_path, *accept;
        KubeCall *check;
        KubeMulti *multi;
        CURL *handle;
        char text[CURL_ERROR_SIZE];
        GSource *source;
        curl_socket_t fd;    /* of the source */
        void *tag;           /* NULL: it is not looked at */
        Timer *late, *again; /* the opening takes too long; more may be there to read */
        GString *head;       /* of the server's reply */
        FrameReader *reader;
        GString *queued; /* frames for an open connection, while it is not */
        GString *out;    /* bytes to be sent */
        gsize taken;     /* of out, into pieces */
        char *piece;     /* bytes that are being written: they do not move or grow until they are sent */
        gsize piece_len, sent;
        gsize skipped[PORT_CHANNELS]; /* of what a channel of a port begins with */
        bool can_close, input_closed;
        bool deaf; /* the server accepts no more input; its output may still be read */
        bool held;
};

typedef struct {
        GSource base;
        KubeExec *exec;
} ExecSource;

/* ---- Life ---- */

static void exec_unref(KubeExec *exec)
{
        if (--exec->refs)
                return;
        frame_reader_free(exec->reader);
        g_string_free(exec->head, TRUE);
        g_string_free(exec->queued, TRUE);
        g_string_free(exec->out, TRUE);
        g_free(exec->piece);
        g_free(exec->path);
        g_free(exec->pod_path);
        g_free(exec->accept);
        g_free(exec);
}

static void drop_connection(KubeExec *exec)
{
        const CurlApi *api = kube_client_reach(exec->client)->api;

        if (exec->source) {
                g_source_destroy(exec->source);
                g_clear_pointer(&exec->source, g_source_unref);
        }
        if (exec->handle) {
                kube_multi_remove(exec->multi, exec->handle);
                api->easy_cleanup(exec->handle);
        }
        exec->handle = NULL;
        g_clear_pointer(&exec->multi, kube_multi_free);
}

void kube_exec_cancel(KubeExec *exec)
{
        if (!exec || exec->state == EXEC_ENDED)
                return;
        exec->state = EXEC_ENDED;
        kube_call_cancel(exec->check);
        drop_connection(exec);
        timer_clear(&exec->late);
        timer_clear(&exec->again);
        exec_unref(exec);
}

static void end(KubeExec *exec, int status, const GError *error)
{
        KubeExecConfig config = exec->config;

        if (exec->state == EXEC_ENDED)
                return;
        kube_exec_cancel(exec);
        if (config.done)
                config.done(status, error, config.arg);
}

static void end_with(KubeExec *exec, ErrCode code, const char *why)
{
        g_autoptr(GError) error = NULL;

        err_set(&error, code, "exec at %s: %s", exec->pod_path, why);
        end(exec, -1, error);
}

/* ---- Sending ---- */

static bool has_output(const KubeExec *exec)
{
        return exec->sent < exec->piece_len || exec->taken < exec->out->len;
}

/* The loop always reports a lost connection, so the connection is not watched while it is not needed. */
static void set_interest(KubeExec *exec)
{
        GIOCondition condition =
                (exec->held ? 0 : G_IO_IN | G_IO_HUP | G_IO_ERR) | (has_output(exec) ? G_IO_OUT : 0);

        if (!exec->source)
                return;
        if (exec->tag && condition)
                g_source_modify_unix_fd(exec->source, exec->tag, condition);
        else if (condition)
                exec->tag = g_source_add_unix_fd(exec->source, exec->fd, condition);
        else if (exec->tag)
                g_source_remove_unix_fd(exec->source, g_steal_pointer(&exec->tag));
}

/* The next bytes to give to the connection. TLS wants what it did not take the first time again as it was, at
 * the same place (SSL_write: "bad write retry"). */
static bool take_piece(KubeExec *exec)
{
        if (exec->sent < exec->piece_len)
                return true;
        exec->sent = 0;
        exec->piece_len = MIN(exec->out->len - exec->taken, SEND_PIECE);
        memcpy(exec->piece, exec->out->str + exec->taken, exec->piece_len);
        exec->taken += exec->piece_len;
        if (exec->taken > exec->out->len / 2) {
                g_string_erase(exec->out, 0, (gssize)exec->taken);
                exec->taken = 0;
        }
        return exec->piece_len > 0;
}

/* A command that has ended reads no more, and its status may be on the way: only reading ends the
 * connection. */
static void stop_sending(KubeExec *exec)
{
        exec->deaf = exec->input_closed = true;
        exec->sent = exec->piece_len = exec->taken = 0;
        g_string_truncate(exec->out, 0);
}

static void flush(KubeExec *exec)
{
        const CurlApi *api = kube_client_reach(exec->client)->api;

        while (exec->handle && take_piece(exec)) {
                size_t part = 0;
                CURLcode code = api->easy_send(exec->handle, exec->piece + exec->sent,
                                               exec->piece_len - exec->sent, &part);

                exec->sent += part;
                if (code == CURLE_AGAIN)
                        break;
                if (code != CURLE_OK)
                        stop_sending(exec);
        }
        set_interest(exec);
        if (exec->state == EXEC_OPEN && exec->config.drained && !has_output(exec))
                exec->config.drained(exec->config.arg);
}

static void send_message(KubeExec *exec, FrameOpcode opcode, const char *data, gsize len)
{
        if (exec->deaf)
                return;
        if (exec->state == EXEC_OPEN) {
                frame_append_masked(exec->out, opcode, data, len, g_random_int());
                flush(exec);
        } else if (exec->state != EXEC_ENDED) {
                frame_append_masked(exec->queued, opcode, data, len, g_random_int());
        }
}

static void send_channel(KubeExec *exec, guint8 channel, const char *data, gsize len)
{
        g_autoptr(GString) message = g_string_sized_new(len + 1);

        g_string_append_c(message, (char)channel);
        g_string_append_len(message, data, (gssize)len);
        send_message(exec, FRAME_BINARY, message->str, message->len);
}

gsize kube_exec_unsent(const KubeExec *exec)
{
        return exec->queued->len + exec->out->len - exec->taken + exec->piece_len - exec->sent;
}

bool kube_exec_write(KubeExec *exec, const char *data, gsize len)
{
        if (exec->state == EXEC_ENDED || exec->input_closed || len > KUBE_EXEC_UNSENT_MAX ||
            kube_exec_unsent(exec) > KUBE_EXEC_UNSENT_MAX - len)
                return false;
        exec->refs++;
        for (gsize at = 0; at < len; at += INPUT_PIECE)
                send_channel(exec, CHANNEL_INPUT, data + at, MIN(len - at, INPUT_PIECE));
        exec_unref(exec);
        return true;
}

static void close_input(KubeExec *exec)
{
        static const char input = CHANNEL_INPUT;

        if (exec->can_close)
                send_channel(exec, CHANNEL_CLOSE, &input, 1);
}

void kube_exec_close_input(KubeExec *exec)
{
        if (exec->input_closed)
                return;
        exec->input_closed = true;
        if (exec->state == EXEC_OPEN)
                close_input(exec); /* else when it is known whether the server can */
}

void kube_exec_resize(KubeExec *exec, int columns, int rows)
{
        g_autofree char *size = g_strdup_printf("{\"Width\":%d,\"Height\":%d}",
                                                CLAMP(columns, 1, G_MAXUINT16), CLAMP(rows, 1, G_MAXUINT16));

        send_channel(exec, CHANNEL_RESIZE, size, strlen(size));
}

static void on_again(void *arg);

static void receive_in(KubeExec *exec, gint64 ms)
{
        timer_set(&exec->again, kube_client_context(exec->client), ms, on_again, exec);
}

void kube_exec_hold(KubeExec *exec, bool hold)
{
        if (exec->state == EXEC_ENDED || exec->held == hold)
                return;
        exec->held = hold;
        receive_in(exec, hold ? -1 : 0); /* some may have come already */
        set_interest(exec);
}

/* ---- What the command says ---- */

static int exit_code(const json_t *status)
{
        const json_t *causes = kube_get(status, "details.causes"), *cause;
        guint64 code;
        size_t i;

        json_array_foreach(causes, i, cause) {
                const char *reason = kube_get_text(cause, "reason"), *text = kube_get_text(cause, "message");

                if (reason && text && strcmp(reason, "ExitCode") == 0 &&
                    g_ascii_string_to_unsigned(text, 10, 0, 255, &code, NULL))
                        return (int)code;
        }
        return -1;
}

/* The kubelet's message for a container that has ended, or has not started. */
static const char container_gone[] = "container not found";

static void take_status(KubeExec *exec, const char *data, gsize len)
{
        g_autoptr(json_t) status = kube_json_parse(data, len, NULL);
        const char *word = kube_get_text(status, "status"), *reason = kube_get_text(status, "reason");
        g_autoptr(GError) error = NULL;

        if (g_strcmp0(word, "Success") == 0) {
                end(exec, 0, NULL);
        } else if (g_strcmp0(reason, "NonZeroExitCode") == 0 && exit_code(status) >= 0) {
                end(exec, exit_code(status), NULL);
        } else {
                const char *message = kube_get_text(status, "message");
                bool gone = message && strstr(message, container_gone);

                err_set(&error, gone ? ERR_UNAVAILABLE : ERR_FAILED, "the command did not run: %s",
                        message ? message : "the server does not say why");
                end(exec, -1, error);
        }
}

static void refuse_port(KubeExec *exec, const char *data, gsize len)
{
        g_autofree char *text = g_strndup(data, len), *valid = g_utf8_make_valid(text, -1);
        g_autoptr(GError) error = NULL;

        if (strstr(valid, "refused"))
                err_set(&error, ERR_CONFLICT, "nothing listens on port %d there", exec->config.port);
        else
                err_set(&error, ERR_CONFLICT, "%s", valid);
        end(exec, -1, error);
}

static void take_port(KubeExec *exec, const char *data, gsize len)
{
        guint8 channel = (guint8)data[0];
        gsize skip;

        if (channel >= PORT_CHANNELS)
                return;
        skip = MIN(PORT_BYTES - exec->skipped[channel], len - 1);
        exec->skipped[channel] += skip;
        data += 1 + skip;
        len -= 1 + skip;
        if (len && channel == PORT_ERROR)
                refuse_port(exec, data, len);
        else if (len && exec->config.output)
                exec->config.output(1, data, len, exec->config.arg);
}

/* A connection that ends without a close frame was cut off: output of the port may be missing. */
static void lose_connection(KubeExec *exec)
{
        g_autoptr(GError) error = NULL;

        if (exec->config.port) {
                err_set(&error, ERR_UNAVAILABLE, "the connection to the pod broke");
                end(exec, -1, error);
        } else {
                end_with(exec, ERR_UNAVAILABLE, "the connection ended before the command");
        }
}

static void close_port(KubeExec *exec, const char *data, gsize len)
{
        int status = frame_close_status(data, len);

        if (status == 0 || status == CLOSE_NORMAL)
                end(exec, 0, NULL);
        else
                lose_connection(exec);
}

static bool on_message(FrameOpcode opcode, const char *data, gsize len, void *arg)
{
        KubeExec *exec = arg;

        if (opcode == FRAME_PING)
                send_message(exec, FRAME_PONG, data, len);
        else if (opcode == FRAME_CLOSE && exec->config.port)
                close_port(exec, data, len);
        else if (exec->config.port && opcode != FRAME_PONG && len > 0)
                take_port(exec, data, len);
        else if (opcode == FRAME_CLOSE)
                end_with(exec, ERR_UNAVAILABLE, "the server closed the connection before the command ended");
        else if (opcode != FRAME_PONG && len > 0 && data[0] == CHANNEL_STATUS)
                take_status(exec, data + 1, len - 1);
        else if (opcode != FRAME_PONG && len > 1 &&
                 (data[0] == CHANNEL_OUTPUT || data[0] == CHANNEL_ERRORS) && exec->config.output)
                exec->config.output(data[0], data + 1, len - 1, exec->config.arg);
        return exec->state != EXEC_ENDED;
}

/* ---- The server's reply ---- */

/* Value of a header of the reply, or NULL; the caller's. */
static char *reply_header(const GString *head, const char *name)
{
        gsize len = strlen(name);

        for (const char *line = strchr(head->str, '\n'); line; line = strchr(line + 1, '\n'))
                if (g_ascii_strncasecmp(line + 1, name, len) == 0 && line[1 + len] == ':')
                        return g_strstrip(g_strndup(line + len + 2, strcspn(line + len + 2, "\r\n")));
        return NULL;
}

static void take_refusal(KubeExec *exec, bool ended)
{
        g_auto(HttpReply) reply = { 0 };
        HttpCall call = { .method = "GET", .path = exec->path, .body_max = REPLY_MAX };
        Exchange exchange = { .call = &call, .reply = &reply };
        g_autoptr(ReplyParser) parser = reply_parser_new(&exchange, false);
        g_autoptr(json_t) status = NULL;
        g_autoptr(GError) error = NULL;
        gsize used;

        if (reply_parser_feed(parser, exec->head->str, exec->head->len, &used, &error)) {
                if (!reply_parser_is_done(parser) && !(ended && reply_parser_end(parser, NULL)) &&
                    exec->head->len < REPLY_MAX && !ended)
                        return; /* more is to come */
                if (reply.body && reply.body->len)
                        status = kube_json_parse(reply.body->str, reply.body->len, NULL);
                kube_status_error(reply.status, status, reply.body ? reply.body->str : NULL, exec->pod_path,
                                  &error);
        }
        end(exec, -1, error);
}

static void open_channels(KubeExec *exec)
{
        g_autofree char *accept = reply_header(exec->head, "Sec-WebSocket-Accept");
        g_autofree char *protocol = reply_header(exec->head, "Sec-WebSocket-Protocol");
        const char *body = strstr(exec->head->str, "\r\n\r\n") + 4;
        gsize body_len = exec->head->len - (gsize)(body - exec->head->str);
        g_autoptr(GError) error = NULL;

        if (g_strcmp0(accept, exec->accept) != 0) {
                end_with(exec, ERR_UNAVAILABLE, "the reply to the WebSocket's opening is not the server's");
                return;
        }
        exec->can_close = g_strcmp0(protocol, "v5.channel.k8s.io") == 0;
        if (!exec->can_close && g_strcmp0(protocol, "v4.channel.k8s.io") != 0) {
                end_with(exec, ERR_UNAVAILABLE, "the server speaks neither v5 nor v4.channel.k8s.io");
                return;
        }
        timer_clear(&exec->late);
        exec->state = EXEC_OPEN;
        g_string_append_len(exec->out, exec->queued->str, (gssize)exec->queued->len);
        g_string_truncate(exec->queued, 0);
        if (exec->input_closed)
                close_input(exec);
        flush(exec);
        if (exec->state == EXEC_OPEN && !frame_reader_feed(exec->reader, body, body_len, &error))
                end(exec, -1, error);
}

static void take_head(KubeExec *exec, const char *data, gsize len, bool ended)
{
        g_string_append_len(exec->head, data, (gssize)len);
        if (!strstr(exec->head->str, "\r\n\r\n")) {
                if (ended || exec->head->len > REPLY_HEAD_MAX)
                        end_with(exec, ERR_UNAVAILABLE, "the reply to the WebSocket's opening is no HTTP");
                return;
        }
        if (g_str_has_prefix(exec->head->str, "HTTP/1.1 101"))
                open_channels(exec);
        else
                take_refusal(exec, ended);
}

/* ---- Receiving ---- */

static void take(KubeExec *exec, const char *data, gsize len)
{
        g_autoptr(GError) error = NULL;

        if (exec->state == EXEC_ASKING)
                take_head(exec, data, len, false);
        else if (exec->state == EXEC_OPEN && !frame_reader_feed(exec->reader, data, len, &error))
                end(exec, -1, error);
}

static void receive(KubeExec *exec)
{
        const CurlApi *api = kube_client_reach(exec->client)->api;
        char buffer[16 << 10]; /* a TLS record */

        for (int i = 0; i < READS_A_TURN && exec->handle && !exec->held; i++) {
                size_t got = 0;
                CURLcode code = api->easy_recv(exec->handle, buffer, sizeof buffer, &got);

                if (code == CURLE_AGAIN)
                        return;
                if (code == CURLE_OK && got) {
                        take(exec, buffer, got);
                        continue;
                }
                if (exec->state == EXEC_ASKING && exec->head->len)
                        take_head(exec, "", 0, true);
                else
                        lose_connection(exec);
                return;
        }
        if (exec->handle && !exec->held)
                receive_in(exec, 0); /* the library may hold bytes that the socket does not show */
}

static void on_again(void *arg)
{
        KubeExec *exec = arg;

        exec->refs++;
        receive(exec);
        exec_unref(exec);
}

static gboolean on_socket(GSource *source, GSourceFunc unused, void *data)
{
        KubeExec *exec = ((ExecSource *)source)->exec;

        exec->refs++;
        receive(exec);
        if (exec->state != EXEC_ENDED)
                flush(exec);
        exec_unref(exec);
        return G_SOURCE_CONTINUE;
}

static GSourceFuncs source_funcs = { .dispatch = on_socket };

/* ---- Connecting ---- */

/* "host:port" and the path below it of the configuration's server. */
static void split_url(const KubeConfig *config, char **ret_host, const char **ret_base)
{
        const char *host = strstr(config->server, "://") + 3;

        *ret_base = host + strcspn(host, "/");
        *ret_host = g_strndup(host, (gsize)(*ret_base - host));
}

static void ask(KubeExec *exec)
{
        const KubeReach *reach = kube_client_reach(exec->client);
        struct curl_slist *identity = kube_reach_identity(reach, NULL);
        g_autofree char *host = NULL, *key = NULL;
        const char *base;
        guint32 random[KEY_BYTES / sizeof(guint32)];

        for (gsize i = 0; i < G_N_ELEMENTS(random); i++)
                random[i] = g_random_int();
        key = g_base64_encode((const guchar *)random, sizeof random);
        exec->accept = websocket_accept(key);
        split_url(reach->config, &host, &base);
        g_string_append_printf(exec->out,
                               "GET %s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\nConnection: Upgrade\r\n"
                               "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n"
                               "Sec-WebSocket-Protocol: %sv4.channel.k8s.io\r\n",
                               base, exec->path, host, reach->agent, key,
                               exec->config.port ? "" : "v5.channel.k8s.io, ");
        for (const struct curl_slist *line = identity; line; line = line->next)
                g_string_append_printf(exec->out, "%s\r\n", line->data);
        reach->api->slist_free_all(identity);
        g_string_append(exec->out, "\r\n");
        exec->state = EXEC_ASKING;
        flush(exec);
}

static void on_connected(CURL *handle, CURLcode result, void *arg)
{
        KubeExec *exec = arg;
        const KubeReach *reach = kube_client_reach(exec->client);
        g_autoptr(GError) error = NULL;

        exec->fd = CURL_SOCKET_BAD;
        if (result == CURLE_OK)
                reach->api->easy_getinfo(handle, CURLINFO_ACTIVESOCKET, &exec->fd);
        if (exec->fd == CURL_SOCKET_BAD) {
                kube_reach_error(reach, result, exec->text, &error);
                end(exec, -1, error);
                return;
        }
        exec->source = g_source_new(&source_funcs, sizeof(ExecSource));
        ((ExecSource *)exec->source)->exec = exec;
        g_source_attach(exec->source, kube_client_context(exec->client));
        exec->refs++;
        ask(exec);
        exec_unref(exec);
}

static void on_turn(void *arg)
{
}

static void connect_to(KubeExec *exec)
{
        const KubeReach *reach = kube_client_reach(exec->client);
        CURLcode (*set)(CURL *, CURLoption, ...) = reach->api->easy_setopt;
        KubeMultiEvents events = { .done = on_connected, .turn = on_turn, .arg = exec, .keep = true };

        exec->state = EXEC_CONNECTING;
        exec->multi = kube_multi_new(reach->api, kube_client_context(exec->client), &events);
        exec->handle = reach->api->easy_init();
        g_assert(exec->handle); /* out of memory */
        kube_reach_aim(reach, exec->handle, exec->path);
        set(exec->handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
        set(exec->handle, CURLOPT_CONNECT_ONLY, 1L);
        set(exec->handle, CURLOPT_HTTPPROXYTUNNEL, 1L);
        set(exec->handle, CURLOPT_ERRORBUFFER, exec->text);
        kube_multi_add(exec->multi, exec->handle);
}

static void on_pod(const KubeReply *reply, void *arg)
{
        KubeExec *exec = arg;

        exec->check = NULL;
        if (reply->error)
                end(exec, -1, reply->error);
        else
                connect_to(exec);
}

static void on_late(void *arg)
{
        end_with(arg, ERR_TIMEOUT, "the connection did not open in time");
}

static char *port_path(const KubeExecConfig *config)
{
        g_autofree char *base = kube_path(&kube_pods, config->namespace, config->pod, "portforward");

        return g_strdup_printf("%s?ports=%d", base, config->port);
}

static char *exec_path(const KubeExecConfig *config)
{
        g_autofree char *base = kube_path(&kube_pods, config->namespace, config->pod, "exec");
        GString *path = g_string_new(base);

        kube_query_add(path, "container", config->container);
        kube_query_add(path, "stdin", config->input ? "true" : NULL);
        kube_query_add(path, "stdout", "true");
        kube_query_add(path, "stderr", config->tty ? NULL : "true");
        kube_query_add(path, "tty", config->tty ? "true" : NULL);
        for (const char *const *word = config->argv; *word; word++) {
                g_autofree char *escaped = url_escape(*word);

                g_string_append_printf(path, "&command=%s", escaped); /* an empty one counts, too */
        }
        return g_string_free(path, FALSE);
}

KubeExec *kube_exec(KubeClient *client, const KubeExecConfig *config)
{
        KubeExec *exec = g_new0(KubeExec, 1);
        KubeRequest request = {
                .verb = KUBE_GET, .kind = &kube_pods, .namespace = config->namespace, .name = config->pod
        };

        exec->refs = 1;
        exec->client = client;
        exec->config = *config;
        exec->path = config->port ? port_path(config) : exec_path(config);
        exec->pod_path = kube_path(&kube_pods, config->namespace, config->pod, NULL);
        exec->head = g_string_new(NULL);
        exec->queued = g_string_new(NULL);
        exec->out = g_string_new(NULL);
        exec->piece = g_malloc(SEND_PIECE);
        exec->reader = frame_reader_new(MESSAGE_MAX, on_message, exec);
        timer_set(&exec->late, kube_client_context(client), config->open_ms > 0 ? config->open_ms : OPEN_MS,
                  on_late, exec);
        exec->check = kube_send(client, &request, on_pod, exec);
        return exec;
}
