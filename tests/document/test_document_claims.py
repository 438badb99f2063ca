"""The claims of this project that documents decide are told apart from those that train."""

import ast
from pathlib import Path

CLAIMS = Path(__file__).parents[2] / "claims"


def claim_names(folder):
    """The tests that are claims, by name: the part of a ledger's name that must differ."""
    for path in folder.glob("test_*.py"):
        for test in ast.walk(ast.parse(path.read_text())):
            if isinstance(test, ast.FunctionDef):
                for mark in test.decorator_list:
                    keywords = {keyword.arg for keyword in getattr(mark, "keywords", ())}
                    if "source" in keywords and getattr(mark.func, "id", "") == "claim":
                        yield test.name


def test_no_claim_is_called_like_one_of_another_ledger():
    of_documents = set(claim_names(CLAIMS / "documents"))
    assert of_documents
    assert not of_documents & set(claim_names(CLAIMS))
