/*
 * See strict_json.h. What jansson takes for a string is one here, up to where it gives up.
 */
#include "strict_json.h"

#include <stdbool.h>

static bool is_shallow(const char *text, size_t len)
{
    size_t depth = 0;
    bool is_string = false;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"') {
            is_string = !is_string;
        } else if (is_string) {
            if (text[i] == '\\') i++;
        } else if (text[i] == '[' || text[i] == '{') {
            if (++depth > STRICT_JSON_DEPTH_MAX) return false;
        } else if ((text[i] == ']' || text[i] == '}') && depth > 0) {
            depth--;
        }
    }
    return true;
}

json_t *strict_json_load(const char *text, size_t len, json_error_t *error)
{
    if (is_shallow(text, len)) return json_loadb(text, len, JSON_REJECT_DUPLICATES, error);
    if (error)
        *error = (json_error_t){.text[JSON_ERROR_TEXT_LENGTH - 1] = json_error_stack_overflow};
    return NULL;
}
