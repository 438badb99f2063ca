"""Records a Python process that a training starts, and then does what the user's own file does.

The folder of this file is the first of `PYTHONPATH` there. Python imports `sitecustomize` when it
starts, before any code of a project.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _start() -> None:
    from importlib.util import module_from_spec, spec_from_file_location

    file = os.path.join(os.path.dirname(_HERE), "record.py")
    spec = spec_from_file_location("repro.code.record", file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.start()


if _HERE in sys.path:
    sys.path.remove(_HERE)
if "REPRO_RECORD" in os.environ:
    _start()
del sys.modules[__name__]
try:
    import sitecustomize  # type: ignore[import-not-found] # noqa: F401  # the user's own
except ImportError:
    sys.modules[__name__] = type(sys)(__name__)
