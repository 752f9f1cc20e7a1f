/*
 * Not by snprintf(), which takes ten times as long: a command has a dozen numbers. Threads: any.
 */
#include "number.h"

struct lk_bytes lki_number(char buffer[LKI_NUMBER_MAX], long long value)
{
    /* Not -value, which the least one has not. */
    unsigned long long left = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;
    char digits[LKI_NUMBER_MAX];
    size_t count = 0;
    size_t len = 0;

    do {
        digits[count++] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0) buffer[len++] = '-';
    while (count > 0)
        buffer[len++] = digits[--count];
    buffer[len] = '\0';
    return (struct lk_bytes){.data = buffer, .len = len};
}
