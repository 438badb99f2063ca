"""The names by which the page's elements are linked."""

from __future__ import annotations

import hashlib
import json


def anchor(kind: str, *parts: str) -> str:
    """Return a short name made of what an element shows, the same in every report."""
    return f"{kind}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:10]}"
