/*
 * lockkit for C++17: clients, locks, leaders and permits that end with their scope; std::lock_guard,
 * std::unique_lock and std::scoped_lock take the locks. Header only; lock.h documents what locks do.
 *
 * "Somebody else holds it" is an answer: false, or an empty optional. All else that is not OK is
 * thrown, as lockkit::error; but never by unlock() and release(), which guards call as they end:
 * they return the status, and NOT_OWNER there tells of a hold that had been lost.
 *
 * Example
 *     auto client = lockkit::open("redis://10.0.0.7");
 *     auto lock = lockkit::mutex(client, "report");
 *     std::lock_guard guard(lock);
 */
#ifndef LOCKKIT_HPP
#define LOCKKIT_HPP

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lockkit/lockkit.h"

namespace lockkit {

using std::chrono::milliseconds;

class error : public std::runtime_error {
  public:
    explicit error(const lk_error &err)
        : std::runtime_error(std::string(lk_status_name(err.code)) + ": " + err.text), err_(err)
    {
    }
    lk_status status() const noexcept { return err_.code; }
    int sys_errno() const noexcept { return err_.sys_errno; }

  private:
    lk_error err_;
};

namespace inside {

template <auto end> struct ended_by {
    template <class T> void operator()(T *object) const noexcept { end(object); }
};

/* What `make` made, given its arguments and an error to fill; else that error, thrown. */
template <class Make, class... Args> auto made(Make make, const Args &...args)
{
    lk_error err{};
    auto *object = make(args..., &err);
    if (!object) throw error(err);
    return object;
}

/* The status of a call likewise: true for OK, false for BUSY. */
template <class Call, class... Args> bool done(Call call, const Args &...args)
{
    lk_error err{};
    const lk_status status = call(args..., &err);
    if (status != LK_OK && status != LK_BUSY) throw error(err);
    return status == LK_OK;
}

inline constexpr std::chrono::hours longest{24 * 366 * 100};

/* Rather longer than shorter; any span that can be written down, as duration::max(), is good. */
template <class Rep, class Period> int64_t ms_of(const std::chrono::duration<Rep, Period> &span)
{
    using seconds = std::chrono::duration<double>; /* in which no span overflows */
    if (span <= span.zero()) return 0;
    return seconds(span) < seconds(longest) ? std::chrono::ceil<milliseconds>(span).count()
                                            : milliseconds(longest).count();
}

} // namespace inside

using script = std::unique_ptr<lk_script, inside::ended_by<lk_script_free>>;
using reply = std::unique_ptr<lk_reply, inside::ended_by<lk_reply_free>>;

/* Closed when the last copy, and the last lock that was made on it, have gone. */
using client = std::shared_ptr<lk_client>;

inline client open(const lk_client_options &options)
{
    return client(inside::made(lk_client_open, &options), lk_client_close);
}

inline client open(const std::string &url)
{
    lk_client_options options{};
    options.url = url.c_str();
    return open(options);
}

/*
 * A lock of any kind, made by what stands below: BasicLockable, Lockable and TimedLockable, for one
 * thread at a time. What it holds when it ends is released. get() is for the functions of lock.h.
 */
class lock_handle {
  public:
    /* Takes raw, and keeps what must outlive it. Of the options all but wait_ms are used. */
    lock_handle(lk_lock *raw, std::shared_ptr<void> kept, const lk_lock_options &options)
        : lock_(raw, ending{std::move(kept)}), options_(options)
    {
    }
    void lock()
    {
        while (!try_lock_for(inside::longest))
            continue;
    }
    bool try_lock() { return try_lock_for(milliseconds(0)); }
    template <class Rep, class Period>
    bool try_lock_for(const std::chrono::duration<Rep, Period> &wait)
    {
        options_.wait_ms = inside::ms_of(wait);
        return inside::done(lk_lock_acquire, get(), &options_);
    }
    template <class Clock, class Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &moment)
    {
        const auto now = Clock::now();
        return moment > now ? try_lock_for(moment - now) : try_lock();
    }
    lk_status unlock() noexcept { return lk_lock_release(get(), nullptr); }
    bool held() const noexcept { return lk_held(get()); }
    uint64_t fence() const noexcept { return lk_lock_fence(get()); }
    /* lk_guarded_eval(). Empty: no connection was free; NOT_OWNER is thrown. */
    std::optional<reply> guarded_eval(const lk_eval &eval, milliseconds limit = {})
    {
        lk_reply *answer = nullptr;
        if (!inside::done(lk_guarded_eval, get(), &eval, limit.count(), &answer)) return {};
        return reply(answer);
    }
    lk_lock *get() const noexcept { return lock_.get(); }

  private:
    struct ending {
        std::shared_ptr<void> kept;
        void operator()(lk_lock *raw) const noexcept
        {
            while (lk_lock_hold_count(raw) > 0 && lk_lock_release(raw, nullptr) == LK_OK)
                continue;
            lk_lock_free(raw);
        }
    };
    std::unique_ptr<lk_lock, ending> lock_;
    lk_lock_options options_;
};

namespace inside {

struct kind {
    lk_lock *(*make)(lk_client *, const char *, lk_error *);
    lock_handle operator()(const client &on, const std::string &key,
                           const lk_lock_options &options = {}) const
    {
        return {made(make, on.get(), key.c_str()), on, options};
    }
};

inline lk_lock *fair_new(lk_client *on, const char *key, lk_error *err)
{
    return lk_fair_new(on, key, nullptr, err);
}

} // namespace inside

/* lockkit::mutex(client, "key") and so on: locks.h, and semaphore.h for one permit as a lock. */
inline constexpr inside::kind mutex{lk_mutex_new};
inline constexpr inside::kind reentrant{lk_reentrant_new};
inline constexpr inside::kind non_reentrant{lk_non_reentrant_new};
inline constexpr inside::kind spin{lk_spin_new};
inline constexpr inside::kind fenced{lk_fenced_new};
inline constexpr inside::kind advisory{lk_advisory_new};
inline constexpr inside::kind fair{inside::fair_new};
inline constexpr inside::kind permit_lock{lk_permit_lock_new};

struct rwlock {
    lock_handle read, write;
    rwlock(const client &on, const std::string &key, const lk_lock_options &options = {},
           const lk_rwlock_options &rule = {})
        : rwlock({inside::made(lk_rwlock_new_with, on.get(), key.c_str(), &rule),
                  [on](lk_rwlock *raw) { lk_rwlock_free(raw); }},
                 options)
    {
    }
    /* lk_rwlock_upgrade(): a reader also gets write; false: others still read. DEADLOCK is thrown. */
    template <class Rep, class Period>
    bool upgrade_for(const std::chrono::duration<Rep, Period> &wait)
    {
        options_.wait_ms = inside::ms_of(wait);
        return inside::done(lk_rwlock_upgrade, both_.get(), &options_);
    }

  private:
    std::shared_ptr<lk_rwlock> both_;
    lk_lock_options options_;
    rwlock(const std::shared_ptr<lk_rwlock> &both, const lk_lock_options &options)
        : read(lk_rwlock_read(both.get()), both, options),
          write(lk_rwlock_write(both.get()), both, options), both_(both), options_(options)
    {
    }
};

inline lock_handle multi(std::vector<lock_handle> members, const lk_lock_options &options = {},
                         const lk_multi_options &rule = {})
{
    const auto kept = std::make_shared<std::vector<lock_handle>>(std::move(members));
    std::vector<lk_lock *> raw;
    for (const lock_handle &member : *kept)
        raw.push_back(member.get());
    return {inside::made(lk_multi_new, raw.data(), raw.size(), &rule), kept, options};
}

inline lock_handle redlock(const std::vector<client> &on, const std::string &key,
                           const lk_lock_options &options = {}, const lk_redlock_options &rule = {})
{
    const auto kept = std::make_shared<std::vector<client>>(on);
    std::vector<lk_client *> raw;
    for (const client &one : on)
        raw.push_back(one.get());
    return {inside::made(lk_redlock_new, raw.data(), raw.size(), key.c_str(), &rule), kept,
            options};
}

namespace inside {

struct giving_back {
    std::shared_ptr<lk_permits> to;
    void operator()(lk_permit *taken) const noexcept
    {
        lk_permits_release(to.get(), taken, 1, nullptr);
        delete taken;
    }
};

} // namespace inside

/* A permit, given back when it ends or is reset(); should the process die, its lease does that. */
using permit = std::unique_ptr<lk_permit, inside::giving_back>;

/* lk_permits: so many may be inside at once. It and its permits: one thread at a time. */
class permits {
  public:
    permits(const client &on, const std::string &key)
        : permits_(inside::made(lk_permits_new, on.get(), key.c_str()),
                   [on](lk_permits *raw) { lk_permits_free(raw); })
    {
    }
    /* false: it is set already. */
    bool try_set(int64_t count) { return inside::done(lk_permits_try_set, get(), count); }
    /* Empty: too few were free in time. */
    permit try_acquire_for(milliseconds wait, milliseconds lease = {})
    {
        lk_permit_options options{};
        options.wait_ms = inside::ms_of(wait);
        options.lease_ms = lease.count();
        auto taken = std::make_unique<lk_permit>();
        if (!inside::done(lk_permits_acquire, get(), &options, taken.get(), size_t{1})) return {};
        return {taken.release(), {permits_}};
    }
    lk_permits *get() const noexcept { return permits_.get(); }

  private:
    std::shared_ptr<lk_permits> permits_;
};

/*
 * lk_leader: campaigns with the lock until it ends; leader.h tells what hooks may do. They run on its own
 * thread, and what they throw ends the program. Either may be empty.
 */
class leader {
  public:
    explicit leader(lock_handle lock, std::function<void(uint64_t)> elected = {},
                    std::function<void()> deposed = {}, milliseconds lease = {})
        : leader_(nullptr, ending{std::unique_ptr<hooks>(
                               new hooks{std::move(lock), std::move(elected), std::move(deposed)})})
    {
        lk_leader_options options{};
        hooks *on = leader_.get_deleter().on.get(); /* where it stays, whoever moves */
        options.size = sizeof options;
        options.lease_ms = lease.count();
        options.arg = on;
        options.on_elected = [](lk_leader *, uint64_t fence, void *arg) noexcept {
            if (static_cast<hooks *>(arg)->elected) static_cast<hooks *>(arg)->elected(fence);
        };
        options.on_deposed = [](lk_leader *, void *arg) noexcept {
            if (static_cast<hooks *>(arg)->deposed) static_cast<hooks *>(arg)->deposed();
        };
        leader_.reset(inside::made(lk_leader_new, on->lock.get(), &options));
    }
    bool leading() const noexcept { return lk_leader_is_leading(get()); }
    uint64_t fence() const noexcept { return lk_leader_fence(get()); }
    void resign() noexcept { lk_leader_resign(get()); }
    lk_leader *get() const noexcept { return leader_.get(); }

  private:
    struct hooks {
        lock_handle lock;
        std::function<void(uint64_t)> elected;
        std::function<void()> deposed;
    };
    struct ending {
        std::unique_ptr<hooks> on;
        void operator()(lk_leader *raw) const noexcept { (void)lk_leader_close(raw, nullptr); }
    };
    std::unique_ptr<lk_leader, ending> leader_;
};

} // namespace lockkit
#endif
