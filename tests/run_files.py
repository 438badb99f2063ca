"""The files of runs in memory, and training that is interrupted."""

from repro.core.progress import Progress
from repro.core.train import training


class KeptFiles(dict):
    """Checkpoints by run, and why some were dropped; `weights` returns what runs start from."""

    def __init__(self, weights=None):
        super().__init__()
        self.dropped = {}
        self.load_weights = weights

    def load_checkpoint(self, run):
        return self.get(run)

    def wants_checkpoint(self):
        return True

    def save_checkpoint(self, run, payload):
        self[run] = payload

    def drop_checkpoint(self, run, why):
        del self[run]
        self.dropped[run] = why


def train_until(step, study, runs, *, files, **options):
    """Train runs, keep a checkpoint wherever there may be one, and stop after a step."""
    for event in training(study, runs, files=files, **options):
        if isinstance(event, Progress) and event.step >= step:
            assert files
            return
    raise AssertionError(f"they were done before step {step}")
