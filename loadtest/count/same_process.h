/*
 * Is it one process that answers at a URL? Behind a proxy it need not be: then what one of them has
 * counted is not what was done, and a difference of two counts means nothing.
 */
#ifndef LOADTEST_SAME_PROCESS_H
#define LOADTEST_SAME_PROCESS_H

#include "under_test.h"

/*
 * Ask each instance several times when it was started, and add that up.
 *
 * Returns  -1   one does not say, or does not always say the same. Two equal answers, before and
 *               after, mean that the same processes were there.
 */
double same_process_stamp(const struct service *service);

#endif
