"""Counting on Spark 4: a session of the owner's over tables of Parquet files."""

from dpsql.engine.spark.database import SparkDatabase

__all__ = ["SparkDatabase"]
