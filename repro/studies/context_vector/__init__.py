"""Source 001: a recurrent language model whose larger form is the worse one."""
