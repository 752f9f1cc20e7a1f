/*
 * getopt_long() and numbers with their bounds. One thread.
 */
#include "arguments.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "plan.h"

enum { SEED_MOST = 2147483647, DURATION_MOST_S = 60 };

const char arguments_help[] =
    "usage: lockbench [options]\n"
    "\n"
    "Measure lockkit's locks, and Redisson, redis-py and redsync at the same work in the same\n"
    "run, on a Redis server of its own. Rounds are shuffled; what is printed is the median\n"
    "(least .. most).\n"
    "\n"
    "  --repeat N      rounds [5]\n"
    "  --duration S    seconds of one measurement, down to 0.05 [1]\n"
    "  --seed N        order of the rounds [random; printed]\n"
    "  --only ROW      only rows whose names start so; again for more\n"
    "  --list          print the names of the rows\n"
    "  --json FILE     write the result there too\n"
    "  --redis URL     use this server: redis://host:port or unix:///path; its keys are left "
    "alone\n"
    "  --interop DIR   where `make interop` has put the rivals [build/interop]\n"
    "  --help          this text\n"
    "\n"
    "A rival that is not installed is no failure: its rows say \"not measured\".\n"
    "Exit status: 0 measured, however fast it was; 2 bad option; 3 something of lockkit or of an\n"
    "installed rival could not be measured; 130 interrupted.\n";

static const struct option options[] = {
    {"repeat", required_argument, NULL, 'r'}, {"duration", required_argument, NULL, 'd'},
    {"seed", required_argument, NULL, 's'},   {"only", required_argument, NULL, 'o'},
    {"list", no_argument, NULL, 'l'},         {"json", required_argument, NULL, 'j'},
    {"redis", required_argument, NULL, 'u'},  {"interop", required_argument, NULL, 'i'},
    {"help", no_argument, NULL, 'h'},         {0}};

static lk_status read_number(const char *name, double least, double most, double *out,
                             struct lk_error *err)
{
    char *end = NULL;

    errno = 0;
    double number = strtod(optarg, &end);
    if (errno || end == optarg || *end || !isfinite(number) || number < least || number > most)
        return LKI_FAIL(err, LK_INVALID, "--%s: \"%s\" is not a number from %g to %g", name, optarg,
                        least, most);
    *out = number;
    return LK_OK;
}

static lk_status read_whole(const char *name, double most, uint64_t *out, struct lk_error *err)
{
    double number = 0;
    lk_status status = read_number(name, 1, most, &number, err);

    if (status != LK_OK) return status;
    if (number != floor(number)) return LKI_FAIL(err, LK_INVALID, "--%s: \"%s\"", name, optarg);
    *out = (uint64_t)number;
    return LK_OK;
}

static lk_status take(int option, struct arguments *out, struct lk_error *err)
{
    double seconds = 0;
    lk_status status = LK_OK;

    switch (option) {
    case 'r':
        return read_whole("repeat", ROUNDS_MAX, &out->repeat, err);
    case 'd':
        status = read_number("duration", 0.05, DURATION_MOST_S, &seconds, err);
        out->duration_ms = (int64_t)(seconds * 1000);
        return status;
    case 's':
        return read_whole("seed", SEED_MOST, &out->seed, err);
    case 'o':
        if (out->only_count == ONLY_MAX) return LKI_FAIL(err, LK_INVALID, "--only: too many");
        out->only[out->only_count++] = optarg;
        return LK_OK;
    case 'j':
        out->json = optarg;
        return LK_OK;
    case 'u':
        out->redis = optarg;
        return LK_OK;
    case 'i':
        out->interop = optarg;
        return LK_OK;
    case 'l':
        out->is_list = true;
        return LK_OK;
    case 'h':
        out->is_help = true;
        return LK_OK;
    default:
        return LKI_FAIL(err, LK_INVALID, "see --help");
    }
}

lk_status arguments_parse(int argc, char **argv, struct arguments *out, struct lk_error *err)
{
    int option = 0;

    *out = (struct arguments){.repeat = 5, .duration_ms = 1000, .interop = "build/interop"};
    optind = 0; /* GNU: begin anew, for the tests parse more than once */
    opterr = 0;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == '?')
            return LKI_FAIL(err, LK_INVALID, "%s: no such option, or its value is missing",
                            argv[optind - 1]);
        lk_status status = take(option, out, err);
        if (status != LK_OK) return status;
    }
    if (optind == argc) return LK_OK;
    return LKI_FAIL(err, LK_INVALID, "do not know what to do with \"%s\"", argv[optind]);
}
