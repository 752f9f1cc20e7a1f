/*
 * proxy: the fault proxy. Passes bytes between clients and a server, and on command delays, holds,
 * loses or cuts them; `eat-reply` makes outcomes unknown on demand. It knows nothing of what it
 * passes on. Wiring alone: proxy_connection.c moves the bytes and says what eat-reply guarantees,
 * proxy_command.c has the verbs. One thread, one epoll loop.
 */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "common/std_streams.h"
#include "proxy/proxy_control.h"
#include "proxy/proxy_options.h"
#include "proxy/proxy_schedule.h"

enum {
    EXIT_DONE = 0,
    EXIT_CANNOT_RUN = 1,
    EXIT_BAD_WORDS = 2,
    NS_PER_MS = 1000000,
    KEPT_DESCRIPTORS = 16
};

struct proxy {
    struct proxy_options options;
    struct proxy_loop loop;
    struct proxy_history history;
    struct proxy_links links;
    struct proxy_control control;
    struct proxy_schedule *schedule; /* owned; NULL: none */
    struct proxy_timer schedule_timer;
    int64_t started_at_ns;
};

static void wait_for_next_verb(struct proxy *proxy)
{
    int64_t next_ms = proxy_schedule_next_ms(proxy->schedule);
    int64_t at_ns = next_ms == INT64_MAX ? INT64_MAX : proxy->started_at_ns + next_ms * NS_PER_MS;
    proxy_loop_set_timer(&proxy->loop, &proxy->schedule_timer, at_ns);
}

static void on_schedule(struct proxy_timer *timer)
{
    struct proxy *proxy = (void *)((char *)timer - offsetof(struct proxy, schedule_timer));
    struct failure failure = {.text = ""};
    const struct proxy_command *command = proxy_schedule_take(proxy->schedule);

    if (!proxy_links_execute(&proxy->links, command, "schedule", &failure))
        (void)fprintf(stderr, "proxy: %s\n", failure.text);
    wait_for_next_verb(proxy);
}

static bool is_link(const struct proxy_options *options, const char *name)
{
    for (size_t i = 0; i < options->link_count; i++)
        if (strcmp(options->links[i].name, name) == 0) return true;
    return !*name;
}

static bool read_schedule(struct proxy *proxy, struct failure *failure)
{
    const struct proxy_options *options = &proxy->options;
    const struct proxy_command *command = NULL;

    if (!options->schedule) return true;
    proxy->schedule = proxy_schedule_read(options->schedule, options->seed, failure);
    if (!proxy->schedule) return false;
    for (size_t i = 0; (command = proxy_schedule_line(proxy->schedule, i)); i++)
        if (!is_link(options, command->link))
            return failure_set(failure, "%s: no link \"%s\"", options->schedule, command->link);
    return true;
}

/* Two descriptors per connection: as many as we may have. Returns the highest a client may get: the
 * few above are for the control socket, so that a crowd can still be healed or cut. */
static int raise_descriptor_limit(void)
{
    struct rlimit limit = {.rlim_cur = 1024}; /* what every Linux gives */

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        rlim_t before = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
    }
    return limit.rlim_cur < INT_MAX ? (int)limit.rlim_cur - KEPT_DESCRIPTORS : INT_MAX;
}

static bool print_ready(const struct proxy *proxy)
{
    for (size_t i = 0; i < proxy->links.count; i++) {
        const struct proxy_link_plan *plan = &proxy->links.list[i].plan;
        (void)printf("%s%s %s -> %s", i ? ", " : "proxy: ", plan->name, plan->listen_at.text,
                     plan->server.text);
    }
    if (proxy->options.control) (void)printf("; control %s", proxy->options.control);
    (void)printf("; seed %llu\n", (unsigned long long)proxy->options.seed);
    return fflush(stdout) == 0;
}

static bool open_all(struct proxy *proxy, struct failure *failure)
{
    const struct proxy_options *options = &proxy->options;
    const struct proxy_surroundings around = {.loop = &proxy->loop,
                                              .history = &proxy->history,
                                              .seed = options->seed,
                                              .client_fd_max = raise_descriptor_limit()};

    return proxy_loop_init(&proxy->loop, failure) &&
           proxy_history_open(&proxy->history, options->log, failure) &&
           proxy_links_open(&proxy->links, options->links, options->link_count, &around, failure) &&
           proxy_control_open(&proxy->control, options->control, &proxy->links, failure);
}

static void close_all(struct proxy *proxy)
{
    proxy_control_close(&proxy->control);
    proxy_links_close(&proxy->links);
    proxy_history_close(&proxy->history);
    proxy_loop_done(&proxy->loop);
}

static bool serve(struct proxy *proxy, struct failure *failure)
{
    bool is_served = open_all(proxy, failure);

    if (is_served)
        is_served = print_ready(proxy) || failure_set(failure, "nobody reads our output");
    if (is_served) {
        proxy->started_at_ns = clock_ns();
        proxy_history_start(&proxy->history, proxy->options.seed);
        if (proxy->schedule) wait_for_next_verb(proxy);
        is_served = proxy_loop_run(&proxy->loop, failure);
    }
    close_all(proxy);
    return is_served;
}

int main(int argc, char **argv)
{
    static struct proxy proxy = {.history = {.fd = -1},
                                 .loop = {.epoll_fd = -1},
                                 .control = {.listener = {.fd = -1}},
                                 .schedule_timer = {.on_time = on_schedule}};
    struct failure failure = {.text = ""};
    int status = EXIT_DONE;

    std_streams_open();
    if (argc > 1 && strcmp(argv[1], "ctl") == 0) return proxy_ctl(argc - 2, argv + 2);
    interrupt_watch();
    bool is_understood = proxy_options_parse(argc, argv, &proxy.options, &failure) &&
                         read_schedule(&proxy, &failure);
    if (!is_understood)
        status = EXIT_BAD_WORDS;
    else if (proxy.options.is_help)
        proxy_options_help(stdout);
    else if (proxy.options.is_version)
        (void)printf("proxy %s\n", SECKILL_VERSION);
    else if (!serve(&proxy, &failure))
        status = EXIT_CANNOT_RUN;
    if (status != EXIT_DONE) (void)fprintf(stderr, "proxy: %s\n", failure.text);
    proxy_schedule_free(proxy.schedule);
    return status;
}
