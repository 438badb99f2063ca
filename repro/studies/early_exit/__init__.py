"""Source 000: a small transformer whose layers can all answer, and tokens that leave early."""
