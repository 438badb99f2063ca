"""Claims of machine-learning write-ups as tests: trained over seeds, judged with stated errors."""

from repro.marks import claim

__all__ = ["claim"]
__version__ = "0.1.0"
