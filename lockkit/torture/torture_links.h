/*
 * The links of a torture: each worker process reaches the server through a unix socket of its own,
 * and this passes the bytes on until a link is told otherwise. One thread, the caller's.
 */
#ifndef LK_TORTURE_LINKS_H
#define LK_TORTURE_LINKS_H

#include <stdbool.h>
#include <stddef.h>

enum torture_link_state {
    LINK_PASSES,
    LINK_HELD,   /* nothing moves; later all goes on, also requests whose asker has given up */
    LINK_DEAF,   /* requests arrive, answers are lost; its end cuts the connections */
    LINK_CLOSED, /* connections are cut, new ones too */
};

struct torture_links;

/* `count` links to the unix socket at `server`, listening at "DIR/0", "DIR/1"... NULL with errno set. */
struct torture_links *torture_links_open(const char *dir, const char *server, size_t count);
void torture_links_close(struct torture_links *links);

void torture_links_set(struct torture_links *links, size_t link, enum torture_link_state state);

/* Pass on what comes within this time. */
void torture_links_step(struct torture_links *links, int wait_ms);

#endif
