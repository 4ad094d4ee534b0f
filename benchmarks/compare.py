"""Everyone on one table: ``python -m benchmarks.compare --table adult6 --epsilon 1 --queries 1000 --seeds 3``.

``--table``, ``--epsilon`` and ``--queries`` may be given several times. Peers with dependencies of their own may run in
another Python: ``--python smartnoise=VENV/bin/python --python aim=VENV2/bin/python``, after ``pip install
smartnoise-sql numpy`` in the first and ``pip install 'opendp[mbi]'`` in the second (or ``'.[peers]'`` here).
"""

from collections.abc import Sequence

import click

from benchmarks.catalog import TABLES
from benchmarks.comparison import Setting, compare
from benchmarks.options import chosen_peers, command_text, peers_option, python_option


@click.command()
@click.option("--table", "tables", type=click.Choice(list(TABLES)), multiple=True, default=("adult6",))
@click.option("--epsilon", "epsilons", multiple=True, default=("1",))
@click.option("--queries", type=int, multiple=True, default=(1000,))
@click.option("--seeds", default=3)
@click.option("--slow-seeds", default=1, help="Seeds for peers that take minutes: AIM.")
@peers_option
@python_option
def main(
    tables: Sequence[str],
    epsilons: Sequence[str],
    queries: Sequence[int],
    seeds: int,
    slow_seeds: int,
    peer_names: str,
    pythons: Sequence[str],
) -> None:
    peers = chosen_peers(peer_names, pythons)
    for table in tables:
        for epsilon in epsilons:
            for count in queries:
                command = command_text("compare", table=table, epsilon=epsilon, queries=count, seeds=seeds)
                compare(Setting(table, count, epsilon, seeds), peers, command, slow_seeds)


if __name__ == "__main__":
    main()
