/* Heads and numbers of frames (see terminal.h). */
#include "terminal/terminal.h"

uint64_t terminal_number(const unsigned char *at, int bytes)
{
        uint64_t value = 0;

        for (int i = bytes - 1; i >= 0; i--)
                value = value << 8 | at[i];
        return value;
}

void terminal_put_number(unsigned char *at, int bytes, uint64_t value)
{
        for (int i = 0; i < bytes; i++)
                at[i] = (unsigned char)(value >> (8 * i));
}

void terminal_head(unsigned char head[TERMINAL_HEAD], TerminalFrame type, uint32_t len)
{
        head[0] = (unsigned char)type;
        terminal_put_number(head + 1, 4, len);
}
