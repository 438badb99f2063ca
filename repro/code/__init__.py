"""The source that a run reaches, read and never imported, so that a changed study trains again."""

from repro.code.reached import Modules, Root, digest, libraries, reached

__all__ = ["Modules", "Root", "digest", "libraries", "reached"]
