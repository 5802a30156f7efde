"""Cells at the edge of what a table can hold: read rightly, or refused by file, row and column."""

import io
import json
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook

from tenfold.io import csv as csv_module
from tenfold.io import open_table
from tenfold.io.columnar import TableError, unreadable_file_error

LARGE = 10**18  # float64 takes it for 10**18 + 1


def refusal(where, **how):
    with pytest.raises(TableError) as caught:
        open_table(where, **how)
    return str(caught.value)


# ------------------------------------------------------------------------------------------- Excel


def sheet(path, *cells):
    """Three rows of two columns, and further cells."""
    book = Workbook()
    page = book.active
    for row in [["a", "b"], [1, "u"], [2, "v"], [3, "w"]]:
        page.append(row)
    for place, value in cells:
        page[place] = value
    book.save(path)
    return path


def test_a_stray_cell_at_the_end_of_the_sheet(tmp_path):
    records = open_table(sheet(tmp_path / "a.xlsx", ("XFD1048576", 7)))
    assert records.n_rows == 3
    assert records.names == ["a", "b"]
    assert any("row 1048576" in note for note in records.notes)


def test_blanks_far_away_are_no_cells(tmp_path):
    records = open_table(sheet(tmp_path / "a.xlsx", ("XFD1", " "), ("A1048576", "  ")))
    assert (records.n_rows, records.names, records.notes) == (3, ["a", "b"], [])


def test_rows_after_a_gap_keep_their_number(tmp_path):
    records = open_table(sheet(tmp_path / "a.xlsx", ("A90", 5)))
    assert records.n_rows == 4
    assert records.where(3).endswith("row 90")


# ------------------------------------------------------------------------------ Parquet and Arrow


@pytest.mark.parametrize("end", ["parquet", "arrow"])
def test_columns_of_one_name_get_numbers(end, tmp_path):
    table = pa.table([[1.0, 2.0], [3.0, 4.0], ["u", "v"]], names=["a", "a", "b"])
    path = tmp_path / f"dup.{end}"
    if end == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table)
    records = open_table(path)
    assert records.slice(0, 2).to_columns() == {"a": [1, 2], "a (2)": [3, 4], "b": ["u", "v"]}
    assert any("'a (2)'" in note for note in records.notes)


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us")]
)
@pytest.mark.parametrize("years", [8_100, -2_000])
def test_dates_that_no_calendar_has(kind, years, tmp_path):
    per_day = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}
    ticks = per_day.get(getattr(kind, "unit", ""), 1)
    whole = pa.int32() if kind == pa.date32() else pa.int64()
    days = pa.array([0, None, 365 * years * ticks], whole).cast(kind)
    pq.write_table(pa.table({"a": [1, 2, 3], "day": days}), tmp_path / "far.parquet")
    sentence = refusal(tmp_path / "far.parquet")
    assert "far.parquet, row 2, column 'day'" in sentence
    assert "1 to 9999" in sentence


def test_the_first_and_the_last_day_are_read():
    days = np.array(["0001-01-01", "9999-12-31"], "datetime64[s]")
    cells = open_table({"day": days}).slice(0, 2).to_columns()
    assert [str(day)[:10] for day in cells["day"]] == ["0001-01-01", "9999-12-31"]


# -------------------------------------------------------------------------- numbers of many digits

CODES = [LARGE, LARGE + 1, LARGE, LARGE + 1]


def as_csv(path):
    path.write_text("a,y\n" + "".join(f"{i},{code}\n" for i, code in enumerate(CODES)))


def as_parquet(path):
    pq.write_table(pa.table({"a": [0, 1, 2, 3], "y": CODES}), path)


def as_json(path):
    rows = [{"a": i, "y": code} for i, code in enumerate(CODES)]
    path.write_text("\n".join(map(json.dumps, rows)))


@pytest.mark.parametrize(
    ("end", "write"), [("csv", as_csv), ("parquet", as_parquet), ("jsonl", as_json)]
)
def test_whole_numbers_that_rounding_would_merge_stay_apart(end, write, tmp_path):
    write(tmp_path / f"ids.{end}")
    records = open_table(tmp_path / f"ids.{end}")
    assert records.slice(0, 4)["y"].plain() == [str(code) for code in CODES]
    assert records.types == {"a": "number", "y": "text"}
    assert records.styles == {"y": "codes"}
    assert any("'y'" in note for note in records.notes)


def test_they_stay_apart_in_memory_and_when_a_model_asks_for_codes():
    assert open_table({"y": np.array(CODES)}).types == {"y": "text"}
    one = open_table({"y": np.array([LARGE + 1])}, styles={"y": "codes"})
    assert one.slice(0, 1)["y"].plain() == [str(LARGE + 1)]


def test_a_late_whole_number_is_enough(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_module, "STRING_BLOCK_BYTES", 200)
    codes = [LARGE] * 200 + [LARGE + 1]
    (tmp_path / "late.csv").write_text("y\n" + "".join(f"{code}\n" for code in codes))
    assert open_table(tmp_path / "late.csv").slice(0, 201)["y"].plain() == [str(c) for c in codes]


def test_large_numbers_that_rounding_keeps_apart_stay_numbers():
    stamps = [1_700_000_000_000_000_000 + 1_000_000 * i for i in range(5)]
    assert open_table({"t": np.array(stamps)}).types == {"t": "number"}
    assert open_table({"t": [1e300, 2e300]}).types == {"t": "number"}


# -------------------------------------------------------------------------------------------- JSON


def json_lines(path, line):
    path.write_text('{"a": 1, "b": "u"}\n' * 5 + line + "\n")
    return path


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("[" * 5000 + "]" * 5000, "too deeply"),
        ('{"k":' * 900 + "1" + "}" * 900, "too deeply"),
        ('"\\ud800x"', "column 'b'"),
        ("1" + "0" * 5000, "is no JSON"),
    ],
)
def test_odd_cells_of_json_are_refused_with_their_line(cell, said, tmp_path):
    path = json_lines(tmp_path / "odd.jsonl", f'{{"a": 1, "b": {cell}}}')
    sentence = refusal(path)
    assert f"{path}, line 6" in sentence
    assert said in sentence


def test_a_name_with_half_a_character(tmp_path):
    path = json_lines(tmp_path / "odd.jsonl", '{"a": 1, "b\\ud800": 2}')
    assert "line 6: the name 'b\\ud800'" in refusal(path)


def test_half_a_character_in_memory():
    assert "the table, row 1, column 'b'" in refusal({"b": ["u", "\udc00"]})


def test_entries_of_a_list_are_counted(tmp_path):
    (tmp_path / "list.json").write_text(json.dumps([{"a": 1}, {"a": 2}, 7]))
    assert "entry 3 holds no object" in refusal(tmp_path / "list.json")
    (tmp_path / "list.json").write_text(json.dumps([{"a": 1}, {"a": 2}]))
    assert open_table(tmp_path / "list.json").where(1).endswith("entry 2")


# --------------------------------------------------------------------------------------------- CSV


def test_a_name_of_many_letters(tmp_path):
    name = "a" * 200_000
    (tmp_path / "long.csv").write_text(f"{name},b\n1,2\n3,4\n")
    assert open_table(tmp_path / "long.csv").names == [name, "b"]


def test_the_line_of_excel_that_states_the_separator(tmp_path):
    (tmp_path / "sep.csv").write_text("sep=;\r\na;b\r\n1;2,5\r\n3;4,5\r\n")
    records = open_table(tmp_path / "sep.csv")
    assert records.slice(0, 2).to_columns() == {"a": [1, 3], "b": [2.5, 4.5]}
    assert records.where(1).endswith("line 4")


def test_places_of_the_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"a,b\n1,2\n3,4\n")))
    assert open_table("-").select(["a"]).where(1) == "the standard input, line 3"
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"a,b\n1,2\n3\n")))
    assert refusal("-").startswith("the standard input, line 3:")
    monkeypatch.setattr("sys.stdin", None)
    assert "closed" in refusal("-")


def test_a_file_without_permission_is_not_called_damaged():
    sentence = str(unreadable_file_error("mine.csv", PermissionError(13, "Permission denied")))
    assert "permission to read mine.csv" in sentence
    assert "damaged" not in sentence
