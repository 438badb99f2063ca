"""Trainings that are interrupted, and the checkpoints that they leave."""


class Kept(dict):
    """Checkpoints in memory."""

    def load(self, run):
        return self.get(run)

    def save(self, run, payload):
        self[run] = payload


class Interrupted(Exception):
    """Raised where a training is to stop."""


def stop_at(step):
    """Return a `beat` that interrupts a training at a step."""

    def beat(progress):
        if progress.step >= step:
            raise Interrupted

    return beat
