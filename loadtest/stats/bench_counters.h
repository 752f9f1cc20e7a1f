/*
 * What the service and its Redis count, read from outside: samples of /metrics and commands of
 * INFO commandstats. Parsing is pure.
 */
#ifndef LOADTEST_BENCH_COUNTERS_H
#define LOADTEST_BENCH_COUNTERS_H

#include "base/http_client.h"
#include "evidence/ledger.h"

enum { TALLY_MAX = 96, TALLY_NAME_MAX = 32 };

/* How often what happened: commands, outcomes. */
struct tally_entry {
    char name[TALLY_NAME_MAX]; /* "evalsha", "sold-out" */
    long long times;
};

struct tally {
    struct tally_entry list[TALLY_MAX];
    int count;
};

/* For going over a text: the one behind it, or the end. */
const char *bench_counters_next_line(const char *line);

/* Sum of the samples of a metric, of those only whose labels hold `label` unless NULL. */
double bench_counters_sum(const char *metrics, const char *name, const char *label);

/* Add the samples of a metric to `sums`, by the value of one of its labels. */
void bench_counters_read_label(const char *metrics, const char *name, const char *label,
                               struct tally *sums);
long long bench_counters_all(const struct tally *tally);
long long bench_counters_times(const struct tally *tally, const char *name);

/* "cmdstat_NAME:calls=N,..." lines; what does not fit the table is left out. */
void bench_counters_read_commands(const char *info, struct tally *out_tally);
/* Add what came between two readings to `sums`; our own INFO is no cost. Returns all calls. */
long long bench_counters_add_calls(const struct tally *before, const struct tally *after,
                                   struct tally *sums);

/* "name:123" of an INFO section; -1 when it is not there. */
long long bench_counters_info_number(const char *info, const char *name);
/* ... of the server's. false: no answer, or it is not there. */
bool bench_counters_ask_number(struct ledger *ledger, const char *section, const char *name,
                               long long *out_number, struct failure *failure);

/* GET url/metrics; yours to free. NULL: no answer. */
char *bench_counters_fetch(struct http_client *http, const char *url, struct failure *failure);
/* INFO commandstats, parsed. */
bool bench_counters_ask_commands(struct ledger *ledger, struct tally *out_tally,
                                 struct failure *failure);

#endif
