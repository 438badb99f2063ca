"""From a matplotlib figure to SVG that lies inside a page: small, and in the page's own colours.

A plot is drawn in the stand-in colours of `INK`; here each becomes a CSS variable, so that one
drawing serves light and dark. Fonts come from the page too, and what matplotlib writes for other
readers (metadata, ids, six decimals) is left out: a page holds hundreds of plots.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#808000")
"""Lines, in the order of their drawing; the first six are those of `figure`."""

INK = {
    "#010101": "var(--ink)",
    "#020202": "var(--muted)",
    "#030303": "var(--rule)",
    "#040404": "var(--reproduced)",
    "#050505": "var(--refuted)",
    "#060606": "var(--inconclusive)",
    "#070707": "var(--documented)",
    **{colour: f"var(--series-{i})" for i, colour in enumerate(SERIES)},
    "#000000": "var(--ink)",  # from here on what `figure` draws with
    "#595959": "var(--muted)",
    "#e6e6e6": "var(--rule)",
}
TEXT, MUTED, RULE, REPRODUCED, REFUTED, INCONCLUSIVE, DOCUMENTED = list(INK)[:7]

POINTS_IN_REM = 12

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_HEX = re.compile(r"#[0-9a-f]{6}")
_AS_INHERITED = {"stroke-linejoin", "font-family", "font", "stroke-linecap"}


@dataclass(frozen=True)
class Plot:
    """A plot of a page, to be shown in one place or, as a symbol, in many."""

    name: str
    described: str
    width: float
    height: float
    body: str

    def __html__(self) -> str:
        return self._around(self.body)

    @property
    def symbol(self) -> str:
        """What `reference` shows; it is shown nowhere itself."""
        box = f"0 0 {self.width:g} {self.height:g}"
        return f'<symbol id="{self.name}" viewBox="{box}">{self.body}</symbol>'

    @property
    def reference(self) -> str:
        return self._around(f'<use href="#{self.name}"/>')

    def _around(self, inside: str) -> str:
        width = self.width / POINTS_IN_REM
        return (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" style="width:{width:.4g}rem" '
            f'role="img" aria-label="{escape(self.described, quote=True)}">{inside}</svg>'
        )


def inline_svg(figure: Figure, *, name: str, described: str) -> Plot:
    """The figure as a plot of the page; `name` keeps its ids apart from those of other plots."""
    import matplotlib

    written = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    root = ElementTree.fromstring(written.getvalue())
    for child in list(root):
        if child.tag == f"{_SVG}metadata" or child.find(f"{_SVG}style") is not None:
            root.remove(child)
    used = {each.get(_LINK, "")[1:] for each in root.iter(f"{_SVG}use")}
    ids = {each: f"{name}-{i}" for i, each in enumerate(sorted(used))}
    _make_small(root, ids)
    width, height = (float(size) for size in root.get("viewBox", "").split()[2:])
    body = "".join(ElementTree.tostring(child, encoding="unicode") for child in root)
    return Plot(name, described, width, height, body)


def _make_small(element: ElementTree.Element, ids: dict[str, str]) -> None:
    element.tag = element.tag.removeprefix(_SVG)  # in HTML an svg element has its own namespace
    if _LINK in element.attrib:
        target = element.attrib.pop(_LINK)
        element.set("href", f"#{ids[target[1:]]}" if target[1:] in ids else target)
    own = element.attrib.pop("id", "")
    if own in ids:
        element.set("id", ids[own])
    style = _style(element.get("style", ""))
    if element.tag == "use":  # its mark is drawn in the same style already
        style = ""
    element.attrib.pop("style", None)
    if style:
        element.set("style", style)
    for attribute in ("d", "x", "y", "transform"):
        if attribute in element.attrib:
            element.set(attribute, _short(element.attrib[attribute]))
    if "rotate(-0" in element.get("transform", ""):
        del element.attrib["transform"]
    for child in list(element):
        _make_small(child, ids)
    _lift(element)
    element.tail = None
    if element.tag != "text":
        element.text = None


def _lift(element: ElementTree.Element) -> None:
    """Put what bare groups hold in their place."""
    children = []
    for child in element:
        bare = child.tag == "g" and not child.attrib
        children += list(child) if bare else [child]
    element[:] = children


def _style(style: str) -> str:
    parts = (part.partition(":") for part in style.split(";") if part.strip())
    kept = [(name.strip(), value.strip()) for name, _, value in parts]
    return ";".join(
        f"{name}:{_HEX.sub(lambda found: INK.get(found[0], found[0]), _short(value))}"
        for name, value in kept
        if name not in _AS_INHERITED
    )


def _short(numbers: str) -> str:
    rounded = _NUMBER.sub(lambda found: f"{round(float(found[0]), 1):g}", numbers)
    return " ".join(rounded.split())
