/*
 * Follows files that grow by whole lines; a line that is not whole yet is read again next time.
 * One thread, with the runner's loop.
 */
#include "monitor.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum { TTY_EVERY_MS = 200, PLAIN_EVERY_MS = 1000 };

bool monitor_open(struct monitor *monitor, const struct drive_target *target, const char *sale,
                  const char *samples_path, struct failure *failure)
{
    int64_t now_ms = clock_ms();

    *monitor = (struct monitor){
        .sale = sale,
        .samples_path = samples_path,
        .service = target->service,
        .initial = target->options->stock,
        .left = target->options->stock,
        .paid = -1,
        .started_ms = now_ms,
        .changed_ms = now_ms,
        .stray_ms = now_ms,
        .shown_ms = now_ms,
        .is_quiet = target->options->is_quiet,
        .is_tty = isatty(STDOUT_FILENO) == 1,
    };
    monitor->samples = fopen(samples_path, "ae");
    return monitor->samples || failure_set(failure, "%s: %s", samples_path, failure_errno_text());
}

static void sample_stock(struct monitor *monitor)
{
    struct failure ignored; /* Redis may be down on purpose; the audit needs it after the run */
    int64_t left = 0;

    if (!monitor->ledger) monitor->ledger = service_open_ledger(monitor->service, &ignored);
    if (!monitor->ledger) return;
    if (!ledger_sale_stock(monitor->ledger, monitor->sale, &left, &ignored)) {
        ledger_close(monitor->ledger);
        monitor->ledger = NULL;
        return;
    }
    monitor->left = left;
    int written =
        fprintf(monitor->samples, "{\"t\":%" PRId64 ",\"e\":\"sample\",\"left\":%" PRId64 "}\n",
                clock_ns(), left);
    if (written < 0) monitor->samples_errno = errno; /* ferror() tells in monitor_close */
}

static bool is_answer(const char *line)
{
    return strstr(line, "\"e\":\"ok\"") || strstr(line, "\"e\":\"fail\"") ||
           strstr(line, "\"e\":\"info\"");
}

/* Count the answers among the lines written since the last look, and apart from them the strays. */
static unsigned long count_answers(const struct monitor *monitor, FILE *file,
                                   unsigned long *out_strays)
{
    char line[1024];
    unsigned long answers = 0;
    long start = ftell(file);

    clearerr(file);
    while (fgets(line, sizeof line, file)) {
        if (!strchr(line, '\n')) break;
        if (monitor->hear) monitor->hear(monitor->hear_arg, line);
        if (is_answer(line)) answers++;
        if (strstr(line, "\"e\":\"stray\"")) (*out_strays)++;
        start = ftell(file);
    }
    (void)fseek(file, start, SEEK_SET); /* back to the start of a line that is not whole */
    return answers;
}

static void count_replies(struct monitor *monitor, const struct drive *drive)
{
    for (int i = 0; i < drive->count; i++) {
        if (!monitor->files[i]) monitor->files[i] = fopen(drive->ledgers[i], "re");
        if (!monitor->files[i]) continue; /* not there yet */
        unsigned long strays = 0;
        unsigned long more = count_answers(monitor, monitor->files[i], &strays);
        monitor->replies += more;
        if (more) monitor->changed_ms = clock_ms();
        if (strays) monitor->stray_ms = clock_ms();
    }
}

static void show(struct monitor *monitor, int64_t every_ms)
{
    int64_t now_ms = clock_ms();
    int64_t span_ms = now_ms - monitor->shown_ms;

    if (monitor->is_quiet || span_ms < every_ms) return;
    double per_s =
        span_ms > 0 ? (double)(monitor->replies - monitor->shown_replies) * 1000.0 / (double)span_ms
                    : 0.0;
    (void)printf("%s  %5.1f s   sold %" PRId64 "/%" PRId64, monitor->is_tty ? "\r\033[K" : "",
                 (double)(now_ms - monitor->started_ms) / 1000.0, monitor->initial - monitor->left,
                 monitor->initial);
    if (monitor->paid >= 0) (void)printf("   paid %" PRId64, monitor->paid);
    (void)printf("   %lu replies   %.0f/s%s", monitor->replies, per_s, monitor->is_tty ? "" : "\n");
    (void)fflush(stdout);
    monitor->has_line = monitor->is_tty;
    monitor->shown_ms = now_ms;
    monitor->shown_replies = monitor->replies;
}

void monitor_tick(struct monitor *monitor, const struct drive *drive)
{
    sample_stock(monitor);
    count_replies(monitor, drive);
    show(monitor, monitor->is_tty ? TTY_EVERY_MS : PLAIN_EVERY_MS);
}

bool monitor_close(struct monitor *monitor, const struct drive *drive, struct failure *failure)
{
    const char *path = monitor->samples_path;
    bool is_good = true;

    if (monitor->samples) {
        sample_stock(monitor);
        count_replies(monitor, drive);
        show(monitor, 1);
        bool was_full = ferror(monitor->samples);
        is_good = fclose(monitor->samples) == 0 && !was_full;
        if (was_full) errno = monitor->samples_errno; /* of then */
    }
    if (monitor->has_line) (void)putchar('\n');
    for (int i = 0; i < INSTANCES_MAX; i++)
        if (monitor->files[i]) (void)fclose(monitor->files[i]); /* read only */
    ledger_close(monitor->ledger);
    *monitor = (struct monitor){.ledger = NULL};
    return is_good || failure_set(failure, "%s: %s", path, failure_errno_text());
}
