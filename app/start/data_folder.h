/*
 * The folder of --data: for its owner alone, as it holds the operators' token and all orders.
 */
#ifndef SECKILL_DATA_FOLDER_H
#define SECKILL_DATA_FOLDER_H

#include "base/start_error.h"

/*
 * Make the folder, or take one that is there: ours, it is made private, and the log says so; the
 * append-only file of an earlier start in it likewise. What this process and its children make from now
 * on is for the owner alone, too (umask).
 *
 * Returns  false: it is another user's, or a link is; or what is in it may be anybody's.
 */
bool data_folder_take(const char *path, struct start_error *why);

#endif
