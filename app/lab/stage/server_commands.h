/*
 * Commands that only newer servers have. Any thread.
 */
#ifndef SECKILL_LAB_SERVER_COMMANDS_H
#define SECKILL_LAB_SERVER_COMMANDS_H

/* Which redis-server has that command, if the one on the PATH has not; NULL: it has, or command is NULL. */
const char *server_commands_lack(const char *command);

#endif
