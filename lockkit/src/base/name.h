/*
 * Names of the keys and channels that belong to a lock, in the lock's own cluster slot.
 */
#ifndef LKI_NAME_H
#define LKI_NAME_H

/*
 * "PREFIX:NAME" when the name has a brace anywhere, else "PREFIX:{NAME}".
 *
 * Owns     yours to free(); NULL when out of memory. The same for lki_name_suffix().
 * Source   Redisson's prefixName() and suffixName(), byte for byte, since keys are shared with it.
 */
char *lki_name_prefix(const char *prefix, const char *name);

/* "NAME:SUFFIX" when the name has a brace anywhere, else "{NAME}:SUFFIX". */
char *lki_name_suffix(const char *name, const char *suffix);

#endif
