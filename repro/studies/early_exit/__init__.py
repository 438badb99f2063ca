"""Source 000: a small transformer whose layers can all predict, so that tokens leave early."""
