"""Source 003: GPT-2 finetuned to tell spam; what to train, and which token to read."""
