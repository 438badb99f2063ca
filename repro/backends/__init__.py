"""The places where batches train: this machine, or a cluster."""
