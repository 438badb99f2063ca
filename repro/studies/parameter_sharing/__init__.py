"""Source 002: layers that share their parameters, judged by BLiMP and LAMBADA."""
