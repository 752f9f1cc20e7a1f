/*
 * A growing buffer, and functions that append RESP2 to it.
 */
#ifndef LK_SIM_TEXT_H
#define LK_SIM_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Borrowed bytes. */
struct sim_word {
    const char *data;
    size_t len;
};

#define SIM_WORD(text) ((struct sim_word){(text), sizeof(text) - 1})

struct sim_text {
    char *data; /* owned; NULL while empty */
    size_t len;
    size_t room;
};

void sim_text_add(struct sim_text *text, const char *data, size_t len);
__attribute__((format(printf, 2, 3))) void sim_text_print(struct sim_text *text, const char *format,
                                                          ...);
/* Remove bytes from the front. */
void sim_text_drop(struct sim_text *text, size_t len);
void sim_text_done(struct sim_text *text);

void sim_text_bulk(struct sim_text *text, struct sim_word word);
void sim_text_integer(struct sim_text *text, long long number);
void sim_text_nil(struct sim_text *text);
void sim_text_array(struct sim_text *text, size_t count);

bool sim_word_is(struct sim_word word, const char *text);
/* As it is, whatever its case. */
bool sim_word_means(struct sim_word word, const char *text);
bool sim_word_equals(struct sim_word one, struct sim_word other);
/* A whole decimal number. */
bool sim_word_integer(struct sim_word word, long long *out);

#endif
