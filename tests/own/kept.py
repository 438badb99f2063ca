"""What a training that is not ours is given: one folder, and somebody who sees its progress."""

from repro.own.training_run import Files


class Kept(Files):
    """One folder for all attempts at a run, and the progress that was shown."""

    def __init__(self, root):
        self.root, self.shown, self.devices = root, [], {}

    def folder(self, run):
        self.root.mkdir(exist_ok=True)
        return self.root

    def show(self, progress):
        self.shown.append(tuple(progress))
