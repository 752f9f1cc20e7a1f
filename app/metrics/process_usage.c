/*
 * Reads /proc and asks the kernel. Any thread, shares nothing.
 *
 * A process that may not be dumped (seckilld without --lab) may not list its own /proc/self/fd; then
 * the descriptors are tried one by one.
 */
#include "process_usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TRY_MAX = 65536, STAT_FIELDS_BEFORE_START = 19 /* after the name: from state on */ };

static void print_gauge(FILE *out, const char *name, const char *help, double value)
{
    (void)fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n%s %.15g\n", name, help, name, name, value);
}

/* Read a whole small file; "" when it cannot be read. */
static void read_file(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, out, size - 1);

    out[len > 0 ? len : 0] = '\0';
    if (fd >= 0) (void)close(fd); /* it was only read */
}

static void print_memory(FILE *out)
{
    char text[256];
    char *rest = NULL;
    double page = (double)sysconf(_SC_PAGESIZE);

    read_file("/proc/self/statm", text, sizeof text);
    double all = (double)strtoll(text, &rest, 10) * page;
    double resident = (double)strtoll(rest, NULL, 10) * page;
    if (resident <= 0) return;
    print_gauge(out, "process_resident_memory_bytes", "Memory in use.", resident);
    print_gauge(out, "process_virtual_memory_bytes", "Address space in use.", all);
}

static long count_files_one_by_one(rlim_t limit)
{
    long count = 0;

    for (int fd = 0; fd < TRY_MAX && (rlim_t)fd < limit; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static long count_files(rlim_t limit)
{
    DIR *list = opendir("/proc/self/fd");
    long count = -3; /* ".", "..", and the list itself */

    if (!list) return count_files_one_by_one(limit);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this call's own */
    while (readdir(list))
        count++;
    (void)closedir(list); /* it was only read */
    return count;
}

static void print_files(FILE *out)
{
    struct rlimit limit = {0};

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    print_gauge(out, "process_open_fds", "Open file descriptors.",
                (double)count_files(limit.rlim_cur));
    print_gauge(out, "process_max_fds", "File descriptors it may open.", (double)limit.rlim_cur);
}

static void print_cpu(FILE *out)
{
    struct rusage usage = {0};

    if (getrusage(RUSAGE_SELF, &usage) != 0) return;
    (void)fprintf(out,
                  "# HELP process_cpu_seconds_total Processor time used, in user and system.\n"
                  "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %.6f\n",
                  (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                      (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
}

/* Seconds from boot to the start of this process; 0: not told. */
static double started_after_boot_s(void)
{
    char text[1024];
    char *at = NULL;

    read_file("/proc/self/stat", text, sizeof text);
    at = strrchr(text, ')'); /* the name may hold anything */
    for (int i = 0; at && i <= STAT_FIELDS_BEFORE_START; i++)
        at = strchr(at + 1, ' ');
    return at ? (double)strtoll(at, NULL, 10) / (double)sysconf(_SC_CLK_TCK) : 0;
}

static double booted_at_s(void)
{
    char line[256];
    long long at_s = 0;
    FILE *stat = fopen("/proc/stat", "re");

    if (!stat) return 0;
    while (at_s == 0 && fgets(line, sizeof line, stat)) {
        if (strncmp(line, "btime ", 6) == 0) at_s = strtoll(line + 6, NULL, 10);
    }
    (void)fclose(stat); /* it was only read */
    return (double)at_s;
}

static void print_start(FILE *out)
{
    double boot_s = booted_at_s();
    double after_s = started_after_boot_s();

    if (boot_s > 0 && after_s > 0)
        print_gauge(out, "process_start_time_seconds", "When it started, Unix time.",
                    boot_s + after_s);
}

void process_usage_print(FILE *out)
{
    print_cpu(out);
    print_memory(out);
    print_files(out);
    print_start(out);
}
