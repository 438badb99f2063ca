"""The claims of this project that documents decide: beside those that train, and told apart."""

import ast
from pathlib import Path

CLAIMS = Path(__file__).parents[2] / "claims"


def names(folder):
    """Source and test of each claim: what the ledger calls it, but for its parameters."""
    for path in folder.glob("test_*.py"):
        for test in ast.walk(ast.parse(path.read_text())):
            if isinstance(test, ast.FunctionDef):
                for mark in test.decorator_list:
                    given = {each.arg: each.value for each in getattr(mark, "keywords", ())}
                    if "source" in given and getattr(mark.func, "id", "") == "claim":
                        yield test.name


def test_no_claim_is_called_like_one_of_another_ledger():
    assert set(names(CLAIMS / "documents"))
    assert not set(names(CLAIMS / "documents")) & set(names(CLAIMS))
