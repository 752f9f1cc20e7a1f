/*
 * The distance of two words as Damerau and Levenshtein count it. One thread.
 */
#include "suggest.h"

#include <string.h>

enum { LONGEST = 32 };

static size_t least_of(size_t one, size_t two, size_t three)
{
    size_t least = one < two ? one : two;

    return least < three ? least : three;
}

/* Both at most LONGEST bytes. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[LONGEST + 1][LONGEST + 1];

    for (size_t i = 0; i <= a_len; i++)
        rows[i][0] = i;
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        for (size_t j = 1; j <= b_len; j++) {
            size_t *here = &rows[i][j];

            *here = least_of(rows[i - 1][j] + 1, rows[i][j - 1] + 1,
                             rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                rows[i - 2][j - 2] + 1 < *here)
                *here = rows[i - 2][j - 2] + 1;
        }
    }
    return rows[a_len][b_len];
}

void suggest_consider(struct suggestion *suggestion, const char *word)
{
    size_t len = strlen(word);
    size_t edits = 0;

    if (len > LONGEST || suggestion->said_len > LONGEST) return;
    edits = distance(suggestion->said, suggestion->said_len, word, len);
    if (edits >= suggestion->distance || edits * 2 > len) return; /* "x" does not mean "run" */
    suggestion->distance = edits;
    suggestion->word = word;
}
