"""A Ceph on this machine: a monitor, a store in memory, and its S3 gateway, on free ports.

Everything it writes lies in one temporary folder. It needs root, and Debian's packages: ceph-mon,
ceph-osd, radosgw.
"""

import os
import shutil
import subprocess
import time
import uuid
from urllib.error import URLError
from urllib.request import urlopen

from tests.daemons import Daemons

PROGRAMS = ("ceph", "ceph-mon", "ceph-osd", "monmaptool", "radosgw", "radosgw-admin")
SECONDS_TO_START = 60

CONFIGURATION = """
[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{ports[0]}/0]
mon initial members = a
public addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
ms mon cluster mode = crc
ms mon service mode = crc
ms client mode = crc
ms cluster mode = crc
ms service mode = crc
osd objectstore = memstore
memstore device bytes = 1073741824
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon data avail crit = 0
mon data avail warn = 0
run dir = {folder}
admin socket = {folder}/$name.asok
log file = {folder}/$name.log
mon data = {folder}/mon
osd data = {folder}/osd
rgw data = {folder}/rgw
rgw frontends = beast endpoint=127.0.0.1:{ports[1]}
"""


def lacking():
    """Why no Ceph can be started here, in words; empty where one can."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    return "" if os.geteuid() == 0 else "it is started by root alone"


class Gateway(Daemons):
    """An object store that speaks S3, with one user."""

    def __init__(self):
        super().__init__("rc-", ports=2)
        self._of_ceph = {"CEPH_CONF": str(self.folder / "ceph.conf")}

    def __enter__(self):
        try:
            fsid = str(uuid.uuid4())
            text = CONFIGURATION.format(fsid=fsid, folder=self.folder, ports=self.ports)
            (self.folder / "ceph.conf").write_text(text)
            for name in ("mon", "osd", "rgw"):
                (self.folder / name).mkdir()
            address, known = f"[v2:127.0.0.1:{self.ports[0]}]", str(self.folder / "map")
            self.run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", address, known)
            self.run("ceph-mon", "-i", "a", "--mkfs", "--monmap", known)
            self._start("mon", "ceph-mon", "-i", "a", "-f", **self._of_ceph)
            of_disk = str(uuid.uuid4())
            self.run("ceph", "osd", "new", of_disk, "0")  # waits for the monitor
            self.run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", of_disk)
            self._start("osd", "ceph-osd", "-i", "0", "-f", **self._of_ceph)
            self.start()
            who = ("--uid=test", "--display-name=test", "--access-key=access", "--secret=secret")
            self.run("radosgw-admin", "user", "create", *who)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._end_all()

    def environment(self):
        """What a process has in its environment that uses this store."""
        return {
            "AWS_ACCESS_KEY_ID": "access",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.ports[1]}",
            "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",  # newer than this Ceph
        }

    def run(self, *command):
        """Return what one of Ceph's commands prints."""
        done = subprocess.run(
            command,
            env={**os.environ, **self._of_ceph},
            capture_output=True,
            text=True,
            timeout=SECONDS_TO_START,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start(self):
        """Start the gateway, and wait until it answers."""
        self._start("gateway", "radosgw", "-n", "client.rgw", "-f", **self._of_ceph)
        deadline = time.monotonic() + SECONDS_TO_START
        while True:
            try:
                urlopen(self.environment()["AWS_ENDPOINT_URL"], timeout=5).close()
                return
            except (URLError, OSError):
                assert time.monotonic() < deadline, "the gateway does not start"
                time.sleep(0.2)

    def stop(self):
        """`kill -9` of the gateway: nobody answers any more."""
        self._end("gateway")
