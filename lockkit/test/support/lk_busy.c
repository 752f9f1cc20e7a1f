/*
 * See lk_busy.h. The script has a thread of its own, which waits for its end.
 */
#include "lk_busy.h"

static void *busy_main(void *arg)
{
    lk_client *client = lks_client_with(arg, (struct lk_client_options){.command_ms = 60000});
    const struct lk_bytes words[] = {LK_BYTES("EVAL"), LK_BYTES("while true do end"),
                                     LK_BYTES("0")};
    lk_reply *reply = NULL;

    (void)!lk_client_call(client, &(struct lk_command){words, 3}, 1, 0, &reply, NULL);
    lk_reply_free(reply);
    lk_client_close(client);
    return NULL;
}

pthread_t lks_busy_begin(struct lks_server *server)
{
    pthread_t whose;

    LKS_DO(server, "CONFIG", "SET", "lua-time-limit", "1");
    assert_int_equal(pthread_create(&whose, NULL, busy_main, server), 0);
    LKS_EVENTUALLY(strstr(LKS_TEXT(server, "PING"), "BUSY"), 5000);
    return whose;
}

void lks_busy_end(struct lks_server *server, pthread_t whose)
{
    LKS_DO(server, "SCRIPT", "KILL");
    assert_int_equal(pthread_join(whose, NULL), 0);
}
