/*
 * Which of the 16384 slots of a Redis Cluster a key is in.
 */
#ifndef LKI_SLOT_H
#define LKI_SLOT_H

#include <stddef.h>

enum { LKI_SLOTS = 16384, LKI_NO_SLOT = -1 };

/*
 * Shape    the hash tag is what stands between the first "{" and the first "}" behind it, if that is
 *          anything; else the whole key counts.
 * Source   Redis Cluster specification, "Hash tags"; CRC-16/XMODEM modulo 16384.
 */
int lki_slot_of(const char *key, size_t len);

#endif
