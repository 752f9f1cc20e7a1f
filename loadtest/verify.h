/*
 * A verification run: one sale, every reply recorded, then the audit.
 */
#ifndef LOADTEST_VERIFY_H
#define LOADTEST_VERIFY_H

#include "audit.h"
#include "drive.h"
#include "http_client.h"
#include "service.h"
#include "summary.h"

struct verify_run {
    char sale[SALE_ID_MAX + 1];
    struct summary summary;
    struct audit_result audit;
    char lost[RUN_PATH_MAX]; /* file that names the lost orders; or "" */
    char trouble[400];       /* an instance ended by itself, wrk failed; or "" */
};

/*
 * Sell, watch, resolve, audit. `number` counts the runs from 1.
 *
 * Returns  false   it could not be done, or was interrupted; the wrks are gone either way.
 */
bool verify_sale(const struct drive_target *target, struct service *service,
                 struct http_client *http, int number, struct verify_run *out_run,
                 struct failure *failure);

#endif
