# One file, no recursion but to re-enter with another BUILD; only install writes outside build/BUILD/. Knobs: `make help`.

BUILD ?= release
$(if $(filter $(BUILD),release debug asan tsan),,$(error BUILD=$(BUILD) is unknown: release, debug, asan or tsan))
CC := $(if $(filter default,$(origin CC)),$(if $(filter asan,$(BUILD)),clang,gcc),$(CC))
# 0 leaves OpenSSL out of lockkit: no rediss URLs.
WITH_TLS ?= 1
O := build/$(BUILD)$(if $(filter 0,$(WITH_TLS)),-no-tls)
# Targets that build do so on all processors, unless make was given a -j of its own.
BUILD_ALL = @$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
LANES ?= 6
VERSION := 0.1.0

# ---- flags ------------------------------------------------------------------------------------
WARN := -Wall -Wextra -Wpedantic $(if $(WERROR),-Werror) -Wshadow -Wconversion -Wsign-conversion -Wformat=2 \
  -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wwrite-strings -Wcast-qual \
  -Wcast-align -Wpointer-arith -Wundef -Wvla -Walloca -Wswitch-enum -Wnull-dereference \
  -Wdouble-promotion -Wredundant-decls
# Our integer constants are values of an enum, which clang would have us say each time.
WARN += $(if $(findstring clang,$(CC)),-Wno-enum-float-conversion,-Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wjump-misses-init)
MODE_release := -O2 -g -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection
MODE_debug   := -O0 -g3
MODE_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
MODE_tsan    := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
# cmocka 2 has new names, which cmocka 1 does not know.
CPPFLAGS += -D_GNU_SOURCE -DSECKILL_VERSION='"$(VERSION)"' -DWITH_TLS=$(WITH_TLS) -Ilockkit/include $(addprefix -isystem /usr/include/,postgresql zookeeper) \
  -DCMOCKA_DISABLE_DEPRECATION_WARNINGS
CFLAGS += -std=gnu17 -fPIE -pthread $(MODE_$(BUILD)) $(WARN)
LDFLAGS += -pie -pthread -Wl,-z,relro,-z,now,--as-needed $(filter -fsanitize% --coverage,$(MODE_$(BUILD)))
LIBS_lockkit := -lhiredis $(if $(filter 0,$(WITH_TLS)),,-lssl -lcrypto)
BACKENDS := postgres zookeeper # each a library of its own, liblockkit-NAME
LIBS_postgres := -lpq
LIBS_zookeeper := -lzookeeper_mt
LIBS := -lcivetweb -ljansson -ljwt -lcurl -lcrypto -lpq -lzookeeper_mt $(LIBS_lockkit) -lm

# ---- sources: a new file joins by existing; main programs and tests are told apart by name ------
# What a file includes stands in its own folder, or under its house: app, loadtest, lockkit(/src); or is "common/NAME.h".
SRC := $(sort $(shell find app common loadtest lockkit -name '*.c'))
HDR := $(shell find app common loadtest lockkit -name '*.h' -o -name '*.hpp' -o -name '*.cpp')
MAINS := app/seckilld.c app/ctl/seckillctl.c loadtest/loadtest.c loadtest/audit.c loadtest/proxy.c loadtest/payd.c loadtest/report.c \
  lockkit/ctl/lockctl.c lockkit/bench/lockbench.c lockkit/bench/compare/lockcompare.c lockkit/torture/torture.c lockkit/history/history_check.c lockkit/sim/simulate.c \
  lockkit/interop/ours/lockkit_peer.c app/test/hostile/hostile.c
PROGRAMS := $(addprefix $(O)/,$(notdir $(MAINS:.c=)))
house = $(firstword $(subst /, ,$(1)))
# Whose archive a file is in, and what it is linked with: support, or app, common, loadtest, lockkit, bench, ctl, a backend.
area = $(or $(strip $(foreach a,bench ctl $(BACKENDS),$(if $(filter lockkit/$a/% lockkit/test/$a/% $(if $(filter bench,$a),lockkit/interop/%) $(if $(filter postgres,$a),lockkit/test/matrix/%),$(1)),$a))),$(call house,$(1)))
obj = $(patsubst %.c,$(O)/obj/%.o,$(1))
tests = $(patsubst %.c,$(O)/test/%,$(filter $(1),$(SRC)))
PARTS := $(filter-out %_test.c %_itest.c %_soak.c %_interop.c %/clock_shim.c app/lab/exercises/% $(MAINS),$(SRC))
SUPPORT_DIRS := app/test/% common/test/% loadtest/test/% lockkit/test/% lockkit/interop/% lockkit/torture/% lockkit/history/% lockkit/sim/%
in_area = $(foreach f,$(filter-out $(SUPPORT_DIRS),$(PARTS)),$(if $(filter $(1),$(call area,$f)),$f))
UNITS    := $(call tests,%_test.c)
ITESTS   := $(call tests,%_itest.c) $(wildcard */test/*/*_itest.sh */test/*/*_itest.py docker/test/*_itest.sh)
SOAKS    := $(call tests,%_soak.c) $(wildcard */test/*/*_soak.sh */test/*/*_soak.py)
INTEROPS := $(call tests,%_interop.c)
tests_named = $(foreach t,$(1),$(filter %/$(t)_itest %/$(t)_itest.sh %/$(t)_itest.py,$(ITESTS)))
UPLOT := build/web/uplot/uplot.js build/web/uplot/uplot.css
PAGES := $(filter-out web/test/%,$(wildcard $(foreach t,css js svg,web/*/*.$(t)))) $(UPLOT)
SO := $(O)/liblockkit.so.$(VERSION)
LIBRARIES := $(O)/installed/liblockkit.a $(SO) $(BACKENDS:%=$(O)/liblockkit-%.so.0)
.DELETE_ON_ERROR .SECONDARY .SECONDEXPANSION .SUFFIXES:
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)
all: $(PROGRAMS) $(LIBRARIES) ## build everything into build/release/ (default)
help: ## this text
	@awk -F ' *## *' '/^[a-z-]+:.*## /{sub(/:.*/, "", $$1); printf "  make %-11s %s\n", $$1, $$2}' Makefile
	@echo "  knobs: BUILD=release|debug|asan|tsan  CC=gcc|clang  WITH_TLS=1|0  LK_TEST_REDIS=redis://host:port  LANES=6 (tests side by side)"

# ---- what a user runs ----------------------------------------------------------------------------
built: deps ; $(BUILD_ALL) all
demo: built ; @$(O)/loadtest --out build/demo $(if $(PAY),--pay 0.6 --cancel 0.1 --payer-faults all --fault kill:1500) ## two instances, 20,000 buyers, 500 units: sell, audit from outside; PAY=1: until all are paid for
bench: built ## measure every figure of service and locks; build/bench/result.json, locks.json; PEERS=1: beside nginx, node and Go
	$(O)/loadtest --bench --out build/bench && $(O)/lockbench --json build/bench/locks.json $(if $(PEERS),&& loadtest/peers/bench $(O) build/bench)
report: built ; @FRESH=$(FRESH) loadtest/page/make-report $(O) ## measure (15 minutes) unless that was done, or FRESH=1: build/report/index.html
up: docker-deps ; @WITH='$(WITH)' docker/deploy.sh up $(or $(KIND),single) ## the deployment in docker, KIND=single|sentinel|cluster, WITH=postgres,zookeeper,book: three instances behind HAProxy
images: docker-deps ; @docker/deploy.sh build ## its images alone; PLATFORMS=linux/amd64,linux/arm64
down: ; @docker/deploy.sh down $(if $(VOLUMES),--volumes) ## stop it; VOLUMES=1 deletes what was sold, too
docker-demo: ; @WITH='$(WITH)' docker/deploy.sh demo ## load it through HAProxy, audit, verdict
docker-test: docker-deps promtool ; @docker/test/run ## bring it up, load it, break it, audit it: every kind
run: built ; @app/install/try $(O) '$(WITH)' ## serve http://127.0.0.1:8080 with a sale ready to try; LISTEN=0.0.0.0 for a class, PORT= STOCK= TITLE=; WITH=postgres,zookeeper: locks there, too; WITH=payd,book: one that is paid later, all orders in PostgreSQL
topology: deps ; @lockkit/tools/redis_set $(or $(KIND:single=sentinel),sentinel) ## a KIND=sentinel|cluster of Redis servers on this machine, until Ctrl-C
test: test-deps promtool haproxy pgbouncer ## the unit and integration tests; starts the servers it needs
	$(BUILD_ALL) all units itests
	@$(MAKE) --no-print-directory -k unit itest
units: $(UNITS)
itests: $(filter $(O)/%,$(ITESTS))
unit itest soak interop: export CMOCKA_MESSAGE_OUTPUT := TAP
run_tests = BUILD_DIR=$(O) LANES=$(LANES) REPEAT=$(REPEAT) $(if $(PAUSES),.ci/pauses $(PAUSES)) .ci/tests
unit: LANES := 2
unit: $(UNITS) ## unit tests alone: no network, seconds
	@$(run_tests) unit 60 $(UNITS)
itest: $(ITESTS) $(PROGRAMS) $(LIBRARIES) sanitized promtool haproxy pgbouncer ## integration tests alone, on real servers, REPEAT times [1]; PAUSES=1|MS: processors stand still
	@$(run_tests) itest 300 $(ITESTS)
soak: LANES := 1
soak: test-deps promtool haproxy pgbouncer ## tests of sustained load, chance and memory, one after the other
	$(BUILD_ALL) all soaks sanitized
	@$(run_tests) soak 600 $(SOAKS)
soaks: $(filter $(O)/%,$(SOAKS))
campaign: ; @.ci/run campaign $(STAGES) ## all that the gate has no time for, STAGES="soak mutants ..."; build/campaign/table.md
SECONDS ?= 600
torture: ## lockkit's locks among kills, pauses and cut links, for SECONDS [600], SEED=N [random]
simulate: ## the same in a simulated world, seed after seed
torture simulate: deps
	$(BUILD_ALL) $(O)/$@
	$(O)/$@ --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))
hostile: deps ## attack the service out of a grammar for SECONDS [600], SEED=N [random], with sanitizers too
	$(BUILD_ALL) $(O)/seckilld $(O)/hostile sanitized
	$(O)/hostile --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(O) build/asan build/tsan
sanitized:
	$(BUILD_ALL) BUILD=asan build/asan/seckilld && $(MAKE) --no-print-directory BUILD=tsan build/tsan/seckilld
ON_VALKEY := $(call tests_named,mutex reentrant fair spin fenced rwlock multi semaphore permits latch)
interop: deps ## contend with Redisson, redis-py, node-redlock, redsync (fetched); and on Valkey
	$(BUILD_ALL) $(INTEROPS) $(O)/lockkit_peer $(O)/seckillctl $(ON_VALKEY)
	@lockkit/interop/run build/interop $(INTEROPS)
	PATH="$(CURDIR)/build/interop/valkey:$$PATH" $(run_tests) valkey 120 $(ON_VALKEY) app/test/exercises/compiled_interop.sh
SERVER_TESTS := $(ON_VALKEY) $(call tests_named,script acl redlock wait sentinel cluster store store_admin script_args script_keys guard redlock_guard sold_out lab_commands)
servers: interop ## locks, sale and rivals on Redis 6.2 to 8.6 and Valkey 7.2 to 9.1 (fetched); a table
	$(BUILD_ALL) $(SERVER_TESTS)
	@lockkit/interop/servers build/servers $(SERVER_TESTS) $(INTEROPS)
mutants: test-deps pgbouncer ; @.ci/mutants ## build lockkit and the service with known faults; fail unless their tests find each
portability: ; @LANES=$(LANES) .ci/portability ## `make demo` and `make test` on bare systems, SYSTEMS="bookworm trixie sid noble arm64"; SHORT=1
lab: deps ## play every scenario of the lock lab, REPEAT times [1]: same verdicts, same events
	$(BUILD_ALL) $(O)/seckillctl
	@app/lab/replay $(O)/seckillctl $(or $(REPEAT),1)
EXERCISE := $(call obj,app/seckilld.c $(addprefix app/lab/exercises/,shop.c load.c score.c)) $(O)/libapp.a $(O)/libpostgres.a $(O)/libcommon.a $(O)/liblockkit.a
exercise: deps ## judge a guard of your own, FILE=mine.c: faults at every point, a load, a score card; CMD='python3 mine.py': by the search
	@app/lab/exercises/run --check '$(FILE)'
	$(BUILD_ALL) -s $(EXERCISE) $(O)/loadtest $(O)/seckillctl
	@CC='$(CC)' CFLAGS='$(filter -fsanitize%,$(MODE_$(BUILD)))' LDFLAGS='$(LDFLAGS)' LIBS='$(LIBS)' app/lab/exercises/run $(O) '$(FILE)'
webtest: deps build/webtest/npm.done ## the pages in a real browser (Chromium); pictures of them in build/webtest/
	$(BUILD_ALL) $(addprefix $(O)/,seckilld seckillctl loadtest lockbench lockcompare report)
	@BUILD_DIR=$(O) WEBTEST_DIR=build/webtest web/test/run
model: ; @lockkit/model/run build/model ## check the protocols by spin, the known-wrong variants too (minutes)

# ---- what a commit must pass ---------------------------------------------------------------------
check: check-deps fmt-check rooms lint weblint asan tsan ## format, rooms, lint, unit tests under sanitizers; how the house is kept
	$(BUILD_ALL) BUILD=release CC=gcc all
	@.ci/house
asan: ## unit tests under address and undefined-behaviour sanitizers (clang)
tsan: ## unit tests under the thread sanitizer (gcc)
asan tsan:
	$(BUILD_ALL) BUILD=$@ $(if $(filter asan,$@),all) units # gcc compiles the programs in release, too
	@$(MAKE) --no-print-directory BUILD=$@ unit
PRETTIER := cd web && $(CURDIR)/build/webtest/node_modules/.bin/prettier --log-level warn
fmt: build/webtest/npm.done ## format the C files and the pages in place
	clang-format -i $(SRC) $(HDR)
	@$(PRETTIER) --write .
fmt-check: ; @clang-format --dry-run -Werror $(SRC) $(HDR) # on Debian 12: what 14 leaves as it is others would change
weblint: build/webtest/npm.done ## the pages' scripts: prettier and eslint
	@$(PRETTIER) --check . && $(CURDIR)/build/webtest/node_modules/.bin/eslint --max-warnings 0 .
rooms: ; @.ci/rooms ## each dependency behind its one door, arrows one way
house: built ; @.ci/house $(O)/obj ## how the house is kept, in figures: folders, circles, names, sizes
lint: ; @.ci/lint $(O) $(SRC) ## clang-tidy, cppcheck, shellcheck

# ---- installing and packages -------------------------------------------------------------------------
PREFIX ?= /usr/local
LIBDIR ?= lib
in_place = DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' REQUIRES='$(patsubst -l%,%,$(LIBS_lockkit))' app/install/install
install: all ; @$(in_place) $(O) $(VERSION) ## under PREFIX [/usr/local], and all that below DESTDIR
uninstall: ; @$(in_place) --remove $(O) $(VERSION) ## remove what install put there
dist: build/web/npm.done $(UPLOT) ## a tarball of what is committed, the same bytes each time: build/dist/
	@.ci/package dist seckill-$(VERSION) $^
deb: deps dist ; @.ci/package deb seckill-$(VERSION) ## Debian packages of it, judged by lintian: build/deb/; the unit tests, too: DEB_BUILD_OPTIONS=
abi: deps $(SO) ; @.ci/abi $(SO) ## what programs rely on in liblockkit.so is as in the newest tag
deps: ; @.ci/deps --build ## install what is missing to build and test (apt)
test-deps: ; @.ci/deps --build --test ## install what `make test` needs besides
check-deps: ; @.ci/deps --build --test --check ## install what `make check` needs besides
docker-deps: ; @.ci/deps --docker ## install an engine and compose where there are none (apt)
promtool haproxy pgbouncer: %: build/tools/%
build/tools/%: | deps ; @.ci/deps --file usr/$(if $(filter %/promtool,$@),bin,sbin)/$* $@ $*$(if $(filter %/promtool,$@), prometheus)
clean: ; rm -rf build ## remove build/

# ---- rules -----------------------------------------------------------------------------------------
$(O)/libapp.a: $(patsubst %,$(O)/gen/%.o,app_scripts app_documents book_migrations guard_sources pages_table)
$(O)/liblockkit.a: $(O)/gen/lockkit_scripts.o
$(O)/libloadtest.a: $(O)/gen/report_page.o
$(O)/libsupport.a: $(call obj,$(filter $(SUPPORT_DIRS),$(PARTS)))
$(foreach a,app common loadtest lockkit bench ctl $(BACKENDS),$(eval $(O)/lib$a.a: $(call obj,$(call in_area,$a))))
$(O)/%.a: ; @echo "  AR    $@" && rm -f $@ && $(AR) qcs $@ $^
$(SO): $(call obj,$(call in_area,lockkit)) $(O)/gen/lockkit_scripts.o lockkit/install/lockkit.map
	@echo "  LD    $@" && $(CC) $(filter-out -pie,$(LDFLAGS)) -shared -Wl,-soname,liblockkit.so.0,-z,nodelete \
	  -Wl,--version-script=lockkit/install/lockkit.map -o $@ $(filter %.o,$^) $(LIBS_lockkit)
# It calls the lki_* of whoever loads it.
$(O)/liblockkit-%.so.0: $$(call obj,$$(call in_area,$$*))
	@echo "  LD    $@" && $(CC) $(filter-out -pie,$(LDFLAGS)) -shared -Wl,-soname,$(@F),-z,nodelete -o $@ $^ $(LIBS_$*)
# As one object, in which what is not lk_* is nobody's business.
$(O)/installed/liblockkit.a: $(call obj,$(call in_area,lockkit)) $(O)/gen/lockkit_scripts.o
	@mkdir -p $(@D) && echo "  AR    $@" && $(CC) -r -nostdlib -o $(@:.a=.o) $^
	@$$($(CC) -print-prog-name=objcopy) --wildcard --keep-global-symbol='lk_*' $(@:.a=.o)
	@rm -f $@ && $(AR) qcs $@ $(@:.a=.o)
$(O)/clock_shim.so: lockkit/test/support/clock_shim.c
	@echo "  LD    $@" && $(CC) $(CPPFLAGS) -std=gnu17 -O2 $(WARN) -fPIC -shared -o $@ $<
# A program is its main and archives, a test its file; a line "link: FLAGS" in its head adds flags (--wrap seams).
main = $(if $(filter $(O)/test/%,$(1)),$(patsubst $(O)/test/%,%.c,$(1)),$(filter %/$(notdir $(1)).c,$(MAINS)))
archives = $(addprefix $(O)/,$(if $(filter $(SUPPORT_DIRS) %_test.c,$(1)),libsupport.a) lib$(call area,$(1)).a $(if $(filter %_interop.c,$(1)),libbench.a) $(if $(filter app/%,$(1)),libpostgres.a libzookeeper.a) $(if $(filter %/lockcompare.c,$(1)),$(BACKENDS:%=lib%.a)) libcommon.a liblockkit.a)
extra = $(shell sed -n '1,12s/^.*link: *\(-[^*]*\).*$$/\1/p' $(1))
$(PROGRAMS) $(UNITS) $(filter $(O)/%,$(ITESTS) $(SOAKS)) $(INTEROPS): $$(call obj,$$(call main,$$@)) $$(call archives,$$(call main,$$@))
	@mkdir -p $(@D) && echo "  LD    $@"
	@$(CC) $(LDFLAGS) $(call extra,$(call main,$@)) $(if $(filter %/lockctl,$@),-rdynamic) -o $@ $^ $(LIBS) $(if $(filter $(O)/libsupport.a,$^),-lcmocka) $(foreach b,$(BACKENDS),$(if $(filter $(O)/lib$b.a,$^),-u lki_backend_$b $(LIBS_$b)))
$(O)/lockbench $(call tests_named,tls lockctl_run lockctl_look lockctl_loss payd): | $(addprefix $(O)/,proxy lockkit_peer lockctl payd)
$(O)/lockcompare $(call tests_named,redlock_break): | $(addprefix $(O)/,clock_shim.so proxy)
$(O)/obj/lockkit/%.o: CPPFLAGS += -Ilockkit/src
$(O)/obj/lockkit/%.o $(O)/gen/lockkit_scripts.o: CFLAGS += -fPIC -fno-semantic-interposition
# What the service's threads run: their stack is 256 KiB (app/base/stack.h).
$(call obj,$(call in_area,app common lockkit)): CFLAGS += $(if $(filter release,$(BUILD)),-Wframe-larger-than=24576)
$(O)/obj/%.o: %.c Makefile
	@mkdir -p $(@D) && echo "  CC    $<"
	@$(CC) $(CPPFLAGS) -I$(call house,$<) -Ilockkit -I. $(CFLAGS) -MMD -MP -c -o $@ $<
$(O)/gen/%.o: $(O)/gen/%.c ; @$(CC) $(CPPFLAGS) -Iapp $(CFLAGS) -Wno-overlength-strings -c -o $@ $<
$(O)/gen/lockkit_scripts.c: $(wildcard lockkit/scripts/*.lua)
$(O)/gen/app_scripts.c: $(wildcard app/store/scripts/*.lua)
$(O)/gen/app_documents.c: app/serve/openapi.json
$(O)/gen/book_migrations.c: $(wildcard app/book/migrations/*.sql)
$(O)/gen/guard_sources.c: $(wildcard $(foreach d,app/guards app/guards/shared app/guards/flawed,$d/*.[ch])) \
  $(addprefix app/lab/plays/,unmarked.c mistakes.c articles.c lock_elsewhere.c lock_until_commit.c lease_by_time.c)
$(O)/gen/%.c: lockkit/scripts/embed.awk Makefile
	@mkdir -p $(@D) && echo "  EMBED $@" && sha1sum $(filter %.lua %.sql %.json %.c %.h,$^) > $@.sha1
	@awk -v table=$* -f lockkit/scripts/embed.awk $@.sha1 $(filter %.lua %.sql %.json %.c %.h,$^) > $@.part && mv $@.part $@

# ---- pages: a new file in a folder of web/ joins by existing; npm only fetches, and once ---------------
$(O)/gen/pages_table.c $(O)/gen/report_page.c: web/embed.sh app/serve/pages.h $(PAGES) $(filter web/%,$(sort $(dir $(PAGES)))) Makefile
	@mkdir -p $(@D) && echo "  EMBED $@"
	@web/embed.sh $(basename $(@F)) $(@D)/$(basename $(@F)) $(PAGES) > $@.part
	@mv $@.part $@
build/web/npm.done: flags := --omit=dev
build/%/npm.done: web/fetch.sh web/package.json web/package-lock.json
	@.ci/deps node=nodejs npm=npm
	@echo "  NPM   $(@D)"
	@web/fetch.sh $(@D) $(flags) && touch $@
$(UPLOT): build/web/npm.done ;
-include $(shell find $(O) -name '*.d' 2>/dev/null)
