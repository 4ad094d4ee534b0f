"""A result in any of the formats.

Another format is a renderer, its name in ``FORMATS`` and a branch here.
"""

from dpsql.interface.render import Format
from dpsql.interface.render.structured import (
    render_csv,
    render_json,
    render_jsonl,
    render_markdown,
    render_parquet,
)
from dpsql.interface.render.style import Style
from dpsql.interface.render.table import render_table
from dpsql.result import Budget, Result


def render_result(
    result: Result,
    form: Format,
    style: Style,
    *,
    budget: Budget | None = None,
    seconds: float | None = None,
    charged: float | None = None,
) -> str | bytes:
    """The whole output with its last line end.

    ``budget``, ``seconds`` and ``charged`` (by default what the numbers shown were charged) go under a table.
    """
    match form:
        case "table":
            lines = render_table(result, style, budget=budget, seconds=seconds, charged=charged)
            return "".join(f"{line}\n" for line in lines)
        case "csv":
            return render_csv(result, escaped=style.terminal)
        case "json":
            return render_json(result)
        case "jsonl":
            return render_jsonl(result)
        case "markdown":
            return render_markdown(result)
        case "parquet":
            return render_parquet(result)
