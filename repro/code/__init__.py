"""The source that a run reaches, read and never imported, so that a changed study trains again."""

from repro.code.reached import Modules, Root, digest, libraries, reached
from repro.code.source import Definition

__all__ = ["Definition", "Modules", "Root", "digest", "libraries", "reached"]
