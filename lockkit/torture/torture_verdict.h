/*
 * What a round of a torture has shown.
 */
#ifndef LK_TORTURE_VERDICT_H
#define LK_TORTURE_VERDICT_H

#include "torture_seat.h"

enum torture_verdict { /* the worse, the greater */
                       TORTURE_CLEAN,
                       TORTURE_VOID,        /* too little happened to say anything */
                       TORTURE_FOUND,       /* a fault of the lock */
                       TORTURE_UNABLE,      /* it could not be run */
                       TORTURE_INTERRUPTED, /* from the keyboard */
};

/*
 * Judge a round that is over by its board and its history, and print what was seen. Something found
 * is a finding also in a round that is void otherwise.
 */
enum torture_verdict torture_judge(const struct torture_plan *plan,
                                   const struct torture_board *board);

#endif
