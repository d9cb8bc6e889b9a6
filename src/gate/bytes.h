/* The program paddle-gate (main.c) as bytes, for those who send it to where it runs. */
#pragma once

#include <stddef.h>

extern const unsigned char gate_bytes[];
extern const size_t gate_size;
