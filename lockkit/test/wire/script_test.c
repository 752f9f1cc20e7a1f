/*
 * The embedded scripts are the files byte for byte, and their digests are right; variants and the
 * words of EVALSHA and EVAL. Run from the root of the repository.
 */
#include <dirent.h>

#include "test/support/testing.h"
#include "wire/script.h"

enum { TEXT_MAX = 65536 };
#define FOLDER "lockkit/scripts"

static const struct lk_script_source sample = {.name = "sample", .source = "return ARGV[1]\n"};

static size_t read_script(const char *name, char *out)
{
    char path[512];
    FILE *file = NULL;

    (void)snprintf(path, sizeof path, FOLDER "/%s.lua", name);
    file = fopen(path, "rb");
    assert_non_null(file);
    size_t len = fread(out, 1, TEXT_MAX - 1, file);
    assert_int_equal(ferror(file), 0);
    assert_int_equal(fclose(file), 0);
    out[len] = '\0';
    return len;
}

/* What sha1sum says of a text, as 40 hex digits. */
static void sha1_of(const char *text, char out[41])
{
    char command[512];
    char path[] = "/tmp/lockkit-script-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    (void)snprintf(command, sizeof command, "sha1sum %s", path);
    FILE *pipe = popen(command, "r"); /* NOLINT(cert-env33-c): a fixed command */
    assert_non_null(pipe);
    assert_int_equal(fread(out, 1, 40, pipe), 40);
    out[40] = '\0';
    (void)pclose(pipe);
    assert_int_equal(remove(path), 0);
}

TEST(every_embedded_text_is_its_file_byte_for_byte)
{
    char *text = calloc(1, TEXT_MAX);

    assert_non_null(text);
    for (const struct lk_script_source *row = lki_script_all(); row->name; row++) {
        size_t len = read_script(row->name, text);

        assert_int_equal(strlen(row->source), len); /* no NUL inside */
        assert_memory_equal(row->source, text, len);
    }
    free(text);
}

TEST(every_embedded_digest_is_what_sha1sum_says)
{
    char sha1[41];

    for (const struct lk_script_source *row = lki_script_all(); row->name; row++) {
        sha1_of(row->source, sha1);
        assert_string_equal(row->sha1, sha1);
    }
}

TEST(every_script_file_is_in_the_table)
{
    const char *const suffix = ".lua";
    DIR *folder = opendir(FOLDER);
    size_t files = 0;
    size_t rows = 0;

    assert_non_null(folder);
    for (;;) {
        struct dirent *entry = readdir(folder); /* NOLINT(concurrency-mt-unsafe): one thread */

        if (!entry) break;
        size_t len = strlen(entry->d_name);

        if (len <= strlen(suffix) || strcmp(entry->d_name + len - 4, suffix) != 0) continue;
        entry->d_name[len - 4] = '\0';
        assert_string_equal(lki_script_named(entry->d_name)->name, entry->d_name);
        files++;
    }
    (void)closedir(folder);
    while (lki_script_all()[rows].name)
        rows++;
    assert_int_equal(rows, files);
    assert_true(files >= 3);
}

TEST(the_guarded_text_is_the_owner_check_and_then_the_script)
{
    const char *guard = lki_script_named("mutex_guard")->source;
    lk_script *script = lk_script_new(&sample);
    char expected[TEXT_MAX];

    assert_non_null(script);
    (void)snprintf(expected, sizeof expected, "%s%s", guard, sample.source);
    const struct lki_variant *variant = lki_script_variant(script, guard);

    assert_string_equal(variant->text, expected);
    assert_string_equal(variant->sha1, ""); /* learned from the server at first use */
    assert_string_equal(lki_script_variant(script, "")->text, sample.source);
    lk_script_free(script);
}

TEST(a_first_line_with_flags_stays_the_first)
{
    lk_script *script = lk_script_new(
        &(struct lk_script_source){.name = "x", .source = "#!lua flags=no-writes\nreturn 1"});

    assert_non_null(script);
    assert_string_equal(lki_script_variant(script, "check()\n")->text,
                        "#!lua flags=no-writes\ncheck()\nreturn 1");
    assert_string_equal(lki_script_variant(script, "")->text, "#!lua flags=no-writes\nreturn 1");
    lk_script_free(script);
}

TEST(a_variant_is_made_once)
{
    const char *guard = lki_script_named("mutex_guard")->source;
    lk_script *script = lk_script_new(&sample);

    assert_non_null(script);
    assert_ptr_equal(lki_script_variant(script, guard), lki_script_variant(script, guard));
    assert_ptr_equal(lki_script_variant(script, ""), lki_script_variant(script, ""));
    assert_ptr_not_equal(lki_script_variant(script, guard), lki_script_variant(script, ""));
    lk_script_free(script);
}

TEST(a_known_digest_is_that_of_the_plain_text_only)
{
    const struct lk_script_source *release = lki_script_named("mutex_release");
    lk_script *script = lk_script_new(release);

    assert_non_null(script);
    assert_string_equal(lki_script_variant(script, "")->sha1, release->sha1);
    assert_string_equal(lki_script_variant(script, "-- guard\n")->sha1, "");
    lk_script_free(script);
}

TEST(a_digest_can_be_had_without_a_server)
{
    const struct lk_script_source *release = lki_script_named("mutex_release");
    lk_script *script = lk_script_new(&sample);
    const struct lki_variant *plain = lki_script_variant(script, "");
    const struct lki_variant *guarded = lki_script_variant(script, "-- guard\n");
    char sha1[41];

    lki_script_digest(script, plain);
    lki_script_digest(script, guarded);
    sha1_of(plain->text, sha1);
    assert_string_equal(plain->sha1, sha1);
    sha1_of(guarded->text, sha1);
    assert_string_equal(guarded->sha1, sha1);
    lk_script_free(script);
    script = lk_script_new(release);
    lki_script_digest(script, lki_script_variant(script, "")); /* it had one */
    assert_string_equal(lki_script_variant(script, "")->sha1, release->sha1);
    lk_script_free(script);
}

TEST(a_script_without_text_is_refused)
{
    assert_null(lk_script_new(&(struct lk_script_source){.name = "none"}));
    assert_null(lk_script_new(&(struct lk_script_source){.name = "empty", .source = ""}));
    lk_script_free(NULL);
}

static void check_words(const struct lki_request *request, const char *const *expected)
{
    assert_ptr_equal(request->command.args, request->words);
    for (size_t i = 0; i < request->command.count; i++) {
        assert_non_null(expected[i]);
        assert_int_equal(request->words[i].len, strlen(expected[i]));
        assert_memory_equal(request->words[i].data, expected[i], request->words[i].len);
    }
    assert_null(expected[request->command.count]);
}

TEST(key_and_token_come_last_in_keys_and_arguments)
{
    static const char digest[] = "0123456789012345678901234567890123456789";
    struct lk_bytes keys[] = {LK_BYTES("k1"), LK_BYTES("k2")};
    struct lk_bytes args[] = {LK_BYTES("a1")};
    struct lk_eval eval = {.keys = keys, .key_count = 2, .args = args, .arg_count = 1};
    char text[] = "return 1";
    struct lki_variant variant = {.text = text};
    const struct {
        const char *key, *token;
        bool by_text;
        const char *expected[10];
    } rows[] = {
        {NULL, NULL, false, {"EVALSHA", digest, "2", "k1", "k2", "a1", NULL}},
        {NULL, NULL, true, {"EVAL", text, "2", "k1", "k2", "a1", NULL}},
        {"lock", "token", false, {"EVALSHA", digest, "3", "k1", "k2", "lock", "a1", "token", NULL}},
        {"lock", "token", true, {"EVAL", text, "3", "k1", "k2", "lock", "a1", "token", NULL}},
    };

    memcpy(variant.sha1, digest, sizeof digest);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lki_call call = {.eval = &eval};

        if (rows[i].key) call.keys[call.key_count++] = lk_bytes_of(rows[i].key);
        if (rows[i].token) call.args[call.arg_count++] = lk_bytes_of(rows[i].token);
        struct lki_request *request = lki_script_request(&variant, &call);
        assert_non_null(request);
        memset(&call, 'x', sizeof call); /* it has copies of all */
        if (rows[i].by_text) assert_true(lki_script_spell_out(request, false));
        check_words(request, rows[i].expected);
        assert_int_equal(lki_script_spell_out(request, false), !rows[i].by_text); /* once */
        free(request);
    }
}

TEST(with_a_loader_it_stays_by_digest_and_is_introduced)
{
    char text[] = "return 1";
    const struct lki_variant variant = {.text = text, .sha1 = "0123"};
    struct lki_request *request = lki_script_request(&variant, &(struct lki_call){.script = "any"});

    assert_non_null(request);
    assert_null(request->load_first);
    assert_true(lki_script_spell_out(request, true));
    assert_ptr_equal(request->load_first, &variant);
    check_words(request, (const char *const[]){"EVALSHA", "0123", "0", NULL});
    assert_false(lki_script_spell_out(request, true));
    free(request);
}

TEST(a_plain_command_has_nothing_to_spell_out)
{
    const struct lk_bytes words[] = {LK_BYTES("GET"), LK_BYTES("k1"), {0}};
    struct lki_request *request = lki_wire_request(words, 3);

    assert_non_null(request);
    check_words(request, (const char *const[]){"GET", "k1", "", NULL});
    assert_false(lki_script_spell_out(request, false));
    free(request);
}
