/*
 * One client at a time, closed before the next is opened. One thread.
 */
#include "look.h"

#include "secrets.h"

static int look_at(const struct ctl_request *request, const char *url,
                   const struct secrets *secrets, int (*visit)(const struct look *look))
{
    char label[LOOK_LABEL_MAX] = "";
    struct lk_error err = {0};
    struct lk_client_options options = {.url = url,
                                        .password = secrets->password,
                                        .loader = secrets->loader,
                                        .sentinel_password = secrets->sentinel,
                                        .tls = request->tls,
                                        .pool_size = 2};
    struct look look = {.request = request, .client = lk_client_open(&options, &err)};

    if (!look.client) return ctl_complain_of("", &err);
    if (url) ctl_url_label(url, label, sizeof label);
    if (request->url_count > 1) look.server = label;
    int status = visit(&look);
    lk_client_close(look.client);
    return status;
}

static int look_at_all(const struct ctl_request *request, const struct secrets *secrets,
                       int (*visit)(const struct look *look))
{
    int worst = CTL_NOTHING;
    bool is_good = false;

    for (size_t i = 0; i < request->url_count; i++) {
        int status = look_at(request, request->urls[i], secrets, visit);

        if (status == CTL_OK) is_good = true;
        if (status > worst) worst = status;
    }
    return is_good && worst == CTL_NOTHING ? CTL_OK : worst;
}

int look_everywhere(const struct ctl_request *request, int (*visit)(const struct look *look))
{
    struct secrets secrets;
    int status = secrets_read(request, &secrets);

    if (status == CTL_OK) status = look_at_all(request, &secrets, visit);
    secrets_done(&secrets);
    return status;
}
