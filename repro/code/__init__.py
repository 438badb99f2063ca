"""Traces: what a training used, recorded while it runs, and compared with the code of today."""
