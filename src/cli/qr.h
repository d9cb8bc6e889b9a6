/* QR codes as text on a terminal, by libqrencode, which is loaded when one is drawn: the command line starts
 * without it. */
#pragma once

#include <glib.h>

/* Lines of black on white, two rows of the picture each; the caller's. NULL: the library is not there. */
char *qr_draw(const char *text);
