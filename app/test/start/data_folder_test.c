/*
 * Whose the folder of --data is, and who may look into it. Somebody else is whoever geteuid() says.
 * link: -Wl,--wrap=geteuid
 */
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "start/data_folder.h"
#include "test/support/testing.h"

enum { PATH_SIZE = 128, ANYBODY = 4711 };

static struct {
    char base[PATH_SIZE];
    bool is_somebody_else;
} world;

FAKE(uid_t, geteuid, void)
{
    return world.is_somebody_else ? ANYBODY : __real_geteuid();
}

static int set_up(void **state)
{
    log_set_level(LOG_ERROR); /* what is made private is said */
    (void)umask(022);
    (void)snprintf(world.base, sizeof world.base, "/tmp/seckill-folder-XXXXXX");
    world.is_somebody_else = false;
    return mkdtemp(world.base) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[PATH_SIZE + 16];

    (void)snprintf(command, sizeof command, "rm -rf %s", world.base);
    return system(command); /* NOLINT(concurrency-mt-unsafe,cert-env33-c): one thread, our name */
}

/* base/name; static per call site's turn of four. */
static const char *in_base(const char *name)
{
    static char paths[4][2 * PATH_SIZE];
    static unsigned turn;
    char *path = paths[turn++ % 4];

    (void)snprintf(path, sizeof paths[0], "%s/%s", world.base, name);
    return path;
}

static unsigned mode_of(const char *name)
{
    struct stat info;

    assert_int_equal(stat(in_base(name), &info), 0);
    return info.st_mode & 07777;
}

static void make(const char *name, mode_t mode)
{
    assert_int_equal(mkdir(in_base(name), 0700), 0);
    assert_int_equal(chmod(in_base(name), mode), 0);
}

static void make_file(const char *name, mode_t mode)
{
    FILE *file = fopen(in_base(name), "we");

    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(in_base(name), mode), 0);
}

static void assert_refused(const char *path, const char *says)
{
    struct start_error why = {0};

    assert_false(data_folder_take(path, &why));
    if (!strstr(why.text, says) || !strstr(why.text, path)) print_message("%s\n", why.text);
    assert_non_null(strstr(why.text, says));
    assert_non_null(strstr(why.text, path));
}

TEST(a_folder_ends_up_private_or_is_refused)
{
    static const struct {
        mode_t before; /* 0: it is not there */
        bool is_refused;
    } rows[] = {
        {0, false},    {0700, false}, {0755, false}, {0750, false},
        {0775, false}, {0701, false}, {0777, true},  {01777, true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct start_error why = {0};

        (void)rmdir(in_base("data"));
        if (rows[i].before) make("data", rows[i].before);
        assert_int_equal(data_folder_take(in_base("data"), &why), !rows[i].is_refused);
        assert_int_equal(mode_of("data"), rows[i].is_refused ? rows[i].before : 0700);
        assert_int_equal(why.text[0] != '\0', rows[i].is_refused);
    }
}

TEST(a_folder_of_another_user_is_refused_and_left_alone)
{
    make("data", 0755);
    world.is_somebody_else = true;
    assert_refused(in_base("data"), "belongs to another user");
    assert_int_equal(mode_of("data"), 0755);
}

TEST(a_link_is_followed_when_it_is_ours_alone)
{
    struct start_error why = {0};

    make("data", 0755);
    assert_int_equal(symlink(in_base("data"), in_base("link")), 0);
    if (__real_geteuid() == 0) /* nobody else can give it away; root's own links are harmless */
        assert_int_equal(lchown(in_base("link"), ANYBODY + 1, (gid_t)-1), 0);
    world.is_somebody_else = __real_geteuid() != 0;
    assert_refused(in_base("link"), "is a link made by another user");
    assert_false(data_folder_take(in_base("link/"), &why));
    assert_int_equal(mode_of("data"), 0755);

    assert_int_equal(unlink(in_base("link")), 0);
    world.is_somebody_else = false;
    assert_int_equal(symlink(in_base("data"), in_base("link")), 0);
    assert_true(data_folder_take(in_base("link"), &why));
    assert_int_equal(mode_of("data"), 0700);
}

TEST(what_is_no_folder_is_refused)
{
    make_file("file", 0600);
    assert_refused(in_base("file"), "Not a directory");
    assert_refused(in_base("no/such"), "No such file or directory");
    assert_int_equal(symlink(in_base("nowhere"), in_base("dangling")), 0);
    assert_refused(in_base("dangling"), "No such file or directory");
}

TEST(the_root_of_the_machine_stays_as_it_is)
{
    struct start_error why = {0};

    assert_false(data_folder_take("/", &why));
    assert_false(data_folder_take("//", &why));
    assert_non_null(strstr(why.text, "--data: / "));
}

TEST(an_older_append_only_file_is_closed_to_others)
{
    struct start_error why = {0};

    make("data", 0755);
    make("data/appendonlydir", 0755);
    make("data/mine", 0755);
    make_file("data/appendonlydir/appendonly.aof.1.incr.aof", 0644);
    make_file("data/appendonly.aof", 0664);
    make_file("data/mine/notes", 0644);
    assert_true(data_folder_take(in_base("data"), &why));
    assert_int_equal(mode_of("data/appendonlydir/appendonly.aof.1.incr.aof"), 0600);
    assert_int_equal(mode_of("data/appendonly.aof"), 0600);
    assert_int_equal(mode_of("data/mine/notes"), 0644);
    assert_int_equal(umask(0), 077);
}

FIXTURE(set_up, tear_down);
