/*
 * Formats by which a lock is distinguished from other data of the same type: those of the libraries that share
 * keys with lockkit. Threads: any.
 */
#include "layout.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lockkit/inspect.h"

#include "base/number.h"
#include "base/random.h"

enum { TOKEN_LEAST = 16, TOKEN_MOST = 64, OWNER_NUMBER_MOST = 20 };

static const struct {
    const char *name, *meaning;
} layouts[LK_LAYOUT_COUNT] = {
#define LAYOUT_ROW(value, name, meaning) [value] = {name, meaning},
    LK_LAYOUT_LIST(LAYOUT_ROW)
#undef LAYOUT_ROW
};

const char *lk_layout_name(lk_layout layout)
{
    return layout < LK_LAYOUT_COUNT ? layouts[layout].name : "?";
}

const char *lk_layout_meaning(lk_layout layout)
{
    return layout < LK_LAYOUT_COUNT ? layouts[layout].meaning : "?";
}

static bool is_lower_hex(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
}

bool lki_layout_is_hex_token(struct lk_bytes value)
{
    if (value.len != LKI_TOKEN_LEN) return false;
    for (size_t i = 0; i < value.len; i++)
        if (!is_lower_hex(value.data[i])) return false;
    return true;
}

bool lki_layout_is_token(struct lk_bytes value)
{
    bool has_digit = false;

    if (value.len < TOKEN_LEAST || value.len > TOKEN_MOST) return false;
    for (size_t i = 0; i < value.len; i++) {
        unsigned char byte = (unsigned char)value.data[i];

        if (byte >= 0x80 || (!isalnum(byte) && (!byte || !strchr("+/=_:-", byte)))) return false;
        if (isdigit(byte)) has_digit = true;
    }
    return has_digit;
}

static bool is_uuid(const char *text)
{
    for (size_t i = 0; i < LKI_UUID_LEN; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (is_dash ? text[i] != '-' : !isxdigit((unsigned char)text[i])) return false;
    }
    return true;
}

bool lki_layout_is_owner(struct lk_bytes field, bool *is_writer)
{
    static const char mark[] = ":write";
    size_t mark_len = sizeof mark - 1;
    size_t at = LKI_UUID_LEN + 1;
    bool is_marked =
        field.len > mark_len && memcmp(field.data + field.len - mark_len, mark, mark_len) == 0;

    if (is_marked && is_writer) field.len -= mark_len;
    if (field.len <= at || field.len > at + OWNER_NUMBER_MOST) return false;
    if (!is_uuid(field.data) || field.data[LKI_UUID_LEN] != ':') return false;
    for (; at < field.len; at++)
        if (!isdigit((unsigned char)field.data[at])) return false;
    if (is_writer) *is_writer = is_marked;
    return true;
}

bool lki_layout_read_number(struct lk_bytes value, int64_t *out)
{
    char text[LKI_NUMBER_MAX];
    char *end = NULL;

    if (value.len < 1 || value.len >= sizeof text) return false;
    lki_layout_copy(value, text, sizeof text);
    if (!isdigit((unsigned char)text[0]) && (text[0] != '-' || value.len < 2)) return false;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno || end != text + value.len || !isdigit((unsigned char)end[-1])) return false;
    *out = number;
    return true;
}

void lki_layout_copy(struct lk_bytes value, char *out, size_t size)
{
    size_t len = value.len < size ? value.len : size - 1;

    if (len > 0) memcpy(out, value.data, len);
    out[len] = '\0';
}

void lki_layout_copy_hex(struct lk_bytes value, char *out, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    size_t len = 0;

    for (size_t i = 0; i < value.len && len + 2 < size; i++) {
        unsigned char byte = (unsigned char)value.data[i];

        out[len++] = digits[byte >> 4];
        out[len++] = digits[byte & 15];
    }
    out[len] = '\0';
}
