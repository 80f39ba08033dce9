import pytest

from clusters import runtimes
from clusters.models import Runtime
from projects.errors import Invalid, NotFound

pytestmark = pytest.mark.django_db


@pytest.fixture
def preset(tmp_path, monkeypatch, settings):
    """preset(text): what the preset `torch` says from now on."""
    settings.VAR_DIR = tmp_path / "var"
    monkeypatch.setattr(runtimes, "FOLDER", tmp_path)
    return (tmp_path / "torch.txt").write_text


def test_the_same_list_is_the_same_runtime_whatever_its_order_and_comments(preset):
    preset("b==2\na==1\n")
    first = runtimes.pin("torch")
    assert (first.name, first.requirements, len(first.digest)) == ("torch", "a==1\nb==2\n", 64)
    for same in ("a==1\nb==2", "# made today\n\n  b==2  # two\n\ta==1\r\n#\n"):
        preset(same)
        assert runtimes.pin("torch").digest == first.digest
    assert Runtime.objects.count() == 1


def test_another_list_is_another_runtime_and_the_old_one_stays(preset):
    preset("a==1\n")
    old = runtimes.pin("torch")
    preset("a==2\n")
    new = runtimes.pin("torch")
    assert old.digest != new.digest
    assert sorted(Runtime.objects.values_list("requirements", flat=True)) == ["a==1\n", "a==2\n"]


@pytest.mark.parametrize(
    "line", ["a", "a>=1", "a~=1.0", "a==1.*", "a @ https://x.org/a.whl", "-r other.txt", "--index-url x", "a==1 b==2"]
)
def test_a_line_that_pins_nothing_is_refused(preset, line):
    preset(f"b==2\n{line}\n")
    with pytest.raises(Invalid) as refused:
        runtimes.pin("torch")
    assert refused.value.fields == {"runtime": f"The preset torch cannot be used: not pinned: {line!r}"}
    with pytest.raises(ValueError, match="not pinned"):
        runtimes.locked(line)
    assert not Runtime.objects.exists()


@pytest.mark.parametrize(
    "line", ["a==1", "a-b.c_d==1.2.3+cpu", "a[x,y]==2!1.0rc1", "a==1 ; python_version < '3.12'", "A==1.post1"]
)
def test_a_pinned_line_is_kept_as_it_is(line):
    assert runtimes.locked(line) == [line]


@pytest.mark.parametrize("name", ["none", "../torch", "", "torch.txt"])
def test_an_unknown_preset_is_named_with_those_that_there_are(preset, name):
    preset("a==1")
    with pytest.raises(NotFound) as refused:
        runtimes.pin(name)
    assert (refused.value.code, refused.value.data) == ("no-such-runtime", {"known": ["torch"]})
    assert not Runtime.objects.exists()


@pytest.mark.parametrize("name", runtimes.names())
def test_what_the_panel_ships_is_pinned(name):
    assert len(runtimes.pin(name).requirements.splitlines()) > 3


def test_an_installations_own_preset_goes_before_the_shipped_one(preset, settings):
    own = settings.VAR_DIR / "runtimes"
    own.mkdir(parents=True)
    preset("a==1\n")
    (own / "torch.txt").write_text("a==2\n")
    (own / "mine.txt").write_text("b==3\n")
    assert runtimes.names() == ["mine", "torch"]
    assert [runtimes.pin(name).requirements for name in ("torch", "mine")] == ["a==2\n", "b==3\n"]
