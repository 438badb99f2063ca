"""What one machine trains another has: verified, once, and also when the share comes and goes."""

import json

import pytest

from repro.share import ShareError
from repro.share.packed import packed, unpacked
from repro.store import Store, entry, run_key

ONE = {"seed": 1}
KEY = run_key(ONE)
NAME = f"results/{KEY[:2]}/{KEY}"


def files(store):
    return {path.name: path.read_bytes() for path in store._path(KEY).iterdir()}


def put(store, values=None, weights=None):
    store.put(ONE, values or {"x": 0.1}, {"host": "here"}, weights=weights)


def test_a_run_is_the_same_bytes_on_another_machine(machine):
    here, there = machine("here"), machine("there")
    put(here, weights=b"parameters")
    here.close()
    assert machine("third").get(ONE).weights == b"parameters"
    assert there.get(ONE) is None  # it has listed before the run was there
    third = machine("fourth")
    assert third.get(ONE).values == {"x": 0.1}
    assert files(third) == files(here)


def test_what_a_machine_had_before_it_shared_goes_up_when_it_is_used(machine, tmp_path):
    for seed in (1, 2):
        Store(tmp_path / "here").put({"seed": seed}, {"x": seed}, {})
    here = machine("here")
    assert here.get(ONE)
    here.close()
    there = machine("there")
    assert there.get(ONE)
    assert there.get({"seed": 2}) is None


def test_whoever_takes_a_lease_sees_what_its_last_holder_sent(machine, objects):
    here, there = machine("here"), machine("there")
    with here.locks.try_lock(KEY):
        put(here)
    here.close()
    with there.locks.try_lock(KEY):  # it has listed long ago
        assert there.get(ONE).values == {"x": 0.1}
    there.close()
    assert objects.names("leases") == objects.names("owners") == set()


def test_a_run_that_another_machine_trains_is_refused(machine):
    here, there = machine("here"), machine("there")
    with here.locks.try_lock(KEY):
        assert there.locks.try_lock(KEY) is None
        assert there.locks.holder(KEY).startswith("process ")
        assert Store(there.root).locks.try_lock(KEY) is not None  # it let go of its own


def test_an_engine_is_settled_for_all(machine):
    here, there = machine("here"), machine("there")
    name = "ab" * 16
    with here.locks.try_lock(f"engine-{name}"):
        (here.root / "engines" / name).write_text("loop")
    here.close()
    with there.locks.try_lock(f"engine-{name}"):
        assert (there.root / "engines" / name).read_text() == "loop"
    assert (machine("third").root / "engines" / name).read_text() == "loop"


def good():
    return entry.encode(ONE, {"x": 0.1}, {})


def summed(**changed):
    """Files whose checksums hold, whatever is in them."""
    contents = {**good(), **changed}
    contents.pop("SHA256SUMS")
    return packed({**contents, "SHA256SUMS": entry._sums(contents)})


HOSTILE = {
    "nothing": b"",
    "cut": packed(good())[:-1],
    "longer": packed(good()) + b"x",
    "other sums": packed({**good(), "result.json": b'{"x": 9}\n'}),
    "another run": packed(entry.encode({"seed": 2}, {"x": 0.1}, {})),
    "no number": summed(**{"result.json": b'{"x": NaN}'}),
    "no mapping": summed(**{"result.json": b"[]"}),
    "deep": summed(**{"result.json": b"[" * 100_000}),
    "no text": summed(**{"result.json": b'{"x": "\\ud800"}'}),
    "files missing": packed({"SHA256SUMS": b""}),
    "a way out": packed({**good(), "../../../gone": b"x"})[:-1],
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_damaged_run_is_one_sentence_and_is_trained_and_sent_again(
    machine, objects, reports, content
):
    objects.write_all({NAME: content})
    here = machine("here")
    assert here.get(ONE) is None
    assert here.get(ONE) is None
    assert len(reports) == 1
    assert "will be trained again" in reports[0]
    with here.locks.try_lock(KEY):
        put(here)
    here.close()
    assert unpacked(objects.read(NAME)) == files(here)
    assert len(reports) == 1


def test_names_on_a_share_lead_nowhere_else(machine, objects):
    objects.write_all({"engines/x.y": b"x", "results/ab/no": b"x"})
    here = machine("here")
    assert list((here.root / "engines").iterdir()) == []


class Unsteady:
    """Objects that can be out of reach."""

    def __init__(self, objects):
        self.objects, self.is_gone, self.name = objects, False, "far"

    def __getattr__(self, method):
        def call(*arguments):
            if self.is_gone:
                raise ShareError("cannot be reached (no route)")
            return getattr(self.objects, method)(*arguments)

        return call


def test_a_share_that_is_gone_is_said_once_and_training_goes_on(machine, objects, reports):
    far = Unsteady(objects)
    here = machine("here", far)
    far.is_gone = True
    for seed in range(3):
        with here.locks.try_lock(run_key({"seed": seed})):
            here.put({"seed": seed}, {"x": seed}, {})
            assert here.get({"seed": seed})
    assert here.get({"seed": 9}) is None
    here.close()
    assert [line.partition(";")[0] for line in reports] == [
        "The share far cannot be reached (no route)",
        "3 results could not be sent to the share far",
    ]
    far.is_gone = False
    again = machine("here", far)
    for seed in range(3):
        assert again.get({"seed": seed})
    again.close()
    assert len(objects.names("results")) == 3


def test_a_share_that_comes_back_before_the_end_has_everything(machine, objects, reports):
    far = Unsteady(objects)
    far.is_gone = True
    here = machine("here", far)
    put(here)
    far.is_gone = False
    here.close()
    assert objects.names("results") == {f"{KEY[:2]}/{KEY}"}
    assert len(reports) == 1


class ReadOnly:
    """Objects that may not be written."""

    def __init__(self, objects):
        self.objects, self.name = objects, "read-only"

    def __getattr__(self, method):
        if method in ("create", "write_all", "remove"):
            return self._refuse
        return getattr(self.objects, method)

    def _refuse(self, *_):
        raise ShareError("refuses these credentials")


def test_a_share_that_is_only_read_gives_its_results(machine, objects, reports):
    here = machine("here")
    put(here)
    here.close()
    there = machine("there", ReadOnly(objects))
    assert there.get(ONE)
    with there.locks.try_lock(run_key({"seed": 2})):
        there.put({"seed": 2}, {"x": 2}, {})
    there.close()
    assert reports == ["The share read-only is only read: it refuses these credentials."]


def test_a_share_of_another_version_is_left_alone(machine, objects, reports):
    objects.write_all({"repro-share": b"repro share 2\n"})
    here = machine("here")
    put(here)
    here.close()
    assert "another version of repro" in reports[0]
    assert objects.names("results") == set()


def test_a_store_that_two_machines_can_create_one_object_in_is_told(machine, objects, reports):
    class Careless(Unsteady):
        def create(self, name, content):
            self.objects.write_all({name: content})
            return True

    machine("here", Careless(objects))
    assert "trained twice" in reports[0]


def test_results_are_plain_for_people(machine, objects):
    here = machine("here")
    put(here)
    here.close()
    text = objects.read(NAME)
    assert text.startswith(b"repro result 1\n")
    assert json.loads(unpacked(text)["result.json"]) == {"x": 0.1}
