/*
 * See subject.h.
 */
#include "subject.h"

#include <openssl/evp.h>
#include <string.h>

#include "base/base64url.h"
#include "common/utf8.h"

static const char hashed[] = "sha256-";

static bool is_printable(const char *text)
{
    for (size_t len = 0; *text; text += len) {
        len = utf8_printable(text);
        if (len == 0) return false;
    }
    return true;
}

bool subject_read(const char *subject, char out[BUYER_ID_MAX + 1])
{
    unsigned char digest[32];
    size_t len = strnlen(subject, SUBJECT_MAX + 1);
    bool is_hashed = strncmp(subject, hashed, sizeof hashed - 1) == 0;

    if (!is_hashed && sale_buyer_id_is_valid(subject)) {
        (void)stpcpy(out, subject); /* valid: it fits */
        return true;
    }
    if (len == 0 || len > SUBJECT_MAX || !is_printable(subject)) return false;
    if (!EVP_Digest(subject, len, digest, NULL, EVP_sha256(), NULL)) return false;
    (void)base64url_encode(digest, sizeof digest, stpcpy(out, hashed));
    return true;
}
