/*
 * The flags of lockbench.
 */
#include "arguments.h"

#include "plan.h"

#define AT(field) offsetof(struct arguments, field)

static const struct flag flags[] = {
    {"repeat", FLAG_NUMBER, AT(repeat), 1, ROUNDS_MAX, "N", .help = "rounds [5]"},
    {"duration", FLAG_SECONDS, AT(duration_ms), 50, 60000, "S",
     .help = "seconds of one measurement, down to 0.05 [1]"},
    {"seed", FLAG_NUMBER, AT(seed), 1, INT32_MAX, "N",
     .help = "order of the rounds [random; printed]"},
    {"only", FLAG_TEXTS, AT(only), .value = "ROW",
     .help = "only rows whose names start so; again for more"},
    {"list", FLAG_SWITCH, AT(is_list), .help = "print the names of the rows"},
    {"json", FLAG_TEXT, AT(json), .value = "FILE", .help = "write the result there too"},
    {"redis", FLAG_TEXT, AT(redis), .value = "URL",
     .help = "use this server: redis://host:port or unix:///path; its keys are left alone"},
    {"interop", FLAG_TEXT, AT(interop), .value = "DIR",
     .help = "where `make interop` has put the rivals [build/interop]"},
    {"help", FLAG_HELP, .help = "this text"},
};

const struct arguments arguments_usual = {
    .repeat = 5, .duration_ms = 1000, .interop = "build/interop"};

const struct flags arguments_flags = {
    .program = "lockbench",
    .head =
        "usage: lockbench [options]\n"
        "\n"
        "Measure lockkit's locks, and Redisson, redis-py and redsync at the same work in the same\n"
        "run, on a Redis server of its own. Rounds are shuffled; what is printed is the median\n"
        "(least .. most).\n"
        "\n",
    .tail =
        "\n"
        "A rival that is not installed is no failure: its rows say \"not measured\".\n"
        "Exit status: 0 measured, however fast it was; 2 bad option; 3 something of lockkit or of "
        "an\n"
        "installed rival could not be measured; 130 interrupted.\n",
    .list = flags,
    .count = sizeof flags / sizeof flags[0],
    .column = 15,
};
