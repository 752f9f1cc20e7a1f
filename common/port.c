/*
 * See port.h. Any thread.
 */
#include "port.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PORT_FIRST = 20480, PORT_COUNT = 12000, PORT_TRIES = 100 };

/* Below the ephemeral ports: else a connection of another program could take the port before the server does, or
 * while the server is down. */
int port_free(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    for (int tries = 0; tries < PORT_TRIES; tries++) {
        uint16_t dice = 0;

        if (getrandom(&dice, sizeof dice, 0) != sizeof dice) return 0;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0) return 0;
        int port = PORT_FIRST + dice % PORT_COUNT;
        address.sin_port = htons((uint16_t)port);
        bool is_free = bind(fd, (const struct sockaddr *)&address, sizeof address) == 0;
        (void)close(fd);
        if (is_free) return port;
    }
    return 0;
}
