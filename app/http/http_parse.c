/*
 * The small parsers of the edge. No civetweb, no state: any thread.
 */
#include <string.h>
#include <strings.h>

#include "http.h"

static bool has_bytes_of(const char *text, size_t len, const char *others)
{
    for (size_t i = 0; i < len; i++) {
        char byte = text[i];
        bool is_alnum = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                        (byte >= 'a' && byte <= 'z');

        if (!is_alnum && (byte == '\0' || !strchr(others, byte))) return false;
    }
    return true;
}

bool http_token_is_valid(const char *token)
{
    size_t len = strlen(token);

    return len >= 1 && len <= HTTP_TOKEN_MAX && has_bytes_of(token, len, "_.-");
}

bool http_unquote_key(const char *value, char out[IDEMPOTENCY_KEY_MAX + 1])
{
    size_t len = strlen(value);

    if (len >= 2 && value[0] == '"' && value[len - 1] == '"') {
        value++;
        len -= 2;
    }
    if (len > IDEMPOTENCY_KEY_MAX) return false;
    memcpy(out, value, len);
    out[len] = '\0';
    return sale_key_is_valid(out);
}

bool http_type_is_json(const char *content_type)
{
    static const char *const charsets[] = {"charset=utf-8", "charset=\"utf-8\""};
    const char *rest = content_type + strlen(HTTP_JSON);

    if (strncasecmp(content_type, HTTP_JSON, strlen(HTTP_JSON)) != 0) return false;
    rest += strspn(rest, " \t");
    if (*rest == '\0') return true;
    if (*rest++ != ';') return false;
    rest += strspn(rest, " \t");
    return strcasecmp(rest, charsets[0]) == 0 || strcasecmp(rest, charsets[1]) == 0;
}
