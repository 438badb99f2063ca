# The two commands of a fresh machine. Each sets up an environment with what it needs, and no more.
# `make claims OPTIONS="--gate"` is what CI runs. With `MARKED=` it also trains what is nightly.
ENV ?= .venv
MARKED ?= not nightly

.PHONY: claims test site environment development
.SECONDARY:  # a stamp of what is installed is no file to tidy away

claims: environment
	@echo "training and judging the claims on what data is here; a second time nothing is trained"
	@"$(ENV)/bin/pytest" claims -n 4 -m "$(MARKED)" $(OPTIONS)

test: $(ENV)/test.ready
	@echo "testing the code itself, which takes a minute"
	@"$(ENV)/bin/pytest" tests -n 2 --dist worksteal $(OPTIONS)

site: development
	@"$(ENV)/bin/mkdocs" build --strict

environment: $(ENV)/claims.ready

development: $(ENV)/dev.ready

$(ENV)/%.ready: pyproject.toml constraints.txt scripts/environment
	@scripts/environment "$(ENV)" $*
