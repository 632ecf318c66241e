"""Parameters that decide how a server is reached."""

import asyncio
import socket

import pytest

from lockwheel import Server, ServerError, StartError, aio
from lockwheel._arguments import Arguments, host_of, split


def test_a_unix_socket_stands_beside_a_free_port(tmp_path):
    path = str(tmp_path / "x.s")
    with Server(args=["--unixsocket", path]) as server:
        assert server.command("PING") == "PONG"
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            client.sendall(b"PING\r\n")
            assert client.recv(100) == b"+PONG\r\n"
    with Server(args=["--unixsocket", path], topology="replicas 1") as server:
        assert server.command("PING") == "PONG"


def test_a_server_that_is_ready_without_a_port_is_refused(tmp_path):
    path = tmp_path / "y.s"
    file = tmp_path / "x.conf"
    file.write_text(f"unixsocket {path}\n")
    with pytest.raises(StartError, match=f"^the server is ready at {path} and has no port"):
        Server(args=[str(file)])
    with pytest.raises(ValueError, match="^args have --sentinel"):
        Server(args=["--sentinel"])


def test_a_configuration_file_stands_first(tmp_path):
    file = tmp_path / "x.conf"
    file.write_text("maxclients 77\n")
    with Server(args=[str(file), "--databases", "3"]) as server:
        assert server.command("CONFIG", "GET", "maxclients") == ["maxclients", "77"]
        assert server.command("CONFIG", "GET", "databases") == ["databases", "3"]
    with pytest.raises(StartError, match="'/no/such.conf'") as error:
        Server(args=["/no/such.conf"])
    assert "slowlog" not in str(error.value)


@pytest.mark.parametrize(
    ("args", "url"),
    [
        (["--requirepass 'x y'"], "redis://:x%20y@"),
        ([r'--REQUIREPASS  "x\x20y" '], "redis://:x%20y@"),
        (["--requirepass", "'xy'"], "redis://:%27xy%27@"),
        (["--requirepass", ""], "redis://"),
        (["--save", "--requirepass", "--seed", "--seed", "5"], "redis://:--seed@"),
    ],
)
def test_a_password_is_read_as_the_server_reads_it(args, url):
    with Server(args=args) as server:
        assert server.command("PING") == "PONG"
        assert server.url == f"{url}127.0.0.1:{server.port}"
        assert f", seed {'5' if '5' in args else '0'}\n" in server.report()


def test_words_of_a_line_are_unquoted():
    assert split(r""" a "b c" 'd\'e' """) == ["a", "b c", "d'e"]
    assert split(r'''"a\n\xc3\xa4\\n" "x\"y"''') == ["a\nä\\n", 'x"y']
    assert split(r"'\n' ''") == ["\\n", ""]
    assert split("a 'b") == ["a 'b"]
    assert split("a 'b'c") == ["a 'b'c"]
    assert Arguments(["x.conf", "--save", "--port", "1"]).leading == ["x.conf"]


def test_the_address_is_the_one_that_is_bound():
    assert host_of([]) == host_of(["*", "-::*"]) == host_of(["::1 127.0.0.1"]) == "127.0.0.1"
    assert (host_of(["-::1"]), host_of(["127.0.0.2"])) == ("::1", "127.0.0.2")
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6")
    with Server(args=["--bind", "::1"]) as server:
        assert server.command("PING") == "PONG"
        assert asyncio.run(aio.Server.of(server).command("PING")) == "PONG"
        assert (server.host, server.url) == ("::1", f"redis://[::1]:{server.port}")
        assert server.report().startswith("lockwheel on [::1]:")
    with Server(args=["--bind", "::1"], topology="replicas 1") as server:
        assert server.command("PING") == "PONG"
        assert server.servers[1].url == f"redis://[::1]:{server.servers[1].port}"


def test_that_no_more_clients_are_let_in_is_told():
    with Server(args=["--maxclients", "1"]) as server:
        assert server.command("PING") == "PONG"
        with pytest.raises(ServerError, match="^ERR max number of clients reached$"):
            server.clock.info()


@pytest.mark.parametrize("words", ["cluster 3x1 --port 1", "replicas 1 --lag 5 --bind ::1"])
def test_a_topology_refuses_what_would_have_no_effect(words):
    with pytest.raises(ValueError, match="it belongs into args$"):
        Server(topology=words)


def test_what_has_no_reply_is_refused(own):
    with pytest.raises(ValueError, match="^a command has a name"):
        own.command()
    for mode in ("off", b"SKIP"):
        with pytest.raises(ValueError, match="has no reply"):
            own.command("client", b"Reply", mode)
        with pytest.raises(ValueError, match="has no reply"):
            asyncio.run(aio.Server.of(own).command("client", b"Reply", mode))
    assert own.command("CLIENT", "REPLY", "ON") == "OK"
    assert own.command("PING") == "PONG"


def test_a_duration_without_end_is_refused(own):
    for duration in (float("inf"), float("nan"), 1e308):
        with pytest.raises(ValueError, match="not whole milliseconds"):
            own.clock.advance(duration)
