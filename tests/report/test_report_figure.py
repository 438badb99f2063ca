"""Figures: the same bytes for the same figure, and a caption that says what was measured."""

from dataclasses import replace

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from repro.report.figure import COLOURS, FigureData, LineData, PanelData, caption, draw, entitled
from repro.report.plots import figure_plot

LINE = LineData(
    label="line", at=[1, 4, 9], values=[[0.9, 1.0, 1.1], [4.0], []], documented=[1.0, 4.0, 9.0]
)
FIGURE = FigureData(
    name="slopes",
    title="Slopes",
    source="900, Figure 1",
    x="target",
    y="slope",
    profile="ci",
    data=["points"],
    panels=[PanelData(title="all", lines=[LINE])],
)


def figure_of(*lines, **changes):
    return replace(FIGURE, panels=[PanelData(title="all", lines=list(lines))], **changes)


@pytest.mark.thorough
def test_the_same_figure_is_the_same_bytes(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        assert len(draw(FIGURE, tmp_path / folder)) == 2
    for name in ("slopes.svg", "slopes.png"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_caption_counts_the_seeds_and_names_the_data():
    assert caption(FIGURE) == (
        "Source 900, Figure 1. solid: mean ± 1 standard deviation over 1 to 3 seeds, profile ci,"
        " points; dashed: as documented"
    )
    assert caption(figure_of(replace(LINE, documented=[]))).endswith("profile ci, points")

    without_values = figure_of(replace(LINE, values=[[], [], []]))
    assert "nothing is stored of it yet; dashed: as documented" in caption(without_values)
    entitled(without_values)


def test_title_and_caption_fit_on_the_page():
    page = entitled(replace(FIGURE, title="A title of some length, " * 5, data=["some-data"] * 9))
    canvas = FigureCanvasAgg(page)
    canvas.draw()
    for text in page.texts:
        place = text.get_window_extent(canvas.get_renderer())
        assert page.bbox.x0 <= place.x0 < place.x1 <= page.bbox.x1, text.get_text()


def test_a_line_without_a_point_is_in_no_legend_and_the_others_keep_their_colours(tmp_path):
    empty = replace(LINE, label="not yet", values=[[], [], []], documented=[])
    last = replace(LINE, label="last")
    page = entitled(figure_of(empty, last))
    legend = page.axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["last"]
    assert page.axes[0].get_lines()[0].get_color() == COLOURS[1]
    plot = figure_plot(figure_of(empty, last), name="part")
    assert ">last</text>" in plot.body
    assert "not yet" not in plot.body
    assert "series-1" in plot.body


def test_a_legend_names_the_lines_of_every_panel():
    first = PanelData(title="first", lines=[LINE, replace(LINE, label="here alone")])
    gone = replace(LINE, label="here alone", values=[[], [], []], documented=[])
    second = PanelData(title="second", lines=[LINE, gone])
    page = entitled(replace(FIGURE, panels=[first, second]))
    legend = page.axes[-1].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["line", "here alone"]
    many = figure_of(*(replace(LINE, label=f"line {n}") for n in range(9)))  # more than colours
    assert len(entitled(many).axes[-1].get_legend().get_texts()) == 9
    assert all(f">line {n}</text>" in figure_plot(many, name="many").body for n in range(9))
