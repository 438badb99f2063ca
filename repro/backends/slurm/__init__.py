"""Batches as jobs of a Slurm cluster. Imported only where that was asked for."""
