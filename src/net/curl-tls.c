/* The client's side of TLS: what libcurl is told, and what its failures mean (see exchange.h). */
#include "base/err.h"
#include "net/exchange.h"

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
        { CURLE_SSL_CONNECT_ERROR, "no TLS can be spoken with it",
          "Does it speak TLS? If not, name it by http://." },
};

bool endpoint_check_tls(const Endpoint *endpoint, CURLcode code, const char *text, GError **error)
{
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
