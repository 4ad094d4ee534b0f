"""The papers' constructions through the front door: connect, shell and files of statements, by the examples."""

import json
import warnings
from pathlib import Path

import pytest
from click.testing import Result

import dpsql
from dpsql.interface.cli import cli
from dpsql.interface.demo.databases import build
from tests.support.command_line import runner

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "strategies"
POLICIES = {"textbook-pmw": "adult", "median": "adult", "paper": "adult", "sparse-pmw": "pets"}
WORDS = {
    "textbook-pmw": "textbook multiplicative weights + net",
    "median": "medians of candidate tables + net",
    "paper": "textbook multiplicative weights + net, with the papers' constants",
    "sparse-pmw": "sparse multiplicative weights + net",
}
QUESTION = {
    "adult": "SELECT COUNT(*) AS n FROM adult WHERE sex = 'Male'",
    "pets": "SELECT COUNT(*) AS n FROM pets WHERE animal_name = 'Lucy'",
}
TRUTH = {"adult": 32_650, "pets": 440}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("strategies")
    for name in ("adult", "pets"):
        build(name, out)
    return out


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSQL_STATE_HOME", str(tmp_path / "state"))


def invoked(command: str, word: str, folder: Path, ledger: Path, *more: str, stdin: str | None = None) -> Result:
    arguments = [command, str(folder / f"{POLICIES[word]}.duckdb"), *more]
    arguments += ["--policy", str(EXAMPLES / f"{word}.dpsql.toml"), "--ledger", str(ledger)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpsql.PolicyWarning)
        shown = runner().invoke(cli, arguments, input=stdin, catch_exceptions=False)
    assert shown.exit_code == 0, shown.stderr
    return shown


@pytest.mark.parametrize("word", POLICIES)
def test_connect_answers_and_goes_on_after_a_restart(word: str, folder: Path, tmp_path: Path) -> None:
    database, rules = folder / f"{POLICIES[word]}.duckdb", EXAMPLES / f"{word}.dpsql.toml"
    question = QUESTION[POLICIES[word]]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", dpsql.PolicyWarning)
        with dpsql.connect(database, policy=rules, ledger=tmp_path / "l") as con:
            assert any(WORDS[word] in str(note) for note in con.explain(question).notes)
            (answer,) = con.execute(question).answers
            spent = con.budget.spent_epsilon
            assert [t.strategy for t in con.budget.tables] == [WORDS[word]]
        with dpsql.connect(database, policy=rules, ledger=tmp_path / "l") as con:
            (again,) = con.execute(question).answers
            assert (again.value, again.charged, con.budget.spent_epsilon) == (answer.value, 0.0, spent)
            notes = [str(note) for note in con.explain(question + " AND 1 = 1").notes]
    assert answer.error is not None and abs(answer.value - TRUTH[POLICIES[word]]) <= 3 * answer.error
    assert (answer.source == "measurement") == (word != "paper")
    assert any("n >= " in str(w.message) for w in heard) == (word == "paper")
    assert any("n >= " in note for note in notes) == (word == "paper")
    assert any("sampled" in note for note in notes) == (word == "median")


@pytest.mark.parametrize("word", POLICIES)
def test_the_example_s_questions_are_answered_from_a_file(word: str, folder: Path, tmp_path: Path) -> None:
    shown = invoked("run", word, folder, tmp_path / "l", str(EXAMPLES / f"{POLICIES[word]}.sql"))
    headlines = [line for line in shown.stdout.splitlines() if line.startswith("-- ")]
    expected = (EXAMPLES / "expected.md").read_text().split(f"\n## {word}\n")[1].split("\n## ")[0]
    assert headlines == [line for line in expected.splitlines() if line.startswith("-- ")]
    told = json.loads(invoked("budget", word, folder, tmp_path / "l", "--json").stdout)
    assert [t["strategy"] for t in told["tables"]] == [WORDS[word]]


@pytest.mark.parametrize("word", ["sparse-pmw", "median"])
def test_the_shell_answers_too(word: str, folder: Path, tmp_path: Path) -> None:
    question = QUESTION[POLICIES[word]]
    shown = invoked("shell", word, folder, tmp_path / "l", stdin=f"{question};\n\\explain {question};\n\\budget\n")
    assert WORDS[word] in shown.stdout and "±" in shown.stdout


def test_a_table_that_a_construction_cannot_hold_is_refused_with_what_to_do(folder: Path, tmp_path: Path) -> None:
    text = (EXAMPLES / "sparse-pmw.dpsql.toml").read_text()
    for word in ("median", "textbook-pmw"):
        rules = dpsql.load_policy(text.replace('"sparse-pmw"', f'"{word}"'))
        with pytest.raises(dpsql.PolicyError, match="animal_name is a text column") as caught:
            dpsql.connect(folder / "pets.duckdb", policy=rules, ledger=tmp_path / "l")
        assert "auto" in caught.value.hint
    assert not (tmp_path / "l").exists()


@pytest.mark.parametrize(("line", "hint"), [('calibration = "loose"', "paper"), ("planned_rows = 5", "leave it out")])
def test_wrong_calibrations_are_refused(line: str, hint: str) -> None:
    text = (EXAMPLES / "sparse-pmw.dpsql.toml").read_text().replace("hard_rounds = 40", line)
    with pytest.raises(dpsql.PolicyError) as caught:
        dpsql.load_policy(text)
    assert str(caught.value.path).startswith("mechanism.") and hint in f"{caught.value} {caught.value.hint}"
