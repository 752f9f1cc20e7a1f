/*
 * The table of verbs, read by the parser, by help and by the history. One thread.
 */
#include "proxy_command.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS_MAX = 2, DELAY_MAX_MS = 3600000, RATE_MAX = 1000000000 };

typedef enum argument_kind { ARGUMENT_NUMBER, ARGUMENT_DIRECTION } argument_kind;

static const struct {
    const char *name;
    struct {
        const char *name; /* NULL: there is none */
        argument_kind kind;
        int64_t least, most;
    } arguments[ARGUMENTS_MAX];
    size_t needed;
    const char *help;
} verbs[PROXY_VERB_COUNT] = {
    [PROXY_PASS] = {.name = "pass",
                    .help = "heal: everything passes at once, what was held goes on"},
    [PROXY_DELAY] = {"delay",
                     {{"MS", ARGUMENT_NUMBER, 0, DELAY_MAX_MS},
                      {"JITTER_MS", ARGUMENT_NUMBER, 0, DELAY_MAX_MS}},
                     1,
                     "bytes take MS +- JITTER_MS each way, in order"},
    [PROXY_TRICKLE] = {"trickle",
                       {{"BYTES_PER_S", ARGUMENT_NUMBER, 1, RATE_MAX}},
                       1,
                       "each direction of a connection no faster than this"},
    [PROXY_STALL] = {.name = "stall", .help = "read and deliver nothing; hold what was read"},
    [PROXY_ONEWAY] = {"oneway",
                      {{"c2s|s2c", ARGUMENT_DIRECTION, 0, 0}},
                      1,
                      "only to the server, or only to the client; hold the rest"},
    [PROXY_BLACKHOLE] = {.name = "blackhole", .help = "accept, read, throw away; say nothing"},
    [PROXY_CUT] = {.name = "cut", .help = "reset (RST) every connection there is, once"},
    [PROXY_REFUSE] = {.name = "refuse", .help = "do not listen: connect() is refused"},
    [PROXY_EAT_REPLY] = {"eat-reply",
                         {{"N", ARGUMENT_NUMBER, 0, PROXY_EAT_MAX}},
                         1,
                         "the next N requests happen, but their client gets a reset for a reply"},
    [PROXY_STATUS] = {.name = "status", .help = "faults and counts of every link, as JSON"},
};

static const char *const direction_names[] = {[PROXY_C2S] = "c2s", [PROXY_S2C] = "s2c"};

bool proxy_name_is_valid(const char *name, size_t length)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-_";
    return length > 0 && length < PROXY_NAME_MAX && strspn(name, allowed) >= length;
}

const char *proxy_verb_name(proxy_verb verb)
{
    return verbs[verb].name;
}

static bool find_verb(const char *word, proxy_verb *out_verb)
{
    for (proxy_verb verb = PROXY_PASS; verb < PROXY_VERB_COUNT; verb++) {
        if (strcmp(word, verbs[verb].name) != 0) continue;
        *out_verb = verb;
        return true;
    }
    return false;
}

static bool read_argument(struct proxy_command *command, size_t index, const char *word,
                          struct failure *failure)
{
    const char *verb = verbs[command->verb].name;
    char *end = NULL;

    if (index >= ARGUMENTS_MAX || !verbs[command->verb].arguments[index].name)
        return failure_set(failure, "%s: \"%s\" is one word too many", verb, word);
    if (verbs[command->verb].arguments[index].kind == ARGUMENT_DIRECTION) {
        for (int64_t i = PROXY_C2S; i <= PROXY_S2C; i++) {
            if (strcmp(word, direction_names[i]) != 0) continue;
            command->numbers[index] = i;
            return true;
        }
        return failure_set(failure, "%s: \"%s\" is neither c2s nor s2c", verb, word);
    }
    int64_t least = verbs[command->verb].arguments[index].least;
    int64_t most = verbs[command->verb].arguments[index].most;
    errno = 0;
    long number = strtol(word, &end, 10);
    if (errno || strspn(word, "0123456789") == 0 || *end || number < least || number > most)
        return failure_set(failure, "%s: \"%s\" is not a number from %lld to %lld", verb, word,
                           (long long)least, (long long)most);
    command->numbers[index] = number;
    return true;
}

/* "LINK:VERB" -> the link goes into the command; the verb is returned, NULL: a bad name. */
static char *take_link(struct proxy_command *command, char *word)
{
    char *colon = strchr(word, ':');

    if (!colon) return word;
    size_t length = (size_t)(colon - word);
    if (!proxy_name_is_valid(word, length)) return NULL;
    memcpy(command->link, word, length);
    return colon + 1;
}

bool proxy_command_parse(struct proxy_command *command, const char *line, struct failure *failure)
{
    static const char blanks[] = " \t\r";
    struct proxy_command parsed = {.link = ""};
    char words[PROXY_LINE_MAX];
    char *rest = NULL;
    size_t count = 0;

    if (strlen(line) >= sizeof words) return failure_set(failure, "the line is too long");
    (void)snprintf(words, sizeof words, "%s", line);
    char *word = strtok_r(words, blanks, &rest);
    if (!word) return failure_set(failure, "no verb");
    char *verb = take_link(&parsed, word);
    if (!verb) return failure_set(failure, "\"%s\" does not begin with a link's name", word);
    if (!*verb) verb = strtok_r(NULL, blanks, &rest); /* "link1: cut" */
    if (!verb) return failure_set(failure, "no verb");
    if (!find_verb(verb, &parsed.verb)) return failure_set(failure, "no verb \"%s\"", verb);
    while ((word = strtok_r(NULL, blanks, &rest)))
        if (!read_argument(&parsed, count++, word, failure)) return false;
    if (count < verbs[parsed.verb].needed)
        return failure_set(failure, "%s: %s is missing", verb,
                           verbs[parsed.verb].arguments[count].name);
    *command = parsed;
    return true;
}

void proxy_command_words(const struct proxy_command *command, char *out, size_t size)
{
    size_t length = 0;

    (void)snprintf(out, size, "%s", verbs[command->verb].name);
    for (size_t i = 0; i < ARGUMENTS_MAX && verbs[command->verb].arguments[i].name; i++) {
        length = strlen(out);
        if (verbs[command->verb].arguments[i].kind == ARGUMENT_DIRECTION)
            (void)snprintf(out + length, size - length, " %s",
                           direction_names[command->numbers[i]]);
        else if (i < verbs[command->verb].needed || command->numbers[i])
            (void)snprintf(out + length, size - length, " %lld", (long long)command->numbers[i]);
    }
}

void proxy_faults_apply(struct proxy_faults *faults, const struct proxy_command *command)
{
    switch (command->verb) {
    case PROXY_PASS:
        *faults = (struct proxy_faults){.gate = PROXY_OPEN};
        return;
    case PROXY_DELAY:
        faults->shape.delay_ms = command->numbers[0];
        faults->shape.jitter_ms = command->numbers[1];
        return;
    case PROXY_TRICKLE:
        faults->shape.bytes_per_s = command->numbers[0];
        return;
    case PROXY_STALL:
        faults->gate = PROXY_STALLED;
        return;
    case PROXY_ONEWAY:
        faults->gate = command->numbers[0] == PROXY_C2S ? PROXY_ONLY_C2S : PROXY_ONLY_S2C;
        return;
    case PROXY_BLACKHOLE:
        faults->gate = PROXY_SWALLOWED;
        return;
    case PROXY_REFUSE:
        faults->is_refusing = true;
        return;
    case PROXY_EAT_REPLY:
        faults->eat_next = command->numbers[0];
        return;
    case PROXY_CUT:
    case PROXY_STATUS:
    case PROXY_VERB_COUNT:
        return;
    }
}

const char *proxy_gate_name(proxy_gate gate)
{
    static const char *const names[PROXY_GATE_COUNT] = {
        [PROXY_OPEN] = "pass",           [PROXY_STALLED] = "stall",
        [PROXY_ONLY_C2S] = "oneway c2s", [PROXY_ONLY_S2C] = "oneway s2c",
        [PROXY_SWALLOWED] = "blackhole",
    };
    return names[gate];
}

bool proxy_gate_lets(proxy_gate gate, proxy_direction direction)
{
    static const bool lets[PROXY_GATE_COUNT][2] = {
        [PROXY_OPEN] = {true, true},
        [PROXY_STALLED] = {false, false},
        [PROXY_ONLY_C2S] = {[PROXY_C2S] = true},
        [PROXY_ONLY_S2C] = {[PROXY_S2C] = true},
        [PROXY_SWALLOWED] = {true, true},
    };
    return lets[gate][direction];
}

void proxy_command_help(FILE *to)
{
    for (proxy_verb verb = PROXY_PASS; verb < PROXY_VERB_COUNT; verb++) {
        char words[64];
        const char *first = verbs[verb].arguments[0].name;
        const char *second = verbs[verb].arguments[1].name;
        (void)snprintf(words, sizeof words, "%s %s%s%s%s", verbs[verb].name, first ? first : "",
                       second ? " [" : "", second ? second : "", second ? "]" : "");
        (void)fprintf(to, "  %-22s %s\n", words, verbs[verb].help);
    }
}
