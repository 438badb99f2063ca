"""The objects of an object store, through fsspec.

Credentials are fsspec's to find, in the environment and the user's own files.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from repro.share.objects import ShareError

SECONDS_TO_CONNECT = 10
SECONDS_TO_ANSWER = 60
ATTEMPTS = 2
ATTEMPTS_TO_CREATE = 5
SECONDS_BETWEEN_ATTEMPTS = 0.1

_SECRET = re.compile(r"//[^/@\s]*@")


class Bucket:
    """The objects below a URL, as fsspec takes it: `s3://bucket/prefix`.

    >>> Bucket("memory://shared").create("leases/one", b"mine")
    True
    """

    def __init__(self, url: str) -> None:
        self.name = _SECRET.sub("//", url.rstrip("/"))
        self._url = url
        self._files: Any = None
        self._root = ""

    def names(self, folder: str) -> set[str]:
        with self._explained() as files:
            try:
                found = files.find(f"{self._root}/{folder}")
            except FileNotFoundError:
                return set()
            return {path.partition(f"{self._root}/{folder}/")[2] for path in found}

    def read(self, name: str) -> bytes | None:
        return self.read_all([name]).get(name)

    def read_all(self, names: Iterable[str]) -> dict[str, bytes]:
        paths = {f"{self._root_of()}/{name}": name for name in names}
        with self._explained() as files:
            answers = files.cat(list(paths), on_error="return") if paths else {}
            for answer in answers.values():
                if isinstance(answer, Exception) and not isinstance(answer, FileNotFoundError):
                    raise answer
        return {paths[path]: x for path, x in answers.items() if isinstance(x, bytes)}

    def write_all(self, contents: Mapping[str, bytes]) -> None:
        with self._explained() as files:
            files.pipe({f"{self._root}/{name}": content for name, content in contents.items()})

    def create(self, name: str, content: bytes) -> bool:
        with self._explained() as files:
            for attempt in range(ATTEMPTS_TO_CREATE):
                try:
                    files.pipe_file(f"{self._root}/{name}", content, mode="create")
                except FileNotFoundError:
                    raise
                except Exception:  # a refusal has another name in every store
                    if self.read(name) is not None:
                        return False
                    # S3 answers so too where two create an object at once, and neither has yet
                    if attempt + 1 == ATTEMPTS_TO_CREATE:
                        raise
                    time.sleep(SECONDS_BETWEEN_ATTEMPTS)
                else:
                    return True
        return False

    def remove(self, names: Iterable[str]) -> None:
        paths = [f"{self._root_of()}/{name}" for name in names]
        with self._explained() as files:
            there = paths if self._is_s3 else [path for path in paths if files.exists(path)]
            if there:
                files.rm(there)

    @property
    def _is_s3(self) -> bool:
        return self._url.startswith("s3:")

    def _root_of(self) -> str:
        with self._explained():
            return self._root

    @contextmanager
    def _explained(self) -> Iterator[Any]:
        try:
            if self._files is None:
                self._open()
            yield self._files
        except ShareError:
            raise
        except FileNotFoundError as error:
            raise ShareError("is not there; make the bucket first") from error
        except PermissionError as error:
            raise ShareError("refuses these credentials") from error
        except Exception as error:  # each store has errors of its own
            why = _SECRET.sub("//", " ".join(str(error).split()))[:300]
            raise ShareError(f"cannot be reached ({type(error).__name__}: {why})") from error

    def _open(self) -> None:
        import fsspec  # type: ignore[import-untyped]

        options: dict[str, Any] = {"use_listings_cache": False}
        if self._is_s3:
            options["config_kwargs"] = {
                "connect_timeout": SECONDS_TO_CONNECT,
                "read_timeout": SECONDS_TO_ANSWER,
                "retries": {"max_attempts": ATTEMPTS},
            }
        self._files, root = fsspec.core.url_to_fs(self._url, **options)
        self._root = root.rstrip("/")
