"""Results that many machines share, in a folder or an object store behind each one's own store."""

from repro.share.objects import Objects, ShareError
from repro.share.opened import objects_at
from repro.share.store import SharedStore

__all__ = ["Objects", "ShareError", "SharedStore", "objects_at"]
