from tests.data.conftest import data, only, server
from tests.plugin.conftest import outside_project, project

__all__ = ["data", "only", "outside_project", "project", "server"]
