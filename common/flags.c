/*
 * See flags.h. One thread.
 */
#include "flags.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suggest.h"

enum { USAGE = 2 };

/* ---- values ---------------------------------------------------------------------------------- */

bool flags_number(const char *text, int64_t least, int64_t most, int64_t *out)
{
    char *end = NULL;

    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (!isdigit((unsigned char)*text) || errno || *end || number < least || number > most)
        return false;
    *out = number;
    return true;
}

static bool take_number(const struct flag *flag, void *field, const char *text,
                        struct failure *failure)
{
    return flags_number(text, flag->least, flag->most, field) ||
           failure_set(failure, "--%s: \"%s\" is not a number from %lld to %lld", flag->name, text,
                       (long long)flag->least, (long long)flag->most);
}

static bool read_real(const char *text, double least, double most, double *out)
{
    char *end = NULL;

    errno = 0;
    double number = strtod(text, &end);
    if (errno || end == text || *end || !isfinite(number) || number < least || number > most)
        return false;
    *out = number;
    return true;
}

static bool take_share(const struct flag *flag, void *field, const char *text,
                       struct failure *failure)
{
    return read_real(text, 0, 1, field) ||
           failure_set(failure, "--%s: \"%s\" is not a share from 0 to 1", flag->name, text);
}

static bool take_seconds(const struct flag *flag, void *field, const char *text,
                         struct failure *failure)
{
    double least = (double)flag->least / 1000;
    double most = (double)flag->most / 1000;
    double seconds = 0;

    if (!read_real(text, least, most, &seconds))
        return failure_set(failure, "--%s: \"%s\" is not a number from %g to %g", flag->name, text,
                           least, most);
    *(int64_t *)field = llround(seconds * 1000);
    return true;
}

static bool take_span(const struct flag *flag, void *field, const char *text,
                      struct failure *failure)
{
    static const struct {
        const char *name;
        int64_t factor;
    } units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    size_t digits = strspn(text, "0123456789");
    char number[24];

    (void)snprintf(number, sizeof number, "%.*s", (int)(digits < sizeof number ? digits : 0), text);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        int64_t count = 0;

        if (strcmp(text + digits, units[i].name) != 0 ||
            !flags_number(number, 0, flag->most / units[i].factor, &count))
            continue;
        *(int64_t *)field = count * units[i].factor;
        return true;
    }
    return failure_set(failure,
                       "--%s: \"%s\" is no time like 500, 500ms, 30s, 5m or 2h, at most %lld days",
                       flag->name, text, (long long)flag->most / 86400000);
}

static bool take_text(const struct flag *flag, void *field, const char *text,
                      struct failure *failure)
{
    *(const char **)field = text;
    return *text || failure_set(failure, "--%s: is empty", flag->name);
}

static bool take_texts(const struct flag *flag, void *field, const char *text,
                       struct failure *failure)
{
    struct flag_texts *texts = field;

    if (texts->count == FLAG_TEXTS_MAX)
        return failure_set(failure, "--%s: more than %d", flag->name, FLAG_TEXTS_MAX);
    texts->list[texts->count++] = text;
    return true;
}

static bool take_switch(const struct flag *flag, void *field, const char *text,
                        struct failure *failure)
{
    (void)flag, (void)text, (void)failure;
    return *(bool *)field = true;
}

static bool take(const struct flag *flag, void *to, const char *text, struct failure *failure)
{
    static flag_take *const takes[] = {
        [FLAG_SWITCH] = take_switch, [FLAG_TEXT] = take_text,   [FLAG_TEXTS] = take_texts,
        [FLAG_NUMBER] = take_number, [FLAG_SHARE] = take_share, [FLAG_SECONDS] = take_seconds,
        [FLAG_SPAN] = take_span,
    };

    if (flag->kind == FLAG_TAKEN) return flag->take(flag, to, text, failure);
    return takes[flag->kind](flag, (char *)to + flag->offset, text, failure);
}

/* ---- words ----------------------------------------------------------------------------------- */

static const struct flag *find(const struct flags *flags, const char *name, size_t length)
{
    for (size_t i = 0; i < flags->count; i++) {
        const struct flag *flag = &flags->list[i];

        if (flag->name && strlen(flag->name) == length && memcmp(flag->name, name, length) == 0)
            return flag;
    }
    return NULL;
}

/* Messages show the argument without the value after "=", which may be a secret. */
static flags_answer refuse(const struct flags *flags, const char *name, size_t length,
                           struct failure *failure)
{
    struct suggestion near = {.said = name, .said_len = length, .distance = SUGGEST_FAR};

    for (size_t i = 0; i < flags->count; i++)
        if (flags->list[i].name) suggest_consider(&near, flags->list[i].name);
    const char *dashes = name[0] == '-' ? "" : "--";
    if (near.word)
        (void)failure_set(failure, "no flag \"%s%.*s\" (did you mean --%s?)", dashes, (int)length,
                          name, near.word);
    else
        (void)failure_set(failure, "no flag \"%s%.*s\" (try --help)", dashes, (int)length, name);
    return FLAGS_BAD;
}

flags_answer flags_read_one(const struct flags *flags, struct flag_words *words, void *to,
                            struct failure *failure)
{
    const char *word = words->argv[words->at++];
    const char *name = word + (word[1] == '-' ? 2 : 0);
    size_t length = strcspn(name, "=");
    const char *value = name[length] ? name + length + 1 : NULL;
    const struct flag *flag = find(flags, name, length);

    if (!flag) return refuse(flags, name, length, failure);
    if (!flag->value && value) {
        (void)failure_set(failure, "--%s: takes no value", flag->name);
        return FLAGS_BAD;
    }
    if (flag->kind == FLAG_HELP) return FLAGS_HELP;
    if (flag->kind == FLAG_VERSION) return FLAGS_VERSION;
    if (flag->value && !value && words->at < words->argc) value = words->argv[words->at++];
    if (flag->value && !value) {
        (void)failure_set(failure, "--%s: the value is missing", flag->name);
        return FLAGS_BAD;
    }
    if (flags->seen) flags->seen(flag, to);
    return take(flag, to, value ? value : "", failure) ? FLAGS_READ : FLAGS_BAD;
}

flags_answer flags_read(const struct flags *flags, int argc, char **argv, void *to,
                        struct failure *failure)
{
    struct flag_words words = {argc, argv, 1};
    const struct flag *taker = flags->words;
    flags_answer answer = FLAGS_READ;

    while (words.at < argc && answer == FLAGS_READ) {
        const char *word = argv[words.at];

        if (strncmp(word, "--", 2) == 0 && word[2]) {
            const struct flag *flag = find(flags, word + 2, strcspn(word + 2, "="));

            answer = flags_read_one(flags, &words, to, failure);
            taker = flag && flag->takes_more ? flag : flags->words;
        } else if (taker) {
            words.at++;
            answer = take(taker, to, word, failure) ? FLAGS_READ : FLAGS_BAD;
        } else {
            (void)failure_set(failure, "do not know what to do with \"%s\" (try --help)", word);
            answer = FLAGS_BAD;
        }
    }
    return answer;
}

/* ---- what is printed --------------------------------------------------------------------------- */

static void print_row(const struct flags *flags, const struct flag *flag, FILE *to)
{
    char left[64];

    (void)snprintf(left, sizeof left, "--%s%s%s", flag->name, flag->value ? " " : "",
                   flag->value ? flag->value : "");
    (void)fprintf(to, "  %-*s ", flags->column, left);
    for (const char *at = flag->help; *at; at++) {
        (void)fputc(*at, to);
        if (*at == '\n') (void)fprintf(to, "  %-*s ", flags->column, "");
    }
    (void)fputc('\n', to);
}

void flags_help(const struct flags *flags, FILE *to)
{
    (void)fputs(flags->head, to);
    for (size_t i = 0; i < flags->count; i++) {
        const struct flag *flag = &flags->list[i];

        if (flag->name && flag->help) print_row(flags, flag, to);
        if (!flag->name) (void)fprintf(to, "%s\n", flag->help);
    }
    if (flags->tail) (void)fputs(flags->tail, to);
}

int flags_main(const struct flags *flags, int argc, char **argv, void *to)
{
    struct failure failure = {.text = ""};

    switch (flags_read(flags, argc, argv, to, &failure)) {
    case FLAGS_READ:
        return -1;
    case FLAGS_BAD:
        (void)fprintf(stderr, "%s: %s\n", flags->program, failure.text);
        return USAGE;
    case FLAGS_HELP:
        flags_help(flags, stdout);
        break;
    case FLAGS_VERSION:
        (void)printf("%s %s\n", flags->program, SECKILL_VERSION);
        break;
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
