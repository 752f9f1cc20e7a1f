/*
 * The table of figures, as the design asks for them. Pure.
 */
#include "bench_figures.h"

#include <stdbool.h>
#include <string.h>

#define PAGE                                                                                       \
    {                                                                                              \
        .kind = BENCH_PAGE                                                                         \
    }
#define REFUSAL                                                                                    \
    {                                                                                              \
        .kind = BENCH_REFUSAL                                                                      \
    }
#define MUTEX                                                                                      \
    {                                                                                              \
        .kind = BENCH_PURCHASE, .guard = "mutex"                                                   \
    }
#define MUTEX_SINGLE                                                                               \
    {                                                                                              \
        .kind = BENCH_PURCHASE, .guard = "mutex", .at = BENCH_AT_SINGLE                            \
    }
#define SCRIPT_SINGLE                                                                              \
    {                                                                                              \
        .kind = BENCH_PURCHASE, .guard = "script", .at = BENCH_AT_SINGLE                           \
    }
#define MUTEX_SECOND                                                                               \
    {                                                                                              \
        .kind = BENCH_PURCHASE, .guard = "mutex", .at = BENCH_AT_SECOND                            \
    }

#define MUTEX_SEGMENTS                                                                             \
    {                                                                                              \
        .kind = BENCH_PURCHASE, .guard = "mutex", .at = BENCH_AT_SECOND, .segments = 3             \
    }
#define PAIR                                                                                       \
    {                                                                                              \
        .kind = BENCH_PAIR, .guard = "mutex"                                                       \
    }
#define READ                                                                                       \
    {                                                                                              \
        .kind = BENCH_READ, .guard = "mutex"                                                       \
    }

const struct bench_figure bench_figures[BENCH_FIGURE_COUNT] = {
    [BENCH_PURCHASE_LIVEZ_64] = {"purchase-livez-64",
                                 "guarded purchases/s ÷ /livez, 64 connections", "", 0.50, 0.70,
                                 BENCH_HIGHER, BENCH_STAGE_ONE, 64, 0, MUTEX, PAGE},
    [BENCH_PURCHASE_LIVEZ_1024] = {"purchase-livez-1024",
                                   "guarded purchases/s ÷ /livez, 1024 connections", "", 0.50, 0.70,
                                   BENCH_HIGHER, BENCH_STAGE_ONE, 1024, 0, MUTEX, PAGE},
    [BENCH_PURCHASE_SCRIPT] = {"purchase-script",
                               "guarded purchases/s ÷ script, one call each, 1024 connections", "",
                               1.5, 3, BENCH_HIGHER, BENCH_STAGE_ONE, 1024, 0, MUTEX,
                               SCRIPT_SINGLE},
    [BENCH_PURCHASE_SINGLE] = {"purchase-single",
                               "mutex batching ÷ mutex --batch 1, 1024 connections", "", 2, 4,
                               BENCH_HIGHER, BENCH_STAGE_ONE, 1024, 0, MUTEX, MUTEX_SINGLE},
    [BENCH_REFUSAL_LIVEZ_64] = {"refusal-livez-64", "sold-out refusals/s ÷ /livez, 64 connections",
                                "", 0.85, 0.95, BENCH_HIGHER, BENCH_STAGE_ONE, 64, 0, REFUSAL,
                                PAGE},
    [BENCH_REFUSAL_LIVEZ_1024] = {"refusal-livez-1024",
                                  "sold-out refusals/s ÷ /livez, 1024 connections", "", 0.85, 0.95,
                                  BENCH_HIGHER, BENCH_STAGE_ONE, 1024, 0, REFUSAL, PAGE},
    [BENCH_PURCHASE_SYNC] = {"purchase-sync",
                             "purchases/s with --sync-replicas 1 ÷ without, 1024 connections", "",
                             0.50, 0.80, BENCH_HIGHER, BENCH_STAGE_REPLICA, 1024, 0, MUTEX_SECOND,
                             MUTEX},
    [BENCH_CLUSTER_SALES] = {"cluster-sales",
                             "30 sales on 3 masters ÷ on one Redis, 1024 connections", "", 0.50, 1,
                             BENCH_HIGHER, BENCH_STAGE_CLUSTER, 1024, 30, MUTEX_SECOND, MUTEX},
    [BENCH_SEGMENTS] = {"segments",
                        "3 masters, one sale in 3 segments ÷ one Redis, 1024 connections", "", 0.85,
                        1, BENCH_HIGHER, BENCH_STAGE_SEGMENTS, 1024, 0, MUTEX_SEGMENTS, MUTEX},
    [BENCH_PURCHASE_TLS_64] = {"purchase-tls-64",
                               "purchases/s with TLS to Redis ÷ without, 64 connections", "", 0.90,
                               1, BENCH_HIGHER, BENCH_STAGE_TLS, 64, 0, MUTEX_SECOND, MUTEX},
    [BENCH_PURCHASE_TLS_1024] = {"purchase-tls-1024",
                                 "purchases/s with TLS to Redis ÷ without, 1024 connections", "",
                                 0.90, 1, BENCH_HIGHER, BENCH_STAGE_TLS, 1024, 0, MUTEX_SECOND,
                                 MUTEX},
    [BENCH_PAIR_PURCHASE] = {"pair-purchase",
                             "orders held and paid/s ÷ purchases/s, 1024 connections", "", 0.45,
                             0.5, BENCH_HIGHER, BENCH_STAGE_ONE, 1024, 0, PAIR, READ},
    [BENCH_BOOK_FOLLOWS] = {"book-follows",
                            "purchases/s with the book following ÷ without, 1024 connections", "",
                            0.85, 1, BENCH_HIGHER, BENCH_STAGE_BOOK, 1024, 0, MUTEX, MUTEX_SECOND},
    [BENCH_BOOK_WAIT] = {"book-wait", "purchases/s with --book-wait 1 ÷ without, 1024 connections",
                         "", 0.60, 0.8, BENCH_HIGHER, BENCH_STAGE_WAIT, 1024, 0, MUTEX,
                         MUTEX_SECOND},
    [BENCH_SERVICE_MEMORY] = {"service-memory", "service memory, 2048 busy connections", "MiB", 150,
                              100, BENCH_LOWER, BENCH_STAGE_ONE, 2048, 0, PAGE, PAGE},
    [BENCH_REDIS_MEMORY] = {"redis-memory", "Redis memory per order", "B", 250, 150, BENCH_LOWER,
                            BENCH_STAGE_ONE, 2048, 0, PAGE, PAGE},
};

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

bool bench_figures_have(const char *start)
{
    static const char *const of_guards[] = {"cost-", "ladder-"}; /* the service knows them */

    for (int i = 0; i < BENCH_FIGURE_COUNT; i++)
        if (starts_with(bench_figures[i].name, start)) return true;
    for (size_t i = 0; i < sizeof of_guards / sizeof *of_guards; i++)
        if (starts_with(of_guards[i], start) || starts_with(start, of_guards[i])) return true;
    return false;
}

int bench_figures_connections(long *out_connections, int most)
{
    int count = 0;

    for (int i = 0; i < BENCH_FIGURE_COUNT && count < most; i++) {
        int known = 0;
        while (known < count && out_connections[known] != bench_figures[i].connections)
            known++;
        if (known == count) out_connections[count++] = bench_figures[i].connections;
    }
    return count;
}
