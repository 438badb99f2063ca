"""What is shown of verdicts: in the terminal, in files, in figures."""
