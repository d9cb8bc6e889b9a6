/* The functions of libcurl that we use. The library is loaded by the first caller that needs it, because
 * loading takes longer than a local command. Shared by the blocking transport in net/ and by clients that
 * drive the multi interface from a loop. */
#pragma once

#include <curl/curl.h>
#include <glib.h>

typedef struct {
        CURLcode (*global_init)(long flags);
        CURL *(*easy_init)(void);
        void (*easy_cleanup)(CURL *handle);
        void (*easy_reset)(CURL *handle);
        CURLcode (*easy_setopt)(CURL *handle, CURLoption option, ...);
        CURLcode (*easy_getinfo)(CURL *handle, CURLINFO info, ...);
        CURLcode (*easy_perform)(CURL *handle);
        CURLcode (*easy_send)(CURL *handle, const void *data, size_t len, size_t *ret_sent);
        CURLcode (*easy_recv)(CURL *handle, void *data, size_t len, size_t *ret_got);
        const char *(*easy_strerror)(CURLcode code);
        struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
        void (*slist_free_all)(struct curl_slist *list);
        CURLM *(*multi_init)(void);
        CURLMcode (*multi_cleanup)(CURLM *multi);
        CURLMcode (*multi_setopt)(CURLM *multi, CURLMoption option, ...);
        CURLMcode (*multi_add_handle)(CURLM *multi, CURL *handle);
        CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *handle);
        CURLMcode (*multi_socket_action)(CURLM *multi, curl_socket_t fd, int events, int *ret_running);
        CURLMsg *(*multi_info_read)(CURLM *multi, int *ret_left);
} CurlApi;

/* Loads the library once per process and keeps it. NULL with an error that tells what to install. Any
 * thread. */
const CurlApi *curl_api_load(GError **error);
