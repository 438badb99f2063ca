"""Source 003: GPT-2, finetuned to detect spam: which part to train, and which token to read."""
