/*
 * See app_texts.h. Any thread.
 */
#include "app_texts.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES = 8, TEXT_SIZE = 1024 };

size_t texts_count(const char *texts)
{
    size_t count = 1;

    for (; *texts; texts++)
        count += *texts == '|';
    return count;
}

const char *texts_at(const char *texts, size_t i)
{
    static _Thread_local char places[PLACES][TEXT_SIZE];
    static _Thread_local size_t turn;
    char *out = places[turn++ % PLACES];
    char *end = out;

    for (; texts && i > 0; i--) {
        texts = strchr(texts, '|');
        if (texts) texts++;
    }
    if (!texts) return NULL;
    for (; *texts && *texts != '|'; texts++) {
        if (end - out >= TEXT_SIZE - 2) abort(); /* a table that says more than it is asked for */
        if (*texts == '~') *end++ = '\r';
        *end++ = *texts == '~' ? '\n' : (char)(*texts == '`' ? '"' : *texts);
    }
    *end = '\0';
    return out;
}
