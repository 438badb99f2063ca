"""Data sets: the real ones, and generated twins that stand in for them under their own names."""
