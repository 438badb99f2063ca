"""The results of runs on disk, under a key of everything that they depend on; needs no torch."""

from repro.store.errors import StoreError, StoreWarning
from repro.store.key import run_key
from repro.store.run_files import Made, Result
from repro.store.store import DEFAULT_STORE, RUNS, Store, has_stored_runs, project_above

__all__ = [
    "DEFAULT_STORE",
    "RUNS",
    "Made",
    "Result",
    "Store",
    "StoreError",
    "StoreWarning",
    "has_stored_runs",
    "project_above",
    "run_key",
]
