/* Requests (see request.h; doc/reference/paddleflow-api.md, "Addresses and headers" to "Errors and their
 * codes"). */
#include "cli/paddleflow/request.h"

#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "net/url.h"

#define BASE "/api/paddleflow/v1"

enum { CREDENTIAL_MAX = 1024 * 1024, FILE_MAX = 16 * 1024 * 1024, TIMEOUT_MS = 60000 };

void paddleflow_request_clear(PaddleFlowRequest *request)
{
        g_clear_pointer(&request->path, g_free);
        g_clear_pointer(&request->body, g_free);
}

/* ---- values ---- */

/* Items "a=b" between separators. */
static json_t *map_of(const char *what, const char *text, const char *separator, GError **error)
{
        g_auto(GStrv) items = g_strsplit(text, separator, -1);
        g_autoptr(json_t) map = json_object();

        for (char **item = items; *item; item++) {
                char *equals = strchr(*item, '=');

                if (!equals || equals == *item) {
                        err_set(error, ERR_FAILED, "--%s: '%.200s' is not %s", what, text,
                                *separator == ',' ? "a=b,c=d" : "a=b");
                        return NULL;
                }
                *equals = '\0';
                json_object_set_new(map, g_strstrip(*item), json_string(g_strstrip(equals + 1)));
        }
        return g_steal_pointer(&map);
}

static json_t *words_of(const char *text)
{
        g_auto(GStrv) items = g_strsplit(text, ",", -1);
        json_t *list = json_array();

        for (char **item = items; *item; item++)
                json_array_append_new(list, json_string(g_strstrip(*item)));
        return list;
}

static json_t *base64_of(const char *bytes, gsize len)
{
        g_autofree char *coded = g_base64_encode((const guchar *)bytes, len);

        return json_string(coded);
}

static json_t *file_of(const char *what, const char *path, gsize max, GError **error)
{
        g_autofree char *bytes = NULL;
        g_autoptr(GError) cause = NULL;
        gsize len;

        if (file_read(path, max, &bytes, &len, &cause))
                return base64_of(bytes, len);
        err_set(error, ERR_FAILED, "--%s: %s", what, cause->message);
        return NULL;
}

static json_t *credential_of(const char *what, const char *text, GError **error)
{
        return text[0] == '/' ? file_of(what, text, CREDENTIAL_MAX, error) : base64_of(text, strlen(text));
}

static json_t *value_of(const PaddleFlowParam *param, const char *text, GError **error)
{
        g_autoptr(json_t) map = NULL;
        g_autofree char *line = NULL;

        switch (param->type) {
        case PADDLEFLOW_TEXT:
        case PADDLEFLOW_REPEATED: return json_string(text);
        case PADDLEFLOW_FILE: return file_of(param->name, text, FILE_MAX, error);
        case PADDLEFLOW_INT: return json_integer(g_ascii_strtoll(text, NULL, 10));
        case PADDLEFLOW_FLAG: return json_true();
        case PADDLEFLOW_MAP: return map_of(param->name, text, ",", error);
        case PADDLEFLOW_PAIRS: return map_of(param->name, text, "\n", error); /* as args.c joins them */
        case PADDLEFLOW_WORDS: return words_of(text);
        case PADDLEFLOW_CREDENTIAL: return credential_of(param->name, text, error);
        case PADDLEFLOW_MAP_TEXT: break;
        }
        map = map_of(param->name, text, ",", error);
        line = map ? json_format(map) : NULL;
        return line ? json_string(line) : NULL;
}

/* ---- building ---- */

/* "maxResources.cpu" goes into an object of its own. A key ends at the last point: names of resources with
 * points in them are not keys of rows. */
static void put_at(json_t *body, const char *key, json_t *take_value)
{
        const char *point = strchr(key, '.');
        g_autofree char *first = point ? g_strndup(key, (gsize)(point - key)) : NULL;
        json_t *inner = first ? json_object_get(body, first) : body;

        if (!inner) {
                inner = json_object();
                json_object_set_new(body, first, inner);
        }
        json_object_set_new(inner, point ? point + 1 : key, take_value);
}

static bool put_params(json_t *to, const PaddleFlowParam *params, char *const *values, GError **error)
{
        for (guint i = 0; params && params[i].name; i++) {
                json_t *value;

                if (!values[i] || !params[i].key)
                        continue;
                value = value_of(&params[i], values[i], error);
                if (!value)
                        return false;
                put_at(to, params[i].key, value);
        }
        return true;
}

static bool has_flag(const PaddleFlowArgs *args, const char *name)
{
        const PaddleFlowParam *options = args->command->options;

        for (guint i = 0; options && options[i].name; i++)
                if (strcmp(options[i].name, name) == 0)
                        return args->options[i] != NULL;
        return false;
}

static char *path_of(const PaddleFlowArgs *args)
{
        const PaddleFlowCommand *command = args->command;
        const char *pattern =
                command->detail_path && has_flag(args, "detail") ? command->detail_path : command->path;
        GString *path = g_string_new(BASE);

        for (const char *c = pattern; *c; c++) {
                g_autofree char *word =
                        *c == '{' && g_ascii_isdigit(c[1]) ? url_escape(args->words[c[1] - '0']) : NULL;

                if (word) {
                        g_string_append(path, word);
                        c += strlen("{0");
                } else {
                        g_string_append_c(path, *c);
                }
        }
        return g_string_free(path, FALSE);
}

static void append_query(GString *path, const json_t *values)
{
        const char *name;
        json_t *value;

        json_object_foreach((json_t *)values, name, value) {
                g_autofree char *text =
                        json_is_string(value) ? g_strdup(json_string_value(value)) : json_format(value);

                url_add_query(path, name, text);
        }
}

bool paddleflow_request_build(const PaddleFlowArgs *args, PaddleFlowRequest *ret, GError **error)
{
        const PaddleFlowCommand *command = args->command;
        g_autoptr(json_t) values =
                command->fixed ? json_parse(command->fixed, strlen(command->fixed), NULL) : json_object();
        g_autofree char *start = path_of(args);
        g_autoptr(GString) path = g_string_new(start);

        if (!put_params(values, command->words, args->words, error) ||
            !put_params(values, command->options, args->options, error) ||
            (command->prepare && !command->prepare(values, args->words, error)))
                return false;
        ret->method = command->method;
        if (command->place == PADDLEFLOW_BODY)
                ret->body = json_format(values);
        else
                append_query(path, values);
        ret->path = g_strdup(path->str);
        return true;
}

/* ---- calling ---- */

static bool failure(GError **error, const char *code, const char *message, const char *id)
{
        g_autofree char *text = g_strdup_printf("[PaddleFlowSDKException] code:%s message:%s requestId:%s",
                                                code, message, id);

        for (char *c = text; *c; c++)
                *c = g_ascii_iscntrl(*c) ? ' ' : *c;
        g_set_error_literal(error, ERR_DOMAIN, ERR_FAILED, text);
        return false;
}

static const char *text_in(const json_t *object, const char *name, const char *otherwise)
{
        const char *text = json_string_value(json_object_get(object, name));

        return text ? text : otherwise;
}

/* The body of a reply as an object; of an error, its error. */
static json_t *read_reply(const HttpReply *reply, bool may_say_message, GError **error)
{
        g_autoptr(json_t) value =
                reply->body->len > 0 ? json_parse(reply->body->str, reply->body->len, NULL) : json_object();
        g_autofree char *status = g_strdup_printf("the server answered with status %d", reply->status);

        if (reply->status / 100 == 2 && value && (may_say_message || !json_object_get(value, "message")))
                return g_steal_pointer(&value);
        failure(error, text_in(value, "code", "None"), text_in(value, "message", status),
                text_in(value, "requestID", "None"));
        return NULL;
}

/* What to do when no server answers. */
static char *unreached(const PaddleFlowConfig *config, const GError *cause)
{
        g_autofree char *text = err_text(cause);

        return g_strdup_printf(
                "%s. Is it running? `paddled --listen %s:%d --published-password %s` starts one; "
                "the configuration (--pf_config, else ~/.paddleflow/paddleflow.ini) names the server",
                text, config->host, config->port, config->host);
}

static json_t *send(HttpClient *client, const PaddleFlowConfig *config, const PaddleFlowRequest *request,
                    const char *token, bool may_say_message, GError **error)
{
        g_autofree char *header = g_strconcat("x-pf-authorization: ", token, NULL);
        const char *headers[] = { header, NULL };
        g_auto(HttpReply) reply = { 0 };
        g_autoptr(GError) cause = NULL;
        HttpCall call = { .method = request->method,
                          .path = request->path,
                          .body = request->body,
                          .body_len = request->body ? strlen(request->body) : 0,
                          .headers = token ? headers : NULL,
                          .timeout_ms = TIMEOUT_MS };

        if (!http_call(client, &call, &reply, &cause)) {
                g_autofree char *text = unreached(config, cause);

                failure(error, "ConnectionError", text, "None");
                return NULL;
        }
        return read_reply(&reply, may_say_message, error);
}

static char *log_in(HttpClient *client, const PaddleFlowConfig *config, GError **error)
{
        g_autoptr(json_t) body =
                json_pack("{s:s, s:s}", "username", config->user, "password", config->password);
        g_auto(PaddleFlowRequest)
                request = { .method = "POST", .path = g_strdup(BASE "/login"), .body = json_format(body) };
        g_autoptr(json_t) reply = send(client, config, &request, NULL, false, error);
        const char *token = text_in(reply, "authorization", NULL);

        if (reply && !token)
                failure(error, "None", "the log-in brought no 'authorization'", "None");
        return g_strdup(token);
}

bool paddleflow_call(const PaddleFlowConfig *config, const PaddleFlowArgs *args, json_t **ret, GError **error)
{
        g_auto(PaddleFlowRequest) request = { 0 };
        g_autofree char *url = g_strdup_printf("http://%s:%d", config->host, config->port), *token = NULL;
        g_autoptr(HttpClient) client = NULL;

        if (!paddleflow_request_build(args, &request, error))
                return false;
        client = http_client_new(url, NULL, error);
        if (!client)
                return false;
        token = log_in(client, config, error);
        if (!token)
                return false;
        *ret = send(client, config, &request, token, args->command->may_say_message, error);
        return *ret != NULL;
}
