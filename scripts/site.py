"""The hooks of the documentation site, which MkDocs calls by `mkdocs.yml`.

Pages outside docs/ become pages of the site, and a file that a page links to becomes a page that
shows it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "README.md": "index.md",
    "AGENTS.md": "AGENTS.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "benchmarks/NOTES.md": "NOTES.md",
    "benchmarks/README.md": "checks.md",
}
"""Pages outside docs/, by their places in the repository, and their places in the site."""

LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#\s]+)((?:#[^)]*)?\))")
FENCED = re.compile(r"(^```.*?^```\n?)", re.DOTALL | re.MULTILINE)
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
    """Let links lead to pages of the site."""
    place = _place_of(page.file.src_uri)
    parts = FENCED.split(markdown)
    parts[::2] = [
        LINK.sub(lambda found: _link(found, place, page.file.src_uri), part) for part in parts[::2]
    ]
    return "".join(parts)


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
