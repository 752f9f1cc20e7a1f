/*
 * What a figure depends on besides the code: the machine, the versions, the durability of Redis.
 */
#ifndef LOADTEST_BENCH_MACHINE_H
#define LOADTEST_BENCH_MACHINE_H

#include "under_test.h"

enum { MACHINE_TEXT_MAX = 128 };

struct bench_machine {
    char cpu[MACHINE_TEXT_MAX];
    long cores;
    long memory_mib;
    char kernel[MACHINE_TEXT_MAX];
    double load_before, load_after; /* runnable processes, the minute before; -1: not known */
    char service[MACHINE_TEXT_MAX];
    char redis[LEDGER_VERSION_MAX];
    char wrk[MACHINE_TEXT_MAX];
    char civetweb[MACHINE_TEXT_MAX]; /* the libraries that seckilld has loaded */
    char hiredis[MACHINE_TEXT_MAX];
    char commit[MACHINE_TEXT_MAX]; /* "-dirty" when files differ from it; "?": no repository */
    char appendonly[LEDGER_VERSION_MAX];
    char appendfsync[LEDGER_VERSION_MAX];
    double append_ms; /* bench_machine_append_ms() beside Redis's own files */
};

/* What needs no service: processor, memory, kernel, wrk, commit. */
void bench_machine_host(struct bench_machine *machine, const char *run_dir);
/* What cannot be found out is "?". `service` runs. */
void bench_machine_read(struct bench_machine *out_machine, const struct service *service,
                        struct ledger *ledger, const char *run_dir);
double bench_machine_load(void);

/* The median time of an append of 4 KiB and its fdatasync() in that directory: what one batch of
 * purchases waits for on the disk. 200 of them, or as many as fit into a second.
 * Returns  -1   nothing could be written. */
double bench_machine_append_ms(const char *dir);

/* Run a program to its end and take its first `size - 1` bytes of output, stdout and stderr.
 * Returns  false   it did not start, or runs for too long. */
bool bench_machine_output_of(const char *const argv[], const char *run_dir, char *out, size_t size);

#endif
