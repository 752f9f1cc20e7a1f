/*
 * See hex.h. Any thread.
 */
#include "hex.h"

static const char digits[] = "0123456789abcdef";

void hex_write(const unsigned char *bytes, size_t size, char *out)
{
    for (size_t i = 0; i < size; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

static int value_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hex_read(const char *text, unsigned char *out, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        int high = value_of(text[2 * i]);
        int low = high < 0 ? -1 : value_of(text[2 * i + 1]);

        if (low < 0) return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}
