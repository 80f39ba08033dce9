"""Where webhooks go: to checked addresses of the internet alone, over a connection to exactly what was checked."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from jobs import public_addresses, webhooks
from jobs.undelivered import Undelivered
from tests.factories import NOON
from tests.jobs.hooks import Receiver

FORBIDDEN = [
    "127.0.0.1",
    "127.8.8.8",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.169.254",
    "224.0.0.1",
    "239.1.1.1",
    "240.0.0.1",
    "255.255.255.255",
    "192.0.2.1",
    "::1",
    "::",
    "fe80::1",
    "fc00::1",
    "fd12::1",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "2001:db8::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2002:7f00:1::1",
    "2002:a00:1::1",
]


@pytest.mark.parametrize("text", FORBIDDEN)
def test_what_is_not_of_the_internet_is_not_called(text):
    assert not public_addresses.may_call(ip_address(text))
    host = f"[{text}]" if ":" in text else text
    assert "not on the internet alone" in webhooks.fault_of(f"https://{host}/hook")


@pytest.mark.parametrize("text", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_what_is_may_be_called(text):
    assert public_addresses.may_call(ip_address(text))


@pytest.mark.parametrize("text", ["10.1.2.3", "::ffff:10.1.2.3"])
def test_what_is_allowed_may_be_called_and_its_neighbour_not(text, settings):
    settings.NOTICE_PRIVATE_ADDRESSES = [ip_network("10.1.0.0/16")]
    assert public_addresses.may_call(ip_address(text))
    assert not public_addresses.may_call(ip_address(text.replace("10.1.", "10.2.")))


@pytest.mark.parametrize(
    "text",
    [
        "https://hooks.example/panel",
        "https://hooks.example:8443/a?b=c",
        "https://8.8.8.8/",
        "https://[2606:4700::1111]/",
        "https://bücher.example/é",
    ],
)
def test_addresses_that_may_be_tried(text):
    assert webhooks.fault_of(text) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is needed"),
        ("hooks.example", "is needed"),
        ("ftp://hooks.example/", "is needed"),
        ("https://", "is needed"),
        ("https:///hook", "is needed"),
        ("https://hooks.example:0/", "is needed"),
        ("https://hooks.example:99999/", "is needed"),
        ("https://a b.example/", "is needed"),
        ("https://hooks.example/\r\nX: y", "is needed"),
        ("https://hooks.example/\u202e", "is needed"),
        ("https://hooks.example/\ud800", "is needed"),
        ("https://" + "x" * 2000, "is needed"),
        ("https://[::1", "is needed"),
        ("http://hooks.example/", "must begin with https"),
        ("https://me:secret@hooks.example/", "no name and password"),
        ("https://me@hooks.example/", "no name and password"),
    ],
    ids=str.__len__,
)
def test_addresses_that_may_not(text, words):
    assert words in webhooks.fault_of(text)


# -- At the sending -----------------------------------------------------------------------------------------------


def post(url, secret="whsec_" + "QUJD" * 8):
    webhooks.post(url, message_id="msg_1", body="{}", signed_with=[secret], now=NOON)


def names(monkeypatch, **addresses):
    """What the names resolve to."""

    def getaddrinfo(host, port, **_):
        if host not in addresses:
            raise socket.gaierror(-2, "Name or service not known")
        return [(0, 0, 0, "", (address, port)) for address in addresses[host]]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.fixture
def receiver(settings):
    settings.NOTICE_HTTP, settings.NOTICE_PRIVATE_ADDRESSES = True, [ip_network("127.0.0.1/32")]
    found = Receiver()
    yield found
    found.close()


@pytest.mark.parametrize("text", ["2130706433", "0x7f.1", "0177.0.0.1", "localhost"])
def test_another_way_to_write_this_machine_does_not_help(receiver, settings, text):
    settings.NOTICE_PRIVATE_ADDRESSES = []
    with pytest.raises(Undelivered) as error:
        post(f"http://{text}:{receiver.port}/")
    assert (receiver.calls, error.value.again) == ([], False)


def test_a_name_of_which_one_address_is_private_is_refused_whole(receiver, monkeypatch):
    names(monkeypatch, **{"mixed.example": ["127.0.0.1", "169.254.169.254"]})
    with pytest.raises(Undelivered, match=r"^mixed\.example is not on the internet alone; whoever"):
        post(f"http://mixed.example:{receiver.port}/")
    assert receiver.calls == []


def test_the_name_is_asked_once_and_the_connection_goes_to_what_was_checked(receiver, monkeypatch):
    """A name that says something else a moment later (DNS rebinding) leads nowhere."""
    asked = []

    def getaddrinfo(host, port, **_):
        asked.append(host)
        return [(0, 0, 0, "", ("127.0.0.1" if len(asked) == 1 else "10.9.9.9", port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    post(f"http://turning.example:{receiver.port}/hook")
    (_path, headers, _content) = receiver.calls[0]
    assert (asked[0], headers["host"]) == ("turning.example", f"turning.example:{receiver.port}")
    assert set(asked[1:]) <= {"127.0.0.1"}  # asyncio's own look at an address, which is no name


def test_the_next_address_is_tried_when_one_does_not_answer(receiver, monkeypatch, settings):
    settings.NOTICE_PRIVATE_ADDRESSES = [ip_network("127.0.0.0/8"), ip_network("::1/128")]
    names(monkeypatch, **{"two.example": ["127.0.0.9", "127.0.0.1"], "127.0.0.9": ["127.0.0.9"], "127.0.0.1": ["127.0.0.1"]})
    post(f"http://two.example:{receiver.port}/")
    assert len(receiver.calls) == 1


def test_a_name_that_nobody_knows_is_tried_again_later(monkeypatch):
    names(monkeypatch)
    with pytest.raises(Undelivered, match=r"nowhere\.example has no address") as error:
        post("https://nowhere.example/")
    assert error.value.again


def test_a_resolver_that_does_not_answer_is_not_waited_for(monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(public_addresses, "RESOLVED_WITHIN_S", 0.1)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(20) and [])
    with pytest.raises(Undelivered, match=r"no answer within 0\.1 s"):
        post("https://slow.example/")
    over.set()


def test_who_drips_an_answer_is_not_listened_to(settings, monkeypatch):
    """No single read is late, all of it is."""
    settings.NOTICE_HTTP, settings.NOTICE_PRIVATE_ADDRESSES = True, [ip_network("127.0.0.1/32")]
    monkeypatch.setattr(webhooks, "WITHIN_S", 0.5)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip():
            connection, _address = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                while not over.wait(0.05):
                    connection.sendall(b"X: y\r\n")

        dripping = threading.Thread(target=drip, daemon=True)
        dripping.start()
        began = time.monotonic()
        with pytest.raises(Undelivered, match=r"did not answer within 0\.5 s") as error:
            post(f"http://127.0.0.1:{server.getsockname()[1]}/")
        over.set()
    assert error.value.again and time.monotonic() - began < 5


def test_a_body_without_end_is_not_read(settings):
    settings.NOTICE_HTTP, settings.NOTICE_PRIVATE_ADDRESSES = True, [ip_network("127.0.0.1/32")]
    sent, closed = [0], threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def pour():
            connection, _address = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n")
                try:
                    while True:
                        sent[0] += connection.send(b"x" * 65536)
                except OSError:
                    closed.set()

        threading.Thread(target=pour, daemon=True).start()
        post(f"http://127.0.0.1:{server.getsockname()[1]}/")
        assert closed.wait(10)
    assert sent[0] < 64 * 2**20  # what the kernels' buffers took


def test_a_proxy_of_the_environment_is_not_asked(receiver, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    post(receiver.url)
    assert len(receiver.calls) == 1


@pytest.fixture
def certificate(tmp_path, monkeypatch):
    """Of hooks.example, by an authority that is trusted for this test."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hooks.example")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("hooks.example")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    found, keys = tmp_path / "certificate.pem", tmp_path / "key.pem"
    found.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    keys.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    monkeypatch.setenv("SSL_CERT_FILE", str(found))
    webhooks._trust.cache_clear()
    yield found, keys
    webhooks._trust.cache_clear()


def test_the_certificate_is_checked_against_the_name_though_the_address_is_called(receiver, certificate, monkeypatch):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    receiver.server.socket = context.wrap_socket(receiver.server.socket, server_side=True)
    names(monkeypatch, **{"hooks.example": ["127.0.0.1"], "other.example": ["127.0.0.1"], "127.0.0.1": ["127.0.0.1"]})
    post(f"https://hooks.example:{receiver.port}/")
    assert len(receiver.calls) == 1
    with pytest.raises(Undelivered, match="cannot be reached: .*certificate verify failed"):
        post(f"https://other.example:{receiver.port}/")
    assert len(receiver.calls) == 1
