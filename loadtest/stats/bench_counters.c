/*
 * Text in, numbers out. One thread.
 */
#include "bench_counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tallies ---- */

static void add_times(struct tally *tally, const char *name, long long times)
{
    struct tally_entry *entry = NULL;

    for (int i = 0; i < tally->count && !entry; i++)
        if (strcmp(tally->list[i].name, name) == 0) entry = &tally->list[i];
    if (!entry && tally->count < TALLY_MAX) {
        entry = &tally->list[tally->count++];
        *entry = (struct tally_entry){.times = 0};
        (void)snprintf(entry->name, sizeof entry->name, "%s", name);
    }
    if (entry) entry->times += times;
}

long long bench_counters_times(const struct tally *tally, const char *name)
{
    for (int i = 0; i < tally->count; i++)
        if (strcmp(tally->list[i].name, name) == 0) return tally->list[i].times;
    return 0;
}

long long bench_counters_all(const struct tally *tally)
{
    long long all = 0;

    for (int i = 0; i < tally->count; i++)
        all += tally->list[i].times;
    return all;
}

long long bench_counters_add_calls(const struct tally *before, const struct tally *after,
                                   struct tally *sums)
{
    long long all = 0;

    for (int i = 0; i < after->count; i++) {
        const struct tally_entry *command = &after->list[i];
        long long calls = command->times - bench_counters_times(before, command->name);
        if (calls <= 0 || strcmp(command->name, "info") == 0) continue;
        add_times(sums, command->name, calls);
        all += calls;
    }
    return all;
}

/* ---- texts ---- */

const char *bench_counters_next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

/* The value of a sample line of that metric; false when it is another line. */
static bool sample_value(const char *line, const char *name, const char *label, double *out_value)
{
    size_t name_len = strlen(name);
    size_t line_len = strcspn(line, "\n");

    if (strncmp(line, name, name_len) != 0) return false;
    if (line[name_len] != '{' && line[name_len] != ' ') return false;
    const char *found = label ? strstr(line, label) : line;
    if (!found || (size_t)(found - line) >= line_len) return false;
    const char *blank = memrchr(line, ' ', line_len);
    if (!blank) return false;
    *out_value = strtod(blank, NULL);
    return true;
}

double bench_counters_sum(const char *metrics, const char *name, const char *label)
{
    double sum = 0;
    double value = 0;

    for (const char *line = metrics; *line; line = bench_counters_next_line(line))
        if (sample_value(line, name, label, &value)) sum += value;
    return sum;
}

void bench_counters_read_label(const char *metrics, const char *name, const char *label,
                               struct tally *sums)
{
    char head[64];
    double value = 0;

    (void)snprintf(head, sizeof head, "%s=\"", label);
    for (const char *line = metrics; *line; line = bench_counters_next_line(line)) {
        char word[TALLY_NAME_MAX];
        if (!sample_value(line, name, head, &value)) continue;
        const char *start = strstr(line, head) + strlen(head);
        (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(start, "\""), start);
        add_times(sums, word, (long long)value);
    }
}

void bench_counters_read_commands(const char *info, struct tally *out_tally)
{
    static const char head[] = "cmdstat_";
    static const char calls[] = ":calls=";

    *out_tally = (struct tally){.count = 0};
    for (const char *line = info; *line && out_tally->count < TALLY_MAX;
         line = bench_counters_next_line(line)) {
        if (strncmp(line, head, strlen(head)) != 0) continue;
        const char *name = line + strlen(head);
        const char *end = strstr(name, calls);
        if (!end || end >= bench_counters_next_line(line) || end - name >= TALLY_NAME_MAX) continue;
        struct tally_entry *command = &out_tally->list[out_tally->count++];
        memcpy(command->name, name, (size_t)(end - name));
        command->times = strtoll(end + strlen(calls), NULL, 10);
    }
}

long long bench_counters_info_number(const char *info, const char *name)
{
    size_t length = strlen(name);

    for (const char *line = info; *line; line = bench_counters_next_line(line))
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            return strtoll(line + length + 1, NULL, 10);
    return -1;
}

bool bench_counters_ask_number(struct ledger *ledger, const char *section, const char *name,
                               long long *out_number, struct failure *failure)
{
    char *info = ledger_info(ledger, section, failure);

    if (!info) return false;
    *out_number = bench_counters_info_number(info, name);
    free(info);
    return *out_number >= 0 || failure_set(failure, "Redis: no %s in INFO", name);
}

char *bench_counters_fetch(struct http_client *http, const char *url, struct failure *failure)
{
    struct http_reply reply = {.status = 0};
    char page[512];
    char *text = NULL;
    size_t size = 0;

    (void)snprintf(page, sizeof page, "%s/metrics", url);
    FILE *save = open_memstream(&text, &size);
    if (!save) {
        (void)failure_set(failure, "out of memory");
        return NULL;
    }
    struct http_request request = {.url = page, .save = save};
    bool is_good = http_client_send(http, &request, &reply, failure);
    if (is_good && reply.status != 200)
        is_good = failure_set(failure, "%s: status %ld", page, reply.status);
    if (fclose(save) != 0 && is_good) is_good = failure_set(failure, "out of memory");
    if (is_good) return text;
    free(text);
    return NULL;
}

bool bench_counters_ask_commands(struct ledger *ledger, struct tally *out_tally,
                                 struct failure *failure)
{
    char *info = ledger_info(ledger, "commandstats", failure);

    if (!info) return false;
    bench_counters_read_commands(info, out_tally);
    free(info);
    return true;
}
