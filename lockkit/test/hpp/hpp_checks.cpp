/*
 * lockkit.hpp against a real server (argv[1], a URL): TAP, a line per behaviour. Built and run by
 * hpp_itest.sh with every compiler there is.
 */
#include <atomic>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>
#include <type_traits>

#include "lockkit/lockkit.hpp"

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

static std::string url;

/* What a behaviour must be; the first line that is not ends it. */
static void must(bool is_so, const char *what, int line)
{
    if (!is_so) throw std::logic_error("line " + std::to_string(line) + ": " + what);
}
#define MUST(claim) must((claim), #claim, __LINE__)

/* Nobody but the wake-up of a release wakes this client's waiters in time. */
static lockkit::client never_polling()
{
    lk_client_options options{};

    options.url = url.c_str();
    options.poll_ms = 60000;
    return lockkit::open(options);
}

static lk_lock_options lease_of(int64_t lease_ms)
{
    lk_lock_options options{};

    options.lease_ms = lease_ms;
    return options;
}

/* The status that `call` throws; OK: it threw nothing. */
static lk_status thrown_by(const std::function<void()> &call)
{
    try {
        call();
    } catch (const lockkit::error &err) {
        return err.status();
    }
    return LK_OK;
}

static void a_lock_excludes_and_unlock_wakes()
{
    auto first = lockkit::mutex(lockkit::open(url), "hpp:wake");
    auto second = lockkit::mutex(never_polling(), "hpp:wake");
    std::atomic<bool> is_in{false};
    bool was_alone = false;

    first.lock();
    MUST(first.held() && !second.try_lock());
    std::thread waiter([&] {
        std::lock_guard guard(second);
        is_in = true;
    });
    std::this_thread::sleep_for(200ms);
    was_alone = !is_in;
    const auto released = steady::now();
    const lk_status ended = first.unlock();
    waiter.join();
    MUST(was_alone && is_in && ended == LK_OK);
    MUST(steady::now() - released < 10s);
    MUST(!first.held() && !second.held() && first.try_lock() && first.unlock() == LK_OK);
}

static void a_unique_lock_tries_and_waits()
{
    auto client = lockkit::open(url);
    auto holder = lockkit::mutex(client, "hpp:unique");
    auto other = lockkit::mutex(client, "hpp:unique");
    std::unique_lock held(holder);

    MUST(!std::unique_lock(other, std::try_to_lock).owns_lock());
    const auto begin = steady::now();
    MUST(!std::unique_lock(other, 100ms).owns_lock());
    MUST(steady::now() - begin >= 100ms);
    MUST(!other.try_lock_until(std::chrono::system_clock::now() + 50ms));
    MUST(!other.try_lock_until(steady::now() - 1h));
    MUST(!other.try_lock_until(steady::time_point::min()));
    held.unlock();
    MUST(std::unique_lock(other, 2s).owns_lock());
    MUST(!other.held());
}

static void a_scoped_lock_takes_two_in_any_order()
{
    enum { ROUNDS = 40 };
    auto client = lockkit::open(url);
    unsigned turns = 0; /* no atomic: the two locks guard it */
    const auto turn = [&](const char *one, const char *two) {
        auto a = lockkit::mutex(client, one);
        auto b = lockkit::reentrant(client, two);
        for (int i = 0; i < ROUNDS; i++) {
            std::scoped_lock both(a, b);
            const unsigned seen = turns;
            std::this_thread::yield();
            turns = seen + 1;
        }
    };
    std::thread forth(turn, "hpp:a", "hpp:b");
    std::thread back([&] {
        auto b = lockkit::reentrant(client, "hpp:b");
        auto a = lockkit::mutex(client, "hpp:a");
        for (int i = 0; i < ROUNDS; i++) {
            std::scoped_lock both(b, a);
            turns++;
        }
    });
    forth.join();
    back.join();
    MUST(turns == 2 * ROUNDS);
}

static void a_lost_lock_is_told()
{
    auto client = lockkit::open(url);
    auto lock = lockkit::mutex(client, "hpp:lost", lease_of(100));
    auto next = lockkit::mutex(client, "hpp:lost");

    lock.lock();
    MUST(next.try_lock_for(5s));
    MUST(!lock.held() && lock.unlock() == LK_NOT_OWNER);
    MUST(next.held() && next.unlock() == LK_OK);
    {
        std::lock_guard guard(lock); /* its end must not throw */
        MUST(next.try_lock_for(5s));
    }
    MUST(next.held());
}

static void what_is_exceptional_is_thrown_with_its_text()
{
    auto client = lockkit::open(url);
    auto lock = lockkit::non_reentrant(client, "hpp:twice");
    std::lock_guard guard(lock);

    MUST(thrown_by([&] { (void)lock.try_lock(); }) == LK_INVALID);
    MUST(thrown_by([&] { lockkit::mutex(client, ""); }) == LK_INVALID);
    MUST(thrown_by([] { lockkit::open("nonsense"); }) == LK_INVALID);
    try {
        lockkit::open("redis://127.0.0.1:1");
        throw std::logic_error("opened where nobody listens");
    } catch (const lockkit::error &err) {
        const std::string text = err.what();
        MUST(err.status() == LK_UNREACHABLE && err.sys_errno() == ECONNREFUSED);
        MUST(text.find("unreachable: ") == 0 && text.find("127.0.0.1:1") != std::string::npos);
    }
}

static void a_cancelled_wait_is_thrown()
{
    auto client = lockkit::open(url);
    auto holder = lockkit::mutex(client, "hpp:cancel");
    auto waiter = lockkit::mutex(client, "hpp:cancel");
    std::lock_guard guard(holder);
    std::atomic<bool> is_over{false};
    std::thread canceller([&] {
        while (!is_over) {
            lk_lock_cancel(waiter.get());
            std::this_thread::sleep_for(5ms);
        }
    });
    const lk_status status = thrown_by([&] { waiter.lock(); });
    is_over = true;
    canceller.join();
    MUST(status == LK_CANCELLED);
}

static void a_fence_grows()
{
    auto client = lockkit::open(url);
    auto lock = lockkit::fenced(client, "hpp:fence");
    uint64_t last = 0;

    MUST(lock.fence() == 0);
    for (int i = 0; i < 3; i++) {
        std::lock_guard guard(lock);
        MUST(lock.fence() > last);
        last = lock.fence();
    }
}

static void a_handle_moves_and_ends_with_what_it_holds()
{
    using lockkit::lock_handle;
    static_assert(!std::is_copy_constructible_v<lock_handle>);
    static_assert(!std::is_copy_assignable_v<lock_handle>);
    static_assert(std::is_nothrow_move_constructible_v<lock_handle>);
    auto client = lockkit::open(url);
    auto other = lockkit::reentrant(client, "hpp:move");
    {
        auto first = lockkit::reentrant(client, "hpp:move");
        MUST(first.try_lock() && first.try_lock());
        auto second = std::move(first);
        MUST(second.held() && !first.held() && !other.try_lock());
        MUST(first.unlock() == LK_OK && thrown_by([&] { first.lock(); }) == LK_INVALID);
        second = lockkit::reentrant(client, "hpp:elsewhere");
        MUST(other.try_lock() && other.unlock() == LK_OK);
    }
    auto kept = lockkit::mutex(lockkit::open(url), "hpp:alone"); /* keeps its client */
    std::lock_guard guard(kept);
    MUST(kept.held());
}

static void every_kind_excludes()
{
    auto client = lockkit::open(url);
    const lockkit::inside::kind kinds[] = {
        lockkit::mutex,  lockkit::reentrant, lockkit::non_reentrant, lockkit::spin,
        lockkit::fenced, lockkit::fair,      lockkit::permit_lock};
    lockkit::permits one(client, "hpp:kind:6");
    int i = 0;

    MUST(one.try_set(1) && !one.try_set(1));
    for (const auto &kind : kinds) {
        const std::string key = "hpp:kind:" + std::to_string(i++);
        auto lock = kind(client, key);
        auto other = kind(client, key);
        std::unique_lock guard(lock, 2s);
        MUST(guard.owns_lock() && !other.try_lock());
        guard.unlock();
        MUST(other.try_lock() && other.unlock() == LK_OK);
    }
}

static void readers_share_and_a_writer_does_not()
{
    auto client = lockkit::open(url);
    lockkit::rwlock one(client, "hpp:rw");
    lockkit::rwlock two(client, "hpp:rw");

    {
        std::scoped_lock both(one.read, two.read);
        lockkit::rwlock three(client, "hpp:rw");
        MUST(!three.write.try_lock());
        MUST(thrown_by([&] { one.write.lock(); }) == LK_DEADLOCK);
    }
    std::lock_guard writing(two.write);
    MUST(!one.read.try_lock());
}

static void one_of_two_readers_becomes_a_writer()
{
    auto client = lockkit::open(url);
    lk_rwlock_options fair{};
    fair.order = LK_RWLOCK_FAIR;
    lockkit::rwlock one(client, "hpp:up", {}, fair);
    lockkit::rwlock two(client, "hpp:up", {}, fair);

    std::lock_guard reading(one.read);
    MUST(two.read.try_lock() && !one.upgrade_for(0ms));
    MUST(two.read.unlock() == LK_OK && one.upgrade_for(1s));
    MUST(one.write.held() && one.read.held() && !two.read.try_lock());
    MUST(one.write.unlock() == LK_OK && two.read.try_lock());
    MUST(thrown_by([&] { lockkit::rwlock(client, "hpp:none").upgrade_for(0ms); }) == LK_INVALID);
}

static void locks_of_several()
{
    auto client = lockkit::open(url);
    auto beside = lockkit::mutex(client, "hpp:m2");
    std::vector<lockkit::lock_handle> members;

    members.push_back(lockkit::mutex(client, "hpp:m1"));
    members.push_back(lockkit::mutex(client, "hpp:m2"));
    auto multi = lockkit::multi(std::move(members));
    auto redlock = lockkit::redlock({client}, "hpp:redlock");
    std::scoped_lock all(multi, redlock);
    MUST(multi.held() && redlock.held() && !beside.try_lock());
}

static void permits_come_back_when_they_end()
{
    auto client = lockkit::open(url);
    lockkit::permits permits(client, "hpp:permits");

    MUST(permits.try_set(2));
    auto first = permits.try_acquire_for(0ms);
    {
        auto second = permits.try_acquire_for(0ms, 10s);
        MUST(first && second && std::string(first->id) != second->id);
        MUST(lk_permit_remaining_ms(second.get()) <= 10000);
        MUST(!permits.try_acquire_for(20ms));
        second = std::move(first);
    }
    struct lk_permits_usage usage {};
    MUST(lk_permits_usage(permits.get(), &usage, nullptr) == LK_OK);
    MUST(usage.available == 2 && usage.acquired == 0);
}

static void lua_runs_while_the_lock_is_held_alone()
{
    auto client = lockkit::open(url);
    auto lock = lockkit::mutex(client, "{hpp}:lock");
    auto breaker = lockkit::mutex(client, "{hpp}:lock");
    const lk_script_source source{nullptr, "return redis.call('INCR', KEYS[1])", nullptr};
    const lockkit::script script(lk_script_new(&source));
    const lk_bytes key = LK_BYTES("{hpp}:count");
    const lk_eval eval{script.get(), &key, 1, nullptr, 0};

    lock.lock();
    const auto answer = lock.guarded_eval(eval);
    MUST(answer && lk_reply_integer(answer->get(), 0) == 1);
    MUST(lk_lock_force_release(breaker.get(), nullptr) == LK_OK);
    MUST(thrown_by([&] { (void)lock.guarded_eval(eval); }) == LK_NOT_OWNER);
    MUST(lock.unlock() == LK_NOT_OWNER);
}

static void a_leader_leads_and_ends()
{
    const auto on = lockkit::open(url);
    std::atomic<uint64_t> elected{0};
    std::atomic<int> deposed{0};
    const auto leads = [&](lockkit::leader &one) {
        for (int i = 0; i < 2000 && !one.leading(); i++)
            std::this_thread::sleep_for(1ms);
        return one.leading();
    };
    {
        lockkit::leader first(
            lockkit::fenced(on, "lead"), [&](uint64_t fence) { elected = fence; },
            [&] { deposed++; });
        lockkit::leader one = std::move(first);
        MUST(leads(one) && one.fence() > 0);
        lockkit::leader other(lockkit::fenced(on, "lead"));
        MUST(!other.leading());
        one.resign();
        MUST(leads(other) && !one.leading() && other.fence() > elected && elected > 0);
    }
    MUST(deposed == 1);
    MUST(lockkit::fenced(on, "lead").try_lock());
}

static void any_span_is_so_many_milliseconds()
{
    using lockkit::inside::ms_of;

    MUST(ms_of(1500us) == 2 && ms_of(0s) == 0 && ms_of(-5s) == 0 && ms_of(2min) == 120000);
    MUST(ms_of(std::chrono::duration<double>(0.0101)) == 11);
    const int64_t longest = std::chrono::milliseconds(lockkit::inside::longest).count();
    MUST(ms_of(std::chrono::hours::max()) == longest);
    MUST(ms_of(std::chrono::nanoseconds::max()) == longest);
    MUST(ms_of(std::chrono::duration<int64_t, std::ratio<86400>>::max()) == longest);
    MUST(ms_of(std::chrono::duration<int64_t, std::ratio<86400>>(1)) == 86400000);
    MUST(ms_of(std::chrono::duration<int64_t, std::pico>(5000000001)) == 6);
    MUST(ms_of(std::chrono::duration<double>(1e300)) == longest);
}

#define ROW(behaviour)                                                                             \
    {                                                                                              \
#behaviour, behaviour                                                                      \
    }
static const struct {
    const char *name;
    void (*run)();
} rows[] = {
    ROW(a_lock_excludes_and_unlock_wakes),
    ROW(a_unique_lock_tries_and_waits),
    ROW(a_scoped_lock_takes_two_in_any_order),
    ROW(a_lost_lock_is_told),
    ROW(what_is_exceptional_is_thrown_with_its_text),
    ROW(a_cancelled_wait_is_thrown),
    ROW(a_fence_grows),
    ROW(a_handle_moves_and_ends_with_what_it_holds),
    ROW(every_kind_excludes),
    ROW(readers_share_and_a_writer_does_not),
    ROW(one_of_two_readers_becomes_a_writer),
    ROW(locks_of_several),
    ROW(permits_come_back_when_they_end),
    ROW(lua_runs_while_the_lock_is_held_alone),
    ROW(a_leader_leads_and_ends),
    ROW(any_span_is_so_many_milliseconds),
};

int main(int argc, char **argv)
{
    int failures = 0;
    int number = 0;

    url = argc > 1 ? argv[1] : "redis://127.0.0.1:6379";
    for (const auto &row : rows) {
        std::string why;
        try {
            row.run();
        } catch (const std::exception &err) {
            why = err.what();
            failures++;
        }
        std::printf("%sok %d - %s\n", why.empty() ? "" : "not ", ++number, row.name);
        if (!why.empty()) std::printf("# %s\n", why.c_str());
    }
    std::printf("1..%d\n", number);
    return failures != 0;
}
