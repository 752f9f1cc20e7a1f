# One file, no recursion but to re-enter with another BUILD; only install writes outside build/BUILD/.
# Knobs: BUILD=release|debug|asan|tsan  CC=gcc|clang  WITH_TLS=1|0  LK_TEST_REDIS=URL  LANES=2  (see `make help`)

BUILD ?= release
ifeq ($(filter $(BUILD),release debug asan tsan),)
  $(error BUILD=$(BUILD) is unknown: release, debug, asan or tsan)
endif
ifeq ($(origin CC),default)
  CC := $(if $(filter asan,$(BUILD)),clang,gcc)
endif
# 0 leaves OpenSSL out of lockkit: no rediss URLs.
WITH_TLS ?= 1
O := build/$(BUILD)$(if $(filter 0,$(WITH_TLS)),-no-tls)
# Targets that build do so on all processors, unless make was given a -j of its own.
BUILD_ALL = @$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
# How many tests run side by side where most of them wait more than they compute.
LANES ?= 2
export LANES
VERSION := 0.1.0

# ---- flags ------------------------------------------------------------------------------------
WARN := -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion -Wformat=2 \
  -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wwrite-strings -Wcast-qual \
  -Wcast-align -Wpointer-arith -Wundef -Wvla -Walloca -Wswitch-enum -Wnull-dereference \
  -Wdouble-promotion -Wredundant-decls
ifneq ($(findstring clang,$(CC)),clang)
  WARN += -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wjump-misses-init
else
  WARN += -Wno-enum-float-conversion # our integer constants are values of an enum
endif
MODE_release := -O2 -g -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection
MODE_debug   := -O0 -g3
MODE_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
MODE_tsan    := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
# cmocka 2 has new names, which cmocka 1 does not know.
CPPFLAGS += -D_GNU_SOURCE -DSECKILL_VERSION='"$(VERSION)"' -DWITH_TLS=$(WITH_TLS) -Ilockkit/include \
  -DCMOCKA_DISABLE_DEPRECATION_WARNINGS
CFLAGS += -std=gnu17 -fPIE -pthread $(MODE_$(BUILD)) $(WARN)
LDFLAGS += -pie -pthread -Wl,-z,relro,-z,now,--as-needed $(filter -fsanitize% --coverage,$(MODE_$(BUILD)))
LIBS_lockkit := -lhiredis $(if $(filter 0,$(WITH_TLS)),,-lssl -lcrypto)
LIBS := -lcivetweb -ljansson -ljwt -lcurl -lcrypto $(LIBS_lockkit) -lm

# ---- sources: a new file joins by existing; main programs and tests are told apart by name ------
# What a file includes stands in its own folder, or under its house: app, loadtest, lockkit(/src).
SRC := $(sort $(shell find app loadtest lockkit -name '*.c'))
HDR := $(shell find app loadtest lockkit -name '*.h' -o -name '*.hpp' -o -name '*.cpp')
MAINS := app/seckilld.c app/ctl/seckillctl.c loadtest/loadtest.c loadtest/audit.c loadtest/proxy.c loadtest/report.c \
  lockkit/ctl/lockctl.c lockkit/bench/lockbench.c lockkit/torture/torture.c lockkit/history/history_check.c \
  lockkit/interop/lockkit_peer.c app/test/hostile/hostile.c
PROGRAMS := $(addprefix $(O)/,$(notdir $(MAINS:.c=)))
house = $(firstword $(subst /, ,$(1)))
# Whose archive a file is in, and what it is linked with: support, or app, loadtest, lockkit, bench, ctl.
area = $(or $(strip $(foreach a,bench ctl,$(if $(filter lockkit/$a/% lockkit/test/$a/%,$(1)),$a))),$(call house,$(1)))
obj = $(patsubst %.c,$(O)/obj/%.o,$(1))
tests = $(patsubst %.c,$(O)/test/%,$(filter $(1),$(SRC)))
PARTS := $(filter-out %_test.c %_itest.c %_interop.c %/clock_shim.c app/lab/exercises/% $(MAINS),$(SRC))
SUPPORT_DIRS := app/test/% loadtest/test/% lockkit/test/% lockkit/interop/% lockkit/torture/% lockkit/history/%
in_area = $(foreach f,$(filter-out $(SUPPORT_DIRS),$(PARTS)),$(if $(filter $(1),$(call area,$f)),$f))
UNITS    := $(call tests,%_test.c)
ITESTS   := $(call tests,%_itest.c) $(wildcard */test/*/*_itest.sh docker/test/*_itest.sh)
INTEROPS := $(call tests,%_interop.c)
tests_named = $(foreach t,$(1),$(filter %/$(t)_itest %/$(t)_itest.sh,$(ITESTS)))
PAGES := $(filter-out web/test/%,$(wildcard $(foreach t,html css js svg,web/*/*.$(t) web/*/*/*.$(t)))) \
  build/web/uplot/uplot.js build/web/uplot/uplot.css
SO := $(O)/liblockkit.so.$(VERSION)
LIBRARIES := $(O)/liblockkit.a $(SO)

.DELETE_ON_ERROR:
.SECONDARY:
.SECONDEXPANSION:
.SUFFIXES:
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)
all: $(PROGRAMS) $(LIBRARIES) ## build everything into build/release/ (default)

help: ## this text
	@awk -F ' *## *' '/^[a-z-]+:.*## /{sub(/:.*/, "", $$1); printf "  make %-11s %s\n", $$1, $$2}' Makefile
	@echo "  knobs: BUILD=release|debug|asan|tsan  CC=gcc|clang  WITH_TLS=1|0  LK_TEST_REDIS=redis://host:port  LANES=2 (tests side by side)"

# ---- what a user runs ----------------------------------------------------------------------------
demo: deps ## two instances, 20,000 buyers, 500 units: sell, then audit from outside
	$(BUILD_ALL) all
	@mkdir -p build/demo
	$(O)/loadtest --out build/demo

bench: deps ## measure every figure of service and locks; build/bench/result.json, locks.json
	$(BUILD_ALL) all
	$(O)/loadtest --bench --out build/bench
	$(O)/lockbench --json build/bench/locks.json

# A file that is there is not measured again; a verdict that fails is a result, too.
MEASURED := $(addprefix build/report/,verify/result.json sweep/result.json locks.json compare/result.json)
report: deps ## measure (5 minutes) unless that was done, or FRESH=1: build/report/index.html
	$(BUILD_ALL) all
	@$(if $(FRESH),rm -rf build/report)
	@$(MAKE) --no-print-directory -j1 $(MEASURED)
	$(O)/report --out build/report $(MEASURED) $(wildcard build/bench/result.json)
build/report/verify/result.json: measure := --stock 8000 --buyers 30000 --connections 1000 --repeat 5
build/report/sweep/result.json: measure := --sweep all --repeat 4
build/report/compare/result.json: measure := --guard all --repeat 2
build/report/%/result.json:
	$(O)/loadtest $(measure) --out $(@D) || [ -f $@ ]
build/report/locks.json:
	@mkdir -p $(@D)
	$(O)/lockbench --only rate- --only handover- --only pair- --repeat 5 --duration 0.2 --json $@ || [ -f $@ ]

KIND ?= single
up: docker-deps ## the deployment in docker, KIND=single|sentinel|cluster: three instances behind HAProxy
	@docker/deploy.sh up $(KIND)

images: docker-deps ## its images alone; PLATFORMS=linux/amd64,linux/arm64
	@docker/deploy.sh build

down: ## stop it; VOLUMES=1 deletes what was sold, too
	@docker/deploy.sh down $(if $(VOLUMES),--volumes)

docker-demo: ## load it through HAProxy, audit, verdict
	@docker/deploy.sh demo

docker-test: docker-deps promtool ## bring it up, load it, break it, audit it: every kind
	@.ci/deps curl=curl
	@docker/test/run

run: deps ## serve http://127.0.0.1:8080 with a sale ready to try
	$(BUILD_ALL) all
	@app/install/try $(O)

topology: deps ## a KIND=sentinel|cluster of Redis servers on this machine, until Ctrl-C
	@lockkit/tools/redis_set $(KIND:single=sentinel)

test: test-deps promtool haproxy ## every test, unit and integration; starts the servers it needs
	$(BUILD_ALL) all units itests
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory itest

units: $(UNITS)
itests: $(filter $(O)/%,$(ITESTS))

unit itest interop: export CMOCKA_MESSAGE_OUTPUT := TAP
unit: $(UNITS) ## unit tests alone: no network, seconds
	prove --timer -e '.ci/run-test 60' $(UNITS)

# Side by side, the longest first; those that measure speed, memory or single milliseconds, or load the
# whole machine themselves, come after, each alone. PAUSES=1: while processors stand still at random; then
# none that is alone, as pauses are what it measures.
REPEAT ?= 1
ALONE := $(call tests_named,bench bench_topology cluster compare crowd deployed_load fair_fault fair_process hostile loadtest \
  lockbench loss memory multi overload report restock sentinel_load)
LONG := $(call tests_named,torture exercise mutation_gate faults)
itest: $(ITESTS) $(PROGRAMS) $(LIBRARIES) sanitized ## integration tests alone, on real servers, REPEAT times [1]; PAUSES=1
	@BUILD_DIR=$(O) REPEAT=$(REPEAT) PAUSES=$(PAUSES) .ci/itest $(LONG) $(filter-out $(LONG) $(ALONE),$(ITESTS)) -- $(ALONE)

SECONDS ?= 600
torture: deps ## lockkit's locks among kills, pauses and cut links, for SECONDS [600]
	$(BUILD_ALL) $(O)/torture
	$(O)/torture --seconds $(SECONDS)

hostile: deps ## attack the service out of a grammar for SECONDS [600], SEED=N [random], with sanitizers too
	$(BUILD_ALL) $(O)/seckilld $(O)/hostile sanitized
	$(O)/hostile --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(O) build/asan build/tsan

# The service that the hostile table is tried on besides.
sanitized:
	$(BUILD_ALL) BUILD=asan build/asan/seckilld
	$(BUILD_ALL) BUILD=tsan build/tsan/seckilld

ON_VALKEY := $(call tests_named,native mutex reentrant fair spin fenced rwlock multi semaphore permits latch)
interop: deps ## contend with Redisson, redis-py, node-redlock, redsync (fetched); and on Valkey
	$(BUILD_ALL) $(INTEROPS) $(O)/lockkit_peer $(ON_VALKEY)
	@lockkit/interop/run build/interop $(INTEROPS)
	PATH="$(CURDIR)/build/interop/valkey:$$PATH" prove -j$(LANES) --timer -e '.ci/run-test 120' $(ON_VALKEY)

SERVER_TESTS := $(ON_VALKEY) $(filter-out %/acl_itest,$(call tests_named,script redlock wait sentinel cluster \
  store store_admin script_args script_keys guard redlock_guard sold_out)) $(O)/test/lockkit/test/wire/acl_itest
servers: interop ## locks, sale and rivals on Redis 6.2 to 8.6 and Valkey 7.2 to 9.1 (fetched); a table
	$(BUILD_ALL) $(SERVER_TESTS)
	@lockkit/interop/servers build/servers $(SERVER_TESTS) $(INTEROPS)

mutants: deps ## build lockkit and the service with known faults; fail unless their tests find each
	@.ci/mutants

portability: ## `make demo` and `make test` on bare systems, SYSTEMS="bookworm trixie sid noble arm64"; SHORT=1
	@.ci/portability

lab: deps ## play every scenario of the lock lab, REPEAT times [1]: same verdicts, same events
	$(BUILD_ALL) $(O)/seckillctl
	@mkdir -p build/lab
	@seq $(REPEAT) | xargs -P$(LANES) -I% sh -c '$(O)/seckillctl lab run all --json >build/lab/run-%.json || exit 255'
	@for run in $$(seq $(REPEAT)); do cmp build/lab/run-1.json build/lab/run-$$run.json || exit 1; done
	@$(O)/seckillctl lab list
	@echo "lab: $(REPEAT) runs of all scenarios, each verdict as expected, the same events in the same order"

EXERCISE := $(call obj,app/seckilld.c $(addprefix app/lab/exercises/,exercise.c load.c score.c)) $(O)/libapp.a $(O)/liblockkit.a
exercise: deps ## judge a guard of your own, FILE=mine.c: faults at every point, a load, a score card
	@app/lab/exercises/run --check '$(FILE)'
	$(BUILD_ALL) $(EXERCISE) $(O)/loadtest $(O)/seckillctl
	@CC='$(CC)' CFLAGS='$(filter -fsanitize%,$(MODE_$(BUILD)))' LDFLAGS='$(LDFLAGS)' LIBS='$(LIBS)' \
	  app/lab/exercises/run $(O) '$(FILE)'

webtest: deps build/webtest/npm.done ## the pages in a real browser (Chromium); pictures of them in build/webtest/
	@.ci/deps chromium fonts-noto-cjk
	$(BUILD_ALL) $(O)/seckilld $(O)/seckillctl
	@BUILD_DIR=$(O) WEBTEST_DIR=build/webtest web/test/run

model: ## check the protocols by spin, the known-wrong variants too (minutes); build/model/
	@.ci/deps spin gcc libc6-dev
	@lockkit/model/run build/model

# ---- what a commit must pass ---------------------------------------------------------------------
# On Debian 12: what clang-format 14 leaves as it is others would change.
check: check-deps fmt-check rooms lint weblint asan tsan ## format, rooms, lint, unit tests under sanitizers
	$(BUILD_ALL) BUILD=release CC=gcc all

asan: ## unit tests under address and undefined-behaviour sanitizers (clang)
	$(BUILD_ALL) BUILD=asan all units
	@$(MAKE) --no-print-directory BUILD=asan unit

tsan: ## unit tests under the thread sanitizer (gcc)
	$(BUILD_ALL) BUILD=tsan all units
	@$(MAKE) --no-print-directory BUILD=tsan unit

PRETTIER := cd web && $(CURDIR)/build/webtest/node_modules/.bin/prettier --log-level warn
fmt: build/webtest/npm.done ## format the C files and the pages in place
	clang-format -i $(SRC) $(HDR)
	@$(PRETTIER) --write .

fmt-check:
	@echo 'clang-format --dry-run -Werror: $(words $(SRC) $(HDR)) files'
	@clang-format --dry-run -Werror $(SRC) $(HDR)

weblint: build/webtest/npm.done ## the pages' scripts: prettier and eslint
	@$(PRETTIER) --check .
	@cd web && $(CURDIR)/build/webtest/node_modules/.bin/eslint --max-warnings 0 .

rooms: ## each dependency behind its one door, arrows one way
	@.ci/rooms

house: deps ## how the house is kept, in figures: folders, circles, names, sizes
	$(BUILD_ALL) all
	@.ci/house $(O)/obj

lint: ## clang-tidy, cppcheck, shellcheck
	@CPPFLAGS='$(CPPFLAGS)' .ci/lint $(O) $(SRC)

# ---- installing: a row is MODE:FILE:PLACE under PREFIX; a link is WHERE-TO:PLACE -----------------------
# LIBDIR is under PREFIX, too: distributions have lib64 or lib/x86_64-linux-gnu.
PREFIX ?= /usr/local
LIBDIR ?= lib
place = $(foreach f,$(2),644:$(f):$(1)/$(notdir $(f)))
INSTALLED := 755:$(O)/seckilld:sbin/seckilld 755:$(O)/seckillctl:bin/seckillctl 755:$(O)/lockctl:bin/lockctl \
  $(foreach p,loadtest audit proxy report,755:$(O)/$(p):bin/seckill-$(p)) $(call place,$(LIBDIR),$(LIBRARIES)) \
  $(call place,include/lockkit,$(wildcard lockkit/include/lockkit/*.h*)) \
  $(call place,share/seckill/wrk,$(wildcard loadtest/wrk/*.lua)) \
  $(foreach n,1 3 8,$(call place,share/man/man$(n),$(wildcard */install/*.$(n)))) \
  644:app/install/seckill.bash:share/bash-completion/completions/seckillctl \
  644:lockkit/install/lockctl.bash:share/bash-completion/completions/lockctl \
  644:app/install/seckilld.service:lib/systemd/system/seckilld.service \
  644:lockkit/install/lockkit.pc.in:$(LIBDIR)/pkgconfig/lockkit.pc
LINKS := liblockkit.so.$(VERSION):$(LIBDIR)/liblockkit.so.0 liblockkit.so.0:$(LIBDIR)/liblockkit.so \
  seckillctl:share/bash-completion/completions/seckilld
dest := $(DESTDIR)$(abspath $(PREFIX))
# What lockkit links, by the names that pkg-config has for it.
REQUIRES = $(patsubst crypto,libcrypto,$(patsubst ssl,libssl,$(LIBS_lockkit:-l%=%)))

install: all ## under PREFIX [/usr/local], and all that below DESTDIR
	@set -e; IFS=:; for row in $(INSTALLED); do set -- $$row; install -D -m "$$1" "$$2" "$(dest)/$$3"; done
	@set -e; IFS=:; for row in $(LINKS); do set -- $$row; ln -sf "$$1" "$(dest)/$$2"; done
	@cd "$(dest)" && sed -i -e 's|@PREFIX@|$(abspath $(PREFIX))|; s|@VERSION@|$(VERSION)|' \
	  -e 's|@LIBDIR@|$(LIBDIR)|; s|@REQUIRES@|$(REQUIRES)|' $(LIBDIR)/pkgconfig/lockkit.pc lib/systemd/system/seckilld.service
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true
	@echo "installed into $(dest)"

uninstall: ## remove what install put there
	@cd "$(dest)" && rm -f $(foreach row,$(INSTALLED) $(LINKS),$(lastword $(subst :, ,$(row))))
	@cd "$(dest)" && rmdir include/lockkit share/seckill/wrk share/seckill 2>/dev/null || true

# ---- packages --------------------------------------------------------------------------------------
FETCHED := build/web/npm.done build/web/uplot/uplot.js build/web/uplot/uplot.css
dist: $(FETCHED) ## a tarball of what is committed, the same bytes each time: build/dist/
	@.ci/package dist seckill-$(VERSION) $(FETCHED)

deb: deps dist ## Debian packages of it, judged by lintian: build/deb/; the unit tests, too: DEB_BUILD_OPTIONS=
	@.ci/package deb seckill-$(VERSION)

abi: deps $(SO) ## what programs rely on in liblockkit.so is as in the newest tag
	@.ci/deps abidiff=abigail-tools git=git
	@.ci/abi $(SO)

deps: ## install what is missing to build and test (apt)
	@.ci/deps --build

test-deps: ## install what `make test` needs besides
	@.ci/deps --build --test

check-deps: ## install what `make check` needs besides
	@.ci/deps --build --test --check

docker-deps: ## install an engine and compose where there are none (apt)
	@docker info >/dev/null 2>&1 || PATH="$$PATH:/usr/sbin" .ci/deps docker=docker.io dockerd=docker.io iptables=iptables
	@docker compose version >/dev/null 2>&1 || .ci/deps docker-compose=docker-compose
	@.ci/deps make node=nodejs npm=npm

promtool: build/tools/promtool ## fetch the program that the tests have judge /metrics (apt)
haproxy: build/tools/haproxy ## fetch the proxy that deployments have in front (apt)
build/tools/promtool: file = usr/bin/promtool $@ promtool prometheus
build/tools/haproxy: file = usr/sbin/haproxy $@ haproxy
build/tools/%: | deps
	@.ci/deps --file $(file)

clean: ## remove build/
	rm -rf build

# ---- rules -----------------------------------------------------------------------------------------
$(O)/libapp.a: $(patsubst %,$(O)/gen/%.o,app_scripts app_documents guard_sources pages_table)
$(O)/liblockkit.a: $(O)/gen/lockkit_scripts.o
$(O)/libsupport.a: $(call obj,$(filter $(SUPPORT_DIRS),$(PARTS)))
$(foreach a,app loadtest lockkit bench ctl,$(eval $(O)/lib$a.a: $(call obj,$(call in_area,$a))))
$(O)/%.a:
	@echo "  AR    $@"
	@rm -f $@ && $(AR) qcs $@ $^

$(SO): $(call obj,$(call in_area,lockkit)) $(O)/gen/lockkit_scripts.o lockkit/install/lockkit.map
	@echo "  LD    $@"
	@$(CC) $(filter-out -pie,$(LDFLAGS)) -shared -Wl,-soname,liblockkit.so.0,-z,nodelete \
	  -Wl,--version-script=lockkit/install/lockkit.map -o $@ $(filter %.o,$^) $(LIBS_lockkit)
$(O)/clock_shim.so: lockkit/test/support/clock_shim.c
	@echo "  LD    $@"
	@$(CC) $(CPPFLAGS) -std=gnu17 -O2 $(WARN) -fPIC -shared -o $@ $<

# A program is its main and archives, a test its file; a line "link: FLAGS" in its head adds flags (--wrap seams).
main = $(if $(filter $(O)/test/%,$(1)),$(patsubst $(O)/test/%,%.c,$(1)),$(filter %/$(notdir $(1)).c,$(MAINS)))
archives = $(addprefix $(O)/,$(if $(filter $(SUPPORT_DIRS) %_test.c,$(1)),libsupport.a) lib$(call area,$(1)).a liblockkit.a)
extra = $(shell sed -n '1,12s/^.*link: *\(-[^*]*\).*$$/\1/p' $(1))
$(PROGRAMS) $(UNITS) $(filter $(O)/%,$(ITESTS)) $(INTEROPS): $$(call obj,$$(call main,$$@)) $$(call archives,$$(call main,$$@))
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(call extra,$(call main,$@)) -o $@ $^ $(LIBS) $(if $(filter $(O)/libsupport.a,$^),-lcmocka)
$(O)/lockbench: | $(O)/lockkit_peer $(O)/proxy
$(call tests_named,tls): | $(O)/lockctl
$(call tests_named,redlock_break): | $(O)/clock_shim.so

$(O)/obj/lockkit/%.o: CPPFLAGS += -Ilockkit/src
$(O)/obj/lockkit/%.o $(O)/gen/lockkit_scripts.o: CFLAGS += -fPIC -fno-semantic-interposition
# What the service's threads run: their stack is 256 KiB (app/base/stack.h).
ifeq ($(BUILD),release)
$(call obj,$(call in_area,app lockkit)): CFLAGS += -Wframe-larger-than=24576
endif
$(O)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CC) $(CPPFLAGS) -I$(call house,$<) -Ilockkit $(CFLAGS) -MMD -MP -c -o $@ $<

$(O)/gen/%.o: $(O)/gen/%.c
	@$(CC) $(CPPFLAGS) -Iapp $(CFLAGS) -Wno-overlength-strings -c -o $@ $<
$(O)/gen/lockkit_scripts.c: $(wildcard lockkit/scripts/*.lua)
$(O)/gen/app_scripts.c: $(wildcard app/store/scripts/*.lua)
$(O)/gen/app_documents.c: app/serve/openapi.json
$(O)/gen/guard_sources.c: $(wildcard $(foreach d,app/guards app/guards/hand app/guards/flawed,$d/*.[ch])) \
  app/lab/stage/unmarked.c app/lab/stage/lock_elsewhere.c
$(O)/gen/%.c: lockkit/scripts/embed.awk Makefile
	@mkdir -p $(@D)
	@echo "  EMBED $@"
	@sha1sum $(filter %.lua %.json %.c %.h,$^) > $@.sha1
	@awk -v table=$* -f lockkit/scripts/embed.awk $@.sha1 $(filter %.lua %.json %.c %.h,$^) > $@.part
	@mv $@.part $@

# ---- pages: a new file in a folder of web/ joins by existing; npm only fetches, and once ---------------
$(O)/gen/pages_table.o: app/serve/pages.h
$(O)/gen/pages_table.c: web/embed.sh $(PAGES) $(filter web/%,$(sort $(dir $(PAGES)))) Makefile
	@mkdir -p $(@D)
	@echo "  EMBED $@"
	@web/embed.sh $(PAGES) > $@.part
	@mv $@.part $@
build/web/npm.done: flags := --omit=dev
build/%/npm.done: web/fetch.sh web/package.json web/package-lock.json
	@.ci/deps node=nodejs npm=npm
	@echo "  NPM   $(@D)"
	@web/fetch.sh $(@D) $(flags)
	@touch $@
build/web/uplot/uplot.js build/web/uplot/uplot.css &: build/web/npm.done
	@web/fetch.sh --uplot build/web

-include $(shell find $(O) -name '*.d' 2>/dev/null)
