"""Polars: a million rows, written as CSV and as Parquet, scanned, grouped and sorted. Its files lie in the current folder."""
import os

import polars as pl

rows = pl.DataFrame({"i": range(1000000)}).with_columns(
    (pl.col("i") * 7919 % 1000).alias("k"), (pl.col("i") % 5000).cast(pl.Utf8).alias("s")
)
rows.write_csv("t.csv")
rows.write_parquet("t.pq")
groups = pl.scan_csv("t.csv").group_by("k").agg(pl.col("i").sum(), pl.col("s").n_unique()).sort("k").collect()
sorted_rows = pl.scan_parquet("t.pq").filter(pl.col("k") < 500).sort("s").collect()
print(groups.head(2), sorted_rows.height)
os.remove("t.csv")
os.remove("t.pq")
