"""Reports of verdicts: in the terminal, in files, in figures."""
