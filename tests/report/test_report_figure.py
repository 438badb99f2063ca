"""Figures: the same bytes for the same figure, and a caption that says what stands behind it."""

import copy

from repro.report.figure import caption, draw

FIGURE = {
    "name": "slopes",
    "title": "Slopes",
    "source": "900, Figure 1",
    "x": "target",
    "y": "slope",
    "profile": "ci",
    "data": ["points"],
    "panels": [
        {
            "title": "all",
            "lines": [
                {
                    "label": "line",
                    "at": [1, 4, 9],
                    "values": [[0.9, 1.0, 1.1], [4.0], []],
                    "documented": [1.0, 4.0, 9.0],
                }
            ],
        }
    ],
}


def without(part):
    figure = copy.deepcopy(FIGURE)
    figure["panels"][0]["lines"][0][part] = {"values": [[], [], []], "documented": []}[part]
    return figure


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
    assert caption(without("documented")).endswith("profile ci, points")


def test_a_figure_of_nothing_says_so(tmp_path):
    assert "nothing is stored of it yet; dashed: as documented" in caption(without("values"))
    draw(without("values"), tmp_path)


def test_a_figure_stays_in_its_folder_and_its_words_stay_text(tmp_path):
    folder = tmp_path / "found"
    folder.mkdir()
    hostile = copy.deepcopy(FIGURE) | {"name": "slopes[../../x/y]", "title": "$x^$ <script>"}
    hostile["panels"][0]["lines"][0]["label"] = "$\\frac{"
    svg, png = draw(hostile, folder)
    assert svg.parent == png.parent == folder
    assert svg.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["found"]
    assert "<script" not in svg.read_text()
