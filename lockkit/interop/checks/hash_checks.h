/*
 * Checks of the locks that are one hash with a field for the holder: reentrant and its relatives.
 * Numbers in brackets are the cases of Redisson's checklist that a check covers.
 */
#ifndef LOCKKIT_INTEROP_HASH_CHECKS_H
#define LOCKKIT_INTEROP_HASH_CHECKS_H

#include "arena.h"

extern const struct check hash_checks[];

#endif
