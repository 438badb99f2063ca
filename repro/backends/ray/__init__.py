"""Batches as tasks of a Ray cluster. Imported only where that was asked for."""
