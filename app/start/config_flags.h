/*
 * The flags of seckilld: a table, the names that they have in each place, and how a value gets into struct config.
 */
#ifndef SECKILL_CONFIG_FLAGS_H
#define SECKILL_CONFIG_FLAGS_H

#include "config.h"

enum { CONFIG_NAME_SIZE = 48 };

typedef enum config_kind {
    KIND_TEXT,
    KIND_URL, /* as text, but never shown: a password may be in it */
    KIND_ADDRESS,
    KIND_NUMBER,
    KIND_SWITCH,
    KIND_LEVEL,
    KIND_FORMAT,
    KIND_NAME,
    KIND_RATE,
    KIND_NETWORKS,
    KIND_ORIGINS,
    KIND_PAUSE,
} config_kind;

struct config_flag {
    const char *name;
    const char *fallback; /* default; NULL: worked out elsewhere, the help says how */
    const char *value;    /* what --help calls the value */
    const char *help;
    size_t offset;    /* of the field in struct config */
    int64_t min, max; /* KIND_NUMBER */
    config_kind kind;
    bool of_servers;       /* seckillctl has it, too */
    bool is_for_here_only; /* on the command line: no variable, no line of --config */
};

typedef enum config_place { ON_THE_LINE, IN_THE_FILE, IN_THE_ENVIRONMENT } config_place;

/* In the order of the help; of NULL the first; NULL: there are no more. */
const struct config_flag *config_flags_next(const struct config_flag *flag);

/* What a flag is called there, in `out` or static: --batch, batch, SECKILL_BATCH. */
const char *config_flags_name(config_place place, const struct config_flag *flag,
                              char out[CONFIG_NAME_SIZE]);

/* Whether it can be said there, to the program that asks. */
bool config_flags_is_at(config_place place, const struct config_source *source,
                        const struct config_flag *flag);

/* NULL: no flag is called so there. */
const struct config_flag *config_flags_find(config_place place, const struct config_source *source,
                                            const char *said, size_t len);

/* Say so, and which name is near; where: "" or "FILE:3: ". What is behind an "=" in `said` may be a secret: it is not
   shown. */
bool config_flags_refuse(config_place place, const struct config_source *source, const char *where,
                         const char *said, struct start_error *why);

/* Check one value and put it into its field; `name` is what it was called. */
bool config_flags_set(const struct config_flag *flag, const char *name, const char *value,
                      struct config *out, struct start_error *why);

#endif
