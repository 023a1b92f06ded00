"""The server and its command: starting, stopping, several side by side."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from edgetenants_emulator import EmulatorServer, Settings


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(url, path, timeout=10.0):
    with urllib.request.urlopen(f"{url}/_edgetenants/{path}", timeout=timeout) as response:
        return json.load(response)


def command(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "edgetenants_emulator.main", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_healthy(process, url):
    while process.poll() is None:
        try:
            return get(url, "health")
        except OSError:
            time.sleep(0.02)
    raise AssertionError(process.stderr.read())


@pytest.fixture
def running():
    """The command on a free port, at rate 7; killed if the test did not end it."""
    port = free_port()
    began = time.monotonic()
    process = command("--port", str(port), "--rate", "7")
    process.url = f"http://127.0.0.1:{port}"
    wait_healthy(process, process.url)
    process.took = time.monotonic() - began
    yield process
    process.kill()
    process.communicate()


def test_starts_quickly_with_the_given_rate(running):
    # 2 s on an idle machine; tests share theirs.
    assert running.took < 10
    assert get(running.url, "clock")["rate"] == 7
    assert running.url in running.stdout.readline()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ends_at_once_in_spite_of_long_polls(running, in_background, number):
    version = get(running.url, "clock")["version"]
    in_background(get, running.url, f"clock?since={version}&timeout=30", timeout=30)
    time.sleep(0.2)
    began = time.monotonic()
    running.send_signal(number)
    assert running.wait(timeout=10) == 0
    assert time.monotonic() - began < 5
    assert running.stderr.read() == ""


@pytest.mark.parametrize("option", ["--port", "--dns-port"])
def test_a_port_in_use_is_said(running, option):
    other = ("--port", "0") if option == "--dns-port" else ()
    said = refused(*other, option, running.url.rpartition(":")[2])
    assert "cannot listen" in said
    assert f"set another {option}, or 0 for any" in said


def refused(*arguments, **environment):
    """What the command says when it does not start; no traceback."""
    ended = subprocess.run(
        [sys.executable, "-m", "edgetenants_emulator.main", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode in (1, 2)
    assert "Traceback" not in ended.stderr
    return ended.stderr


SAVED = {"not JSON": b'{"oops', "a list": b"[]", "another format": b'{"format": 9}', "no text": b"\xff\xfe"}


@pytest.mark.parametrize("text", [*SAVED.values(), b'{"format": 1}'], ids=[*SAVED, "too little"])
def test_an_unreadable_state_is_said_and_kept(tmp_path, text):
    state = tmp_path / "state"
    state.write_bytes(text)
    said = refused("--port", "0", "--state", str(state))
    assert "move the file, or set another --state" in said
    assert state.read_bytes() == text


def test_a_state_in_no_directory_is_said(tmp_path):
    assert "create the directory" in refused("--port", "0", "--state", str(tmp_path / "none" / "state"))


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (["--colour"], {}, "No such option"),
        (["--rate", "nan"], {}, "--rate: expected a number"),
        (["--host", "192.0.2.1"], {}, "set another --host"),
        ([], {"TAGS_MOVE_ETAG": "perhaps"}, "expected true or false, got 'perhaps'"),
        ([], {"TAG_MOVES_ETAG": "true"}, "did you mean"),
        (["unknowns"], {"PARAMETER_ERROR": "Oops"}, "expected InvalidArgument, "),
    ],
)
def test_what_cannot_be_meant_is_said(arguments, environment, said):
    given = {f"EDGETENANTS_EMULATOR_SETTING_{name}": value for name, value in environment.items()}
    assert said in refused(*arguments, **given)


def test_the_state_is_saved_whole(tmp_path):
    state = tmp_path / "state"
    process = command("--port", "0", "--state", str(state))
    url = process.stdout.readline().partition(" on ")[2].partition(" (")[0]
    get(url, "health")
    process.terminate()
    process.communicate(timeout=20)
    assert json.loads(state.read_text())["format"] == 1
    assert list(tmp_path.iterdir()) == [state]


def test_listens_on_loopback_only():
    with EmulatorServer() as server:
        assert server.url.startswith("http://127.0.0.1:")


def test_two_side_by_side_share_nothing():
    with EmulatorServer(settings=Settings(page_size_max=7)) as one, EmulatorServer() as two:
        assert get(one.url, "settings")["page_size_max"] == 7
        assert get(two.url, "settings")["page_size_max"] == 100
        urllib.request.urlopen(f"{one.url}/_edgetenants/clock", data=b'{"step": 1000}').close()
        assert get(two.url, "clock")["virtual"] < 1000


def test_a_stopped_server_answers_no_more():
    server = EmulatorServer()
    server.start()
    connection = socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=5)
    ask = b"GET /_edgetenants/health HTTP/1.1\r\nHost: a\r\n\r\n"
    connection.sendall(ask)
    assert b"200" in connection.recv(65536)
    server.stop()
    try:
        connection.sendall(ask)
        assert connection.recv(65536) == b""
    except OSError:
        pass
    with pytest.raises(OSError):
        get(server.url, "health", timeout=1)
