"""``--method graph``: one paid step, then post-processing (Gupta, Roth, Ullman 2011, section 6)."""

import math
from collections.abc import Sequence

from dpsql.accounting import Plan
from dpsql.confidence import OUTSIDE
from dpsql.domain import TableDomain
from dpsql.errors import DataError
from dpsql.first import Bench
from dpsql.hypothesis import TableModel
from dpsql.planning.sensitivity import indicators_changed
from dpsql.query import LinearQuery
from dpsql.synthesis.coins import Coins, coins
from dpsql.synthesis.graph.bounds import noise_bound
from dpsql.synthesis.graph.linear_program import check_solver, program_weights
from dpsql.synthesis.graph.noise import Noise, Noisy, check_kind, least_noise, read
from dpsql.synthesis.graph.pairs import Matrix, Vertices, vertices_of
from dpsql.synthesis.graph.simple import simple_graph
from dpsql.synthesis.graph.spectral import logits, spectral_weights, with_total
from dpsql.synthesis.steps import Steps
from dpsql.synthesis.synthetic import Synthetic
from dpsql.synthesis.task import Task
from dpsql.synthesis.wanted import Wanted

FORMS = ("spectral", "program")
OPTIONS = ("form", "noise")
FARTHEST_TOTALS = 4.0
"""Standard deviations: a row count farther than this from the noisy number of edges counts something else."""


def check_graph(table: TableDomain, wanted: Wanted, told: Sequence[LinearQuery], plan: Plan) -> None:
    """What ``graph`` refuses of a table and of what is wanted, said before anything is charged."""
    vertices = vertices_of(table)
    if wanted.options.get("form", FORMS[0]) not in FORMS:
        raise DataError(f"there is no form {wanted.options['form']!r} of a graph", hint="form: " + ", ".join(FORMS))
    if wanted.options.get("form") == "program":
        check_solver(vertices)
    check_kind(wanted.options.get("noise", "auto"), vertices.pairs)
    if wanted.rows is not None and not 0 < wanted.rows <= vertices.pairs:
        raise DataError(
            f"{wanted.rows:,} edges between {vertices.number:,} vertices",
            hint=f"a simple graph has each pair once: ask for 1 to {vertices.pairs:,} rows, or leave them out",
        )


def graph(task: Task, bench: Bench, steps: Steps) -> Synthetic:
    """A simple graph whose cuts are near the private graph's, one row for each edge, its smaller vertex first.

    Options: ``noise`` (auto, randomised-response, gaussian) and ``form`` (spectral, program). The workload is not
    looked at: all cuts are kept. What ``check_graph`` refuses was refused before; DataError for a share of the budget
    that buys nothing.
    """
    vertices = vertices_of(task.table)
    form = task.options.get("form", FORMS[0])
    changed = indicators_changed(task.neighbors, task.table)
    noise = least_noise(bench.plan, task.units, changed, vertices.pairs, task.options.get("noise", "auto"))
    scope = (vertices.source, vertices.target)
    payload = steps.pay(
        noise.cost,
        lambda: noise.released(bench.engine.contingency(task.table.name, scope).map(vertices.adjacency), bench.entropy),
    )
    noisy = read(payload, vertices.pairs)
    edges, notes = number_of_edges(task.model, noisy)
    notes = (_told(noise, vertices), *notes)
    generator = coins("graph", payload["pairs"], form)
    if form == "program":
        weights = program_weights(
            vertices, noisy, edges, generator, lambda done, of: task.on_progress("linear programs", done, of)
        )
    else:
        weights = spectral_weights(
            vertices, noisy, edges, generator, lambda done, of: task.on_progress("projections", done, of)
        )
    return _sampled(task, vertices, weights, edges, generator, notes)


def number_of_edges(model: TableModel, noisy: Noisy) -> tuple[float, tuple[str, ...]]:
    """The released number of rows and the noisy number of edges as one estimate, by their precisions.

    Far apart they count different things (rows that repeat a pair, or are no edge): the second holds, with a note.
    """
    total, variance = float(noisy.values.sum()), noisy.sd**2 * noisy.values.size
    notes: tuple[str, ...] = ()
    rows = model.measured(LinearQuery(model.table.name, ()))
    if rows is not None:
        value, sd = rows
        if abs(value - total) <= FARTHEST_TOTALS * math.sqrt(sd**2 + variance):
            share = variance / (variance + sd**2) if variance + sd**2 > 0 else 0.5
            total += share * (value - total)
        else:
            notes = (
                f"about {value:,} rows are about {total:,.0f} edges: a pair of vertices counts once, a loop never",
            )
    return min(max(total, 0.0), float(noisy.values.size)), notes


def _told(noise: Noise, vertices: Vertices) -> str:
    """How far cuts of the noisy graph are off: half of all vertices to half of them, and all cuts at once."""
    typical = math.sqrt(noise.variance * vertices.pairs / 4)
    most = noise_bound(noise, vertices.pairs, vertices.number * math.log(4), OUTSIDE)
    return (
        f"what was told of each pair of vertices has noise of sd {math.sqrt(noise.variance):.3g}: by that alone a "
        f"random cut is off by about {typical:,.0f} edges, and with 95 % none by more than {most:,.0f}"
    )


def _sampled(
    task: Task, vertices: Vertices, weights: Matrix, edges: float, generator: Coins, notes: tuple[str, ...]
) -> Synthetic:
    """The wanted number of edges, by default as many as there are; of others each stands for so many."""
    rows = round(edges) if task.rows is None else task.rows
    if rows > edges:
        weights = with_total(logits(weights), rows)
    positions = simple_graph(weights, rows, generator)
    return Synthetic(
        task.table, vertices.ends(positions), scale=1.0 if task.rows is None else edges / rows, notes=notes
    )
