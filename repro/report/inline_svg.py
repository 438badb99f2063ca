"""From a matplotlib figure to SVG that lies inside a page: small, and in the page's own colours.

A plot is drawn in the stand-in colours of `INK`; here each becomes a CSS variable, so that one
drawing serves light and dark. Fonts come from the page too, and what matplotlib writes for other
readers (metadata, ids, six decimals) is left out: a page holds hundreds of plots.
"""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

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

POINTS_IN_REM = 10.5

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HEX = re.compile(r"#[0-9a-f]{6}")
_FROM_THE_PAGE = {"stroke-linejoin", "stroke-linecap", "stroke-miterlimit", "font-family", "font"}


@dataclass(frozen=True)
class Plot:
    """A plot of a page, to be shown in one place or, as a symbol, in many."""

    name: str
    described: str
    width: float
    height: float
    body: str
    styles: dict[str, str]
    """The CSS of each class in it; plots drawn alike share their classes."""

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
        role = "group" if "<a " in inside else "img"  # an image has no links in it
        return (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" style="width:{width:.4g}rem" '
            f'role="{role}" aria-label="{escape(self.described, quote=True)}">{inside}</svg>'
        )


def inline_svg(figure: Figure, *, name: str, described: str) -> Plot:
    """The figure as a plot of the page; `name` keeps its ids apart from those of other plots."""
    import matplotlib

    written = io.StringIO()
    with (
        matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}),
        warnings.catch_warnings(action="ignore", category=UserWarning),  # of its own font's gaps
    ):
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    root = ElementTree.fromstring(_NOT_IN_XML.sub(" ", written.getvalue()))
    width, height = (float(size) for size in root.get("viewBox", "").split()[2:])
    marks = {each.get("id", ""): each for each in root.iterfind(f".//{_SVG}defs/{_SVG}path")}
    small = _Small(name, marks)
    body = "".join(
        ElementTree.tostring(element, encoding="unicode")
        for child in root
        if child.tag not in (f"{_SVG}metadata", f"{_SVG}defs")
        for element in small.of(child)
    )
    body = body.replace(" />", "/>")  # what is shown has its > escaped
    return Plot(name, described, width, height, body, small.styles)


@dataclass
class _Small:
    """Writes the elements of one plot anew, with no more than a page needs."""

    name: str
    marks: dict[str, Element]
    """The shapes that matplotlib stamps at points, by id."""
    styles: dict[str, str] = field(default_factory=dict)
    _dots: dict[str, Element] = field(default_factory=dict)

    def of(self, element: Element) -> list[Element]:
        """The same without what is not seen; groups give way to what they hold."""
        tag = element.tag.removeprefix(_SVG)  # in HTML an svg element has its own namespace
        inside = [small for child in element for small in self.of(child)] if tag != "defs" else []
        if tag == "g" and not element.get("transform") and not element.get("style"):
            return inside
        if tag == "use":
            return self._stamp(element)
        style = _style(element.get("style", ""))
        invisible = tag == "path" and "fill:none" in style and "stroke:" not in style
        if tag == "defs" or invisible:
            return []
        small = Element(tag)
        small.text = element.text if tag in ("text", "tspan") else None
        small.extend(inside)
        for attribute in ("d", "x", "y", "transform"):
            if attribute in element.attrib:
                small.set(attribute, _short(element.attrib[attribute]))
        if "rotate(-0" in small.get("transform", ""):
            del small.attrib["transform"]
        if _LINK in element.attrib:
            small.set("href", element.attrib[_LINK])
        self._set_class(small, style)
        return [small]

    def _stamp(self, use: Element) -> list[Element]:
        """A mark at a point; all dots of one kind become one path of points with round ends."""
        mark = self.marks[use.get(_LINK, "")[1:]]
        style = _style(use.get("style", "") or mark.get("style", ""))
        x, y = _short(use.get("x", "0")), _short(use.get("y", "0"))
        shape = _short(mark.get("d", ""))
        if "C" not in shape or "fill:none" in style or "opacity" in style:
            stamped = Element("path", d=shape, transform=f"translate({x} {y})")
            self._set_class(stamped, style)
            return [stamped]
        radius = float(shape.split()[1].split("C")[0])
        colour = re.search(r"stroke:([^;]+)", style)
        paint = colour[1] if colour else "var(--ink)"
        style = f"fill:none;stroke:{paint};stroke-width:{2 * radius + 1:g};stroke-linecap:round"
        if style in self._dots:
            dots = self._dots[style]
            dots.set("d", f"{dots.get('d')}M{x} {y}h0")
            return []
        self._dots[style] = dots = Element("path", d=f"M{x} {y}h0")
        self._set_class(dots, style)
        return [dots]

    def _set_class(self, element: Element, style: str) -> None:
        if style:
            name = f"p{hashlib.sha256(style.encode()).hexdigest()[:4]}"
            self.styles[name] = style
            element.set("class", name)


def _style(style: str) -> str:
    parts = (part.partition(":") for part in style.split(";") if part.strip())
    kept = [(name.strip(), value.strip()) for name, _, value in parts]
    return ";".join(
        f"{name}:{_HEX.sub(lambda found: INK.get(found[0], found[0]), _short(value))}"
        for name, value in kept
        if name not in _FROM_THE_PAGE
    )


def _short(numbers: str) -> str:
    rounded = _NUMBER.sub(lambda found: f"{round(float(found[0]), 1):g}", numbers)
    return re.sub(r" ?([A-Zz]) ?", r"\1", " ".join(rounded.split()))
