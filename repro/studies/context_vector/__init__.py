"""Source 001: a recurrent language model whose larger version is worse."""
