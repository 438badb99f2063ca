"""The report needs no pytest: whoever has records can write one."""

import pkgutil
import subprocess
import sys

import pytest

import repro.report


@pytest.mark.thorough
def test_a_report_is_written_without_pytest():
    modules = {
        module.name for module in pkgutil.walk_packages(repro.report.__path__, "repro.report.")
    }
    assert len(modules) > 15
    code = f"import sys, {', '.join(sorted(modules))}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert "repro.report.page.render" in loaded.split()
    assert not {"_pytest", "pytest", "repro.plugin"} & set(loaded.split())
