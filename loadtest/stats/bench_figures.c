/*
 * The table of figures, as the design asks for them. Pure.
 */
#include "bench_figures.h"

#include <stdbool.h>
#include <string.h>

static const struct bench_side page = {.kind = BENCH_PAGE};
static const struct bench_side refusal = {.kind = BENCH_REFUSAL};
static const struct bench_side pair = {BENCH_PAIR, "mutex", BENCH_AT_FIRST, 0};
static const struct bench_side purchase_read = {BENCH_READ, "mutex", BENCH_AT_FIRST, 0};
static const struct bench_side mutex = {BENCH_PURCHASE, "mutex", BENCH_AT_FIRST, 0};
static const struct bench_side mutex_single = {BENCH_PURCHASE, "mutex", BENCH_AT_SINGLE, 0};
static const struct bench_side script_single = {BENCH_PURCHASE, "script", BENCH_AT_SINGLE, 0};
static const struct bench_side mutex_second = {BENCH_PURCHASE, "mutex", BENCH_AT_SECOND, 0};
static const struct bench_side mutex_segments = {BENCH_PURCHASE, "mutex", BENCH_AT_SECOND, 3};

const struct bench_figure bench_figures[BENCH_FIGURE_COUNT] = {
    [BENCH_PURCHASE_LIVEZ_64] = {"purchase-livez-64",
                                 "guarded purchases/s ÷ /livez, 64 connections", "", 0.50, 0.70,
                                 BENCH_HIGHER, BENCH_STAGE_ONE, 64, 0, &mutex, &page},
    [BENCH_PURCHASE_LIVEZ_1024] = {"purchase-livez-1024",
                                   "guarded purchases/s ÷ /livez, 1024 connections", "", 0.50, 0.70,
                                   BENCH_HIGHER, BENCH_STAGE_ONE, 1024, 0, &mutex, &page},
    [BENCH_PURCHASE_SCRIPT] = {"purchase-script",
                               "guarded purchases/s ÷ script, one call each, 1024 connections", "",
                               1.5, 3, BENCH_HIGHER, BENCH_STAGE_ONE, 1024, 0, &mutex,
                               &script_single},
    [BENCH_PURCHASE_SINGLE] = {"purchase-single",
                               "mutex batching ÷ mutex --batch 1, 1024 connections", "", 2, 4,
                               BENCH_HIGHER, BENCH_STAGE_ONE, 1024, 0, &mutex, &mutex_single},
    [BENCH_REFUSAL_LIVEZ_64] = {"refusal-livez-64", "sold-out refusals/s ÷ /livez, 64 connections",
                                "", 0.85, 0.95, BENCH_HIGHER, BENCH_STAGE_ONE, 64, 0, &refusal,
                                &page},
    [BENCH_REFUSAL_LIVEZ_1024] = {"refusal-livez-1024",
                                  "sold-out refusals/s ÷ /livez, 1024 connections", "", 0.85, 0.95,
                                  BENCH_HIGHER, BENCH_STAGE_ONE, 1024, 0, &refusal, &page},
    [BENCH_PURCHASE_SYNC] = {"purchase-sync",
                             "purchases/s with --sync-replicas 1 ÷ without, 1024 connections", "",
                             0.50, 0.80, BENCH_HIGHER, BENCH_STAGE_REPLICA, 1024, 0, &mutex_second,
                             &mutex},
    [BENCH_CLUSTER_SALES] = {"cluster-sales",
                             "30 sales on 3 masters ÷ on one Redis, 1024 connections", "", 0.50, 1,
                             BENCH_HIGHER, BENCH_STAGE_CLUSTER, 1024, 30, &mutex_second, &mutex},
    [BENCH_SEGMENTS] = {"segments",
                        "3 masters, one sale in 3 segments ÷ one Redis, 1024 connections", "", 0.85,
                        1, BENCH_HIGHER, BENCH_STAGE_SEGMENTS, 1024, 0, &mutex_segments, &mutex},
    [BENCH_PURCHASE_TLS_64] = {"purchase-tls-64",
                               "purchases/s with TLS to Redis ÷ without, 64 connections", "", 0.90,
                               1, BENCH_HIGHER, BENCH_STAGE_TLS, 64, 0, &mutex_second, &mutex},
    [BENCH_PURCHASE_TLS_1024] = {"purchase-tls-1024",
                                 "purchases/s with TLS to Redis ÷ without, 1024 connections", "",
                                 0.90, 1, BENCH_HIGHER, BENCH_STAGE_TLS, 1024, 0, &mutex_second,
                                 &mutex},
    [BENCH_PAIR_PURCHASE] = {"pair-purchase",
                             "orders held and paid/s ÷ purchases/s, 1024 connections", "", 0.45,
                             0.5, BENCH_HIGHER, BENCH_STAGE_ONE, 1024, 0, &pair, &purchase_read},
    [BENCH_BOOK_FOLLOWS] = {"book-follows",
                            "purchases/s with the book following ÷ without, 1024 connections", "",
                            0.85, 1, BENCH_HIGHER, BENCH_STAGE_BOOK, 1024, 0, &mutex,
                            &mutex_second},
    [BENCH_BOOK_WAIT] = {"book-wait", "purchases/s with --book-wait 1 ÷ without, 1024 connections",
                         "", 0.60, 0.8, BENCH_HIGHER, BENCH_STAGE_WAIT, 1024, 0, &mutex,
                         &mutex_second},
    [BENCH_SERVICE_MEMORY] = {"service-memory", "service memory, 2048 busy connections", "MiB", 150,
                              100, BENCH_LOWER, BENCH_STAGE_ONE, 2048, 0, &page, &page},
    [BENCH_REDIS_MEMORY] = {"redis-memory", "Redis memory per order", "B", 250, 150, BENCH_LOWER,
                            BENCH_STAGE_ONE, 2048, 0, &page, &page},
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
