/* QR codes as text on a terminal, with libqrencode, which is loaded on first use so that the command line
 * starts fast. */
#pragma once

#include <glib.h>

/* Lines in black on white, each for two rows of the picture; the caller's. NULL: the library is missing. */
char *qr_draw(const char *text);
