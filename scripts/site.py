"""The hooks of the documentation site: pages of the repository, and reference from docstrings.

MkDocs calls them by `mkdocs.yml`. Pages outside docs/ become pages of the site, a file that a page
links to becomes a page that shows it, and comments such as `<!-- words of repro.judge:Ladder -->`
become what the docstrings say.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import posixpath
import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from repro.__main__ import command_line
from repro.plugin.command_line import OPTIONS

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "benchmarks/NOTES.md": "NOTES.md",
}
"""Pages outside docs/, by their places in the repository, and their places in the site."""

LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#\s]+)((?:#[^)]*)?\))")
FENCED = re.compile(r"(^```.*?^```\n?)", re.DOTALL | re.MULTILINE)
MARK = re.compile(
    r"^<!-- (words|class|fields|function|options|commands)(?: of (\S+))?(?: only ([\w ]+))? -->$",
    re.M,
)
TEXTS = {".py": "python", ".toml": "toml", ".yml": "yaml", ".cff": "yaml", ".csv": "text"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside docs/, and a page for every file that any page links to."""
    for place, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / place).read_text()))
    shown = {target for place in _places(files) for target in _linked(place)}
    for target in sorted(shown):
        files.append(File.generated(config, f"files/{target}.md", content=_shown(ROOT / target)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to pages of the site, and put the reference in its places."""
    place = _place_of(page.file.src_uri)
    parts = FENCED.split(markdown)
    parts[::2] = [
        LINK.sub(lambda found: _link(found, place, page.file.src_uri), part) for part in parts[::2]
    ]
    return MARK.sub(_reference, "".join(parts))


def _places(files: Files) -> Iterator[str]:
    """Yield where the pages of the site are in the repository."""
    for file in files.documentation_pages():
        yield _place_of(file.src_uri)


def _place_of(uri: str) -> str:
    return next((place for place, page in PAGES.items() if page == uri), f"docs/{uri}")


def _target(place: str, link: str) -> str:
    """Return the place in the repository that a link leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(place), link))


def _linked(place: str) -> Iterator[str]:
    """Yield the files and folders that a page links to and that are no pages of the site."""
    for part in FENCED.split((ROOT / place).read_text())[::2]:
        for _, link, _ in LINK.findall(part):
            target = _target(place, link)
            is_page = target in PAGES or target.startswith("docs/")
            if "://" not in link and not is_page and (ROOT / target).exists():
                yield target


def _link(found: re.Match[str], place: str, uri: str) -> str:
    start, link, end = found.groups()
    if "://" in link:
        return found[0]
    target = _target(place, link)
    if target in PAGES:
        there = PAGES[target]
    elif target.startswith("docs/"):
        there = target.removeprefix("docs/")
    else:
        there = f"files/{target}.md"
    start = start.removeprefix("!") if there.startswith("files/") else start
    return f"{start}{posixpath.relpath(there, posixpath.dirname(uri) or '.')}{end}"


def _shown(path: Path) -> str:
    """Return a page that shows a file, or the text files of a folder."""
    texts = [path] if path.is_file() else sorted(x for x in path.iterdir() if x.is_file())
    page = [f"# {path.relative_to(ROOT)}"]
    for text in texts:
        if text != path:
            page.append(f"## {text.name}")
        if text.suffix in TEXTS or not text.suffix:
            page.append(f"````{TEXTS.get(text.suffix, 'text')}\n{text.read_text()}\n````")
        elif text.suffix == ".md":
            page.append(text.read_text())
        else:
            page.append(f"A file of {text.stat().st_size / 1e6:.1f} MB, in the repository.")
    return "\n\n".join(page) + "\n"


def _reference(mark: re.Match[str]) -> str:
    kind, name, only = mark.groups()
    made = {
        "words": lambda: "\n".join(_words(_named(name), (only or "").split())),
        "class": lambda: _entry(_named(name).__name__, _named(name), signature=""),
        "fields": lambda: "\n".join(_fields(_named(name))),
        "function": lambda: _entry(name.partition(":")[2], _named(name)),
        "options": lambda: "\n".join(_options()),
        "commands": lambda: "\n".join(_commands()),
    }
    return made[kind]()


def _named(name: str) -> Any:
    module, _, inside = name.partition(":")
    return getattr(importlib.import_module(module), inside)


def _words(kind: type, only: Sequence[str]) -> Iterator[str]:
    """Yield the entry of a class and of its public words, or only some, in their order."""
    yield _entry(kind.__name__, kind, signature="")
    for name, value in vars(kind).items():
        value = value.fget if isinstance(value, property) else value
        value = getattr(value, "__func__", value)
        is_wanted = name in only if only else not name.startswith("_")
        if is_wanted and inspect.isfunction(value) and inspect.getdoc(value):
            is_property = isinstance(vars(kind)[name], property)
            yield _entry(name, value, level=4, signature="" if is_property else None)


def _fields(kind: type) -> Iterator[str]:
    """Yield a table of the fields of a class that have a text."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body
    yield "| field | meaning |\n|---|---|"
    yield from (
        f"| `{ast.unparse(field.target)}` | {' '.join(text.value.value.split())} |"
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    )


def _entry(name: str, value: Any, *, level: int = 3, signature: str | None = None) -> str:
    if signature is None:
        parameters = list(inspect.signature(value).parameters.values())
        parameters = [p.replace(annotation=p.empty) for p in parameters if p.name != "self"]
        signature = str(inspect.Signature(parameters))
    return f"{'#' * level} `{name}{signature}`\n\n{_as_markdown(inspect.getdoc(value) or '')}\n"


def _as_markdown(text: str) -> str:
    """Return a docstring as Markdown: its examples become blocks of code."""
    parts = []
    for part in re.split(r"\n\s*\n", text):
        is_example = part.lstrip().startswith(">>>")
        parts.append(f"```pycon\n{textwrap.dedent(part)}\n```" if is_example else part)
    return "\n\n".join(parts)


def _options() -> Iterator[str]:
    yield "| option | meaning |\n|---|---|"
    for name, how in OPTIONS.items():
        value = "" if "action" in how and "metavar" not in how else f" {how.get('metavar', '…')}"
        yield f"| `--{name}{value}` | {how['help'].replace('|', '/')} |"


def _commands() -> Iterator[str]:
    (commands,) = command_line()._subparsers._group_actions
    for name, of_it in commands.choices.items():
        yield f"### `python -m repro {name}`\n"
        yield f"```text\n{of_it.format_help().rstrip()}\n```\n"
        for group in of_it._subparsers._group_actions if of_it._subparsers else ():
            for each in (group.choices or {}).values():
                yield f"```text\n{each.format_help().rstrip()}\n```\n"
