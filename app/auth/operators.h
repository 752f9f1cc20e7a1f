/*
 * The operators: who has which token, and what it is good for.
 *
 * Shape    a file with a line for each token: "NAME ROLE TOKEN", or the token alone, which is an admin's, called
 *          "operator". Lines that begin with # are comments. A name may have several tokens, so that one can be
 *          changed for another. The file is read again when it has changed.
 */
#ifndef SECKILL_OPERATORS_H
#define SECKILL_OPERATORS_H

#include <stdbool.h>

#include "base/list.h"
#include "base/start_error.h"

/* X(value, name in the file): each may what those before it may */
#define OPERATOR_ROLE_LIST(X)                                                                      \
    X(OPERATOR_READS, "read") X(OPERATOR_OPERATES, "operate") X(OPERATOR_IS_ADMIN, "admin")

typedef enum operator_role { OPERATOR_ROLE_LIST(LIST_VALUE) OPERATOR_ROLE_COUNT } operator_role;

const char *operators_role_name(operator_role role);

enum { OPERATORS_NAME_MAX = 32 };

struct operator_known {
    char name[OPERATORS_NAME_MAX + 1];
    operator_role role;
};

struct operators; /* opaque; any thread may ask it */

/* path: copied. NULL and one line in *why: the file cannot be read, or a line is none of the above. */
struct operators *operators_new(const char *path, struct start_error *why);
void operators_free(struct operators *self);

/*
 * Whose token it is. A file that cannot be read any more, or has a bad line, changes nothing: that is logged, once.
 *
 * Returns  false   it is nobody's.
 */
bool operators_find(struct operators *self, const char *token, struct operator_known *out);

#endif
