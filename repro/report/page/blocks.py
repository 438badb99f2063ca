"""The pages of a large report: each has the details of some claims, in the order of the index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from repro.report.page.render import render_block, render_index
from repro.report.page.view import Group, groups_by_source, lay_out_index, lay_out_page
from repro.report.results import ResultsDocument
from repro.report.runs import ArmRuns, StoredRuns, read_runs
from repro.report.svg import PagePlot

FOLDER = "claims"
CLAIMS_OF_A_BLOCK = 50


@dataclass
class Block:
    """A page of claims: whole sources, and parts of those that are too long for one page."""

    number: int
    groups: list[Group] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(len(group.records) for group in self.groups)

    @property
    def name(self) -> str:
        return f"{self.number:04}.html"


def in_blocks(groups: list[Group]) -> list[Block]:
    """Return the claims of these sources on pages of equal size; a figure is where its source is.

    A source that is continued on the next page has its figures where it begins.
    """
    blocks = [Block(1)]
    for group in groups:
        left, figures = group.records, group.figures
        while left or figures:
            if blocks[-1].size >= CLAIMS_OF_A_BLOCK:
                blocks.append(Block(len(blocks) + 1))
            room = CLAIMS_OF_A_BLOCK - blocks[-1].size
            blocks[-1].groups.append(Group(group.source, left[:room], figures))
            left, figures = left[room:], []
    return blocks


def write_blocks(folder: Path, results: ResultsDocument, store: StoredRuns) -> Iterator[Path]:
    """Write the index and the pages of all claims; yield each path once it is written.

    One page after the other is laid out, so that memory holds the plots of one.
    """
    blocks = in_blocks(groups_by_source(results))
    (folder / FOLDER).mkdir(exist_ok=True)
    yield _write(folder / "index.html", render_index(lay_out_index(results, _pages(blocks))))
    runs: dict[str, ArmRuns] = {}
    drawn: dict[str, PagePlot] = {}
    first = 1
    for block in blocks:
        part = replace(
            results,
            claims=[record for group in block.groups for record in group.records],
            figures=[figure for group in block.groups for figure in group.figures],
            failures=[],
        )
        runs = _read(store, part, before=runs)
        view = lay_out_page(part, runs, drawn=drawn)
        drawn = view.shared
        title = f"Claims {first:,} to {first + block.size - 1:,} of {len(results.claims):,}"
        first += block.size
        content = render_block(view, title, _beside(block, blocks))
        yield _write(folder / FOLDER / block.name, content)


def _pages(blocks: list[Block]) -> dict[int, str]:
    return {
        id(record): f"{FOLDER}/{block.name}"
        for block in blocks
        for group in block.groups
        for record in group.records
    }


def _read(
    store: StoredRuns, part: ResultsDocument, *, before: dict[str, ArmRuns]
) -> dict[str, ArmRuns]:
    """Return the runs of these claims' arms; those that the page before has are not read again."""
    names = dict.fromkeys(name for record in part.claims for name in record.arms)
    missing = {name: part.arms[name] for name in names if name not in before}
    read = read_runs(store, missing)
    return {name: before[name] if name in before else read[name] for name in names}


def _beside(block: Block, blocks: list[Block]) -> list[tuple[str, str]]:
    """Return the names of the pages before and after, each with the words of its link."""
    beside: list[tuple[str, str]] = []
    if block.number > 1:
        beside.append((blocks[block.number - 2].name, "Those before"))
    if block.number < len(blocks):
        beside.append((blocks[block.number].name, "Those after"))
    return beside


def _write(path: Path, parts: Iterator[str]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(parts)
    return path
