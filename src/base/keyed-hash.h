/* A hash for tables whose keys users choose. For g_str_hash() a user can compute any number of keys with the
 * same hash ("Az" and "BY"), and n such keys cost n * n steps. This hash is SipHash-2-4 (Aumasson, Bernstein,
 * 2012) with a random key for each process. Values differ between runs, so no result may depend on the order
 * of iteration. */
#pragma once

#include <glib.h>

guint keyed_hash(const void *text); /* a GHashFunc. Thread-safe */
