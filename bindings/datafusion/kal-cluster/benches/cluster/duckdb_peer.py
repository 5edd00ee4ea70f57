"""DuckDB's nanoseconds a row for expressions, on one thread: one line for each.

Arguments: the files, the number of rows, and for each formula its columns and its expression.
What reading the columns takes is subtracted, as the time of their sum's maximum.
"""

import sys
import time

import duckdb

files, rows = sys.argv[1], int(sys.argv[2])
connection = duckdb.connect()
connection.execute("SET threads = 1")


def seconds(expression):
    times = []
    for _ in range(5):
        start = time.perf_counter()
        connection.execute(f"SELECT max({expression}) FROM '{files}'").fetchall()
        times.append(time.perf_counter() - start)
    return min(times)


for columns, expression in zip(sys.argv[3::2], sys.argv[4::2]):
    reading = seconds(" + ".join(columns.split(",")))
    print(f"{(seconds(expression) - reading) / rows * 1e9:.2f}", flush=True)
