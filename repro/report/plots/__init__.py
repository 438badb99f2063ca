"""The plots of the page, drawn by matplotlib in the colours of the page (see `inline_svg`).

They are narrow enough for a phone, so names stand above what they name and not beside it.
"""

from repro.report.plots.forest import forest
from repro.report.plots.seeds import SeedsSheet
from repro.report.plots.training import training

__all__ = ["SeedsSheet", "forest", "training"]
