"""Code that makes a process one of an environment without torch."""

WITHOUT_TORCH = """
import sys
from importlib import metadata

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

version = metadata.version

def version_of(name):
    if name == "torch":
        raise metadata.PackageNotFoundError(name)
    return version(name)

sys.meta_path.insert(0, NoTorch())
metadata.version = version_of
"""
