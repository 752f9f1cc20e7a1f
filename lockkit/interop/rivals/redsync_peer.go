// redsync, over go-redis, behind the line protocol of peer.h, so that it can contend with lockkit:
// `redsync_peer URL [URL...]`. Kind "mutex" is a lock on the first server alone, "redlock" one over
// all the others.
//
// A thread number of the protocol is a goroutine with its own mutexes. The program ends with its
// standard input, at once: what it holds is left to the leases.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/go-redsync/redsync/v4"
	pools "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

const (
	poll       = 10 * time.Millisecond // redsync has no messages: a waiter asks again and again
	pause      = 2 * time.Millisecond  // outside, so that others get their turn
	longMs     = 600000
	benchLease = 30 * time.Second
	answerTime = 500 * time.Millisecond // redsync itself allows 5 % of the lease, and waits for all
)

var (
	referee  *redis.Client
	redsyncs = map[string]*redsync.Redsync{}
	output   sync.Mutex
)

func connect(url string) *redis.Client {
	options, err := redis.ParseURL(url)
	if err != nil {
		panic(err)
	}
	options.DialTimeout = answerTime
	options.ReadTimeout = answerTime
	options.MaxRetries = -1 // an acquire that is sent twice meets its own key
	options.ContextTimeoutEnabled = true
	return redis.NewClient(options)
}

func monotonicNs() int64 {
	var now syscall.Timespec

	_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

// ---- the protocol's words ----------------------------------------------------------------------

type request struct {
	id, thread, verb, kind, key string
	options                     map[string]string
}

func parse(line string) request {
	words := strings.Fields(line)
	r := request{words[0], words[1], words[2], words[3], words[4], map[string]string{}}
	for _, word := range words[5:] {
		name, value, _ := strings.Cut(word, "=")
		r.options[name] = value
	}
	return r
}

func (r request) number(name string, otherwise int) int {
	if number, err := strconv.Atoi(r.options[name]); err == nil {
		return number
	}
	return otherwise
}

func (r request) ms(name string) time.Duration {
	return time.Duration(r.number(name, longMs)) * time.Millisecond
}

type answer struct {
	result string
	value  any
}

// ---- locks -------------------------------------------------------------------------------------

// A thread of the protocol: its requests, in order, and what it holds.
type owner struct {
	requests chan request
	held     map[string]*redsync.Mutex
}

// What an error means: others hold it on a server at least, or the servers did not let us.
func resultOf(err error, taken string) answer {
	var byMost *redsync.ErrTaken
	var byOne *redsync.ErrNodeTaken

	if errors.As(err, &byMost) || errors.As(err, &byOne) || errors.Is(err, redsync.ErrFailed) ||
		errors.Is(err, redsync.ErrLockAlreadyExpired) {
		return answer{taken, "-"}
	}
	fmt.Fprintln(os.Stderr, err)
	return answer{"unreachable", "-"}
}

func validMs(mutex *redsync.Mutex) int64 {
	return time.Until(mutex.Until()).Milliseconds()
}

func (o *owner) lock(r request) answer {
	mutex := redsyncs[r.kind].NewMutex(r.key, redsync.WithExpiry(r.ms("lease")),
		redsync.WithTries(r.number("retries", 0)+1))
	until := time.Now().Add(r.ms("wait"))
	for {
		err := mutex.Lock()
		if err == nil {
			o.held[r.kind+r.key] = mutex
			return answer{"ok", validMs(mutex)}
		}
		if time.Now().After(until) {
			return resultOf(err, "busy")
		}
		time.Sleep(poll/2 + time.Duration(rand.Int63n(int64(poll))))
	}
}

func (o *owner) unlock(r request) answer {
	mutex := o.held[r.kind+r.key]
	if mutex == nil {
		return answer{"not-owner", "-"}
	}
	if ok, err := mutex.Unlock(); !ok {
		return resultOf(err, "not-owner")
	}
	return answer{"ok", "-"}
}

// redsync's Extend() begins the old lease anew; another one takes another mutex of the same value.
func (o *owner) renew(r request) answer {
	mutex := redsyncs[r.kind].NewMutex(r.key, redsync.WithExpiry(r.ms("lease")),
		redsync.WithValue(o.held[r.kind+r.key].Value()))
	if ok, err := mutex.Extend(); !ok {
		return resultOf(err, "lost")
	}
	o.held[r.kind+r.key] = mutex
	return answer{"ok", validMs(mutex)}
}

func (o *owner) contend(r request) answer {
	until := time.Now().Add(r.ms("ms"))
	faults := 0
	take := r
	take.options = map[string]string{"wait": "30000", "lease": "30000"}
	for {
		if taken := o.lock(take); taken.result != "ok" {
			return taken
		}
		for _, script := range []string{"enter", "leave"} {
			found, err := referee.EvalSha(context.Background(), r.options[script],
				[]string{r.key}, r.kind, "redsync").Int()
			if err != nil {
				return answer{"error", err}
			}
			faults += found
		}
		if given := o.unlock(r); given.result != "ok" {
			return given
		}
		time.Sleep(pause)
		if time.Now().After(until) {
			return answer{"ok", faults}
		}
	}
}

// As often as it goes, and as redsync itself waits; value: how often.
func (o *owner) bench(r request) answer {
	mutex := redsyncs[r.kind].NewMutex(r.key, redsync.WithExpiry(benchLease), redsync.WithTries(longMs))
	turns := 0
	for until := time.Now().Add(r.ms("ms")); time.Now().Before(until); turns++ {
		if err := mutex.Lock(); err != nil {
			return resultOf(err, "busy")
		}
		if ok, err := mutex.Unlock(); !ok {
			return resultOf(err, "not-owner")
		}
	}
	return answer{"ok", turns}
}

func version() answer {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if strings.HasPrefix(module.Path, "github.com/go-redsync/redsync/") {
			return answer{"ok", "redsync-" + strings.TrimPrefix(module.Version, "v")}
		}
	}
	return answer{"error", "no version"}
}

func (o *owner) do(r request) answer {
	switch r.verb {
	case "lock":
		return o.lock(r)
	case "unlock":
		return o.unlock(r)
	case "renew":
		return o.renew(r)
	case "contend":
		return o.contend(r)
	case "bench":
		return o.bench(r)
	case "version":
		return version()
	}
	return answer{"error", "no such verb"}
}

func (o *owner) serve() {
	for r := range o.requests {
		began := monotonicNs()
		a := o.do(r)
		value := strings.Join(strings.Fields(fmt.Sprint(a.value)), "_")
		output.Lock()
		fmt.Println(r.id, a.result, value, began, monotonicNs())
		output.Unlock()
	}
}

func main() {
	var nodes []pools.Pool
	for i, url := range os.Args[1:] {
		client := connect(url)
		if i == 0 {
			referee = client
			redsyncs["mutex"] = redsync.New(goredis.NewPool(client))
		} else {
			nodes = append(nodes, goredis.NewPool(client))
		}
	}
	redsyncs["redlock"] = redsync.New(nodes...)
	owners := map[string]*owner{}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		r := parse(lines.Text())
		if owners[r.thread] == nil {
			owners[r.thread] = &owner{make(chan request, 64), map[string]*redsync.Mutex{}}
			go owners[r.thread].serve()
		}
		owners[r.thread].requests <- r
	}
	os.Exit(0)
}
