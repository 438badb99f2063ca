"""One thread a process, set before anything imports torch: neighbours share the cores."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

pytest_plugins = ["pytester"]  # the plugin's own tests run pytest in projects of their own
