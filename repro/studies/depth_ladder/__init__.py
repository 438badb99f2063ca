"""Source 004: a ResMLP whose last k blocks are trained by one of three credit rules."""
