"""Which commit a ref stands for, asked of a real git server over https."""

from __future__ import annotations

import socket

import pytest

from clusters import git
from projects.errors import Invalid
from tests.git_server import GitServer


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = GitServer(tmp_path_factory.mktemp("git"))
    yield server
    server.close()


@pytest.fixture(scope="module")
def code(server):
    """A repository with two commits on main, one on the branch fast/er, tags of both kinds and one that is a branch, too."""
    repository = server.repository("code")
    commits = {"first": repository.commit({"train.py": "print(1)\n"})}
    repository.tag("v1", annotated=True)
    repository.tag("plain", annotated=False)
    repository.tag("both", annotated=False)
    commits["second"] = repository.commit({"train.py": "print(2)\n"})
    commits["third"] = repository.commit({"train.py": "print(3)\n"}, branch="fast/er")
    commits["both"] = repository.commit({"train.py": "print(4)\n"}, branch="both")
    return repository.address, commits


@pytest.fixture(autouse=True)
def _trusted(server, monkeypatch):
    monkeypatch.setenv("GIT_SSL_CAINFO", str(server.ca_file))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")


@pytest.mark.parametrize(
    ("ref", "commit"),
    [
        ("main", "second"),
        ("HEAD", "second"),
        ("fast/er", "third"),
        ("refs/heads/fast/er", "third"),
        ("v1", "first"),  # the commit that the annotated tag is of
        ("refs/tags/v1", "first"),
        ("plain", "first"),
        ("both", "both"),  # a branch goes before a tag of its name
        ("refs/tags/both", "first"),
    ],
)
def test_a_ref_is_the_commit_that_it_stands_for(code, ref, commit):
    address, commits = code
    assert git.resolve(address, ref) == commits[commit]


def test_a_whole_commit_is_itself_and_nobody_is_asked(code, server):
    address, commits = code
    server.asked.clear()
    assert git.resolve(address, commits["first"]) == commits["first"]
    assert server.asked == []


@pytest.mark.parametrize("ref", ["nowhere", "er", "fast", "v", "1234567"])
def test_a_ref_that_is_not_there_is_named(code, ref):
    address, _commits = code
    with pytest.raises(git.Unresolved) as error:
        git.resolve(address, ref)
    assert str(error.value) == f"{address} has neither a branch nor a tag {ref}"


def test_git_says_itself_that_a_repository_is_not_there(server):
    with pytest.raises(git.Unresolved, match="not found"):
        git.resolve(server.address("nothing"), "main")


def test_a_server_that_nobody_vouches_for_is_not_trusted(code, monkeypatch):
    monkeypatch.delenv("GIT_SSL_CAINFO")
    with pytest.raises(git.Unresolved, match="certificate"):
        git.resolve(code[0], "main")


def test_a_server_that_says_nothing_is_given_up(settings):
    settings.GIT_TIMEOUT_S = 0.3
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(git.Unresolved, match="did not answer within"):
        git.resolve(f"https://127.0.0.1:{mute.getsockname()[1]}/code.git", "main")


@pytest.mark.parametrize(
    "address",
    [
        "https://github.com/pytorch/examples",
        "https://git.example.org:8443/team/code.git",
        "ssh://git@github.com/pytorch/examples.git",
        "git@github.com:pytorch/examples.git",
        "host:code.git",
        "HTTPS://github.com/pytorch/examples",
        "Ssh://git@github.com/pytorch/examples.git",
        "https://git.example.org:65535/code",
    ],
)
def test_addresses_of_https_and_ssh_are_taken(address):
    git.check(address, "main")


@pytest.mark.parametrize(
    "address",
    [
        "http://github.com/pytorch/examples",
        "file:///etc",
        "/etc/repository",
        "../repository",
        "ext::sh -c id",
        "ext::id",
        "--upload-pack=id",
        "-oProxyCommand=id:code",
        "ssh://-oProxyCommand=id/code",
        "ssh://-l@host/code",
        "https://user:token@github.com/pytorch/examples",
        "https://token@github.com/pytorch/examples",
        "https://:token@github.com/pytorch/examples",
        "https://user:@github.com/pytorch/examples",
        "ssh://git:token@github.com/pytorch/examples",
        "ssh://git:@github.com/pytorch/examples",
        "git:token@github.com:pytorch/examples",
        "https://github.com/pytorch/examples?token=secret",
        "https://github.com/pytorch/examples?",
        "https://github.com/pytorch/examples#token",
        "git@github.com:pytorch/examples?token=secret",
        "https://github.com:99999/pytorch/examples",
        "https://github.com:0/pytorch/examples",
        "https://github.com:x/pytorch/examples",
        "https:///nothing",
        "https://github.com",
        "https://[half/code",
        "https://github.com/a b",
        "https://github.com/a\nb",
        "https://github.com/" + "a" * 500,
        "",
    ],
)
def test_other_addresses_are_refused_before_anybody_is_asked(address):
    with pytest.raises(Invalid) as error:
        git.check(address, "main")
    assert set(error.value.fields) == {"source.address"}
    with pytest.raises(git.Unresolved):
        git.resolve(address, "main")


@pytest.mark.parametrize(
    ("address", "plain"),
    [
        ("HTTPS://GitHub.com/Team/Code", "https://GitHub.com/Team/Code"),
        ("https://github.com/team/code", "https://github.com/team/code"),
        ("git@Host:Code", "git@Host:Code"),
    ],
)
def test_a_scheme_is_small_letters_to_git(address, plain):
    assert git.plain(address) == plain


@pytest.mark.parametrize(
    "ref", ["", "-x", "--upload-pack=id", "a b", "a..b", "a^", "a~1", "a:b", "main*", "@{1}", "a\n", "x" * 501]
)
def test_what_is_no_ref_is_refused(ref):
    with pytest.raises(Invalid) as error:
        git.check("https://github.com/pytorch/examples", ref)
    assert set(error.value.fields) == {"source.ref"}


def test_a_setting_says_which_schemes_may_be_named(settings):
    settings.GIT_SCHEMES = ["http"]
    git.check("http://git.example.org/code", "main")
    with pytest.raises(Invalid, match="kinds is needed: http://"):
        git.check("https://github.com/pytorch/examples", "main")
