"""Source 002: layers that share their parameters, evaluated by BLiMP and LAMBADA."""
