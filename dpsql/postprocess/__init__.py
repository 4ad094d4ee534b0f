"""Post-processing of released numbers: nothing here sees a private value, nothing here is charged."""

from dpsql.postprocess.combine import combine, divide, merged_source
from dpsql.postprocess.released import HIGH, LOW, ROW, arrow_array, released_table

__all__ = ["HIGH", "LOW", "ROW", "arrow_array", "combine", "divide", "merged_source", "released_table"]
