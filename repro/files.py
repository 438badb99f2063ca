from __future__ import annotations

import os
from pathlib import Path


def write_beside(path: Path, content: bytes | str) -> None:
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    beside.write_bytes(content.encode() if isinstance(content, str) else content)
    beside.replace(path)
