"""The command `new`, and the small projects that it writes."""
