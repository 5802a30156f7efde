"""`tenfold serve`: its answers, its limits, and the requests that it refuses."""

import asyncio
import http.client
import json
import signal
import socket
import threading
from contextlib import ExitStack, contextmanager
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from tenfold.cli.server import app, command, local_server
from tenfold.cli.server.app import RequestLimits, open_model_server, render_form
from tenfold.cli.server.requests import RequestError, make_schema, parse_rows, validate_row

HOSTILE = '<script>alert("x")</script>'
COLUMNS = {
    "size": {"kind": "number", "type": "number", "examples": [1.5]},
    "town": {"kind": "category", "type": "text", "examples": ["Ames"]},
    "new": {"kind": "number", "type": "bool", "examples": [1.0]},
    "sold": {"kind": "date", "type": "date", "examples": ["2010-05-01"]},
}
ROW = {"size": 2.0, "town": "Ames", "new": True, "sold": "2010-05-01"}


class TwoClasses:
    """A stand-in: the larger, the surer."""

    columns, target, classes, task = COLUMNS, "dear", ["no", "yes"], "two-class"

    def describe(self):
        about = dict(title="Stand-in", target=self.target, task=self.task)
        return about | dict(columns=self.columns, classes=self.classes)

    def predict_proba(self, rows):
        assert all(list(row) == list(self.columns) for row in rows)
        size = np.array([row["size"] if row["size"] is not None else 0.0 for row in rows])
        if (size < 0).any():
            raise ValueError("row 0: a size is below zero")
        if (size > 1e6).any():
            raise RuntimeError("secret")
        return np.column_stack([1 / (1 + size), size / (1 + size)])


class Numbers(TwoClasses):
    classes, task, target = None, "regression", "price"

    def predict(self, rows):
        return np.array([row["sold"].year + 10 * row["size"] for row in rows])

    def predict_interval(self, rows, level=0.9):
        return self.predict(rows)[:, None] + [-1.0, 1.0]


class Groups(TwoClasses):
    classes, task, target = None, "clusters", None

    def predict(self, rows):
        return np.arange(len(rows))


ABOUT = TwoClasses().describe()


@contextmanager
def serving(model, **limits):
    server = open_model_server(model, 0, RequestLimits(**limits))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(10)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def server():
    with serving(TwoClasses(), bytes=2000, rows=3) as server:
        yield server


def ask(server, way, path, body=None, **headers):
    """Status, headers and content of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(way, path, body, named)
    reply = connection.getresponse()
    content = reply.read()
    connection.close()
    return SimpleNamespace(status=reply.status, headers=reply.headers, content=content)


def post(server, document, path="/predict", **headers):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    headers = {"Content_Type": "application/json"} | headers
    reply = ask(server, "POST", path, body, **headers)
    return reply.status, json.loads(reply.content)


def test_classes_come_with_their_probabilities(server):
    status, found = post(server, {"rows": [ROW, ROW | {"size": 0.25}]})
    assert status == 200
    assert [one["prediction"] for one in found["predictions"]] == ["yes", "no"]
    assert found["predictions"][0]["probabilities"] == pytest.approx({"no": 1 / 3, "yes": 2 / 3})


def test_numbers_come_with_an_interval():
    with serving(Numbers()) as server:
        assert post(server, {"rows": [ROW]}) == (
            200,
            {"predictions": [{"prediction": 2030.0, "interval": [2029.0, 2031.0]}]},
        )


def test_groups_are_numbers():
    with serving(Groups()) as server:
        assert post(server, {"rows": [ROW, ROW]})[1] == {
            "predictions": [{"prediction": 0}, {"prediction": 1}]
        }
        page = ask(server, "GET", "/").content
        assert b"Predict the cluster" in page


def test_other_columns_are_ignored_and_null_is_missing(server):
    status, _ = post(server, {"rows": [ROW | {"more": {"deep": []}, "town": None, "size": None}]})
    assert status == 200


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"", 400, "not valid JSON"),
        (b"{", 400, "not valid JSON"),
        (b"\xff\xfe", 400, "not valid JSON"),
        (b"[" * 1500, 400, "not valid JSON"),
        (b'{"rows": [{"size": NaN}]}', 400, "NaN is not valid JSON"),
        (b"[1]", 400, '{"rows"'),
        (b'{"rows": {"size": 1}}', 400, '{"rows"'),
        (b'{"rows": [], "more": 1}', 400, '{"rows"'),
        (b'{"rows": []}', 422, "no rows"),
        (b'{"rows": [1]}', 422, "row 0 is not an object"),
        (b'{"rows": [{}, {}, {}, {}]}', 413, "at most 3"),
        (json.dumps({"rows": [ROW, {"size": 1}]}).encode(), 422, "row 1 has no column 'town'"),
        (json.dumps({"rows": [ROW | {"size": "2"}]}).encode(), 422, "'size' must be number or"),
        (json.dumps({"rows": [ROW | {"size": True}]}).encode(), 422, "found true"),
        (json.dumps({"rows": [ROW | {"size": 10**400}]}).encode(), 422, "'size' must be"),
        (json.dumps({"rows": [ROW | {"town": ["Ames"]}]}).encode(), 422, "'town' must be string"),
        (json.dumps({"rows": [ROW | {"sold": "soon"}]}).encode(), 422, "a date such as"),
        (json.dumps({"rows": [ROW | {"size": -1}]}).encode(), 422, "below zero"),
    ],
)
def test_a_bad_request_is_told_what_to_change(server, body, status, said):
    found, answer = post(server, body)
    assert found == status
    assert said in answer["error"]


def test_a_failing_model_tells_nothing_of_itself_and_the_server_goes_on(server):
    status, answer = post(server, {"rows": [ROW | {"size": 1e7}]})
    assert (status, answer) == (500, {"error": "the model failed"})
    assert ask(server, "GET", "/health").status == 200


def test_large_bodies_are_refused_unread(server):
    status, answer = post(server, b" " * 3_000_000)
    assert status == 413
    assert "2,000 bytes" in answer["error"]


def test_the_size_of_a_body_must_be_said(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        raw.sendall(
            b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\r\n"
        )
        assert b" 411 " in raw.makefile("rb").readline()


@pytest.mark.parametrize("length", ["-1", "1e3", "²", "99999999999999999999999999"])
def test_an_odd_size_is_refused(server, length):
    head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        raw.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode())
        raw.shutdown(socket.SHUT_WR)
        assert raw.makefile("rb").readline().split()[1] in {b"400", b"411", b"413"}


@pytest.mark.parametrize("zeros", [3, 12, 30, 6000])
def test_zeros_do_not_hide_the_size(server, zeros):
    head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {'0' * zeros}3001\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        raw.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + b" " * 3001)
        assert raw.makefile("rb").readline().split()[1] in {b"400", b"413"}
    assert ask(server, "GET", "/health").status == 200


def test_the_bytes_that_arrive_are_counted():
    async def stream():
        for _ in range(5):
            yield b" " * 1000

    request = SimpleNamespace(
        headers={"content-type": "application/json", "content-length": "10"}, stream=stream
    )
    with pytest.raises(RequestError, match="2,000 bytes"):
        asyncio.run(app._read_body(request, 2000))


def test_a_body_that_is_shorter_than_it_says_is_not_predicted(server):
    body = json.dumps({"rows": [ROW]})
    head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body) + 9}\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        raw.sendall(f"{head}Content-Type: application/json\r\n\r\n{body}".encode())
        raw.shutdown(socket.SHUT_WR)
        assert b" 200 " not in raw.makefile("rb").read()


def test_a_silent_sender_does_not_hold_the_server(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        raw.sendall(b"POST /predict HTTP/1.1\r\n")
        assert ask(server, "GET", "/health").status == 200


def test_a_head_that_does_not_arrive_closes_the_connection(monkeypatch):
    monkeypatch.setattr(local_server, "TIMEOUT_SECONDS", 0.2)
    with (
        serving(TwoClasses()) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw,
    ):
        raw.sendall(b"POST /predict HTTP/1.1\r\n")
        assert raw.recv(1) == b""


def test_a_body_that_stops_is_answered_with_408(monkeypatch):
    monkeypatch.setattr(app, "TIMEOUT_SECONDS", 0.2)
    head = "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
    with (
        serving(TwoClasses()) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw,
    ):
        raw.sendall(f"{head}Content-Type: application/json\r\n\r\n{{".encode())
        assert b" 408 " in raw.makefile("rb").readline()


@pytest.mark.parametrize(
    ("way", "path", "status"),
    [
        ("GET", "/../../etc/passwd", 404),
        ("GET", "/%2e%2e/secret", 404),
        ("GET", "/predict", 405),
        ("POST", "/schema", 405),
        ("DELETE", "/", 405),
        ("OPTIONS", "/predict", 405),
        ("PUT", "/predict", 405),
    ],
)
def test_there_is_nothing_else(server, way, path, status):
    reply = ask(server, way, path)
    assert reply.status == status
    assert "error" in json.loads(reply.content)
    assert reply.headers["Content-Security-Policy"] == "default-src 'none'"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", ""])
def test_a_name_that_a_stranger_pointed_here_is_refused(server, host):
    host = host.format(port=server.port)
    assert ask(server, "GET", "/schema", Host=host).status == 403


def test_pages_of_others_are_refused(server):
    own = f"http://localhost:{server.port}"
    assert post(server, {"rows": [ROW]}, Origin="http://evil.example")[0] == 403
    assert post(server, {"rows": [ROW]}, Origin="null")[0] == 403
    assert post(server, {"rows": [ROW]}, Origin=own)[0] == 200


def test_a_form_of_a_page_cannot_post(server):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert post(server, {"rows": [ROW]}, Content_Type=kind)[0] == 415


def test_it_listens_on_this_machine_alone(server):
    assert server.address == f"http://127.0.0.1:{server.port}"
    with socket.socket() as other, pytest.raises(OSError, match="refused"):
        other.connect(("127.0.0.2", server.port))


def test_head_is_get_without_the_body(server):
    reply = ask(server, "HEAD", "/schema")
    assert (reply.status, reply.content) == (200, b"")
    assert int(reply.headers["Content-Length"]) == len(ask(server, "GET", "/schema").content)


def test_schema_types_every_column(server):
    found = json.loads(ask(server, "GET", "/schema").content)
    assert found == make_schema(ABOUT, 3)
    rows = found["request"]["properties"]["rows"]
    cells = rows["items"]["properties"]
    assert rows["maxItems"] == 3
    assert {name: cell["type"][0] for name, cell in cells.items()} == {
        "size": "number",
        "town": "string",
        "new": "boolean",
        "sold": "string",
    }
    answer = found["answer"]["properties"]["predictions"]["items"]["properties"]
    assert answer["prediction"] == {"enum": ["no", "yes"]}


def test_what_the_schema_asks_for_is_accepted():
    cells = make_schema(ABOUT, 3)["request"]["properties"]["rows"]["items"]["properties"]
    values = {"number": 1, "boolean": False, "string": "2026-05-31T12:00", "null": None}
    for name, cell in cells.items():
        for kind, value in values.items():
            row = ROW | {name: value}
            if kind in cell["type"]:
                validate_row(ABOUT, row, 0)
            else:
                with pytest.raises(RequestError, match=name):
                    validate_row(ABOUT, row, 0)


def test_rows_are_counted_before_they_are_looked_at():
    with pytest.raises(RequestError, match="5 rows are too many"):
        parse_rows(b'{"rows": [1, 2, 3, 4, 5]}', 4)


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_the_page_has_a_field_for_each_column_and_trusts_no_name():
    class Hostile(TwoClasses):
        target = HOSTILE
        columns = COLUMNS | {HOSTILE: {"kind": "text", "type": "text", "examples": [HOSTILE]}}

    tags = Tags(render_form(Hostile().describe(), 10, "n")).found
    inputs = [attributes for tag, attributes in tags if tag == "input"]
    assert [each["name"] for each in inputs] == list(Hostile.columns)
    assert [each["type"] for each in inputs][:2] == ["number", "text"]
    assert [attributes for tag, attributes in tags if tag == "script"] == [{"nonce": "n"}]


def test_the_page_of_a_wide_table_takes_a_whole_row():
    class Wide(TwoClasses):
        columns = {f"x{i}": COLUMNS["size"] for i in range(500)}

    tags = [tag for tag, _ in Tags(render_form(Wide().describe(), 10, "n")).found]
    assert "textarea" in tags
    assert "input" not in tags


def test_the_page_may_only_ask_its_own_server(server):
    reply = ask(server, "GET", "/")
    policy = reply.headers["Content-Security-Policy"]
    assert reply.status == 200
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert b"http://" not in reply.content
    assert b"https://" not in reply.content
    assert reply.headers["Server"].strip() == "tenfold"


def test_many_ask_at_once(server):
    found = []

    def one():
        found.append(post(server, {"rows": [ROW]})[0])

    threads = [threading.Thread(target=one) for _ in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [200] * 200


def test_few_threads_predict_however_many_ask(server):
    before = threading.active_count()
    with ExitStack() as stack:
        for _ in range(100):
            place = ("127.0.0.1", server.port)
            stack.enter_context(socket.create_connection(place, timeout=10))
        assert post(server, {"rows": [ROW]})[0] == 200
        assert threading.active_count() <= before + app._PREDICTION_THREADS


def test_a_hangup_stops_the_server_in_order(monkeypatch):
    stopped, handlers = [], {}
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.SIG_DFL)  # tests may run under nohup
    command._stop_on_hangup(SimpleNamespace(stop=lambda: stopped.append(True)))
    handlers[signal.SIGHUP](signal.SIGHUP, None)
    assert stopped == [True]
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.SIG_IGN)  # nohup
    handlers.clear()
    command._stop_on_hangup(SimpleNamespace(stop=None))
    assert handlers == {}
