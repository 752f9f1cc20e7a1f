/*
 * The checks that look at orders.
 */
#ifndef LK_HISTORY_ORDER_H
#define LK_HISTORY_ORDER_H

#include "holds.h"

bool history_check_fences(struct checking *checking);
bool history_check_fairness(struct checking *checking);
void history_check_liveness(struct checking *checking);
void history_check_latches(struct checking *checking);

#endif
