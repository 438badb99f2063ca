"""The source that a run reaches, read and never imported, so that a changed study trains again."""

from repro.code.modules import Modules
from repro.code.reached import Root, contents, digest, libraries, reached

__all__ = ["Modules", "Root", "contents", "digest", "libraries", "reached"]
