/* QR codes (see qr.h). */
#include "cli/qr.h"

#include <dlfcn.h>
#include <qrencode.h>
#include <stdbool.h>
#include <string.h>

enum { QUIET = 2 }; /* width of the white border */

typedef QRcode *(*Encode)(const char *text, int version, QRecLevel level);
typedef void (*Free)(QRcode *code);

static bool is_black(const QRcode *code, int x, int y)
{
        return x >= 0 && y >= 0 && x < code->width && y < code->width &&
               (code->data[y * code->width + x] & 1);
}

static char *draw(const QRcode *code)
{
        static const char *const halves[] = { " ", "▄", "▀", "█" };
        GString *out = g_string_new(NULL);

        for (int y = -QUIET; y < code->width + QUIET; y += 2) {
                g_string_append(out, "\033[30;107m");
                for (int x = -QUIET; x < code->width + QUIET; x++)
                        g_string_append(out, halves[is_black(code, x, y) << 1 | is_black(code, x, y + 1)]);
                g_string_append(out, "\033[0m\n");
        }
        return g_string_free(out, FALSE);
}

char *qr_draw(const char *text)
{
        void *library = dlopen("libqrencode.so.4", RTLD_NOW | RTLD_LOCAL);
        Encode encode = NULL;
        Free release = NULL;
        QRcode *code;
        char *drawn;

        if (!library)
                return NULL;
        *(void **)&encode = dlsym(library, "QRcode_encodeString8bit");
        *(void **)&release = dlsym(library, "QRcode_free");
        code = encode && release ? encode(text, 0, QR_ECLEVEL_L) : NULL;
        drawn = code ? draw(code) : NULL;
        if (code)
                release(code);
        (void)dlclose(library);
        return drawn;
}
