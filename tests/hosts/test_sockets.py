"""Addresses at which processes meet: what they are, and that no other user comes to those of one machine."""

import os
import socket
import tempfile

import pytest

from towerstrat.hosts.sockets import (
    connect,
    coordinator_of,
    in_use,
    is_local,
    listen,
    path_of,
    private_folder,
    release,
    split_address,
)


@pytest.mark.parametrize(
    ("text", "parts"), [("host:8476", ("host", 8476)), ("10.0.0.1:1", ("10.0.0.1", 1)), ("[fe80::1]:2", ("fe80::1", 2))]
)
def test_an_address_has_a_host_and_a_port(text, parts):
    assert split_address(text) == parts


@pytest.mark.parametrize("text", ["host", ":1", "host:", "host:x", "host:0", "host:65536"])
def test_another_address_is_refused(text):
    with pytest.raises(ValueError, match="Expected an address HOST:PORT.*got"):
        split_address(text)


@pytest.mark.parametrize("address", ["unix:", "unix:here", "unix:/" + "x" * 100])
def test_a_path_that_no_socket_can_have_is_refused(address):
    with pytest.raises(ValueError, match="Expected unix:PATH with an absolute path of at most 100 bytes"):
        path_of(address)


@pytest.mark.parametrize(
    ("address", "local"),
    [("unix:/a/b", True), ("localhost:1", True), ("[::1]:1", True), ("127.0.0.1:1", True), ("host1:1", False)],
)
def test_what_is_of_one_machine(address, local):
    assert is_local(address) is local


def test_the_service_of_jax_is_where_the_supervisors_are():
    assert coordinator_of("unix:/a/meet") == "unix:/a/meet.jax"
    assert split_address(coordinator_of("[fe80::1]:2"))[0] == "fe80::1"


@pytest.mark.parametrize("usual", ["usual", "deep/" * 40])
def test_a_private_folder_is_short_and_goes_away(usual, tmp_path, monkeypatch):
    usual = tmp_path / usual
    usual.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(usual))
    with private_folder() as folder:
        assert os.stat(folder).st_mode & 0o777 == 0o700
        with listen(f"unix:{folder}/meet") as listener, connect(f"unix:{folder}/meet", 5.0) as end:
            end.send(b"x")
            with listener.accept()[0] as other:
                assert other.recv(1) == b"x"
            with pytest.raises(OSError, match="in use") as error:
                listen(f"unix:{folder}/meet")
            assert in_use(error.value)
    assert not os.path.exists(folder)


def test_an_address_that_is_released_is_free():
    with private_folder() as folder:
        for _ in range(2):
            release(listen(f"unix:{folder}/meet"), f"unix:{folder}/meet")
            assert os.listdir(folder) == []


def test_a_socket_that_a_killed_run_has_left_is_taken_over():
    with private_folder() as folder:
        address = f"unix:{folder}/meet"
        listen(address).close()
        with listen(address), connect(address, 5.0):
            pass


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o777])
def test_a_folder_that_others_may_enter_is_refused_on_both_sides(mode):
    with private_folder() as folder:
        os.chmod(folder, mode)
        for use in (listen, lambda address: connect(address, 1.0)):
            with pytest.raises(PermissionError, match=r"nobody else may enter \(chmod 700\).*mode " + f"{mode:o}"):
                use(f"unix:{folder}/meet")


def test_a_loopback_address_is_not_listened_at_elsewhere():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with listen(f"127.0.0.1:{port}") as listener:
        assert listener.getsockname() == ("127.0.0.1", port)
