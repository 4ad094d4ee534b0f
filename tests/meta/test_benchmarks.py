"""The benchmark commands start, and say the truth about small cases."""

import importlib
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import click
import duckdb
import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import comparison, cuts, report, write_docs
from benchmarks.comparison import PEERS, Run, Setting, compare, tasks, with_ratio
from benchmarks.error_bars import Bar, certified, coverage
from benchmarks.options import chosen_peers
from benchmarks.peers.exchange import PeerTask, read_from_contingency
from benchmarks.peers.external import External, exported
from benchmarks.peers.peer import Given
from benchmarks.question import Condition, Question
from benchmarks.task import Task
from dpsql.domain import IntegerDomain, TableDomain
from dpsql.hypothesis.iterative.frieze_kannan import FriezeKannan
from dpsql.hypothesis.iterative.weights import MultiplicativeWeights
from dpsql.query import Factor, LinearQuery

ROOT = Path(__file__).parents[2]
COMMANDS = sorted(
    p.stem for p in (ROOT / "benchmarks").glob("*.py") if "@click.command" in p.read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return tasks(Setting("adult2240", 40, "1", 1), tmp_path_factory.mktemp("table"))[0]


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(comparison, "RESULTS", tmp_path)
    monkeypatch.setattr(comparison, "draw", lambda *_: True)
    yield tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_starts(name: str) -> None:
    main = importlib.import_module(f"benchmarks.{name}").main
    assert isinstance(main, click.Command)
    done = CliRunner().invoke(main, ["--help"])
    assert done.exit_code == 0, done.output


def test_the_commands_are_found() -> None:
    assert {"compare", "parity", "small", "error_bars", "write_docs", "speed"} <= set(COMMANDS)


@pytest.mark.parametrize("name", [n for n, p in PEERS.items() if not isinstance(p, External)])
def test_peers_answer_every_number(task: Task, name: str) -> None:
    peer = PEERS[name]
    assert peer.refuses(task) is None
    given = peer.give(task)
    assert [a.shape for a in given.answers] == [t.shape for t in task.truths]
    assert 0.0 < task.errors(given.answers).mean() < 2000.0


def test_a_comparison_prints_and_keeps_its_table(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = compare(Setting("adult2240", 20, "1", 1), [PEERS["gaussian"], PEERS["histogram"]], "the command")
    assert "one noisy histogram" in capsys.readouterr().out
    kept = json.loads((results / "compare_adult2240_20_eps1.json").read_text())
    assert kept["setting"] == {"table": "adult2240", "queries": 20, "epsilon": "1", "seeds": 1}
    assert [r["mean"] for r in kept["rows"]] == [r["mean"] for r in rows]
    assert rows[0]["ratio"] == 1.0
    again = compare(Setting("adult2240", 20, "1", 1), [PEERS["opendp"]], "the command")
    assert [r["peer"] for r in again] == ["gaussian", "opendp", "histogram"]
    assert again[0] == rows[0]
    other = compare(Setting("adult2240", 21, "1", 1), [PEERS["gaussian"]], "the command")
    assert [r["peer"] for r in other] == ["gaussian"]


def test_the_truth_is_the_table_counted_another_way(task: Task) -> None:
    sent = exported(task)
    for question, truth in zip(sent.questions, task.truths, strict=True):
        counts = task.rows.contingency(question.columns)
        assert read_from_contingency(question, counts) == truth.tolist()


def test_what_goes_to_another_python_comes_back_equal(task: Task, tmp_path: Path) -> None:
    sent = exported(task)
    sent.write(tmp_path)
    got = PeerTask.read(tmp_path)
    assert (got.table, got.columns, got.questions, got.epsilon) == (
        sent.table,
        sent.columns,
        sent.questions,
        sent.epsilon,
    )
    assert np.array_equal(got.codes, sent.codes)


def test_a_perfect_peer_has_no_error_and_a_wrong_one_has(task: Task) -> None:
    perfect = Run(PEERS["opendp"], [Given([t.astype(float) for t in task.truths])], 0.0).row([task])
    wrong = Run(PEERS["gaussian"], [Given([t + 7.0 for t in task.truths])], 0.0).row([task])
    assert (perfect["mean"], wrong["mean"], wrong["max"]) == (0.0, 7.0, 7.0)
    assert [r["ratio"] for r in with_ratio([perfect, wrong])] == [0.0, 1.0]


def test_a_slow_peer_is_compared_on_its_own_seeds() -> None:
    headline = {"peer": "gaussian", "seeds": [{"mean": 10.0}, {"mean": 1000.0}]}
    assert [r["ratio"] for r in with_ratio([headline, {"peer": "aim", "seeds": [{"mean": 5.0}]}])] == [1.0, 0.5]


def test_repeats_are_one_question(task: Task) -> None:
    assert len(task.stream) == 40
    assert len({q.key for q in task.asked}) == len(task.asked) < 40
    assert task.epsilon == Fraction(1)


def test_the_headline_peer_always_takes_part() -> None:
    assert [p.name for p in chosen_peers("dpsql", [])] == ["dpsql", "gaussian"]
    with pytest.raises(click.UsageError, match="no peer nobody"):
        chosen_peers("nobody", [])


def test_a_peer_that_is_not_installed_says_how_to_install_it(task: Task) -> None:
    absent = External("absent", "Absent", "benchmarks.peers.aim", "no_such_module_at_all", "absent-package", 9)
    assert "pip install absent-package" in str(absent.refuses(task))


def test_questions_are_the_sql_they_mean() -> None:
    q = Question("t", (Condition("a", (1, 2), ranged=True), Condition("s", ("x'y",))), "g")
    assert q.sql == "SELECT g, COUNT(*) FROM t WHERE a BETWEEN 1 AND 2 AND s = 'x''y' GROUP BY g"
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1, 'x''y', 5), (3, 'x''y', 5), (2, 'z', 6)) v(a, s, g)")
        assert con.execute(q.sql).fetchall() == [(5, 1)]
    assert q.key == Question("t", (Condition("s", ("x'y",)), Condition("a", (2, 1))), "g").key


def test_error_bars_are_counted() -> None:
    found = [Bar("model, calibrated", 2, 10.0, off, 5.0, 20.0) for off in (0.0, 5.0, 6.0, 21.0)]
    row = coverage(found)
    assert (row["numbers"], row["coverage"], row["median error"]) == (4, 0.5, 5.0)
    assert certified([found, found[:3]]) == {"certified by a test": 7, "exceeded": 1, "sessions with any": 1}


def test_the_page_is_made_from_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_docs, "PICTURES", tmp_path)
    page = "a\n<!-- result compare_x -->\nold\n<!-- end -->\n<!-- wins -->\nold\n<!-- end -->\n"
    page += "<!-- summary -->\nold\n<!-- end -->\n"
    assert write_docs.refreshed(page, tmp_path) == page
    row = {"mean": 12.0, "spread": "12 to 12", "p95": 30.0, "max": 50.0, "ratio": 0.5, "note": "n", "seeds": [{}]}
    kept = {
        "title": "X",
        "command": "the command",
        "setting": {"table": "x", "queries": 100, "epsilon": "1", "seeds": 1},
        "rows": [
            row | {"method": "dpsql", "peer": "dpsql"},
            row | {"method": "Gaussian", "peer": "gaussian", "mean": 6.0, "ratio": 1.0},
            {"method": "AIM", "peer": "aim", "note": "not installed"},
        ],
    }
    (tmp_path / "compare_x.json").write_text(json.dumps(kept))
    made = write_docs.refreshed(page, tmp_path)
    assert "\nold\n" not in made
    assert "X: `the command`" in made
    assert "| AIM |  |  |  |  | not installed |" in made
    assert "| x | 1 | 100 | Gaussian 6 (dpsql 12) |  |  |" in made
    assert "| x | 1 | 100 | 1 | 12 | 6 | 0.50 | **Gaussian**, 6 |" in made


def test_the_reach_of_constructions_is_what_their_updates_do() -> None:
    rng = np.random.default_rng(4)
    graph = cuts.found(cuts.block(12, 2, 12, rng))
    asked, n, rounds, alpha = list(cuts.cuts(12, 60, 5)), len(graph.edges), 60, 3.0
    uniform = np.array([len(s) * len(t) for s, t in asked]) * n / graph.pairs
    off = cuts.truths(graph, asked) - uniform
    ids = tuple(IntegerDomain(c, 0, 11, nullable=False) for c in ("src", "dst"))
    sums, weights = (make(TableDomain("edges", ids), n, alpha, 60) for make in (FriezeKannan, MultiplicativeWeights))
    for (left, right), sign in zip(asked, np.sign(off), strict=True):
        sides = [np.isin(np.arange(12), side).astype(np.int64) for side in (left, right)]
        query = LinearQuery("edges", (Factor(("src",), sides[0]), Factor(("dst",), sides[1])))
        for made in (sums, weights):
            made.update(query, 1e9 * sign)  # as if nothing were learned before the last
    on = tuple(graph.edges.T)
    reach = cuts.Reach.of(graph, alpha, rounds, float(np.abs(off).mean()))
    dense, logs = sums.contingency(("src", "dst")), np.log(weights.contingency(("src", "dst")))
    assert dense[on].mean() - dense.mean() == pytest.approx(reach.added)
    assert np.exp(logs[on].mean() - logs.mean()) == pytest.approx(reach.times)
