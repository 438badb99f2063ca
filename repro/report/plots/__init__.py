"""The plots of the page.

They are narrow enough for a phone, so names stand above what they name and not beside it.
"""

from repro.report.plots.figure import figure_plot
from repro.report.plots.forest import forest
from repro.report.plots.seeds import seeds
from repro.report.plots.training import training

__all__ = ["figure_plot", "forest", "seeds", "training"]
