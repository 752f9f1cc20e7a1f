/*
 * 128 bits from the kernel per acquisition: two holders never share a token, whatever their
 * process, thread or fork. Threads: any.
 */
#include "random.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/random.h>

#include "error.h"

static bool fill_random(void *out, size_t len)
{
    ssize_t got = 0;

    do {
        got = getrandom(out, len, 0);
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)len; /* up to 256 bytes come whole */
}

lk_status lki_random_bytes(void *out, size_t len, struct lk_error *err)
{
    return fill_random(out, len) ? LK_OK : LKI_FAIL_ERRNO(err, LK_INVALID, "getrandom");
}

lk_status lki_random_uuid(char out_uuid[LKI_UUID_LEN + 1], struct lk_error *err)
{
    uint8_t bytes[16];
    size_t used = 0;

    if (!fill_random(bytes, sizeof bytes)) return LKI_FAIL_ERRNO(err, LK_INVALID, "getrandom");
    bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x80); /* version 8: fair_queue.lua knows us by it */
    bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80); /* the variant of RFC 9562 */
    for (size_t i = 0; i < sizeof bytes; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) out_uuid[used++] = '-';
        (void)snprintf(out_uuid + used, 3, "%02x", bytes[i]);
        used += 2;
    }
    return LK_OK;
}

lk_status lki_random_token(char out_token[LKI_TOKEN_LEN + 1], struct lk_error *err)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[LKI_TOKEN_LEN / 2];

    if (!fill_random(bytes, sizeof bytes)) return LKI_FAIL_ERRNO(err, LK_INVALID, "getrandom");
    for (size_t i = 0; i < sizeof bytes; i++) {
        out_token[2 * i] = digits[bytes[i] >> 4];
        out_token[2 * i + 1] = digits[bytes[i] & 15];
    }
    out_token[LKI_TOKEN_LEN] = '\0';
    return LK_OK;
}

int64_t lki_random_below(int64_t bound)
{
    uint64_t value = 0;

    if (bound <= 0 || !fill_random(&value, sizeof value)) return 0;
    return (int64_t)(value % (uint64_t)bound);
}
