/* The client's side of TLS: what libcurl is told, and what its failures mean (see exchange.h). */
#include "base/err.h"
#include "net/exchange.h"

#include <string.h>

void endpoint_set_tls(const Endpoint *endpoint, const CurlApi *api, CURL *handle)
{
        if (endpoint->ca)
                api->easy_setopt(handle, CURLOPT_CAINFO, endpoint->ca);
        if (endpoint->cert)
                api->easy_setopt(handle, CURLOPT_SSLCERT, endpoint->cert);
        if (endpoint->key)
                api->easy_setopt(handle, CURLOPT_SSLKEY, endpoint->key);
}

static const struct {
        CURLcode code;
        const char *what, *hint;
} failures[] = {
        { CURLE_PEER_FAILED_VERIFICATION, "its certificate does not hold",
          "Name the authority that signed it in PADDLE_CACERT (a PEM file), and the server by a name that is "
          "in the "
          "certificate." },
        { CURLE_SSL_CACERT_BADFILE, "the authorities of PADDLE_CACERT cannot be read",
          "It is the path of a PEM file." },
        { CURLE_SSL_CERTPROBLEM, "the client's own certificate cannot be used",
          "PADDLE_CERT and PADDLE_KEY are the paths of a certificate and its key, PEM files." },
};

/* Messages of libcurl's TLS libraries for a reply that is not TLS. */
static bool is_plain(const char *text)
{
        static const char *const words[] = { "wrong version number", "unexpected TLS packet", "packet length",
                                             "unsupported protocol", "http request" };

        for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
                if (strstr(text, words[i]))
                        return true;
        return false;
}

bool endpoint_check_tls(const Endpoint *endpoint, CURLcode code, const char *text, GError **error)
{
        if (code == CURLE_SSL_CONNECT_ERROR && is_plain(text))
                return err_set(error, ERR_UNREACHABLE,
                               "cannot reach the server at '%s': it does not speak TLS\nName it by http://.",
                               endpoint->url);
        if (code == CURLE_SSL_CONNECT_ERROR)
                return err_set(error, ERR_UNREACHABLE,
                               "cannot reach the server at '%s': no TLS connection can be made: %s\n"
                               "If it does not speak TLS, name it by http://.",
                               endpoint->url, text);
        for (gsize i = 0; i < G_N_ELEMENTS(failures); i++)
                if (failures[i].code == code)
                        return err_set(error, ERR_UNREACHABLE, "cannot reach the server at '%s': %s: %s\n%s",
                                       endpoint->url, failures[i].what, text, failures[i].hint);
        if (!endpoint->tls && code == CURLE_GOT_NOTHING)
                return err_set(
                        error, ERR_UNAVAILABLE,
                        "the server at '%s' answered nothing: %s\nIf it speaks TLS, name it by https://.",
                        endpoint->url, text);
        return true;
}
