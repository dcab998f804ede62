"""DuckDB: a table of 1.5 million rows, written as Parquet, read back, joined and indexed. Its files lie in the current folder."""
import os

import duckdb

database = duckdb.connect("x.db")
database.execute(
    "create table t as select range i, (range*7919)%1000 k, random() v, 'name'||(range%5000) s from range(1500000)"
)
database.execute("copy t to 't.parquet' (format parquet)")
groups = "select k%10, count(*), round(avg(i), 2) from read_parquet('t.parquet') group by 1 order by 1"
print(database.execute(groups).fetchall()[:2])
print(database.execute("select count(*) from t a join t b on a.i = b.k").fetchall())
database.execute("create index ix on t(s)")
database.close()
os.remove("x.db")
os.remove("t.parquet")
