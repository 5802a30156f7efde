"""Tables of mixed columns: the same cells from every place, and one sentence about every fault."""

import datetime as dt
import errno
import gzip
import io
import json
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenfold.io import TableError, TableSource, open_table, row_store
from tenfold.io import csv as csv_reader
from tenfold.io.columnar import ColumnBatch, NumericColumn, TextColumn


def day(*parts: int) -> dt.datetime:
    return dt.datetime(*parts)  # noqa: DTZ001 - tables know no zones


TABLE = {
    "size": [1.5, None, -3.0, 2.0],
    "town": ["Bonn", "Köln", None, "Bonn, Süd"],
    "when": [day(2024, 2, 29), None, day(2025, 1, 1, 12, 30), None],
    "open": [True, False, None, True],
}


def as_text() -> pd.DataFrame:
    return pd.DataFrame(TABLE).assign(open=["true", "false", "", "true"])


def excel(path):
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(list(TABLE))
    for row in zip(*TABLE.values(), strict=True):
        sheet.append(row)
    book.save(path)
    return path


def json_lines(path):
    rows = [dict(zip(TABLE, row, strict=True)) for row in zip(*TABLE.values(), strict=True)]
    path.write_text("\n".join(json.dumps(row, default=str) for row in rows))
    return path


def written(path, write):
    write(path)
    return path


PLACES = {
    "a dict": lambda _: TABLE,
    "a list of dicts": lambda _: pd.DataFrame(TABLE).astype(object).to_dict("records"),
    "pandas": lambda _: pd.DataFrame(TABLE).astype({"open": "boolean"}),
    "polars": lambda _: pl.DataFrame(TABLE),
    "Arrow": lambda _: pa.table(TABLE),
    "CSV": lambda p: written(p / "a.csv", lambda f: as_text().to_csv(f, index=False)),
    "TSV": lambda p: written(p / "a.tsv", lambda f: as_text().to_csv(f, index=False, sep="\t")),
    "packed CSV": lambda p: written(p / "a.csv.gz", lambda f: as_text().to_csv(f, index=False)),
    "semicolons": lambda p: written(p / "a", lambda f: as_text().to_csv(f, index=False, sep=";")),
    "Parquet": lambda p: written(p / "a.parquet", pl.DataFrame(TABLE).write_parquet),
    "Feather": lambda p: written(
        p / "a.feather", lambda f: pyarrow.feather.write_feather(pa.table(TABLE), f)
    ),
    "JSON lines": lambda p: json_lines(p / "a.jsonl"),
    "Excel": lambda p: excel(p / "a.xlsx"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("memory", [2**26, 0])
def test_every_place_gives_the_same_cells(place, memory, tmp_path, monkeypatch):
    monkeypatch.setattr(row_store, "MAX_MEMORY_BYTES", memory)
    records = open_table(PLACES[place](tmp_path))
    assert records.types == {"size": "number", "town": "text", "when": "date", "open": "bool"}
    assert records.slice(0, 4).to_columns() == TABLE
    assert records.slice(1, 2).row(0) == {"size": None, "town": "Köln", "when": None, "open": False}


def csv(path, text, encoding="utf-8"):
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


DIALECTS = {
    "a,b\n1,x\n": ({"a": [1], "b": ["x"]}, None),
    "a;b\n1,5;x\n": ({"a": [1.5], "b": ["x"]}, "decimal commas in 'a': '1,5' is read as 1.5"),
    "a|b\r\n1|x\r\n2|y": ({"a": [1, 2], "b": ["x", "y"]}, None),
    "1,2\n3,4\n": ({"x0": [1, 3], "x1": [2, 4]}, "no names"),
    "a,a,\n1,2,3\n": ({"a": [1], "a (2)": [2], "column 3": [3]}, "has no name"),
    '"a\nb","c"\n"1","x\n,y"\n': ({"a\nb": [1], "c": ["x\n,y"]}, None),
    "one\n1\n2\n": ({"one": [1, 2]}, None),
    "zip,n\n01234,1\n55555,2\n": ({"zip": ["01234", "55555"], "n": [1, 2]}, None),
    "a, b\n1, ?\n2, x\n": ({"a": [1, 2], "b": [None, "x"]}, None),
    "a,b\nNA,null\n-,N/A\n0.5,z\n": ({"a": [None, None, 0.5], "b": [None, None, "z"]}, None),
}


@pytest.mark.parametrize("text", DIALECTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_dialects_of_csv(text, encoding, tmp_path):
    want, note = DIALECTS[text]
    records = open_table(csv(tmp_path / "a.csv", text, encoding))
    assert records.slice(0, 9).to_columns() == want
    assert (note is None) == (not records.notes)
    assert note is None or any(note in said for said in records.notes)


STYLES = {  # cells of a column: what they are, and the style that they are in
    "3,14 2 -0,5": ([3.14, 2, -0.5], "decimal comma"),
    "1.234,5 12 1.234.567": ([1234.5, 12, 1234567], "decimal comma"),
    "1,234 950 12,345": ([1234, 950, 12345], "commas"),
    "1,234,567 1,234.5 -7.25": ([1234567, 1234.5, -7.25], "commas"),
    "1,234 0,567": ([1.234, 0.567], "decimal comma"),  # no thousands begin with 0
    "1,234 1234,567": ([1.234, 1234.567], "decimal comma"),
    "1_234 56 1_234_567.5": ([1234, 56, 1234567.5], "blanks"),
    "1_234,5 1_000": ([1234.5, 1000], "decimal comma"),
    "1'234.5 17": ([1234.5, 17], "blanks"),
    "1.234 950.5": ([1.234, 950.5], None),  # plain numbers stay what they are
    "3,14 3.14": (["3,14", "3.14"], None),  # no style fits both
    "1,23,456 7": (["1,23,456", "7"], None),
    "007,5 1": (["007,5", "1"], None),  # a code
    "3,14 x": (["3,14", "x"], None),
}


@pytest.mark.parametrize("cells", STYLES)
@pytest.mark.parametrize("sign", ";,\t")
def test_numbers_with_commas_and_blanks(cells, sign, tmp_path):
    want, style = STYLES[cells]
    written = [cell.replace("_", "\u202f") for cell in cells.split()]
    lines = [f'"{cell}"{sign}word' for cell in written]
    records = open_table(csv(tmp_path / "a.csv", "\n".join([f"n{sign}w", *lines])))
    assert records.slice(0, 9).to_columns()["n"] == want
    assert records.styles == ({} if style is None else {"n": style})
    assert any("is read as" in note for note in records.notes) == (style is not None)


def test_one_late_cell_decides_the_style(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_reader, "STRING_BLOCK_BYTES", 256)
    lines = ["a;b", *["1,234;1.234"] * 300, "1,5;20"]
    records = open_table(csv(tmp_path / "a.csv", "\n".join(lines)))
    cells = records.slice(0, 301).to_columns()
    assert cells["a"] == [1.234] * 300 + [1.5]
    assert cells["b"] == [1234] * 300 + [20]  # a table has one decimal sign
    assert records.notes == ["Numbers have decimal commas in 'a', 'b': '1,234' is read as 1.234."]


def test_columns_that_do_not_fit_decimal_commas_stay_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_reader, "STRING_BLOCK_BYTES", 256)
    lines = ["a;dots;thousands;whole", *["1,5;1.234;1,234;7"] * 300, "2,5;0.5;1,234,567;8"]
    records = open_table(csv(tmp_path / "a.csv", "\n".join(lines)))
    assert records.slice(300, 301).row(0) == {
        "a": 2.5, "dots": 0.5, "thousands": 1234567, "whole": 8,
    }  # fmt: skip
    assert records.slice(0, 1).row(0) == {"a": 1.5, "dots": 1.234, "thousands": 1234, "whole": 7}
    assert records.styles == {
        "a": "decimal comma", "dots": "plain", "thousands": "commas", "whole": "decimal comma",
    }  # fmt: skip
    again = csv(tmp_path / "b.csv", "a;dots;thousands;whole\n1,5;1.234;1,234;1.234\n")
    read = open_table(again, styles=records.styles).slice(0, 1).row(0)
    assert read == {"a": 1.5, "dots": 1.234, "thousands": 1234, "whole": 1234}


def test_a_style_that_is_asked_for_is_kept_or_refused(tmp_path):
    path = csv(tmp_path / "a.csv", "n;w\n1,234;x\n")
    asked = open_table(path, styles={"n": "decimal comma", "elsewhere": "commas"})
    assert asked.slice(0, 1).row(0)["n"] == 1.234
    assert open_table(path).slice(0, 1).row(0)["n"] == 1234
    plain = csv(tmp_path / "b.csv", "n;w\n1.5;x\n")
    assert open_table(plain, styles={"n": "decimal comma"}).types["n"] == "text"


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20), st.sampled_from(",; "))
@settings(max_examples=30, deadline=None)
def test_any_numbers_come_back_from_their_style(tmp_path_factory, numbers, groups):
    path = tmp_path_factory.mktemp("styles") / "a.csv"
    signs = {",": ",.", ";": ".,", " ": " ."}[groups]
    table = str.maketrans({",": signs[0], ".": signs[1]})
    cells = [f"{number:,.2f}".translate(table) for number in [*numbers, 1234567.25]]
    path.write_text("\n".join(["n|w", *(f"{cell}|x" for cell in cells)]))
    read = open_table(path).slice(0, len(cells)).to_columns()["n"]
    assert read == [round(number, 2) for number in [*numbers, 1234567.25]]


HEADERS = {  # text: whether the first line holds names, and what is said
    "5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,3.3,virginica\n": (False, "match the values below"),
    "name,2019,2020\nBonn,3,4\nUlm,5,6\n": (True, "'2019', '2020' could stand in a row"),
    "red,small\nblue,large\nred,small\n": (False, "'red', 'small' match the values below"),
    "colour,size\nblue,large\nred,small\n": (True, "words stand in every column"),
    "colour,size\nblue,1\ncolour,2\n": (True, None),
    "red,a,b\nblue,c,d\nred,e,f\n": (True, "'red' could stand in a row"),
    "2024-01-31,x\n2024-02-01,y\n": (False, "'2024-01-31'"),
    "3,5;2,5\n1,5;4,5\n": (False, "the first line holds numbers"),
    "Bonn,7\nUlm,8\nBonn,9\n": (False, "'Bonn'"),
    "town,\nUlm,8\nBonn,9\n": (True, None),
}


@pytest.mark.parametrize("text", HEADERS)
def test_names_are_told_from_rows(text, tmp_path):
    is_header, said = HEADERS[text]
    path = csv(tmp_path / "a.csv", text)
    records = open_table(path)
    lines = text.count("\n")
    assert records.n_rows == lines - is_header
    assert ("x0" in records.names) != is_header
    assert said is None or any(said in note for note in records.notes)
    for header in (True, False):
        assert open_table(path, header=header).n_rows == lines - header


def test_the_first_file_tells_whether_all_have_names(tmp_path):
    for name, text in {"1": "red,b\nblue,c\nred,b\n", "2": "pink,e\nblue,c\n"}.items():
        csv(tmp_path / f"{name}.csv", text)
    records = open_table(tmp_path)
    assert records.slice(0, 9).to_columns()["x0"] == ["red", "blue", "red", "pink", "blue"]
    assert records.where(3).endswith("2.csv, line 1")


def test_latin_1_is_read_and_said(tmp_path):
    records = open_table(csv(tmp_path / "a.csv", "town,n\nKöln,1\n", "latin-1"))
    assert records.slice(0, 1)["town"].values == ["Köln"]
    assert "Latin-1" in records.notes[0]
    with pytest.raises(TableError, match="encoding utf8"):
        open_table(tmp_path / "a.csv", encoding="utf8")


DATES = {
    "2024-02-29": day(2024, 2, 29),
    "2024-02-29T10:30:00Z": day(2024, 2, 29, 10, 30),
    "29.02.2024": day(2024, 2, 29),
    "29.2.2024 10:30": day(2024, 2, 29, 10, 30),
    "02/29/2024": day(2024, 2, 29),
    "29/02/2024": day(2024, 2, 29),
    "Feb 29, 2024": day(2024, 2, 29),
    "31.02.2024": "31.02.2024",
    "29.02.24": "29.02.24",
    "2024": 2024,
}


@pytest.mark.parametrize("text", DATES)
def test_dates_in_text(text, tmp_path):
    records = open_table(csv(tmp_path / "a.csv", f'd\n"{text}"\n'))
    assert records.slice(0, 1).row(0) == {"d": DATES[text]}


def test_months_and_days_are_told_apart_by_a_late_row(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_reader, "STRING_BLOCK_BYTES", 200)
    path = csv(tmp_path / "a.csv", "d,n\n" + "01/02/2024,1\n" * 500 + "13/02/2024,1\n")
    cells = open_table(path).slice(0, 501)
    assert cells.row(0)["d"] == day(2024, 2, 1)
    assert cells.row(500)["d"] == day(2024, 2, 13)


@pytest.mark.parametrize("memory", [2**26, 0])
def test_a_late_word_makes_the_whole_column_text(memory, tmp_path, monkeypatch):
    monkeypatch.setattr(csv_reader, "STRING_BLOCK_BYTES", 200)
    monkeypatch.setattr(row_store, "MAX_MEMORY_BYTES", memory)
    path = csv(tmp_path / "a.csv", "a,b\n" + "1.50,2\n" * 999 + "x,3\n1.50,4\n")
    records = open_table(path)
    assert records.types == {"a": "text", "b": "number"}
    assert records.slice(0, 1).row(0) == {"a": "1.50", "b": 2}
    assert records.mixed == {"a": (1001, "x", 1)}
    assert records.where(999) == f"{path}, line 1001"


def test_an_empty_beginning_decides_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_reader, "STRING_BLOCK_BYTES", 200)
    rows = ",,,\n" * 500 + "true,1,2024-01-01,x\n" * 500
    records = open_table(csv(tmp_path / "a.csv", "a,b,c,d\n" + rows))
    assert list(records.types.values()) == ["bool", "number", "date", "text"]
    assert records.slice(499, 501).to_columns()["d"] == [None, "x"]


def test_many_words_are_no_slip(tmp_path):
    path = csv(tmp_path / "a.csv", "a,b\n" + "1,2\n" * 50 + "x,3\n" * 5)
    assert open_table(path).mixed == {}


def test_mixed_python_values_are_understood_too():
    records = open_table(pd.DataFrame({"a": [1, "2", None, "n/a"], "b": [1, "x", 2.5, None]}))
    assert records.types == {"a": "number", "b": "text"}
    assert records.slice(0, 4).to_columns() == {
        "a": [1, 2, None, None],
        "b": ["1", "x", "2.5", None],
    }


def test_text_of_data_frames_may_be_dates_but_not_numbers():
    records = open_table(pd.DataFrame({"d": ["2024-01-01", None], "n": ["1", "2"]}))
    assert records.types == {"d": "date", "n": "text"}


FAULTS = {
    "ragged": ("a,b\n1,2\n1,2,3\n", r"a\.csv, line 3: 3 fields, but there are 2 columns"),
    "ragged after quotes": ('a,b\n1,"x\ny"\n1\n', r"a\.csv, line 4: 1 fields"),
    "empty": ("", "is empty. It needs a line of column names"),
    "blank": ("\n\n", "is empty"),
    "names alone": ("a,b\n", "no rows. Give at least one row"),
    "binary": (b"\x00\x01\x02" * 99, "is no text.*Save the table as CSV"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_csv_are_one_sentence(fault, tmp_path):
    text, words = FAULTS[fault]
    with pytest.raises(TableError, match=words) as caught:
        open_table(csv(tmp_path / "a.csv", text))
    assert "\n" not in str(caught.value)


def test_damaged_files(tmp_path):
    packed = gzip.compress(b"a,b\n" + np.random.default_rng(0).bytes(9999).hex().encode() * 9)
    whole = {
        "a.csv.gz": packed[: len(packed) // 2],
        "a.parquet": b"PAR1 and nothing else",
        "a.arrow": b"ARROW1 and nothing else",
        "a.xlsx": b"PK\x03\x04 and nothing else",
    }
    for name, content in whole.items():
        with pytest.raises(TableError, match=f"{name} cannot be read; it is cut short, damaged"):
            open_table(csv(tmp_path / name, content))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"a": 1', "line 2 is no JSON"),
        ("[1, 2]", "line 2 holds no object"),
    ],
)
def test_faults_of_json(line, words, tmp_path):
    with pytest.raises(TableError, match=words):
        open_table(csv(tmp_path / "a.jsonl", '{"a": 0}\n' + line))


def test_json_objects_within_objects_and_late_keys(tmp_path):
    path = csv(tmp_path / "a.json", '[{"a": {"b": 1}}, {"a": {"c": "x"}, "d": [1, 2]}]')
    want = {"a.b": [1, None], "a.c": [None, "x"], "d": [None, "[1, 2]"]}
    assert open_table(path).slice(0, 2).to_columns() == want


def test_sheets_of_excel(tmp_path):
    path = excel(tmp_path / "a.xlsx")
    with pytest.raises(TableError, match=r"no sheet 'sales'. It has 'Sheet'"):
        open_table(path, sheet="sales")
    assert open_table(path, sheet=0).where(1) == f"{path}, sheet 'Sheet', row 3"


def test_names_that_are_not_there(tmp_path):
    csv(tmp_path / "houses.csv", "price,size\n1,2\n")
    with pytest.raises(TableError, match=r"Did you mean .*houses\.csv"):
        open_table(tmp_path / "house.csv")
    with pytest.raises(TableError, match="no file matches"):
        open_table(str(tmp_path / "*.parquet"))
    (tmp_path / "none").mkdir()
    with pytest.raises(TableError, match="holds no data files"):
        open_table(tmp_path / "none")
    with pytest.raises(TableError, match=r"no column 'prize'. Did you mean 'price'"):
        open_table(tmp_path / "houses.csv", target="prize")
    with pytest.raises(TableError, match="is no table that can be read here"):
        open_table(object())
    with pytest.raises(TableError, match="at least one row"):
        open_table({"a": [], "b": []})


def test_folders_patterns_and_lists(tmp_path):
    csv(tmp_path / "1.csv", "a,b\n1,x\n2,y\n")
    csv(tmp_path / "2.csv", "b,a\nz,3\n")
    for where in (tmp_path, f"{tmp_path}/*.csv", [tmp_path / "1.csv", tmp_path / "2.csv"]):
        records = open_table(where)
        assert records.slice(0, 3).to_columns() == {"a": [1, 2, 3], "b": ["x", "y", "z"]}
        assert records.where(2) == f"{tmp_path}/2.csv, line 2"
    pl.DataFrame({"a": [1], "b": ["x"]}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"b": ["y"], "a": [2.5]}).write_parquet(tmp_path / "2.parquet")
    records = open_table(f"{tmp_path}/*.parquet")
    assert records.slice(0, 2).to_columns() == {"a": [1, 2.5], "b": ["x", "y"]}
    csv(tmp_path / "3.csv", "a,c\n1,x\n")
    with pytest.raises(TableError, match=r"3\.csv has no column 'b', which .*1\.csv has"):
        open_table(f"{tmp_path}/*.csv")
    with pytest.raises(TableError, match="files of several kinds"):
        open_table(tmp_path)


def test_standard_input(monkeypatch):
    class Input:
        buffer = io.BytesIO(b"a;b\n1;x\n")

    monkeypatch.setattr("sys.stdin", Input)
    assert open_table("-").slice(0, 1).row(0) == {"a": 1, "b": "x"}


def test_cells_are_a_table_too():
    cells = open_table(TABLE).slice(0, 2)
    assert open_table(cells).slice(0, 2).to_columns() == cells.to_columns()


def test_columns_and_target():
    records = open_table(TABLE, columns=["town"], target="open")
    assert records.names == ["town", "open"]
    assert records.target == "open"


def table_of(rows: int) -> TableSource:
    rng = np.random.default_rng(0)
    words = [f"word {i}" for i in range(3000)]
    return open_table(
        {
            "x": rng.normal(size=rows),
            "few": rng.choice(["a", "b", None], rows).tolist(),
            "many": rng.choice(words, rows).tolist(),
        }
    )


def in_file(records: TableSource, tmp_path, monkeypatch) -> TableSource:
    columns = records.slice(0, records.n_rows).to_columns()
    path = tmp_path / "a.parquet"
    pl.DataFrame(columns).write_parquet(path)
    monkeypatch.setattr(row_store, "MAX_MEMORY_BYTES", 0)
    monkeypatch.setattr(row_store, "STORED_BATCH_BYTES", 2**14)
    found = open_table(path)
    assert isinstance(found.store, row_store.FileStore)
    return found


def test_rows_of_a_file_are_those_of_memory(tmp_path, monkeypatch):
    here = table_of(5000)
    there = in_file(here, tmp_path, monkeypatch)
    rng = np.random.default_rng(1)
    for _ in range(20):
        first, end = np.sort(rng.integers(0, 5001, 2))
        assert there.slice(first, end).to_columns() == here.slice(first, end).to_columns()
        rows = np.unique(rng.integers(0, 5000, 50))
        assert there.take(rows).X.to_columns() == here.take(rows).X.to_columns()
    picked = there.pick(np.arange(0, 5000, 3))
    assert picked.slice(10, 12).to_columns() == here.take(np.array([30, 33])).X.to_columns()
    assert picked.where(10).endswith("row 30")


def test_threads_may_read_at_once(tmp_path, monkeypatch):
    here = table_of(5000)
    there = in_file(here, tmp_path, monkeypatch)
    wrong = []

    def read(seed: int) -> None:
        for first in np.random.default_rng(seed).integers(0, 4900, 30):
            a, b = there.slice(first, first + 99), here.slice(first, first + 99)
            wrong.extend([] if a.to_columns() == b.to_columns() else [first])

    threads = [threading.Thread(target=read, args=[seed]) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_full_disk_is_said(tmp_path, monkeypatch):
    class Full(io.BytesIO):
        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

    path = csv(tmp_path / "a.csv", "a,b\n" + "1,2\n" * 99)
    monkeypatch.setattr(row_store, "MAX_MEMORY_BYTES", 0)
    monkeypatch.setattr(row_store.tempfile, "TemporaryFile", Full)
    with pytest.raises(OSError, match=r"no room in .*; set TMPDIR") as caught:
        open_table(path)
    assert caught.value.errno == errno.ENOSPC


def test_ten_thousand_columns(tmp_path):
    names = [f"c{j}" for j in range(10_000)]
    row = ",".join(map(str, range(10_000)))
    records = open_table(csv(tmp_path / "a.csv", ",".join(names) + f"\n{row}\n{row}\n"))
    assert records.n_features == 10_000
    assert records.slice(1, 2)["c9999"].values.tolist() == [9999.0]


fields = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8).filter(
    lambda text: text == text.strip()
)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.floats(allow_nan=False, width=32), fields), min_size=1, max_size=20))
def test_any_text_survives_a_csv_file(tmp_path_factory, rows):
    import csv as standard

    path = tmp_path_factory.mktemp("a") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = standard.writer(file)
        writer.writerow(["number", "text"])
        writer.writerows([number, f"[{text}]"] for number, text in rows)
    cells = open_table(path, delimiter=",").slice(0, len(rows))
    assert cells["number"].values.tolist() == [number for number, _ in rows]
    assert cells["text"].plain() == [f"[{text}]" for _, text in rows]


@given(st.lists(st.lists(st.sampled_from([None, "a", "b", "c"]), max_size=5), min_size=1))
def test_joined_cells_are_their_parts(parts):
    made = [cells_of_words(part) for part in parts]
    joined = ColumnBatch.concatenate(made)
    assert joined["w"].plain() == [value for part in parts for value in part]
    rows = np.arange(len(joined))[::2]
    assert joined.take(rows)["w"].plain() == joined["w"].plain()[::2]


def cells_of_words(values) -> ColumnBatch:
    known = sorted({value for value in values if value is not None})
    codes = np.array([-1 if v is None else known.index(v) for v in values], np.int32)
    columns = {
        "w": TextColumn(codes, known),
        "n": NumericColumn(np.arange(len(values), dtype=float)),
    }
    return ColumnBatch(columns, {"w": "text", "n": "number"})


def test_few_rows_of_many_words_keep_only_their_words():
    cells = table_of(5000).slice(0, 5000)
    assert len(cells["many"].values) > 2000
    few = cells.take(np.array([3, 3, 7]))
    assert len(few["many"].values) == 2
    assert few["many"].plain()[0] == cells["many"].plain()[3]
