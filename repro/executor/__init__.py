"""Where batches of runs are trained."""
