/* BLAKE2b-256, in lower-case hex: of bytes, of a file, or incrementally. */
#pragma once

#include <glib.h>
#include <sodium.h>
#include <stdbool.h>

#define HASH_LEN 64 /* 32 bytes in hex */

typedef crypto_generichash_blake2b_state HashState;

void hash_init(HashState *state);
void hash_update(HashState *state, const void *data, gsize len);
void hash_final(HashState *state, char ret[HASH_LEN + 1]);

/* Of bytes or of a file. */
void hash_bytes(const void *data, gsize len, char ret[HASH_LEN + 1]);
bool hash_file(const char *path, char ret[HASH_LEN + 1], guint64 *ret_size, GError **error);

/* HASH_LEN lower-case hex digits and nothing else. */
bool hash_is_valid(const char *text);

/* The bytes of `fd` from its offset to its end. False with errno if it cannot be read. */
bool hash_fd(int fd, char ret[HASH_LEN + 1], guint64 *ret_size);
