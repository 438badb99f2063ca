"""Data sets: the real ones, and generated twins that stand in for them by name, not silently."""
