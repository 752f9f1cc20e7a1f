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
PARALLEL = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
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
CPPFLAGS += -D_GNU_SOURCE -DSECKILL_VERSION='"$(VERSION)"' -DWITH_TLS=$(WITH_TLS) -Ilockkit/include
# cmocka 2 has new names, which cmocka 1 does not know.
CPPFLAGS += -DCMOCKA_DISABLE_DEPRECATION_WARNINGS
CFLAGS += -std=gnu17 -fPIE -pthread $(MODE_$(BUILD)) $(WARN)
LDFLAGS += -pie -pthread -Wl,-z,relro,-z,now $(filter -fsanitize%,$(MODE_$(BUILD)))
LIBS_tls      := $(if $(filter 0,$(WITH_TLS)),,-lssl -lcrypto)
LIBS_lockkit  := -lhiredis $(LIBS_tls)
LIBS_app      := -lcivetweb -ljansson -ljwt -lcrypto -lcurl -lhiredis $(LIBS_tls)
LIBS_loadtest := -lhiredis -ljansson -lcurl -lm $(LIBS_tls)

# ---- sources: a new file joins by existing; main programs and tests are told apart by name ------
MAINS := app/seckilld.c app/seckillctl.c loadtest/loadtest.c loadtest/audit_main.c loadtest/proxy.c loadtest/report_main.c app/itest/hostile.c \
  lockkit/itest/history_check_main.c lockkit/itest/clock_shim.c lockkit/itest/torture.c lockkit/interop/lockkit_peer.c \
  lockkit/bench/lockbench.c lockkit/ctl/lockctl.c
src = $(filter-out %_test.c %_itest.c %_interop.c $(MAINS),$(wildcard $(1)))
obj = $(patsubst %.c,$(O)/obj/%.o,$(1))
SRC_lockkit  := $(call src,lockkit/src/*.c)
SRC_bench    := $(call src,lockkit/bench/*.c)
SRC_ctl      := $(call src,lockkit/ctl/*.c)
SRC_app      := $(call src,app/*.c app/guards/*.c app/lab/*.c)
SRC_loadtest := $(call src,loadtest/*.c)
UNIT_SRC  := $(wildcard lockkit/src/*_test.c lockkit/itest/*_test.c lockkit/bench/*_test.c lockkit/ctl/*_test.c app/*_test.c app/guards/*_test.c app/lab/*_test.c loadtest/*_test.c)
ITEST_SRC := $(wildcard lockkit/itest/*_itest.c app/itest/*_itest.c loadtest/itest/*_itest.c)
INTEROP_SRC := $(wildcard lockkit/interop/*_interop.c)
SUPPORT_SRC := $(call src,lockkit/itest/*.c lockkit/interop/*.c app/itest/*.c loadtest/itest/*.c)
EXERCISE_SRC := $(wildcard app/lab/exercises/*.c app/lab/exercises/solutions/*.c)
ALL_SRC := $(EXERCISE_SRC) $(SRC_lockkit) $(SRC_bench) $(SRC_ctl) $(SRC_app) $(SRC_loadtest) $(wildcard $(MAINS)) $(UNIT_SRC) $(ITEST_SRC) $(INTEROP_SRC) $(SUPPORT_SRC)
ALL_HDR := $(wildcard lockkit/include/lockkit/*.h* lockkit/itest/*.cpp lockkit/*/*.h app/*.h app/*/*.h app/lab/exercises/*.h loadtest/*.h loadtest/*/*.h)
PROGRAMS := $(addprefix $(O)/,seckilld seckillctl loadtest audit proxy report history_check torture lockbench lockctl hostile)
PAGES := $(filter-out web/test/%,$(wildcard $(foreach t,html css js svg,web/*/*.$(t)))) build/web/uplot/uplot.js build/web/uplot/uplot.css
LIBRARIES := $(O)/liblockkit.a $(O)/liblockkit.so.$(VERSION)
UNITS  := $(patsubst %.c,$(O)/test/%,$(UNIT_SRC))
ITESTS := $(patsubst %.c,$(O)/test/%,$(ITEST_SRC)) $(wildcard */itest/*_itest.sh)
INTEROPS := $(patsubst %.c,$(O)/test/%,$(INTEROP_SRC))
ON_VALKEY := $(foreach t,native mutex reentrant fair spin fenced rwlock multi semaphore permits latch,$(O)/test/lockkit/itest/$(t)_itest)

PACKAGES := gcc libc6-dev make pkg-config redis-server libhiredis-dev libcivetweb-dev libjansson-dev \
  libcurl4-openssl-dev libcmocka-dev libjwt-dev libssl-dev openssl wrk perl g++ gnuplot-nox node=nodejs npm=npm
TEST_PACKAGES := clang libclang-rt-dev gdb abigail-tools
CHECK_PACKAGES := clang-format clang-tidy cppcheck mandoc groff-base systemd shellcheck

.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:
.PHONY: house images dist deb abi portability haproxy hostile sanitized units itests up down docker-demo docker-test docker-deps webtest weblint report lab exercise model mutants all help deps test-deps check-deps promtool demo bench run topology test unit itest torture interop servers check fmt fmt-check lint rooms asan tsan clean install uninstall
all: $(PROGRAMS) $(LIBRARIES) ## build everything into build/release/ (default)

help: ## this text
	@awk -F ' *## *' '/^[a-z-]+:.*## /{sub(/:.*/, "", $$1); printf "  make %-11s %s\n", $$1, $$2}' Makefile
	@echo "  knobs: BUILD=release|debug|asan|tsan  CC=gcc|clang  WITH_TLS=1|0  LK_TEST_REDIS=redis://host:port  LANES=2 (tests side by side)"

# ---- what a user runs ----------------------------------------------------------------------------
demo: deps ## two instances, 20,000 buyers, 500 units: sell, then audit from outside
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@mkdir -p build/demo
	$(O)/loadtest --out build/demo

bench: deps ## measure every figure of service and locks; build/bench/result.json, locks.json
	@$(MAKE) --no-print-directory $(PARALLEL) all
	$(O)/loadtest --bench --out build/bench
	$(O)/lockbench --json build/bench/locks.json

# A file that is there is not measured again; a verdict that fails is a result, too.
MEASURED := $(addprefix build/report/,verify/result.json sweep/result.json locks.json compare/result.json)
report: deps ## measure (5 minutes) unless that was done, or FRESH=1: build/report/index.html
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@$(if $(FRESH),rm -rf build/report)
	@$(MAKE) --no-print-directory -j1 $(MEASURED)
	$(O)/report --out build/report $(MEASURED) $(wildcard build/bench/result.json)

build/report/verify/result.json:
	$(O)/loadtest --stock 8000 --buyers 30000 --connections 1000 --repeat 5 --out $(@D) || [ -f $@ ]
build/report/sweep/result.json:
	$(O)/loadtest --sweep all --repeat 4 --out $(@D) || [ -f $@ ]
build/report/locks.json:
	@mkdir -p $(@D)
	$(O)/lockbench --only rate- --only handover- --only pair- --repeat 5 --duration 0.2 --json $@ || [ -f $@ ]
build/report/compare/result.json:
	$(O)/loadtest --guard all --repeat 2 --out $(@D) || [ -f $@ ]

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
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@.ci/run-service $(O)

topology: deps ## a KIND=sentinel|cluster of Redis servers on this machine, until Ctrl-C
	@.ci/topology $(KIND:single=sentinel)

test: test-deps promtool haproxy ## every test, unit and integration; starts the servers it needs
	@$(MAKE) --no-print-directory $(PARALLEL) all units itests
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory itest

units: $(UNITS)
itests: $(filter $(O)/%,$(ITESTS))

unit itest: export CMOCKA_MESSAGE_OUTPUT := TAP
unit: $(UNITS) ## unit tests alone: no network, seconds
	prove --timer -e '.ci/run-test 60' $(UNITS)

# Side by side, the longest first; those that measure speed, memory or single milliseconds, or load the
# whole machine themselves, come after, each alone.
tests_named = $(foreach t,$(1),$(filter %/$(t)_itest %/$(t)_itest.sh,$(ITESTS)))
ALONE := $(call tests_named,bench bench_topology cluster compare crowd deployed_load fair_fault fair_process hostile loadtest \
  lockbench loss memory multi overload report restock sentinel_load)
LONG := $(call tests_named,torture exercise mutation_gate faults)
BESIDE := $(LONG) $(filter-out $(LONG) $(ALONE),$(ITESTS))
# PAUSES=1: while processors stand still at random; then none that is alone, as pauses are what it measures.
itest: $(ITESTS) $(PROGRAMS) $(LIBRARIES) sanitized ## integration tests alone, on real servers, REPEAT times [1]; PAUSES=1
	@echo 'itest: $(words $(BESIDE)) programs, $(LANES) at a time; then $(words $(ALONE)), each alone'
	@export BUILD_DIR=$(O) FAILED=$(CURDIR)/$(O)/failed; rm -f $$FAILED; status=0; for round in $$(seq $(REPEAT)); do \
	$(if $(PAUSES),.ci/pauses) prove -j$(LANES) --timer -e '.ci/run-test 300' $(BESIDE) || status=1; \
	$(if $(PAUSES),,prove --timer -e '.ci/run-test 300' $(ALONE) || status=1;) done; \
	[ $$status -eq 0 ] || { echo 'itest: what failed:'; cat $$FAILED; }; exit $$status

SECONDS ?= 600
torture: deps ## lockkit's locks among kills, pauses and cut links, for SECONDS [600]
	@$(MAKE) --no-print-directory $(PARALLEL) $(O)/torture
	$(O)/torture --seconds $(SECONDS)

hostile: deps ## attack the service out of a grammar for SECONDS [600], SEED=N [random], with sanitizers too
	@$(MAKE) --no-print-directory $(PARALLEL) $(O)/seckilld $(O)/hostile
	@$(MAKE) --no-print-directory sanitized
	$(O)/hostile --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(O) build/asan build/tsan

# The service that the hostile table is tried on besides.
sanitized:
	@$(MAKE) --no-print-directory $(PARALLEL) BUILD=asan build/asan/seckilld
	@$(MAKE) --no-print-directory $(PARALLEL) BUILD=tsan build/tsan/seckilld

interop: export CMOCKA_MESSAGE_OUTPUT := TAP
interop: deps ## contend with Redisson, redis-py, node-redlock, redsync (fetched); and on Valkey
	@$(MAKE) --no-print-directory $(PARALLEL) $(INTEROPS) $(O)/test/lockkit/interop/lockkit_peer $(ON_VALKEY)
	@lockkit/interop/run build/interop $(INTEROPS)
	PATH="$(CURDIR)/build/interop/valkey:$$PATH" prove -j$(LANES) --timer -e '.ci/run-test 120' $(ON_VALKEY)

SERVER_TESTS := $(ON_VALKEY) $(foreach t,script acl redlock wait sentinel cluster,$(O)/test/lockkit/itest/$(t)_itest) \
  $(foreach t,store store_admin script script_args script_keys guard redlock_guard sold_out,$(O)/test/app/itest/$(t)_itest)
servers: interop ## locks, sale and rivals on Redis 6.2 to 8.6 and Valkey 7.2 to 9.1 (fetched); a table
	@$(MAKE) --no-print-directory $(PARALLEL) $(SERVER_TESTS)
	@lockkit/interop/servers build/servers $(SERVER_TESTS) $(INTEROPS)

mutants: deps ## build lockkit and the service with known faults; fail unless their tests find each
	@.ci/mutants

portability: ## `make demo` and `make test` on bare systems, SYSTEMS="bookworm trixie sid noble arm64"; SHORT=1
	@.ci/portability

REPEAT ?= 1
lab: deps ## play every scenario of the lock lab, REPEAT times [1]: same verdicts, same events
	@$(MAKE) --no-print-directory $(PARALLEL) $(O)/seckillctl
	@mkdir -p build/lab
	@seq $(REPEAT) | xargs -P$(LANES) -I% sh -c '$(O)/seckillctl lab run all --json >build/lab/run-%.json || exit 255'
	@for run in $$(seq $(REPEAT)); do cmp build/lab/run-1.json build/lab/run-$$run.json || exit 1; done
	@$(O)/seckillctl lab list
	@echo "lab: $(REPEAT) runs of all scenarios, each verdict as expected, the same events in the same order"

exercise: deps ## judge a guard of your own, FILE=mine.c: faults at every point, a load, a score card
	@app/lab/exercises/run --check '$(FILE)'
	@$(MAKE) --no-print-directory $(PARALLEL) $(call obj,app/seckilld.c $(addprefix app/lab/exercises/,exercise.c load.c score.c)) \
	  $(O)/libapp.a $(O)/liblockkit.a $(O)/loadtest $(O)/seckillctl
	@CC='$(CC)' CFLAGS='$(filter -fsanitize%,$(MODE_$(BUILD)))' LDFLAGS='$(LDFLAGS)' LIBS='$(LIBS_app)' \
	  app/lab/exercises/run $(O) '$(FILE)'

WEB_TESTS := $(wildcard web/test/*.test.mjs)
webtest: deps ## the pages in a real browser (Chromium); pictures of them in build/webtest/
	@.ci/deps chromium fonts-noto-cjk
	@$(MAKE) --no-print-directory $(PARALLEL) $(O)/seckilld $(O)/seckillctl build/webtest/npm.done
	@export BUILD_DIR=$(O) WEBTEST_DIR=build/webtest; status=0; \
	node --test --test-concurrency=2 --test-reporter=spec $(filter-out %/first-page.test.mjs,$(WEB_TESTS)) || status=1; \
	node --test --test-reporter=spec web/test/first-page.test.mjs || status=1; exit $$status

model: ## check the protocols by spin, the known-wrong variants too (minutes); build/model/
	@.ci/deps spin gcc libc6-dev
	@lockkit/model/run build/model

# ---- what a commit must pass ---------------------------------------------------------------------
# On Debian 12: what clang-format 14 leaves as it is others would change.
check: check-deps fmt-check rooms lint weblint asan tsan ## format, rooms, lint, unit tests under sanitizers
	@$(MAKE) --no-print-directory $(PARALLEL) BUILD=release CC=gcc all

asan: ## unit tests under address and undefined-behaviour sanitizers (clang)
	@$(MAKE) --no-print-directory $(PARALLEL) BUILD=asan all units
	@$(MAKE) --no-print-directory BUILD=asan unit

tsan: ## unit tests under the thread sanitizer (gcc)
	@$(MAKE) --no-print-directory $(PARALLEL) BUILD=tsan all units
	@$(MAKE) --no-print-directory BUILD=tsan unit

fmt: build/webtest/npm.done ## format the C files and the pages in place
	clang-format -i $(ALL_SRC) $(ALL_HDR)
	@cd web && $(CURDIR)/build/webtest/node_modules/.bin/prettier --write --log-level warn .

fmt-check:
	clang-format --dry-run -Werror $(ALL_SRC) $(ALL_HDR)

weblint: build/webtest/npm.done ## the pages' scripts: prettier and eslint
	@cd web && $(CURDIR)/build/webtest/node_modules/.bin/prettier --check --log-level warn .
	@cd web && $(CURDIR)/build/webtest/node_modules/.bin/eslint --max-warnings 0 .

rooms: ## each dependency behind its one door, arrows one way
	@.ci/rooms

house: deps ## how the house is kept, in figures: folders, circles, names, sizes
	@.ci/deps ctags=universal-ctags
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@.ci/house $(O)/obj

lint: $(O)/compile_commands.json ## clang-tidy, cppcheck, shellcheck
	@ls -S $(ALL_SRC) | xargs -P$(shell nproc) -n4 clang-tidy --quiet -p $(O)
	cppcheck --quiet --error-exitcode=1 --enable=warning,performance,portability --inline-suppr \
	  --std=c11 -Ilockkit/include --suppress=missingIncludeSystem --suppress=unknownMacro -j$(shell nproc) -i lockkit/itest/hpp_checks.cpp lockkit app loadtest
	shellcheck -S warning -x -P SCRIPTDIR $$(git ls-files | xargs grep -lE '^#!/bin/(ba)?sh|^# shellcheck shell=')

$(O)/compile_commands.json: Makefile $(ALL_SRC)
	@mkdir -p $(@D)
	@{ echo '['; sep=; for f in $(ALL_SRC); do \
	  printf '%s{"directory":"%s","file":"%s","arguments":["clang"' "$$sep" "$(CURDIR)" "$$f"; \
	  for a in $(CPPFLAGS_json) -std=gnu17 -I$$(dirname $$f) -I$${f%%/*}; do printf ',"%s"' "$$a"; done; \
	  printf ',"-c","%s"]}\n' "$$f"; sep=,; done; echo ']'; } > $@.part
	@mv $@.part $@
CPPFLAGS_json := -D_GNU_SOURCE -DSECKILL_VERSION=\\\"$(VERSION)\\\" -DWITH_TLS=$(WITH_TLS) -Ilockkit/include

# ---- installing: a row is MODE:FILE:PLACE under PREFIX; a link is WHERE-TO:PLACE -----------------------
# LIBDIR is under PREFIX, too: distributions have lib64 or lib/x86_64-linux-gnu.
PREFIX ?= /usr/local
LIBDIR ?= lib
place = $(foreach f,$(2),644:$(f):$(1)/$(notdir $(f)))
INSTALLED := 755:$(O)/seckilld:sbin/seckilld 755:$(O)/seckillctl:bin/seckillctl 755:$(O)/lockctl:bin/lockctl \
  $(foreach p,loadtest audit proxy report,755:$(O)/$(p):bin/seckill-$(p)) $(call place,$(LIBDIR),$(LIBRARIES)) \
  $(call place,include/lockkit,$(wildcard lockkit/include/lockkit/*.h*)) \
  $(call place,share/seckill/wrk,$(wildcard loadtest/wrk/*.lua)) \
  $(foreach n,1 3 8,$(call place,share/man/man$(n),$(wildcard app/*.$(n) lockkit/*.$(n)))) \
  644:app/seckill.bash:share/bash-completion/completions/seckillctl \
  644:lockkit/lockctl.bash:share/bash-completion/completions/lockctl \
  644:app/seckilld.service:lib/systemd/system/seckilld.service \
  644:lockkit/lockkit.pc.in:$(LIBDIR)/pkgconfig/lockkit.pc
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
NAME := seckill-$(VERSION)
DEB_BUILD_OPTIONS ?= nocheck
FETCHED := build/web/npm.done build/web/uplot/uplot.js build/web/uplot/uplot.css
# The time of all files is the commit's; what npm fetched goes along, so that it builds without network.
dist: $(FETCHED) ## a tarball of what is committed, the same bytes each time: build/dist/
	@.ci/deps git=git
	@mkdir -p build/dist
	@git -c tar.umask=0022 archive --output=build/dist/$(NAME).tar \
	  $(foreach f,$(FETCHED),--prefix=$(NAME)/$(dir $(f)) --add-file=$(f)) --prefix=$(NAME)/ HEAD
	@gzip -9nf build/dist/$(NAME).tar
	@echo "made build/dist/$(NAME).tar.gz"

# .debian becomes debian, the name that dpkg wants, beside the tarball's files: the top folder is the project's.
deb: deps dist ## Debian packages of it, judged by lintian: build/deb/; the unit tests, too: DEB_BUILD_OPTIONS=
	@.ci/deps build-essential debhelper help2man lintian
	@rm -rf build/deb && mkdir -p build/deb && tar -xf build/dist/$(NAME).tar.gz -C build/deb
	@mv build/deb/$(NAME)/.debian build/deb/$(NAME)/debian
	@install -D -m 644 build/web/node_modules/uplot/dist/uPlot.iife.js build/deb/$(NAME)/debian/missing-sources/uplot.js
	@cd build/deb/$(NAME) && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL DEB_BUILD_OPTIONS='$(DEB_BUILD_OPTIONS)' \
	  dpkg-buildpackage -us -uc >../build.log 2>&1 || { tail -n 20 ../build.log; exit 1; }
	@lintian -i --fail-on error,warning --suppress-tags bogus-mail-host build/deb/*.changes
	@ls build/deb/*.deb

abi: deps $(O)/liblockkit.so.$(VERSION) ## what programs rely on in liblockkit.so is as in the newest tag
	@.ci/deps abidiff=abigail-tools git=git
	@.ci/abi $(O)/liblockkit.so.$(VERSION)

deps: ## install what is missing to build and test (apt)
	@.ci/deps $(PACKAGES)

test-deps: ## install what `make test` needs besides
	@.ci/deps $(PACKAGES) $(TEST_PACKAGES)

check-deps: ## install what `make check` needs besides
	@.ci/deps $(PACKAGES) $(TEST_PACKAGES) $(CHECK_PACKAGES)

docker-deps: ## install an engine and compose where there are none (apt)
	@docker info >/dev/null 2>&1 || PATH="$$PATH:/usr/sbin" .ci/deps docker=docker.io dockerd=docker.io iptables=iptables
	@docker compose version >/dev/null 2>&1 || .ci/deps docker-compose=docker-compose
	@.ci/deps make node=nodejs npm=npm

promtool: build/tools/promtool ## fetch the program that the tests have judge /metrics (apt)
build/tools/promtool: | deps
	@.ci/deps --file usr/bin/promtool $@ promtool prometheus

haproxy: build/tools/haproxy ## fetch the proxy that deployments have in front (apt)
build/tools/haproxy: | deps
	@.ci/deps --file usr/sbin/haproxy $@ haproxy

clean: ## remove build/
	rm -rf build

# ---- rules -----------------------------------------------------------------------------------------
$(O)/liblockkit.a: $(call obj,$(SRC_lockkit)) $(O)/gen/lockkit_scripts.o
$(O)/libapp.a: $(call obj,$(SRC_app)) $(O)/gen/app_scripts.o $(O)/gen/app_documents.o $(O)/gen/guard_sources.o $(O)/gen/pages_table.o
$(O)/libloadtest.a: $(call obj,$(SRC_loadtest))
$(O)/liblockbench.a: $(call obj,$(SRC_bench))
$(O)/liblockctl.a: $(call obj,$(SRC_ctl))
$(O)/libsupport.a: $(call obj,$(SUPPORT_SRC))
$(O)/%.a:
	@echo "  AR    $@"
	@rm -f $@ && $(AR) rcs $@ $^
$(O)/liblockkit.so.$(VERSION): $(call obj,$(SRC_lockkit)) $(O)/gen/lockkit_scripts.o lockkit/lockkit.map
	@echo "  LD    $@"
	@$(CC) $(filter-out -pie,$(LDFLAGS)) -shared -Wl,-soname,liblockkit.so.0,-z,nodelete \
	  -Wl,--version-script=lockkit/lockkit.map -o $@ $(filter %.o,$^) $(LIBS_lockkit)

$(O)/seckilld: $(O)/obj/app/seckilld.o $(O)/libapp.a $(O)/liblockkit.a
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_app)
$(O)/seckillctl: $(O)/obj/app/seckillctl.o $(O)/libapp.a $(O)/liblockkit.a
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_app)
$(O)/loadtest: $(O)/obj/loadtest/loadtest.o $(O)/libloadtest.a
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_loadtest)
$(O)/audit: $(O)/obj/loadtest/audit_main.o $(O)/libloadtest.a
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_loadtest)
$(O)/report: $(O)/obj/loadtest/report_main.o $(O)/libloadtest.a
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_loadtest)
$(O)/proxy: $(O)/obj/loadtest/proxy.o $(O)/libloadtest.a
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_loadtest)

$(O)/hostile: $(O)/obj/app/itest/hostile.o $(O)/libsupport.a $(O)/libapp.a $(O)/liblockkit.a
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_app) -lcmocka
$(O)/history_check: $(O)/obj/lockkit/itest/history_check_main.o $(O)/libsupport.a $(O)/liblockkit.a
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_lockkit) -lcmocka
$(O)/torture: $(O)/obj/lockkit/itest/torture.o $(O)/libsupport.a $(O)/liblockkit.a
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_lockkit) -lcmocka
$(O)/lockbench: $(O)/obj/lockkit/bench/lockbench.o $(O)/liblockbench.a $(O)/liblockkit.a | $(O)/test/lockkit/interop/lockkit_peer $(O)/proxy
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_lockkit) -ljansson -lm

$(O)/test/lockkit/itest/tls_itest: | $(O)/lockctl
$(O)/lockctl: $(O)/obj/lockkit/ctl/lockctl.o $(O)/liblockctl.a $(O)/liblockkit.a
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_lockkit)

$(O)/clock_shim.so: lockkit/itest/clock_shim.c
	@echo "  LD    $@"
	@$(CC) $(CPPFLAGS) -std=gnu17 -O2 $(WARN) -fPIC -shared -o $@ $<
$(O)/test/lockkit/itest/redlock_break_itest: | $(O)/clock_shim.so

# A test links its own area; a line "link: FLAGS" in its head comment adds flags (--wrap seams).
extra = $(shell sed -n '1,12s/^.*link: *\(-[^*]*\).*$$/\1/p' $(1))
$(O)/test/lockkit/%: $(O)/obj/lockkit/%.o $(O)/libsupport.a $(O)/liblockkit.a
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(call extra,lockkit/$*.c) -o $@ $^ $(LIBS_lockkit) -lcmocka
$(O)/test/lockkit/bench/%: $(O)/obj/lockkit/bench/%.o $(O)/liblockbench.a $(O)/liblockkit.a
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_lockkit) -ljansson -lm -lcmocka
$(O)/test/lockkit/ctl/%: $(O)/obj/lockkit/ctl/%.o $(O)/liblockctl.a $(O)/liblockkit.a
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_lockkit) -lcmocka
$(O)/test/app/%: $(O)/obj/app/%.o $(O)/libsupport.a $(O)/libapp.a $(O)/liblockkit.a
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(call extra,app/$*.c) -o $@ $^ $(LIBS_app) -lcmocka
$(O)/test/loadtest/%: $(O)/obj/loadtest/%.o $(O)/libsupport.a $(O)/libloadtest.a
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(call extra,loadtest/$*.c) -o $@ $^ $(LIBS_loadtest) -lcmocka

$(O)/obj/lockkit/%.o $(O)/gen/lockkit_scripts.o: CFLAGS += -fPIC -fno-semantic-interposition
$(O)/obj/app/%.o: CPPFLAGS += -Iapp
# What the service's threads run: their stack is 256 KiB (app/stack.h).
ifeq ($(BUILD),release)
$(call obj,$(SRC_app) $(SRC_lockkit)): CFLAGS += -Wframe-larger-than=24576
endif
$(O)/obj/loadtest/%.o: CPPFLAGS += -Iloadtest
$(O)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(O)/gen/%.o: $(O)/gen/%.c
	@$(CC) $(CPPFLAGS) $(CFLAGS) -Wno-overlength-strings -c -o $@ $<
$(O)/gen/lockkit_scripts.c: $(wildcard lockkit/scripts/*.lua)
$(O)/gen/app_scripts.c: $(wildcard app/scripts/*.lua)
$(O)/gen/app_documents.c: app/openapi.yaml
$(O)/gen/guard_sources.c: $(call src,app/guards/*.[ch]) app/lab/unmarked.c app/lab/lock_elsewhere.c
$(O)/gen/%.c: lockkit/scripts/embed.awk Makefile
	@mkdir -p $(@D)
	@echo "  EMBED $@"
	@sha1sum $(filter %.lua %.yaml %.c %.h,$^) > $@.sha1
	@awk -v table=$* -f lockkit/scripts/embed.awk $@.sha1 $(filter %.lua %.yaml %.c %.h,$^) > $@.part
	@mv $@.part $@

# ---- pages: a new file in a folder of web/ joins by existing; npm only fetches, and once ---------------
$(O)/gen/pages_table.o: CPPFLAGS += -Iapp
$(O)/gen/pages_table.o: app/pages.h
$(O)/gen/pages_table.c: web/embed.sh $(PAGES) $(filter web/%,$(sort $(dir $(PAGES)))) Makefile
	@mkdir -p $(@D)
	@echo "  EMBED $@"
	@web/embed.sh $(PAGES) > $@.part
	@mv $@.part $@
build/web/npm.done: web/fetch.sh web/package.json web/package-lock.json
	@.ci/deps node=nodejs npm=npm
	@echo "  NPM   build/web"
	@web/fetch.sh build/web --omit=dev
	@touch $@
build/webtest/npm.done: web/fetch.sh web/package.json web/package-lock.json
	@.ci/deps node=nodejs npm=npm
	@echo "  NPM   build/webtest"
	@web/fetch.sh build/webtest
	@touch $@
build/web/uplot/uplot.js: build/web/npm.done
	@mkdir -p $(@D)
	@cd build/web/node_modules/uplot && { printf '/*!\n' && cat LICENSE && printf '*/\n' && \
	  cat dist/uPlot.iife.min.js && printf '\nexport default uPlot;\n'; } > $(CURDIR)/$@.part
	@mv $@.part $@
build/web/uplot/uplot.css: build/web/npm.done
	@mkdir -p $(@D)
	@cp build/web/node_modules/uplot/dist/uPlot.min.css $@

-include $(shell find $(O) -name '*.d' 2>/dev/null)
