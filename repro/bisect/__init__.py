"""Finds the commit at which a claim's effect changed, in a history of commits.

Each step is measured in a worktree of its own and judged like the gate judges: against a reference
at the good end, with more seeds where it is open instead of a guess.
"""
