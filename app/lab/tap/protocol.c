/*
 * Which server speaks how, and what it is called. Any thread.
 */
#include "protocol.h"

#include "tap.h"

static const struct {
    const char *name;
    const struct protocol *protocol;
} servers[] = {
#define SERVER_ROW(value, name, protocol) {name, &(protocol)},
    TAP_SERVER_LIST(SERVER_ROW)
#undef SERVER_ROW
};

const struct protocol *protocol_of(unsigned server)
{
    return servers[server].protocol;
}

const char *tap_server_name(unsigned server)
{
    return servers[server].name;
}
