"""Data sets: the real ones, and generated twins with names of their own, which replace them."""
