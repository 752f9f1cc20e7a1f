/*
 * Read from the places that know: /proc, uname, the programs themselves. One thread.
 */
#include "bench_machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/programs.h"
#include "base/spread.h"

enum {
    PROGRAM_LIMIT_MS = 5000,
    APPENDS = 200,
    APPEND_BYTES = 4096,
    APPENDS_LIMIT_NS = 1000000000,
};

bool bench_machine_output_of(const char *const argv[], const char *run_dir, char *out, size_t size)
{
    char path[RUN_PATH_MAX + 32];
    struct process process;
    size_t length = 0;

    out[0] = '\0';
    (void)snprintf(path, sizeof path, "%s/output", run_dir);
    (void)unlink(path); /* of the program before */
    if (!process_start(&process, argv, path, path, NULL)) return false;
    bool has_ended = process_wait(&process, PROGRAM_LIMIT_MS);
    process_stop(&process, 0);
    FILE *file = fopen(path, "re");
    if (file) {
        length = fread(out, 1, size - 1, file);
        (void)fclose(file); /* read only */
    }
    out[length] = '\0';
    return has_ended;
}

static void take_word(char *out, size_t size, const char *from, const char *until)
{
    size_t length = from ? strcspn(from, until) : 0;
    (void)snprintf(out, size, "%.*s", length ? (int)length : 1, length ? from : "?");
}

/* What stands behind `label` in a file's first line that has it, up to one of `until`. */
static void read_behind(char *out, size_t size, const char *path, const char *label,
                        const char *until)
{
    char line[512];
    FILE *file = fopen(path, "re");
    const char *found = NULL;

    while (file && !found && fgets(line, sizeof line, file))
        found = strstr(line, label);
    take_word(out, size, found ? found + strlen(label) : NULL, until);
    if (file) (void)fclose(file); /* read only */
}

/* "/usr/lib/libNAME.so.1.15.0" among what the process has mapped: "1.15.0". */
static void read_library(char *out, size_t size, pid_t pid, const char *name)
{
    char path[40], label[64];

    (void)snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
    (void)snprintf(label, sizeof label, "/lib%s.so.", name);
    read_behind(out, size, path, label, " \n");
}

static void read_wrk(char *out, size_t size, const char *run_dir)
{
    static const char *const argv[] = {"wrk", "-v", NULL};
    char said[512];

    bool is_said = bench_machine_output_of(argv, run_dir, said, sizeof said);
    take_word(out, size, is_said && strncmp(said, "wrk ", 4) == 0 ? said + 4 : NULL, " \n");
}

/* Of the repository we are in; git may not be there. */
static void read_commit(char *out, size_t size, const char *run_dir)
{
    static const char *const argv[] = {
        "git",     "--no-optional-locks", "describe", "--always", "--abbrev=40",
        "--dirty", "--exclude=*",         NULL};
    char said[512];

    bool is_said = bench_machine_output_of(argv, run_dir, said, sizeof said);
    bool is_commit = is_said && strspn(said, "0123456789abcdef") >= 40;
    take_word(out, size, is_commit ? said : NULL, "\n");
}

/* Until the file was appended to so often, or for so long; -1: it could not be. */
static double append_and_sync(int fd)
{
    static const char bytes[APPEND_BYTES];
    double spans_ms[APPENDS];
    int64_t begin_ns = clock_ns();
    int64_t end_ns = begin_ns;
    int count = 0;

    while (count < APPENDS && end_ns - begin_ns < APPENDS_LIMIT_NS) {
        int64_t before_ns = end_ns;
        if (write(fd, bytes, sizeof bytes) != (ssize_t)sizeof bytes || fdatasync(fd) != 0)
            return -1;
        end_ns = clock_ns();
        spans_ms[count++] = (double)(end_ns - before_ns) / 1e6;
    }
    return spread_of(spans_ms, count).median;
}

double bench_machine_append_ms(const char *dir)
{
    char path[RUN_PATH_MAX + 32];

    (void)snprintf(path, sizeof path, "%s/appends", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    double median_ms = append_and_sync(fd);
    (void)close(fd); /* what it holds is of no use */
    (void)unlink(path);
    return median_ms;
}

double bench_machine_load(void)
{
    double load = -1;
    return getloadavg(&load, 1) == 1 ? load : -1;
}

void bench_machine_host(struct bench_machine *machine, const char *run_dir)
{
    struct utsname system;

    machine->cores = sysconf(_SC_NPROCESSORS_ONLN);
    machine->memory_mib = sysconf(_SC_PHYS_PAGES) / 1024 * (sysconf(_SC_PAGESIZE) / 1024);
    (void)snprintf(machine->kernel, sizeof machine->kernel, "?");
    if (uname(&system) == 0)
        (void)snprintf(machine->kernel, sizeof machine->kernel, "%.30s %.90s", system.sysname,
                       system.release);
    read_behind(machine->cpu, sizeof machine->cpu, "/proc/cpuinfo", "model name\t: ", "\n");
    read_wrk(machine->wrk, sizeof machine->wrk, run_dir);
    read_commit(machine->commit, sizeof machine->commit, run_dir);
}

void bench_machine_read(struct bench_machine *out_machine, const struct service *service,
                        struct ledger *ledger, const char *run_dir)
{
    struct bench_machine *machine = out_machine;
    pid_t pid = service->instances[0].process.pid;

    bench_machine_host(machine, run_dir);
    (void)snprintf(machine->service, sizeof machine->service, "%s", service->version);
    (void)snprintf(machine->redis, sizeof machine->redis, "%s", service->redis_version);
    read_library(machine->civetweb, sizeof machine->civetweb, pid, "civetweb");
    read_library(machine->hiredis, sizeof machine->hiredis, pid, "hiredis");
    ledger_setting(ledger, "appendonly", machine->appendonly);
    ledger_setting(ledger, "appendfsync", machine->appendfsync);
    machine->append_ms = bench_machine_append_ms(run_dir);
}
