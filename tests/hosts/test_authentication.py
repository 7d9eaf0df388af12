"""Codes of messages, and where the secret comes from."""

import hmac

import pytest

from towerstrat.hosts.authentication import SECRET, ForeignMessage, MessageKey, take_secret

KEY = MessageKey(b"a secret of sixteen")


def test_a_message_is_opened_where_it_was_sent_to():
    run = KEY.derive(b"store", b"run", b"1")
    assert run.open("a/1", 2, run.seal("a/1", 2, b"message")) == b"message"
    assert MessageKey(bytes.fromhex(run.hex())).open("a/1", 2, run.seal("a/1", 2, b"")) == b""


@pytest.mark.parametrize(
    ("key", "place", "sender", "change"),
    [
        (KEY.derive(b"store", b"other run", b"1"), "a/1", 2, lambda sealed: sealed),
        (KEY.derive(b"store", b"run", b"2"), "a/1", 2, lambda sealed: sealed),
        (KEY.derive(b"store", b"run1", b""), "a/1", 2, lambda sealed: sealed),
        (MessageKey(b"").derive(b"store", b"run", b"1"), "a/1", 2, lambda sealed: sealed),
        (None, "a/2", 2, lambda sealed: sealed),
        (None, "a/1", 1, lambda sealed: sealed),
        (None, "a/1", 2, lambda sealed: sealed[:-1]),
        (None, "a/1", 2, lambda sealed: sealed + b"\0"),
        (None, "a/1", 2, lambda sealed: sealed[:32]),
        (None, "a/1", 2, lambda sealed: b""),
        (None, "a/1", 2, lambda sealed: bytes(32) + sealed[32:]),
    ],
    ids=["run", "attempt", "joined", "secret", "place", "sender", "cut", "longer", "empty", "nothing", "code"],
)
def test_a_message_of_something_else_is_refused(key, place, sender, change):
    run = KEY.derive(b"store", b"run", b"1")
    with pytest.raises(ForeignMessage, match=f"at {place} are not what process {sender} of this run sends there"):
        (key or run).open(place, sender, change(run.seal("a/1", 2, b"message")))


def test_a_code_is_over_the_place_the_sender_and_the_message_each_with_its_length():
    """In the order of bytes of small machines, whichever the processes run on."""
    told = b"\3" + bytes(7) + b"a/1" + b"\x08" + bytes(7) + b"\2" + bytes(7) + b"\7" + bytes(7) + b"message"
    code = hmac.digest(b"a secret of sixteen", told, "sha256")
    assert KEY.seal("a/1", 2, b"message") == code + b"message"


def test_the_secret_is_taken_from_the_environment():
    environment = {SECRET: " sixteen letters or more\n", "OTHER": "x"}
    key = take_secret(None, environment)
    assert key.is_secret
    assert environment == {"OTHER": "x"}
    assert key.derive(b"x").hex() == MessageKey(b"sixteen letters or more").derive(b"x").hex()
    assert key.derive(b"x").is_secret
    assert not take_secret(None, environment).derive(b"x").is_secret


def test_the_secret_is_read_from_a_file_that_nobody_else_may_read(tmp_path):
    path = tmp_path / "secret"
    path.write_text("sixteen letters or more\n")
    path.chmod(0o600)
    assert take_secret(str(path), {}).hex() == b"sixteen letters or more".hex()
    for mode in (0o640, 0o604):
        path.chmod(mode)
        with pytest.raises(ValueError, match=rf"nobody else may read \(chmod 600\), got {path} of .* mode {mode:o}"):
            take_secret(str(path), {})


def test_another_secret_is_refused(tmp_path):
    path = tmp_path / "secret"
    with pytest.raises(ValueError, match="Expected a file with the secret of the run: .*No such file"):
        take_secret(str(path), {})
    path.touch(0o600)
    with pytest.raises(ValueError, match=rf"Expected a secret of 16 characters or more in {path}, got 0"):
        take_secret(str(path), {})
    with pytest.raises(ValueError, match=f"16 characters or more in {SECRET}, got 5"):
        take_secret(None, {SECRET: "short"})
    with pytest.raises(ValueError, match=f"Expected one secret, got --secret-file {path} and {SECRET}"):
        take_secret(str(path), {SECRET: "sixteen letters or more"})
