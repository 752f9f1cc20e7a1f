/*
 * See sim_redlock.h. The first server is that of the other clients, too.
 */
#include "sim_redlock.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim_keys.h"
#include "sim_net.h"
#include "test/support/lk_support.h"

enum { COMMAND_MS = 400, BACKOFF_MS = 100, PAUSE_MS = 10, TRIES = 500 };

/* However long the server is away. */
static lk_client *open_client(int server)
{
    char url[48];
    lk_client *client = NULL;

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", SIM_PORT + server);
    for (int i = 0; i < TRIES && !client; i++) {
        if (i > 0) lks_nap(PAUSE_MS);
        client = lk_client_open(&(struct lk_client_options){.url = url,
                                                            .pool_size = 2,
                                                            .connect_ms = COMMAND_MS,
                                                            .command_ms = COMMAND_MS,
                                                            .backoff_ms = BACKOFF_MS},
                                NULL);
    }
    return client;
}

static void done(struct torture_seat *seat)
{
    lk_client **clients = seat->thing;

    lk_lock_free(seat->lock);
    for (int i = 1; clients && i < SIM_SERVERS; i++)
        lk_client_close(clients[i]);
    free(clients);
}

static bool make(struct torture_seat *seat, struct lk_error *err)
{
    char key[TORTURE_KEY_MAX];
    lk_client **clients = calloc(SIM_SERVERS, sizeof *clients);

    torture_key_name(seat->plan, seat->key, key);
    seat->thing = clients;
    if (!clients) return false;
    clients[0] = seat->client;
    for (int i = 1; i < SIM_SERVERS; i++) {
        clients[i] = open_client(i);
        if (!clients[i]) return false;
    }
    seat->lock = lk_redlock_new(clients, SIM_SERVERS, key, NULL, err);
    return seat->lock != NULL;
}

const struct torture_kind sim_redlock = {.name = "redlock-servers",
                                         .keys = 1,
                                         .limit = 1,
                                         .is_leased = true,
                                         .has_holds = true,
                                         .gives_up = true,
                                         .make = make,
                                         .done = done};
