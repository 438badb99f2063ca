# Two commands on a fresh machine; both set up an environment of their own first.
# `make claims OPTIONS="--gate --seed-budget 5"` is what CI runs.
ENV ?= .venv

.PHONY: claims test environment

claims: environment
	@echo "training and judging the claims on what data is here; a second time nothing is trained"
	@"$(ENV)/bin/pytest" claims -n 4 $(OPTIONS)

test: environment
	@echo "testing the code itself, which takes two or three minutes"
	@"$(ENV)/bin/pytest" tests -n 2 --dist worksteal

environment: $(ENV)/ready

$(ENV)/ready: pyproject.toml constraints.txt scripts/environment
	@scripts/environment "$(ENV)"
