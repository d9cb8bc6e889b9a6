/* libcurl, loaded when it is needed (see curl-api.h). */
#include "net/curl-api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/err.h"

#define SYMBOL(field)                                                                                        \
        {                                                                                                    \
                "curl_" #field, G_STRUCT_OFFSET(CurlApi, field)                                              \
        }

static const struct {
        const char *name;
        gsize offset;
} symbols[] = {
        SYMBOL(global_init),      SYMBOL(easy_init),           SYMBOL(easy_cleanup),
        SYMBOL(easy_reset),       SYMBOL(easy_setopt),         SYMBOL(easy_getinfo),
        SYMBOL(easy_perform),     SYMBOL(easy_send),           SYMBOL(easy_recv),
        SYMBOL(easy_strerror),    SYMBOL(slist_append),        SYMBOL(slist_free_all),
        SYMBOL(multi_init),       SYMBOL(multi_cleanup),       SYMBOL(multi_setopt),
        SYMBOL(multi_add_handle), SYMBOL(multi_remove_handle), SYMBOL(multi_socket_action),
        SYMBOL(multi_info_read),
};

static bool load_symbols(void *library, CurlApi *ret, GError **error)
{
        for (gsize i = 0; i < G_N_ELEMENTS(symbols); i++) {
                void *symbol = dlsym(library, symbols[i].name);

                if (!symbol)
                        return err_set(error, ERR_FAILED, "libcurl has no '%s'", symbols[i].name);
                memcpy((char *)ret + symbols[i].offset, &symbol, sizeof symbol);
        }
        if (ret->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
                return err_set(error, ERR_FAILED, "libcurl does not start");
        return true;
}

const CurlApi *curl_api_load(GError **error)
{
        static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        static CurlApi api;
        static bool loaded;

        pthread_mutex_lock(&mutex);
        if (!loaded) {
                void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);

                if (!library)
                        err_set(error, ERR_FAILED,
                                "servers on other machines need libcurl, and it does not load: %s\nInstall "
                                "the package libcurl4.",
                                dlerror());
                else
                        loaded = load_symbols(library, &api, error);
        }
        const CurlApi *ret = loaded ? &api : NULL;
        pthread_mutex_unlock(&mutex);
        return ret;
}
