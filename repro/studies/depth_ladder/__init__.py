"""Source 004: which credit rules make use of depth?  A ResMLP with its last k blocks trained."""
