"""A real server of files on this machine, which can be told to misbehave; and a data folder."""

import hashlib
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from repro.commands import data as command
from repro.data import files, registry
from repro.data.registry import DataSet, File

RAW = {
    "wrong length": b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nwords",
    "no HTTP": b"220 welcome\r\n",
    "steers": b"HTTP/1.1 503 \x1b[31m\x9b1m\x07\x08\r\xad" + b"x" * 50_000 + b"\r\n\r\n",
}
"""Answers that are sent as they are."""


class Files(ThreadingHTTPServer):
    """Serves `contents` by path, with the `behaviour` of each path."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.contents, self.behaviour = {}, {}
        self.requests = []
        self.stop = threading.Event()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        pass  # clients give up in these tests


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        server, path = self.server, self.path
        server.requests.append(path)
        behaviour = server.behaviour.get(path)
        if behaviour in RAW:
            self.wfile.write(RAW[behaviour])
        elif behaviour == "silent":
            server.stop.wait(9)
        elif isinstance(behaviour, int):
            self.send_error(behaviour)
        elif path not in server.contents:
            self.send_error(404)
        else:
            self.send(server.contents[path], behaviour)

    def send(self, body, behaviour):
        self.send_response(200)
        if behaviour != "no length":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if behaviour == "slow":
            time.sleep(0.2)
        self.wfile.write(body[: len(body) // 2] if behaviour == "breaks off" else body)


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    files = Files()
    thread = threading.Thread(target=files.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield files
    files.stop.set()
    files.shutdown()
    thread.join()
    files.server_close()


@pytest.fixture
def data(tmp_path, monkeypatch):
    """An empty data folder, with something beside it that must not change."""
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "beside").write_text("untouched")
    monkeypatch.setenv("REPRO_DATA", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield folder
    assert (tmp_path / "beside").read_text() == "untouched"
    assert {p.name for p in tmp_path.iterdir()} <= {"data", "beside", "cache"}


@pytest.fixture
def only(monkeypatch):
    """Makes one set the only one that there is."""

    def make(known):
        for module in (registry, command):
            monkeypatch.setattr(module, "data_sets", lambda: {known.name: known})
        return known

    return make


def published(contents):
    """Files with these contents by name, as a set publishes them."""
    return tuple(
        File(name, len(content), hashlib.sha256(content).hexdigest())
        for name, content in contents.items()
    )


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """Makes files the whole of a set, as if they had been published; returns their folder."""
    known = dict(registry.data_sets())

    def of(contents, name="cifar10"):
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        for file, content in contents.items():
            (folder / file).write_bytes(content)
        known[name] = DataSet(name, "C", "none", "nobody", name, published(contents), ())
        for module in (registry, files):
            monkeypatch.setattr(module, "data_sets", lambda: known)
        monkeypatch.setenv("REPRO_DATA", str(tmp_path / "data"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        files.file_hashes.cache_clear()
        return folder

    yield of
    files.file_hashes.cache_clear()
