/*
 * The second half of a score: two real servers with the learner's guard, and a crowd of buyers.
 */
#ifndef SECKILL_EXERCISE_LOAD_H
#define SECKILL_EXERCISE_LOAD_H

#include "lab/trial/trial.h"

/*
 * Let DIR/loadtest sell by DIR/seckilld, which has pauses by its environment, and judge by what the
 * auditor says. Its text goes to DIR/load.txt, the rest to DIR/load/. It is ended after a minute. What
 * could not run to its end has broken its claim, and out->words tell why.
 */
void load_run(const char *dir, enum lab_language language, struct trial_finding *out);

#endif
