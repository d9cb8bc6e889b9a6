/* A hash for tables whose keys others choose. Of g_str_hash() anybody can compute as many texts of one value
 * as they like ("Az" and "BY"), and a table of n such keys takes n * n steps. This one is SipHash-2-4
 * (Aumasson, Bernstein, 2012) with a random key of the process, so its values differ from run to run: nothing
 * may depend on the order in which such a table is walked. */
#pragma once

#include <glib.h>

guint keyed_hash(const void *text); /* a GHashFunc. Thread-safe */
