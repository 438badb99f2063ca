"""With pytest-xdist: which worker gets which tests, and who takes over from one that crashed."""

from types import SimpleNamespace

import pytest

from repro.plugin.display import MOST_KNOWN, Display
from repro.plugin.workers import ClaimsTogether, Notes
from repro.report.lines import PROPERTY, ClaimLine
from repro.runs.progress import Status

CLAIMS = [f"test_claims.py::test_{n}" for n in range(4)]
UNITS = [f"test_units.py::test_{n}" for n in range(6)]
TESTS = [*UNITS[:3], *CLAIMS, *UNITS[3:]]


class Node:
    """A worker of xdist, which runs nothing by itself."""

    def __init__(self):
        self.sent, self.shutting_down = [], False

    def send_runtest_some(self, places):
        assert not self.shutting_down, "what is sent after the end of a worker is never run"
        self.sent += [TESTS[place] for place in places]

    def shutdown(self):
        self.shutting_down = True


class Session:
    """A session of xdist: the scheduling, and workers that have collected the tests."""

    def __init__(self, folder, workers):
        self.notes, self.finished = Notes(folder), set()
        self.notes.leave("claims", CLAIMS)
        self.deals = ClaimsTogether(self.notes, self.finished)
        self.nodes = [Node() for _ in range(workers)]
        for node in self.nodes:
            self.deals.add_node(node)
        for node in self.nodes:
            self.deals.add_node_collection(node, TESTS)
            assert self.deals.collection_is_completed, "claims do not wait for the other workers"
            self.deals.schedule()

    def replacement(self):
        node = Node()
        self.deals.add_node(node)
        self.deals.add_node_collection(node, TESTS)
        self.deals.schedule()
        return node

    def ends(self, node, name=None):
        """A worker has run the next test that it was sent, or in its place this claim."""
        place = self.deals._sent[node][0]
        self.finished.add(name or TESTS[place])
        self.deals.mark_test_complete(node, place)

    def runs_all(self, node):
        """Run what a worker has, as a worker does: the last one when it knows that it is that."""
        while len(self.deals._sent[node]) >= (1 if node.shutting_down else 2):
            self.ends(node)


@pytest.fixture
def session(tmp_path):
    return lambda workers: Session(tmp_path, workers)


def test_all_claims_go_to_one_worker_and_the_others_are_dealt_as_they_get_on(session):
    dealt = session(3)
    claims, *others = dealt.nodes
    assert claims.sent == CLAIMS
    assert claims.shutting_down, "it would hold the last claim back for ever"
    assert [node.sent for node in others] == [UNITS[:2], UNITS[2:4]]
    dealt.ends(others[1])
    assert others[1].sent == UNITS[2:5]
    for node in dealt.nodes:
        dealt.runs_all(node)
    assert sorted(test for node in dealt.nodes for test in node.sent) == sorted(TESTS)
    assert dealt.finished == set(TESTS)
    assert dealt.deals.tests_finished
    assert not dealt.deals.has_pending
    assert [dealt.deals.remove_node(node) for node in dealt.nodes] == [None] * 3


def test_one_worker_has_all_and_the_tests_that_wait_for_nothing_first(session):
    [only] = session(1).nodes
    assert only.sent == [*UNITS, *CLAIMS]
    assert only.shutting_down


def test_a_claim_that_ends_its_worker_is_named_once_and_the_others_are_dealt_again(session):
    dealt = session(2)
    first, other = dealt.nodes
    dealt.ends(first, CLAIMS[2])  # claims are run in the order in which they can be judged
    dealt.notes.set_current(CLAIMS[1])
    assert dealt.deals.remove_node(first) == CLAIMS[1]
    assert dealt.deals.has_pending
    assert not dealt.deals.tests_finished
    assert dealt.notes.left("done") == [CLAIMS[1], CLAIMS[2]], "else it runs them again"
    for _ in range(2):
        second = dealt.replacement()
        assert second.sent == [CLAIMS[0], CLAIMS[3]]
        dealt.notes.set_current("")  # it waits for training, and somebody kills it
        assert dealt.deals.remove_node(second) is None
    dealt.ends(other)  # nobody has taken that one's place yet
    assert other.sent == [*UNITS, CLAIMS[0], CLAIMS[3]]


def test_a_test_that_ends_its_worker_is_named_and_what_it_had_is_dealt_again(session):
    dealt = session(2)
    assert dealt.deals.remove_node(dealt.nodes[1]) == UNITS[0]
    assert dealt.replacement().sent == UNITS[1:3]
    alone = session(1)
    assert alone.deals.remove_node(alone.nodes[0]) == UNITS[0]
    assert alone.replacement().sent == [*UNITS[1:], *CLAIMS]


def test_a_worker_that_was_sent_home_gets_no_claims_of_another(session):
    dealt = session(2)
    dealt.runs_all(dealt.nodes[1])
    assert dealt.nodes[1].shutting_down
    dealt.deals.remove_node(dealt.nodes[0])
    dealt.deals.schedule()
    assert dealt.replacement().sent == CLAIMS


def test_workers_that_collect_different_tests_end_the_session(session):
    dealt = ClaimsTogether(session(1).notes, set())
    nodes = [Node(), Node()]
    for node in nodes:
        dealt.add_node(node)
    dealt.add_node_collection(nodes[0], TESTS)
    dealt.schedule()
    with pytest.raises(pytest.UsageError, match="different tests"):
        dealt.add_node_collection(nodes[1], TESTS[1:])


def test_what_a_worker_says_is_shown_once(tmp_path):
    class Display(list):
        say = list.append

        def show(self, status):
            raise AssertionError("there is no status yet")

    notes, shown = Notes(tmp_path), Display()
    for line in ("one", "two"):
        notes.say(line)
        notes.pass_on(shown)
        notes.pass_on(shown)
    assert shown == ["one", "two"]


class Terminal(list):
    """A terminal of pytest, as a list of the lines that took each other's place on it."""

    isatty, verbosity, currentfspath = True, 0, None
    _tw = SimpleNamespace(width_of_current_line=0)

    def rewrite(self, line, erase=False):
        self.append(line)

    def write(self, line, **markup):
        pass

    write_line = rewrite

    def ensure_newline(self):
        pass

    flush = ensure_newline


def test_a_status_that_comes_after_the_session_is_not_shown():
    """The workers of an interrupted session tell of it for as long as they live."""
    display = Display(terminal := Terminal())
    display.show(Status(claims=1, open=1, requested=5, missing=5))
    assert "0/1 claims" in terminal[-1]
    display.pytest_sessionfinish()
    display.show(Status(claims=1, open=1, requested=5, missing=5))
    assert terminal[-1] == ""


def test_the_progress_is_taken_away_before_pytest_names_the_next_file():
    display = Display(terminal := Terminal())
    display.show(Status(claims=1, open=1, requested=5, missing=5))
    display.pytest_runtest_logstart()
    assert terminal[-1] == ""


@pytest.mark.parametrize(("verbosity", "lines"), [(0, MOST_KNOWN + 2), (1, MOST_KNOWN + 3)])
def test_of_many_verdicts_that_the_ledger_has_the_first_have_a_line(verbosity, lines):
    display = Display(terminal := Terminal())
    terminal.verbosity = verbosity
    known = [
        ClaimLine(name=f"9/{n}", verdict="reproduced", measured="", is_known=True)
        for n in range(MOST_KNOWN + 2)
    ]
    news = ClaimLine(name="9/news", verdict="refuted", measured="", change="worse")
    for claim in (*known, news):
        properties = [(PROPERTY, claim.as_json())]
        display.pytest_runtest_logreport(SimpleNamespace(nodeid="", user_properties=properties))
    display.pytest_sessionfinish()
    written = [line for line in terminal if line]
    assert len(written) == lines
    assert "9/news (worse)" in written[-1 if verbosity else -2]
    assert verbosity or written[-1].startswith("2 further verdicts are the same as in the ledger")
