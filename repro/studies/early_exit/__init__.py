"""Source 000: a small transformer in which every layer can predict, so tokens can exit early."""
