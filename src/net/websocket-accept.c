/* The answer to a handshake (see websocket-accept.h). */
#include "net/websocket-accept.h"

#include <glib.h>

char *websocket_accept(const char *key)
{
        static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455, section 1.3 */
        g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA1);
        guint8 digest[20]; /* of SHA-1 */
        gsize len = sizeof digest;

        g_checksum_update(sum, (const guchar *)key, -1);
        g_checksum_update(sum, (const guchar *)guid, sizeof guid - 1);
        g_checksum_get_digest(sum, digest, &len);
        return g_base64_encode(digest, len);
}
