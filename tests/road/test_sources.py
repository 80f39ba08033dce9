"""Whatever someone brings, a script, an archive, a commit of a repository, is what runs."""

from __future__ import annotations

import io
import tarfile

import pytest

from tests.git_server import GitServer
from tests.road.world import World


@pytest.fixture(scope="module")
def git_server(tmp_path_factory):
    server = GitServer(tmp_path_factory.mktemp("git"))
    yield server
    server.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory, git_server):
    trusted = {"GIT_SSL_CAINFO": str(git_server.ca_file), "GIT_CONFIG_GLOBAL": "/dev/null"}
    world = World(tmp_path_factory.mktemp("world"), environment=trusted).start()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in trusted.items():
            patch.setenv(name, value)
        world.add_agent().wait_ready()
    yield world
    world.stop()


def test_a_typed_script_runs_with_its_arguments(world):
    text = "import sys\nprint(sys.argv[1:])\n"
    number = world.launch_of("script", {"script": text, "arguments": ["--name", "a b", "${script}"]})
    assert world.wait(number)["state"] == "succeeded"
    assert world.complete_log(number) == b"['--name', 'a b', '${script}']\n"


def test_a_script_with_a_syntax_error_fails_and_its_log_says_where(world):
    number = world.launch_of("script", {"script": "print('a'\n"})
    assert world.wait(number)["reason"]["code"] == "exit-code"
    assert b"script.py" in world.complete_log(number)
    assert world.free_chips() == 4


def test_an_uploaded_archive_runs_in_its_own_folder(world):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        entry = tarfile.TarInfo("code/hello.sh")
        entry.size, entry.mode = 11, 0o755
        archive.addfile(entry, io.BytesIO(b"echo $0 $1\n"))
    answer = world.client.post("projects/first-project/sources", files={"archive": ("code.tar.gz", file.getvalue())})
    assert answer.status_code == 201, answer.text
    number = world.launch_of("archive", {"archive": answer.json()["digest"], "command": "sh code/hello.sh you"})
    assert world.wait(number)["state"] == "succeeded"
    assert world.complete_log(number) == b"code/hello.sh you\n"


def test_a_branch_is_resolved_once_and_that_commit_runs_and_is_shown(world, git_server):
    repository = git_server.repository("code")
    commit = repository.commit({"train.py": "print('one')\n"})
    run = {"address": repository.address, "ref": "main", "command": "python3 train.py; git rev-parse HEAD"}
    number = world.launch_of("git", run)
    job = world.wait(number)
    assert (job["state"], job["source"]["commit"]) == ("succeeded", commit)
    assert world.complete_log(number) == f"one\n{commit}\n".encode()
    assert "source.resolved" in world.codes(number)
    later = repository.commit({"train.py": "print('two')\n"})
    again = world.launch_of("git", run)
    assert world.wait(again)["source"]["commit"] == later
    assert world.complete_log(again) == f"two\n{later}\n".encode()


def test_a_ref_or_a_commit_that_is_not_there_fails_the_job_with_the_words_of_git(world, git_server):
    repository = git_server.repository("little")
    repository.commit({"train.py": ""})
    no_ref = world.launch_of("git", {"address": repository.address, "ref": "nowhere", "command": "true"})
    no_commit = world.launch_of("git", {"address": repository.address, "ref": "0" * 40, "command": "true"})
    nothing = world.launch_of("git", {"address": git_server.address("nothing"), "command": "true"})
    assert world.wait(no_ref)["reason"] == {
        "code": "source-failed",
        "sentence": f"Its source could not be had: {repository.address} has neither a branch nor a tag nowhere",
    }
    assert world.wait(nothing)["reason"]["code"] == "source-failed"
    failed = world.wait(no_commit)
    assert failed["reason"]["code"] == "prepare-failed"
    assert "0" * 40 in failed["reason"]["sentence"]
    assert world.free_chips() == 4


def test_an_address_that_is_neither_https_nor_ssh_is_refused_at_launch(world):
    body = {"address": "file:///etc", "command": "true"}
    answer = world.client.post(
        "jobs", json={"project": "first-project", "definition": "git", "parameters": body, "resources": {"chips": 1}}
    )
    assert (answer.status_code, answer.json()["details"]) == (
        422,
        {"parameters.address": "an address of one of these kinds is needed: https://, ssh:// or git@host:path"},
    )
