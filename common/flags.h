/*
 * The command line of a program: one table of flags, read into one struct, and printed as the help.
 */
#ifndef COMMON_FLAGS_H
#define COMMON_FLAGS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "failure.h"

typedef enum flag_kind {
    FLAG_SWITCH,  /* bool; takes no value */
    FLAG_TEXT,    /* const char *, not empty */
    FLAG_TEXTS,   /* struct flag_texts: one more each time */
    FLAG_NUMBER,  /* int64_t or uint64_t, from `least` to `most` */
    FLAG_SHARE,   /* double, from 0 to 1 */
    FLAG_SECONDS, /* int64_t of ms, from `least` to `most` of them; seconds, also 0.5, are given */
    FLAG_SPAN,    /* int64_t of ms, at most `most`: 500, 500ms, 30s, 5m or 2h */
    FLAG_TAKEN,   /* take() parses the value; a flag without a value where the help names none */
    FLAG_HELP,
    FLAG_VERSION,
} flag_kind;

struct flag;

/* Store a value into the struct at `to`; false, and `failure` is set, when the value cannot be used. */
typedef bool flag_take(const struct flag *flag, void *to, const char *value,
                       struct failure *failure);

struct flag {
    const char *name; /* without "--"; NULL: `help` is a line between others */
    flag_kind kind;
    size_t offset; /* the field's offset in that struct; with FLAG_TAKEN, any number for take() */
    int64_t least, most;
    const char *value; /* the value's name in the help; NULL: the flag has no value */
    const char *help;  /* a newline in it goes on in the same column; NULL: it is not shown */
    flag_take *take;
    bool takes_more; /* the flag also takes the arguments after its value, up to the next flag */
};

enum { FLAG_TEXTS_MAX = 1024 };
struct flag_texts {
    const char *list[FLAG_TEXTS_MAX]; /* borrowed */
    size_t count;
};

struct flags {
    const char *program;
    const char *head, *tail; /* of the help; tail may be NULL */
    const struct flag *list;
    size_t count;
    int column;                                      /* width of flag and value in the help */
    void (*seen)(const struct flag *flag, void *to); /* before each is applied; or NULL */
    const struct flag *words; /* called for arguments that are no flags; NULL: there may be none */
};

typedef enum flags_answer { FLAGS_READ, FLAGS_HELP, FLAGS_VERSION, FLAGS_BAD } flags_answer;

/*
 * Read all words behind the program's name: "--name value", "--name=value", "--switch". --help and --version end it.
 *
 * Owns     strings are borrowed from argv.
 * Returns  BAD   a word that cannot be used; `failure` names flag and value.
 */
flags_answer flags_read(const struct flags *flags, int argc, char **argv, void *to,
                        struct failure *failure);

/* The words of a command line, of which argv[at] is next. */
struct flag_words {
    int argc;
    char **argv;
    int at;
};
/* For programs with arguments of other kinds in between: argv[at] is a flag; parse it and its value. */
flags_answer flags_read_one(const struct flags *flags, struct flag_words *words, void *to,
                            struct failure *failure);

/* The same for a main(): prints what --help and --version ask for, or on stderr what is wrong.
 *
 * Returns  -1   go on; else the exit status: 0, 2 after what is wrong, 1 when stdout cannot be written.
 */
int flags_main(const struct flags *flags, int argc, char **argv, void *to);

void flags_help(const struct flags *flags, FILE *to);

/* `text` as a number from `least` to `most`. */
bool flags_number(const char *text, int64_t least, int64_t most, int64_t *out);

#endif
