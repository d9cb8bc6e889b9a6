/* BLAKE2b-256 in pieces, for what is hashed while it passes by. hash_bytes and hash_file are in package.h. */
#pragma once

#include <glib.h>
#include <sodium.h>
#include <stdbool.h>

#include "fs/package.h"

typedef crypto_generichash_blake2b_state HashState;

void hash_init(HashState *state);
void hash_update(HashState *state, const void *data, gsize len);
void hash_final(HashState *state, char ret[HASH_LEN + 1]);

/* HASH_LEN lower-case hex digits and nothing else. */
bool hash_is_valid(const char *text);

/* The bytes of `fd` from where it stands to its end. False with errno when it cannot be read. */
bool hash_fd(int fd, char ret[HASH_LEN + 1], guint64 *ret_size);
