"""Makes the twins in `fixtures/` again: `python -m repro.data.twins`."""

from __future__ import annotations

import numpy as np

from repro.data.locate import fixtures
from repro.data.twins import images


def main() -> None:
    folder = fixtures() / "images"
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in images.generate().items():
        np.save(folder / f"{name}.npy", array)
        print(f"{folder.name}/{name}.npy {array.shape}")


if __name__ == "__main__":
    main()
