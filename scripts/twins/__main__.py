"""Makes the twins in `fixtures/` again: `python -m scripts.twins`."""

from __future__ import annotations

import numpy as np

from repro.data.locate import fixtures
from scripts.twins import images, texts


def main() -> None:
    """Write every file of every twin."""
    for name, files in texts().items():
        folder = fixtures() / name
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            (folder / file).write_bytes(content.encode())
            print(f"{name}/{file} {len(content)} characters")
    folder = fixtures() / "cifar10"
    folder.mkdir(parents=True, exist_ok=True)
    for part, array in images.generate().items():
        np.save(folder / f"{part}.npy", array)
        print(f"{folder.name}/{part}.npy {array.shape}")


if __name__ == "__main__":
    main()
