"""Data sets: the real ones, and the generated twins that stand in for them by name, never silently."""
