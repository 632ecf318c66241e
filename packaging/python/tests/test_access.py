"""A server with a password, and one over TLS alone."""

import asyncio
import os
from pathlib import Path

import pytest
import redis

from lockwheel import Action, Server, ServerError, aio

FOLDER = os.environ.get("LOCKWHEEL_TEST_CERTIFICATES")
"""Where `ca.crt` is, and the `.crt` and `.key` of `server` and `client` that it has signed."""

PASSWORD = "p@ss w/ö%"


@pytest.fixture
def certificates(tmp_path):
    """The arguments of a server over TLS alone, which clients must show a certificate."""
    if FOLDER is None:
        pytest.skip("LOCKWHEEL_TEST_CERTIFICATES does not say where certificates are")
    return [
        "--tls-port-file", str(tmp_path / "port"),
        "--tls-cert-file", file("server.crt"), "--tls-key-file", file("server.key"),
        "--tls-ca-cert-file", file("ca.crt"),
        "--tls-client-cert-file", file("client.crt"), "--tls-client-key-file", file("client.key"),
    ]


def file(name):
    return str(Path(FOLDER) / name)


def client_of(server):
    own = {"ssl_certfile": file("client.crt"), "ssl_keyfile": file("client.key")}
    return redis.Redis.from_url(server.url, decode_responses=True, ssl_ca_certs=file("ca.crt"), **own)


def all_of_it(server, client):
    """What goes over the package's own connections."""
    assert client.ping()
    big = "x" * 3_000_000
    assert server.command("SET", "k", big) == "OK" and client.get("k") == big
    assert server.command("GET", "k") == big
    server.command("PEXPIRE", "k", 1000)
    assert server.clock.advance(1).fired == 1
    server.await_.key("k", "GONE")
    with pytest.raises(ServerError, match="^ERR unknown command"):
        server.command("NO")
    client.execute_command("CLIENT", "KILL", "TYPE", "normal")
    client.ping()  # what was killed is closed now
    server.reset()
    assert server.command("PING") == "PONG"
    assert "PEXPIRE" not in server.report() and "manual" in server.report()

    async def main():
        own = aio.Server.of(server)
        assert await asyncio.gather(*(own.command("ECHO", n) for n in range(20))) == [str(n) for n in range(20)]
        assert await own.command("SET", "k", big) == "OK" and await own.command("GET", "k") == big
        assert own.url == server.url

    asyncio.run(main())


def test_with_a_password():
    with Server(time="manual", args=["--requirepass", "no", "--requirepass", PASSWORD]) as server:
        assert server.url == f"redis://:p%40ss%20w%2F%C3%B6%25@127.0.0.1:{server.port}"
        all_of_it(server, redis.Redis.from_url(server.url, decode_responses=True))
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(port=server.port, retry=None).ping()


def test_a_password_that_was_changed_is_told():
    with Server(args=["--requirepass", "first"]) as server:
        server.command("CONFIG", "SET", "requirepass", "other")
        server._connections.close()
        with pytest.raises(ServerError, match="^WRONGPASS"):
            server.command("PING")


def test_over_tls_alone(certificates):
    with Server(time="manual", args=certificates) as server:
        assert server.url == f"rediss://127.0.0.1:{server.port}"
        all_of_it(server, client_of(server))


def test_over_tls_with_a_password(certificates):
    with Server(time="manual", args=[*certificates, "--requirepass", PASSWORD]) as server:
        assert server.url == f"rediss://:p%40ss%20w%2F%C3%B6%25@127.0.0.1:{server.port}"
        all_of_it(server, client_of(server))


def test_who_is_cut_over_tls_is_told(certificates):
    """A server that closes a connection over TLS ends its stream: the bytes that follow the request are no reply."""
    with Server(args=certificates) as server:
        server.command("PING")
        server.faults.exempt(False)
        server.faults.add("cut", Action.close_after(), on="GET")
        with pytest.raises(ConnectionResetError, match="closed the connection"):
            server.command("GET", "k")


def test_the_servers_own_certificate_is_enough(certificates):
    with Server(args=[*certificates[:6], "--tls-auth-clients", "no"]) as server:
        assert server.command("PING") == "PONG"


def test_who_listens_for_plain_clients_too_is_asked_there(certificates, tmp_path):
    with Server(args=["--port-file", str(tmp_path / "plain"), *certificates]) as server:
        assert server.url == f"redis://127.0.0.1:{server.port}"
        assert server.command("PING") == "PONG"


def test_a_server_whose_certificates_cannot_be_used_does_not_go_on(certificates):
    with pytest.raises(OSError):
        Server(args=[*certificates, "--tls-client-cert-file", "/no/such.crt"])
