/*
 * One thread.
 */
#include "provider.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"

enum { READY_MS = 5000, STOP_MS = 5000, REPLAY_MS = 40000, LOOK_EVERY_MS = 10, WORDS_MAX = 40 };

/* Enough of each that a sale of some hundred sees it; --late comes behind them, it hangs on the window. */
static const char *const faults[] = {
    "--decline",  "0.05", "--duplicate",     "0.1",  "--lose",  "0.03", "--reorder", "0.1",
    "--mismatch", "0.02", "--bad-signature", "0.05", "--stale", "0.05", "--slow",    "0.05:200"};

static bool is_ready(const struct provider *provider)
{
    char line[256] = "";
    FILE *file = fopen(provider->output, "re");

    if (file && !fgets(line, sizeof line, file)) line[0] = '\0';
    if (file) (void)fclose(file); /* read only */
    return strchr(line, '\n') != NULL;
}

bool provider_start(struct provider *provider, const struct drive_target *target, const char *tag,
                    struct failure *failure)
{
    const struct service *service = target->service;
    const char *listen = service->pay_listen;
    char late[32];
    const char *argv[WORDS_MAX] = {provider->program, "--listen",        listen,
                                   "--webhook",       provider->webhook, "--key",
                                   service->pay_key,  "--log",           provider->log};
    size_t words = 9;

    if (!programs_ours("payd", provider->program, failure)) return false;
    (void)snprintf(provider->webhook, sizeof provider->webhook, "%s/api/v1/payments/events",
                   service->instances[service->count - 1].url);
    (void)snprintf(provider->log, RUN_PATH_MAX, "%.900s/payd-%s.jsonl", target->run_dir, tag);
    (void)snprintf(provider->output, RUN_PATH_MAX, "%.900s/payd-%s.log", target->run_dir, tag);
    (void)snprintf(late, sizeof late, "0.05:%ld", target->options->window_ms * 3 / 2);
    if (target->options->has_payer_faults) {
        memcpy(&argv[words], faults, sizeof faults);
        words += sizeof faults / sizeof *faults;
        argv[words] = "--late";
        argv[words + 1] = late;
    }
    if (!process_start(&provider->process, argv, provider->output, provider->output, failure))
        return false;
    for (int64_t end_ms = clock_ms() + READY_MS; !is_ready(provider);) {
        if (!process_is_running(&provider->process) || clock_ms() > end_ms)
            return failure_set(failure, "payd is not ready, see %s", provider->output);
        clock_sleep_ms(LOOK_EVERY_MS);
    }
    return true;
}

bool provider_stop(struct provider *provider, const struct drive_target *target,
                   struct failure *failure)
{
    char lost[RUN_PATH_MAX + 8];
    const char *const argv[] = {
        provider->program, "--webhook", provider->webhook, "--key",       target->service->pay_key,
        "--replay",        lost,        "--log",           provider->log, NULL};

    if (provider->process.pid == 0) return true;
    process_stop(&provider->process, STOP_MS);
    (void)snprintf(lost, sizeof lost, "%s.lost", provider->log);
    if (access(lost, F_OK) != 0 || interrupt_came()) return true;
    if (!process_start(&provider->process, argv, provider->output, provider->output, failure))
        return false;
    bool has_ended = process_wait(&provider->process, REPLAY_MS);
    process_stop(&provider->process, 0);
    int status = provider->process.wait_status;
    return (has_ended && WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
           failure_set(failure, "payd could not tell all, see %s", provider->output);
}
