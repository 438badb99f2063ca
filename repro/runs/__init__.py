"""From the runs that claims need to their stored results: identity, plan, queue, and the loop."""
