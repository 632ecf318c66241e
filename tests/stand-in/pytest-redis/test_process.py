"""pytest-redis asks the program its version, starts it with its own arguments, and waits for its port."""

import os
from pathlib import Path

import pytest
import redis
from pytest_redis import factories
from redis.backoff import NoBackoff
from redis.retry import Retry

PROGRAM = os.environ["REDIS_SERVER"]

guarded = factories.redis_proc(executable=PROGRAM, password="a b@%", save="900 1", db_count=3, loglevel="verbose")
guarded_client = factories.redisdb("guarded")


def test_the_program_of_the_command_line_is_started(redis_proc, redisdb):
    assert redis_proc.executable == PROGRAM
    assert redis_proc.running()
    assert redisdb.ping()
    assert redisdb.set("k", "v")


def test_each_test_finds_it_empty(redisdb):
    assert redisdb.get("k") is None


def test_its_version_is_read(redis_proc):
    assert redis_proc.version >= redis_proc.MIN_SUPPORTED_VERSION
    assert redis_proc.version.major == 7


def test_it_has_what_the_arguments_say(guarded, guarded_client):
    assert guarded_client.ping()
    told = guarded_client.config_get("*")
    for name, value in {
        "databases": "3", "save": "900 1", "loglevel": "verbose", "appendonly": "no", "requirepass": "a b@%",
        "dbfilename": f"dump.{guarded.port}.rdb", "rdbchecksum": "no", "syslog-enabled": "no", "daemonize": "no",
    }.items():
        assert told[name] == value, name
    directory = Path(guarded.unixsocket).parent
    assert told["dir"] == str(directory)
    assert (directory / f"redis-server.{guarded.port}.log").read_text() != ""
    assert (directory / f"redis-server.{guarded.port}.pid").exists()
    assert redis.Redis(unix_socket_path=guarded.unixsocket, password="a b@%").ping()


def test_without_the_password_it_refuses(guarded):
    for place in {"port": guarded.port}, {"unix_socket_path": guarded.unixsocket}:
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(**place, retry=Retry(NoBackoff(), 0)).ping()


def test_it_is_stopped_and_started_again(guarded):
    guarded.stop()
    assert not guarded.running()
    assert not Path(guarded.unixsocket).exists()
    guarded.start()
    assert redis.Redis(port=guarded.port, password="a b@%").ping()
