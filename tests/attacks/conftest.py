from tests.plugin.conftest import project

__all__ = ["project"]
