"""Figures: what is drawn of them, and a caption that says what was measured."""

import xml.etree.ElementTree as ET
from dataclasses import replace

from repro.report.curves import caption, figure_plot, write_figure
from tests.report.records import depth_ladder

[PANEL] = depth_ladder().panels
LINE = replace(PANEL.lines[0], values=[[0.38, 0.39, 0.4], [0.56], []])
FIGURE = replace(depth_ladder(), panels=[replace(PANEL, lines=[LINE])])


def figure_of(*lines, **changes):
    return replace(FIGURE, panels=[replace(PANEL, lines=list(lines))], **changes)


def test_the_caption_counts_the_seeds_and_names_the_data():
    assert caption(FIGURE) == (
        "Source 004, Figure 1. solid: mean ± 1 standard deviation over 1 to 3 seeds, profile ci,"
        " cifar10-twin; dashed: as documented"
    )
    assert caption(figure_of(replace(LINE, documented=[]))).endswith("profile ci, cifar10-twin")
    without_values = figure_of(replace(LINE, values=[[], [], []]))
    assert "nothing is stored of it yet; dashed: as documented" in caption(without_values)
    assert "documented dashed" in figure_plot(without_values).body


def test_a_line_without_a_point_is_not_named_and_the_others_keep_their_colours():
    empty = replace(LINE, label="not yet", values=[[], [], []], documented=[])
    plot = figure_plot(figure_of(empty, replace(LINE, label="last")))
    assert ">last</text>" in plot.body
    assert "not yet" not in plot.body
    assert "series-1" in plot.body
    many = figure_of(*(replace(LINE, label=f"line {n}") for n in range(9)))  # more than colours
    assert all(f">line {n}</text>" in figure_plot(many).body for n in range(9))


def test_a_figure_as_a_file_has_its_title_and_caption_and_needs_nothing_else(tmp_path):
    title = "A title of some length, " * 9
    path = write_figure(replace(FIGURE, title=title, data=["some-data"] * 9), tmp_path)
    root = ET.parse(path).getroot()
    *_, width, height = map(float, root.get("viewBox").split())
    texts = root.findall(".//{*}text")
    words = " ".join(text.text for text in texts)
    assert title.strip() in words
    assert caption(replace(FIGURE, data=["some-data"] * 9)) in words
    for text in texts:
        assert 4 * len(text.text) <= width
        assert float(text.get("y")) <= height
    assert "--series-0" in root.find("{*}style").text
