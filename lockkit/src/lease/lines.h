/*
 * Which line asks for the keys of a slot. The watchdog's thread only.
 */
#ifndef LKI_LINES_H
#define LKI_LINES_H

#include "line.h"

struct lki_lines {
    lk_client *client; /* borrowed */
    bool is_cluster;
    struct lki_line **by_slot; /* owned array, one entry where there are no slots;
                                NULL: not known */
    size_t slot_count;
    struct lki_line *first; /* owned list */
    size_t line_count;
    struct pollfd *fds; /* owned: room for what to poll() for, one per line and two more */
    int timer_fd;
};

LK_MUST_CHECK lk_status lki_lines_init(struct lki_lines *lines, struct lk_error *err);
void lki_lines_done(struct lki_lines *lines);

/* The place of a key in by_slot. Any thread. */
int lki_lines_slot_of(const struct lki_lines *lines, const char *key);
/* Who has it, as far as the topology knows: a reference. Any thread. */
struct lki_node *lki_lines_node_of(const struct lki_lines *lines, const char *key,
                                   struct lk_error *err);
/* What is known without asking; NULL: nothing. */
struct lki_line *lki_lines_known(const struct lki_lines *lines, int slot);
/* By what the topology says now. NULL: nobody has it, or no memory. No mutex held. */
struct lki_line *lki_lines_find(struct lki_lines *lines, int slot);
/* Take over what an answer says of the servers; the line that it names for one question (ASK), or
   NULL. No mutex held. */
struct lki_line *lki_lines_learn(struct lki_lines *lines, int slot, const lk_reply *reply,
                                 const struct lki_line *from);
/* Until a line under way can go on, the eventfd wakes us, or the moment comes.
 */
void lki_lines_wait(const struct lki_lines *lines, int wake_fd, int64_t until);

/* The servers have changed: forget what does not hold any more, and mark the lines that are gone.
   Without slots everything is forgotten. No mutex held. */
void lki_lines_look_again(struct lki_lines *lines);
/* Take one of the lines that are gone out of the list; NULL: there is none. It is yours. */
struct lki_line *lki_lines_take_gone(struct lki_lines *lines);

#endif
