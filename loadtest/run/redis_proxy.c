/*
 * The program proxy, told what to do by its own `proxy ctl`. One thread.
 */
#include "redis_proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"

enum {
    READY_LIMIT_MS = 20000,
    TELL_LIMIT_MS = 8000,
    LOOK_EVERY_MS = 10,
    LINK_MAX = RUN_PATH_MAX + 32
};

/* Ports stand in its ready line, one link after the other: "NAME 127.0.0.1:PORT -> ..." */
static bool read_ports(struct service *service, const char *path, int count)
{
    char said[2048] = "";
    const char *at = said;
    FILE *file = fopen(path, "re");

    if (!file) return false;
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    (void)fclose(file); /* read only */
    if (!strchr(said, '\n')) return false;
    for (int i = 0; i < count && (at = strstr(at, " 127.0.0.1:")); i++) {
        at += strlen(" 127.0.0.1:");
        service->proxy_ports[i] = (int)strtol(at, NULL, 10);
    }
    return at != NULL;
}

bool redis_proxy_start(struct service *service, int count, const char *run_dir,
                       struct failure *failure)
{
    char program[RUN_PATH_MAX], log[LINK_MAX], links[INSTANCES_MAX][LINK_MAX];
    const char *argv[3 + 2 * INSTANCES_MAX + 1] = {program, "--control", service->proxy_control};
    int64_t deadline_ms = clock_ms() + READY_LIMIT_MS;

    if (!programs_ours("proxy", program, failure)) return false;
    (void)snprintf(service->proxy_control, RUN_PATH_MAX, "%.1000s.proxy",
                   service->redis_url + strlen("unix://"));
    (void)snprintf(log, sizeof log, "%.1000s/proxy.log", run_dir);
    for (int i = 0; i < count; i++) {
        (void)snprintf(links[i], LINK_MAX, "link%d=127.0.0.1:0,%.1000s", i + 1, service->redis_url);
        argv[3 + 2 * i] = "--link";
        argv[4 + 2 * i] = links[i];
    }
    if (!process_start(&service->proxy, argv, log, log, failure)) return false;
    while (!read_ports(service, log, count)) {
        if (!process_is_running(&service->proxy) || clock_ms() > deadline_ms || interrupt_came())
            return failure_set(failure, "the proxy did not start, see %.300s", log);
        clock_sleep_ms(LOOK_EVERY_MS);
    }
    return true;
}

bool redis_proxy_tell(const struct service *service, const char *verb, struct failure *failure)
{
    char program[RUN_PATH_MAX];
    const char *const argv[] = {program, "ctl", service->proxy_control, verb, NULL};
    struct process asked;

    if (!programs_ours("proxy", program, failure) ||
        !process_start(&asked, argv, "/dev/null", "/dev/null", failure))
        return false;
    bool is_told = process_wait(&asked, TELL_LIMIT_MS) && asked.wait_status == 0;
    process_stop(&asked, 0);
    return is_told || failure_set(failure, "the proxy did not do \"%s\"", verb);
}
