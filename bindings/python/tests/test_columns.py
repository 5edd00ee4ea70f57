"""Columns of other libraries: pandas, Polars, DuckDB and pyarrow, with nulls."""

import datetime
import decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute  # noqa: F401
import pytest

import kal


@pytest.fixture
def f(session):
    session.eval("def f(x y) if x < y then 0 else (x - y) * 2")
    return session["f"]


def test_arrays_of_pyarrow_keep_their_nulls(f):
    x, y = pa.array([1.0, None, 5.0, 7.0]), pa.array([3.0, 1.0, None, 2.0])
    assert f(x, y) == pa.array([0.0, None, None, 10.0])
    assert f(x, 1.0).to_pylist() == [0.0, None, 8.0, 12.0]
    assert f(x, None).null_count == 4
    assert f(x[1:], y[1:]).to_pylist() == [None, None, 10.0]
    assert f(x, np.array([0.0, 0.0, 1.0, 2.0])).to_pylist() == [2.0, None, 8.0, 10.0]
    chunked = pa.chunked_array([[1.0, None], [], [5.0, 7.0]])
    result = f(chunked, 1)
    assert isinstance(result, pa.ChunkedArray) and result.to_pylist() == [0.0, None, 8.0, 12.0]
    assert f(pa.chunked_array([], type=pa.float64()), 1).to_pylist() == []


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.int32(), pa.float32(), pa.float16(), pa.decimal128(10, 2)]
)
def test_columns_of_all_numbers(f, kind):
    values = [np.float16(value) if kind == pa.float16() else value for value in (4, 9)]
    column = pa.array([values[0], None, values[1]], type=kind)
    assert f(column, 1).to_pylist() == [6.0, None, 16.0]


def test_other_columns_are_refused(f):
    with pytest.raises(TypeError, match="`x`: a column of string does not hold numbers"):
        f(pa.array(["a", "b"]), 1)
    with pytest.raises(TypeError, match="`x`: a column of string does not hold numbers"):
        f(pa.chunked_array([], type=pa.string()), 1)
    assert f(pa.chunked_array([], type=pa.int8()), 1).to_pylist() == []
    with pytest.raises(TypeError, match="`y`: a pyarrow.Table is a table"):
        f(1, pa.table({"a": [1.0]}))
    with pytest.raises(TypeError, match="`x`: a polars.DataFrame is a table"):
        f(pl.DataFrame({"a": [1.0]}), 1)
    with pytest.raises(ValueError, match="2 and 3 rows"):
        f(pa.array([1.0, 2.0]), pa.array([1.0, 2.0, 3.0]))
    with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
        f(pa.array([1.0]), 1, out=np.zeros(1))


def test_other_libraries_take_arrays_of_kal(f):
    class Column:
        """A column that knows nothing but Arrow's capsules."""

        def __init__(self, array):
            self.array = array

        def __arrow_c_array__(self, requested_schema=None):
            return self.array.__arrow_c_array__(requested_schema)

    result = f(Column(pa.array([5, None, 1])), 2)
    assert isinstance(result, kal.Array)
    assert (len(result), result.null_count, result.to_pylist()) == (3, 1, [6.0, None, 0.0])
    assert repr(result) == "<kal.Array [6, null, 0], 3 rows>"
    assert pa.array(result).to_pylist() == [6.0, None, 0.0]
    assert pl.Series(result).to_list() == [6.0, None, 0.0]
    assert np.array_equal(np.asarray(result), [6.0, np.nan, 0.0], equal_nan=True)
    assert f(result, 0.0).to_pylist() == [12.0, None, 0.0]


def test_rows_that_fail_can_be_null(session):
    session.eval("def deep(n) if n < 1 then 0 else 1 + deep(n)")
    column = pa.array([0.0, 1.0, None, 0.0] * 5)
    with pytest.raises(kal.RowError) as caught:
        session["deep"](column)
    assert caught.value.row == 1
    assert session["deep"](column, on_error="nan").to_pylist() == [0.0, None, None, 0.0] * 5


def test_polars(f):
    column = pl.Series("x", [1.0, None, 5.0])
    result = f(column, 2.0)
    assert isinstance(result, pl.Series) and result.to_list() == [0.0, None, 6.0]
    assert f.ufunc(column, 2.0).to_list() == [0.0, None, 6.0]
    table = pl.DataFrame({"x": [1.0, None, 5.0], "y": [0.5, 1.0, 1.0]})
    kept = table.with_columns(pl.col("x").map_batches(lambda x: f(x, 2.0), return_dtype=pl.Float64).alias("z"))
    assert kept["z"].to_list() == [0.0, None, 6.0]
    assert f(table["x"], table["y"]).to_list() == [1.0, None, 8.0]


def test_polars_series_of_all_numbers(f):
    kinds = [pl.Int8, pl.UInt64, pl.Int128, pl.Float32, pl.Float16, pl.Decimal(10, 2), pl.Boolean]
    for kind in kinds:
        column = pl.Series("c", [1, None, 0]).cast(kind)
        for call in (f, f.ufunc):
            result = call(column, -1)
            assert (result.name, result.dtype, result.to_list()) == ("c", pl.Float64, [4.0, None, 2.0]), kind
    assert f(pl.Series([None, None]), 1).to_list() == [None, None]
    assert f(pl.Series([], dtype=pl.Int64), 1).to_list() == []
    chunks = pl.concat([pl.Series("c", [3.0]), pl.Series("c", [None, 5.0])], rechunk=False)
    assert f(chunks, pl.Series([1.0, 1.0, 2.0])).to_list() == [4.0, None, 6.0]


def test_polars_series_that_hold_no_numbers_are_refused(f):
    day = datetime.datetime(2020, 1, 2)
    for column, named in [
        (pl.Series(["a", "b"], dtype=pl.Categorical), "Categorical"),
        (pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])), "Enum"),
        (pl.Series([day.date()]), "Date"),
        (pl.Series([day]), "Datetime"),
        (pl.Series([day - day]), "Duration"),
        (pl.Series(["a"]), "String"),
        (pl.Series([[1.0]]), "List"),
    ]:
        for call in (f, f.ufunc):
            with pytest.raises(TypeError, match=f"`y`: a column of {named}.* does not hold numbers"):
                call(1.0, column)
        with pytest.raises(TypeError, match="does not hold numbers"):
            half = kal.formula("x / 2")
            pl.DataFrame({"c": column}).select(pl.col("c").map_batches(half, return_dtype=pl.Float64))


def test_polars_expressions(f):
    table = pl.DataFrame({"b": [True, None, False], "x": [1.0, 5.0, None]})
    assert table.select(f(pl.col("b"), -1.0))["b"].to_list() == [4.0, None, 2.0]
    assert table.select(f(pl.col("x"), pl.col("b")))["x"].to_list() == [0.0, None, None]
    mapped = table.select(pl.col("b").map_batches(kal.formula("b + 1"), return_dtype=pl.Float64))
    assert mapped["b"].to_list() == [2.0, None, 1.0]
    with pytest.raises(TypeError, match="unexpected keyword argument 'casting'"):
        f.ufunc(table["x"], 1.0, casting="unsafe")
    with pytest.raises(TypeError, match="takes 2 arguments, not 3"):
        f.ufunc(table["x"], 1.0, np.zeros(3))


def test_rows_of_polars_that_fail(session):
    session.eval("def deep(n) if n < 1 then 0 else 1 + deep(n)")
    column = pl.Series([0.0, None, 1.0, 0.0])
    for call in (session["deep"], session["deep"].ufunc):
        with pytest.raises(kal.RowError) as caught:
            call(column)
        assert caught.value.row == 2
    assert session["deep"](column, on_error="nan").to_list() == [0.0, None, None, 0.0]


def test_columns_of_several_libraries(f):
    arrow, polars = pa.array([3.0, None, 5.0]), pl.Series("p", [1.0, 2.0, None])
    for call in (f, f.ufunc):
        assert call(arrow, polars) == pa.array([4.0, None, None])
        result = call(polars, arrow)
        assert (result.name, result.to_list()) == ("p", [0.0, None, None])
    assert isinstance(f(pa.chunked_array([arrow]), polars), pa.ChunkedArray)
    pandas = pd.Series([1.0, 2.0, 3.0])
    for column in (arrow, polars):
        assert type(f(column, np.array([1, 2, 3]))) is type(column)
        with pytest.raises(TypeError, match="`y`: a pandas.Series cannot be combined with columns"):
            f(column, pandas)
        with pytest.raises(TypeError, match="`x`: a pandas.Series cannot be combined with columns"):
            f(pandas, column)


def test_arguments_besides_columns(f):
    column = pa.array([3.0, None, 5.0])
    masked = np.ma.array([1.0, 1.0, 1.0], mask=[True, False, False])
    assert f(column, masked) == pa.array([None, None, 8.0])
    assert f(column, [1, 2, 3]) == pa.array([4.0, None, 4.0])
    assert f(column, np.array([1])) == pa.array([4.0, None, 8.0])
    for one in (np.float32(1), np.int64(1), np.array(1.0), pa.scalar(1), decimal.Decimal(1), pa.array([1])):
        assert f(column, one) == pa.array([4.0, None, 8.0]), one
    for null in (None, pa.scalar(None, pa.float64()), pa.array([None])):
        assert f(column, null).null_count == 3
    for array in (["1", "2", "3"], [1j, 2, 3], np.zeros(3, "M8[s]"), np.zeros(3, "m8[s]"), np.zeros(3, "O"), "a"):
        with pytest.raises(TypeError, match="^`y`: "):
            f(column, array)
    with pytest.raises(ValueError, match="`y`: a column has one dimension"):
        f(column, np.ones((3, 1)))


def test_pandas(f):
    column = pd.Series([1.0, np.nan, 5.0], index=["a", "b", "c"], name="x")
    result = f(column, 2.0)
    assert isinstance(result, pd.Series) and result.index.tolist() == ["a", "b", "c"]
    assert result["c"] == 6.0
    nullable = pd.Series([1, None, 5], dtype="Int64")
    assert f(nullable, 2.0).isna().tolist() == [False, True, False]
    arrow = pd.Series([1.0, None, 5.0], dtype="double[pyarrow]")
    assert f(arrow, 2.0)[2] == 6.0 and f(arrow, 2.0).isna().tolist() == [False, True, False]


def test_the_engine_of_pandas(f):
    table = pd.DataFrame({"y": [0.5, 1.0], "x": [1.0, 5.0], "name": ["a", "b"]}, index=[7, 8])
    result = table.apply(f, axis=1, engine=kal.engine)
    assert result.tolist() == [1.0, 8.0] and result.index.tolist() == [7, 8]
    assert table.apply("x + y", axis=1, engine=kal.engine).tolist() == [1.5, 6.0]
    halved = table[["x", "y"]].apply(kal.formula("v / 2"), engine=kal.engine)
    assert halved["x"].tolist() == [0.5, 2.5] and list(halved.columns) == ["x", "y"]
    column = pd.Series([1.0, np.nan, 3.0])
    mapped = column.map(kal.formula("if v < 2 then 10 else 20"), engine=kal.engine)
    assert isinstance(mapped, pd.Series) and mapped.tolist() == [10.0, 20.0, 20.0]
    kept = column.map(kal.formula("if v < 2 then 10 else 20"), na_action="ignore", engine=kal.engine)
    assert kept.isna().tolist() == [False, True, False]
    with pytest.raises(KeyError, match="'z'"):
        table.apply(kal.formula("x + z"), axis=1, engine=kal.engine)
    with pytest.raises(TypeError, match="kal.engine runs"):
        table.apply(len, axis=1, engine=kal.engine)


def test_duckdb(f):
    connection = duckdb.connect()
    double = duckdb.typing.DOUBLE if hasattr(duckdb, "typing") else "DOUBLE"
    connection.create_function("f", f, [double, double], double, type="arrow")
    rows = connection.execute("select f(x, 2) from (values (1.0), (null), (5.0)) t(x)").fetchall()
    assert rows == [(0.0,), (None,), (6.0,)]
    total = connection.execute("select sum(f(i, 10)) from range(10000) t(i)").fetchone()
    assert total == (float(sum(2 * (i - 10) for i in range(10, 10000))),)


def test_missing_values_are_not_computed():
    session = kal.Session()
    seen = []
    session.define("spy", lambda x: seen.append(x) or x)
    session.eval("def f(x) spy(x) + 1; def g(x y) spy(x) * y; def fail(x) if x > 100 then nothing(x) else x")
    f, g = session["f"], session["g"]
    masked = np.ma.array([1.0, 200.0, 3.0], mask=[0, 1, 0])
    result = f(masked)
    assert isinstance(result, np.ma.MaskedArray) and result.tolist() == [2.0, None, 4.0]
    assert g(masked, np.ma.array([5.0, 6.0, 7.0], mask=[0, 0, 1])).tolist() == [5.0, None, None]
    assert session["fail"](masked).tolist() == [1.0, None, 3.0]
    assert f(np.ma.array([1.0, 2.0])).tolist() == [2.0, 3.0]
    assert g(np.ma.array([[1.0], [2.0]], mask=[[0], [1]]), np.arange(2.0)).tolist() == [[0.0, 1.0], [None, None]]
    assert sorted(set(seen)) == [1.0, 2.0, 3.0] and seen.count(2.0) == 1
    with pytest.raises(kal.RowError) as caught:
        session["fail"](np.ma.array([1.0, 2.0, 300.0], mask=[1, 0, 0]))
    assert caught.value.row == 2


def test_missing_values_of_pandas_are_not_computed():
    pandas = pytest.importorskip("pandas")
    session = kal.Session()
    seen = []
    session.define("spy", lambda x: seen.append(x) or x)
    session.eval("def f(x) spy(x) + 1; def g(x y) x * y")
    f, g = session["f"], session["g"]
    for dtype, made in [("Int64", "Float64"), ("Float64", "Float64"), ("int64[pyarrow]", "double[pyarrow]")]:
        seen.clear()
        column = pandas.Series([2, None, 3], dtype=dtype, index=list("abc"), name="n")
        result = f(column)
        assert str(result.dtype) == made and result.name == "n" and list(result.index) == list("abc")
        assert result.isna().tolist() == [False, True, False] and [result["a"], result["c"]] == [3.0, 4.0]
        assert seen == [2.0, 3.0]
        other = pandas.Series([10.0, 20.0, 30.0], index=list("cba"))
        product = g(column, other)
        assert product.isna().tolist() == [False, True, False] and product.name is None
        assert [product["a"], product["c"]] == [60.0, 30.0]
        assert g(column, 2)["a"] == 4.0
    import decimal

    import pyarrow

    amounts = pandas.Series([decimal.Decimal("1.5"), None], dtype=pandas.ArrowDtype(pyarrow.decimal128(5, 2)))
    assert f(amounts).tolist()[0] == 2.5 and f(amounts).isna().tolist() == [False, True]
    truths = pandas.Series([True, None], dtype="bool[pyarrow]")
    assert g(truths, 3).tolist()[0] == 3.0
