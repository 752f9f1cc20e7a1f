/*
 * What befalls the servers of a scenario's locks. One thread, that of the lab.
 */
#include "stage.h"
#include "stage_internal.h"

void stage_servers(struct stage *stage, unsigned count)
{
    struct lab_run *run = stage->run;

    if (stage_has_failed(stage) ||
        !(run->scenario->is_cluster
              ? servers_prepare_cluster(stage->servers, &run->failure)
              : servers_prepare(stage->servers, count, run->scenario->has_replica ? 2 : 0,
                                &run->failure)))
        return;
    run->server_count = count;
    run->lock_count = count;
    for (unsigned server = 1; server <= count; server++) {
        run->locks[server - 1] = STAGE_KEY("lock");
        run->lock_servers[server - 1] = server;
        tap_set_server(stage->tap, server, servers_socket(stage->servers, server));
    }
}

void stage_beside(struct stage *stage, enum tap_server_number which)
{
    struct lab_run *run = stage->run;

    if (stage_has_failed(stage) ||
        !servers_prepare_beside(stage->servers, which, STAGE_KEY("lock"), &run->failure))
        return;
    stage->beside = which;
    run->server_count = 1;
    run->lock_servers[0] = which;
    tap_set_server(stage->tap, which, servers_socket(stage->servers, which));
}

void stage_replicate(struct stage *stage, unsigned primary, unsigned replica)
{
    struct start_error *why = &stage->run->failure;

    if (stage_has_failed(stage)) return;
    stage->primary = primary;
    stage->replica = replica;
    stage->relay = tap_add_relay(stage->tap, primary, &stage->port, why);
    if (stage->relay < 0 || !servers_follow(stage->servers, replica, stage->port, why)) return;
    (void)servers_await_replica(stage->servers, primary, replica, why);
}

void stage_kill_server(struct stage *stage, const struct stage_move *move)
{
    if (stage->run->scenario->keeps_servers) {
        servers_send_away(stage->servers, move->number);
    } else {
        servers_kill(stage->servers, move->number);
    }
    tap_set_server(stage->tap, move->number, NULL);
    tap_calls_show(&stage->befell, move->number, "down", "SIGKILL");
}

void stage_start_server(struct stage *stage, const struct stage_move *move)
{
    unsigned server = move->number;

    if (!(stage->run->scenario->keeps_servers
              ? servers_call_back(stage->servers, server, &stage->run->failure)
              : servers_start(stage->servers, server, &stage->run->failure)))
        return;
    tap_set_server(stage->tap, server, servers_socket(stage->servers, server));
    tap_calls_show(&stage->befell, server, "up, empty", "redis-server");
}

void stage_break_link(struct stage *stage, const struct stage_move *move)
{
    (void)move;
    stage->is_torn = true;
    tap_cut(stage->tap, stage->relay);
}

void stage_mend_link(struct stage *stage, const struct stage_move *move)
{
    (void)move;
    stage->is_torn = false;
    tap_mend(stage->tap, stage->relay);
    if (servers_follow(stage->servers, stage->replica, stage->port, &stage->run->failure))
        (void)servers_await_replica(stage->servers, stage->primary, stage->replica,
                                    &stage->run->failure);
}

void stage_fail_over(struct stage *stage, const struct stage_move *move)
{
    (void)move;
    stage_kill_server(stage, &(struct stage_move){.number = stage->primary});
    if (servers_promote(stage->servers, stage->replica, &stage->run->failure))
        tap_calls_show(&stage->befell, stage->replica, "OK", "REPLICAOF NO ONE");
    tap_move(stage->tap, stage->primary, stage->replica);
    stage->replica = 0;
}
