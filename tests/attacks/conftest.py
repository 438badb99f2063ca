from tests.plugin.conftest import outside_project, project

__all__ = ["outside_project", "project"]
