"""Finds the code that a run reaches by reading source, so that a changed study trains again."""

from repro.code.reached import Modules, Root, digest, libraries, reached
from repro.code.source import Definition

__all__ = ["Definition", "Modules", "Root", "digest", "libraries", "reached"]
