# What a developer does with Shoal. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
# Not that of an activated .venv: it has no pip of its own.
PYTHON ?= $(shell PATH="$$(printf %s "$$PATH" | tr : '\n' | grep -vxF '$(CURDIR)/.venv/bin' | paste -sd:)" command -v python3)
# Else each of the hundreds of processes that a test run starts compiles our modules, for half a second each.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
BIN := $(VENV)/bin
# The virtual environment is made without ensurepip: Debian keeps that in a package of its own.
PIP := PYTHONUNBUFFERED=1 $(PYTHON) -m pip --python $(BIN)/python --disable-pip-version-check
# Of what pip says only the names, as they come; bash, since an awk may wait for its whole input.
NAMES := | { while read -r word name _; do if [ "$$word" = Collecting ]; then printf ' %s' "$${name%%[=<>~;]*}"; fi; done; echo; }
COMMA := ,
KNOWN_EXTRAS := duckdb mysql k8s oidc otel s3 spark
PAGE := api/page/index.html
PAGE_SOURCES := $(shell find ui -name node_modules -prune -o -name dist -prune -o -type f ! -name schema.d.ts -print) docs/reference/openapi.json
LOCK := $(PYTHON) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate

.PHONY: help setup setup-dev servers node page demo up examples test durations test-long soak simulate postgres-ha container kubernetes chaos edits put-back chaos-promises screenshots sizes release site check bench format lock clean

help: ## List the targets.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 24

setup: $(VENV)/.ready $(if $(EXTRAS),$(VENV)/.ready-with-$(EXTRAS)) ## Install Shoal into .venv; EXTRAS=duckdb,mysql,k8s,oidc,otel,s3,spark for what needs more.
	@printf '%s\n' 'Shoal is installed in $(VENV). `shoal` from any folder, in this shell:' \
	  '  export PATH="$(CURDIR)/$(BIN):$$PATH"' 'Then everything on this machine, PostgreSQL included:' '  shoal up'

setup-dev: $(VENV)/.ready-dev ## The same, with what its developers need.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("Shoal needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; say PYTHON=python3.11 make ...") if sys.version_info < (3, 11) else None'
	@echo 'Making a virtual environment in $(VENV) ...'
	@$(PYTHON) -m venv --without-pip $(VENV)

$(VENV)/.ready: $(BIN)/python requirements-local.lock pyproject.toml
	@echo 'Installing what Shoal runs on, $(words $(shell grep -o "^[a-z0-9.-]*==" requirements-local.lock)) packages of requirements-local.lock:'
	@$(PIP) install --require-hashes -r requirements-local.lock $(NAMES)
	@echo 'Installing Shoal ...'
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready requirements-dev.lock tests/servers/s3.lock sdk/pyproject.toml
	@echo 'Installing what developers of Shoal need, packages of requirements-dev.lock:'
	@$(PIP) install --require-hashes -r requirements-dev.lock $(NAMES)
	@$(PIP) install --quiet --no-deps --no-build-isolation --editable sdk
	@echo 'Installing the S3-compatible server of the tests, apart from them in $(VENV)/s3:'
	@rm -rf $(VENV)/s3
	@$(PIP) install --quiet --no-warn-conflicts --require-hashes --target $(VENV)/s3 -r tests/servers/s3.lock
	@touch $@

# At the versions of the lock; their hashes cannot be asked for, since the extra itself has none.
$(VENV)/.ready-with-%: $(VENV)/.ready requirements-dev.lock
	$(foreach each,$(subst $(COMMA), ,$*),$(if $(filter $(each),$(KNOWN_EXTRAS)),,$(error there is no extra "$(each)"; there are: $(KNOWN_EXTRAS))))
	@echo 'Installing the extras $*:'
	@sed -E '/^ +--hash/d; s/ *\\$$//' requirements-dev.lock > $(VENV)/versions.txt
	@$(PIP) install --no-build-isolation --editable '.[$*]' -c $(VENV)/versions.txt $(NAMES)
	@touch $@

servers: ## Install ZooKeeper, PostgreSQL, MariaDB, Patroni and Prometheus for the tests, if they are missing and apt-get may.
	@tests/servers/install

# The wheel of Node is installed only if the machine has none that is new enough.
node: $(VENV)/.ready
	@$(BIN)/python ui/page.py node > /dev/null 2>&1 || { echo 'Installing Node for the web page ...'; \
	  $(PIP) install --quiet --require-hashes -r ui/node.lock; }

page: $(PAGE) ## Build the web page; without it the API shows a plain one that says why.

$(PAGE): $(PAGE_SOURCES) | node
	@$(BIN)/python ui/page.py build

demo: $(VENV)/.ready $(PAGE) ## Three masters, two workers, one killed half way: nothing lost, nothing twice.
	@$(BIN)/shoal demo

up: $(VENV)/.ready $(PAGE) ## Everything on this machine with the examples in it, and the web page; Ctrl-C stops it.
	@$(BIN)/shoal up --masters 3 --workers 2 --examples examples --open $(ARGS)

examples: setup-dev ## Every workflow of examples/, on a database of its own; ARGS="switch retry" takes some.
	@$(BIN)/python examples/run.py $(ARGS)

# Four at once, however few the processors: much of a test is waiting.
PYTEST := $(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder

test: setup-dev servers $(PAGE) ## Every test but the longest, against real servers and in a browser; ARGS= for some.
	$(if $(ARGS),,$(BIN)/python ui/page.py test)
	$(PYTEST) -m "not chaos and not soak$(if $(ARGS),, and not long)" $(ARGS)

durations: setup-dev servers $(PAGE) ## Record what each file of `make test` takes, on a machine that does nothing else.
	$(PYTEST) -p tests.durations -m "not chaos and not soak and not long" $(ARGS)

# Chaos comes last, since it wants the machine alone.
test-long: setup-dev servers $(PAGE) ## The longest tests: simulation, orders of statements, the pages as typed; a minute of chaos.
	$(PYTEST) -m "long and not soak"
	$(BIN)/python -m pytest -m chaos tests/chaos/test_chaos.py

soak: setup-dev servers $(PAGE) ## What `make test` leaves out for its length: the same faults in more ways, more orders, more programs.
	tests/servers/build-go dex helm kubernetes
	tests/servers/build-image
	tests/servers/build-recipes
	$(BIN)/python -m pytest -n 4 --dist loadfile -m soak $(ARGS)
	$(if $(ARGS),,SHOAL_BRIDGE_ORDERS=all SHOAL_BRIDGE_PROGRAMS=100 SHOAL_TEST_TIMES=10 \
	  $(BIN)/python -m pytest -n 4 --dist loadfile --timeout 3600 tests/bridge tests/master/test_runnable_laws.py)

simulate: setup-dev ## Clusters under all faults at once on virtual time: SEEDS=20000, FIRST=0, WITHOUT=fencing.
	$(BIN)/python -m tests.simulation --seeds $(or $(SEEDS),2000) --first $(or $(FIRST),0) $(if $(WITHOUT),--without $(WITHOUT)) $(ARGS)

postgres-ha: setup-dev servers ## Replace PostgreSQL's primary under load: switchover, kill -9, freeze, lost commits.
	$(BIN)/python -m pytest -s tests/deploy/test_patroni.py $(ARGS)

container: setup-dev servers $(PAGE) ## Build the image of deploy/container, and run each of its roles; as root.
	tests/servers/build-image
	$(BIN)/python -m pytest tests/deploy/test_image.py $(ARGS)

kubernetes: setup-dev servers ## K8S tasks and the chart on a real Kubernetes; its first build takes ten minutes.
	tests/servers/build-go helm kubernetes
	$(BIN)/python -m pytest tests/deploy/kubernetes $(ARGS)

chaos: setup-dev servers ## Break a cluster of real processes for MINUTES=10 from SEED=1, and check every promise.
	$(BIN)/python -m tests.chaos --minutes $(or $(MINUTES),10) --seed $(or $(SEED),1) $(ARGS)

screenshots: setup-dev servers $(PAGE) ## Pictures of the main pages into docs/images; ARGS="now runs" takes some.
	$(BIN)/python -m tests.page.screenshots $(ARGS)

edits: setup-dev servers ## Write whatever the catalog allows into single columns under load: EDITS=2000, SEED=1.
	SHOAL_EDITS=$(or $(EDITS),2000) SHOAL_EDITS_SEED=$(or $(SEED),1) $(BIN)/python -m pytest tests/edits $(ARGS)

put-back: setup-dev servers ## Put bugs of the past back, each in a copy of the tree: its test must fail; ARGS="9 14" takes some.
	$(BIN)/python -m tests.put_back $(ARGS)

chaos-promises: setup-dev servers ## A killed master with 1,000 runs, a sleeping one, a minute without database.
	TEST_PATIENCE=1 $(BIN)/python -m pytest tests/chaos/promises.py $(ARGS)

# The wheels are tried as production installs them: apart from this tree, with the libraries of its lock alone.
release: setup-dev servers $(PAGE) ## The packages of this version in dist/: shoal, shoal-sdk and shoal-model, tried.
	rm -rf dist build/release build/from-sdists
	for each in . sdk sdk/rules; do (cd $$each && $(CURDIR)/$(BIN)/python -m hatchling build -d $(CURDIR)/dist) || exit; done
	$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir build/from-sdists dist/*.tar.gz
	diff <(cd build/from-sdists && ls) <(cd dist && ls *.whl)
	$(BIN)/python -m venv build/release
	build/release/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	build/release/bin/pip install --quiet --disable-pip-version-check --no-deps dist/*.whl
	cd build/release && bin/pip check && bin/shoal --version && bin/shoal demo
	cd build/release && bin/shoal-sdk render ../../tests/sdk/sales.py > /dev/null && bin/python -c 'import shoal_model, shoal_sdk.testing'
	@echo 'dist/ is ready. Publish its packages: git tag v'$$(build/release/bin/shoal --version | cut -d ' ' -f 2)' && git push --tags && twine upload dist/*'

site: setup-dev ## The documentation as a site with a search, into build/site.
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo 'To read it: $(BIN)/python -m http.server --directory build/site'

sizes: setup-dev $(PAGE) ## How much there is to read, and how much there should be.
	$(BIN)/python -m tests.sizes

check: setup-dev $(PAGE) ## Format, lint and types.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python ui/page.py check

bench: setup-dev servers $(PAGE) ## Measure, and write the page on performance; COMPARE=main: what is slower here than there.
	$(BIN)/python -m bench $(if $(COMPARE),--compare $(COMPARE) $(ARGS),$(or $(ARGS),--write))

format: setup-dev ## Put the code into its format.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python ui/page.py format

lock: ## Resolve the versions again (needs uv: pip install uv).
	$(LOCK) --upgrade pyproject.toml -o requirements.lock
	$(LOCK) --extra build --extra local -c requirements.lock pyproject.toml -o requirements-local.lock
	$(LOCK) --extra build --extra dev -c requirements-local.lock pyproject.toml -o requirements-dev.lock
	$(LOCK) ui/node.in -o ui/node.lock
	$(LOCK) tests/servers/s3.in -o tests/servers/s3.lock
	$(BIN)/python ui/page.py lock

clean: ## Remove what the other targets made.
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist api/page ui/node_modules
