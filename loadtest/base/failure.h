/*
 * loadtest's errors are those of all programs.
 */
#ifndef LOADTEST_FAILURE_H
#define LOADTEST_FAILURE_H

#include "common/failure.h"

#endif
