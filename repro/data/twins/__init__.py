"""Generators of the twins in `fixtures/`; run `python -m repro.data.twins` to make them again."""
