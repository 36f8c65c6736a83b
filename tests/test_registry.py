from importlib import metadata

import pytest

from eyetest import registry
from eyetest.conditions import ConditionCard
from eyetest.errors import MissingExtraError, UsageError, nearest, unknown
from eyetest.registry import BUILT_IN, load, names, split_spec, typed

OPTIONS = {"steps": int, "rate": float, "mode": str, "fast": bool}


def mistake(function, *arguments, **named):
    with pytest.raises(UsageError) as caught:
        function(*arguments, **named)
    return str(caught.value)


# ------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(("group", "name"), [(group, name) for group, known in BUILT_IN.items() for name in known])
def test_every_built_in_name_imports(group, name):
    found = load(group, name)
    if group == "conditions":
        assert isinstance(found, ConditionCard)
        assert found.summary
    else:
        assert callable(found) or group == "tasks"


def test_every_module_is_below_its_group():
    for group, known in BUILT_IN.items():
        assert all(place.startswith(f"eyetest.{group}.") and place.count(":") == 1 for place in known.values())


@pytest.mark.parametrize(
    ("group", "name", "start"),
    [
        ("models", "orcale", "Unknown model 'orcale'. Did you mean 'oracle'? Known: chance, command, "),
        ("models", "zzz", "Unknown model 'zzz'. Known: chance, "),
        ("conditions", "swaped", "Unknown condition 'swaped'. Did you mean 'swapped'? Known: blank, "),
        ("tasks", "nothing like it", "Unknown task 'nothing like it'. Known: "),
    ],
)
def test_an_unknown_name(group, name, start):
    assert mistake(load, group, name).startswith(start)


def test_an_unknown_name_says_where_it_stands():
    assert mistake(load, "models", "orcale", "run.toml").startswith("Unknown model 'orcale' in run.toml. Did you mean")


# ---------------------------------------------------------------------------------------------------------- plug-ins


@pytest.fixture
def plug_in(monkeypatch):
    """Registers (name, value, group) as if an installed package declared them."""
    names.cache_clear()
    registered = []
    monkeypatch.setattr(
        registry, "entry_points", lambda *, group: metadata.EntryPoints(registered).select(group=group)
    )  # fmt: skip

    def register(name, value, group):
        registered.append(metadata.EntryPoint(name, value, group))

    yield register
    names.cache_clear()


def test_a_plug_in_adds_a_name(plug_in):
    plug_in("fraction", "fractions:Fraction", "eyetest.models")
    plug_in("elsewhere", "fractions:Fraction", "someone.else")
    assert load("models", "fraction").__name__ == "Fraction"
    assert "elsewhere" not in names("models")
    assert "fraction" not in names("conditions")
    assert names("models")["oracle"] == BUILT_IN["models"]["oracle"]
    assert "fraction" in mistake(load, "models", "fractoin")


def test_a_plug_in_may_not_take_a_name(plug_in):
    plug_in("oracle", "mine.models:oracle", "eyetest.models")
    assert mistake(names, "models") == (
        "The plug-in 'mine.models:oracle' registers the model 'oracle', which is already "
        "'eyetest.models.baselines:oracle'. Rename it in the plug-in's entry point."
    )
    assert names("conditions") == BUILT_IN["conditions"]


def test_two_plug_ins_may_not_share_a_name(plug_in):
    plug_in("new", "one:task", "eyetest.tasks")
    plug_in("new", "other:task", "eyetest.tasks")
    assert "The plug-in 'other:task' registers the task 'new', which is already 'one:task'." in mistake(load, "tasks", "new")


# ------------------------------------------------------------------------------------------------------------- specs


@pytest.mark.parametrize(
    ("spec", "argument", "options"),
    [
        ("", "", {}),
        ("name", "name", {}),
        ("name,steps=3", "name", {"steps": 3}),
        ("steps=3,rate=0.5", "", {"steps": 3, "rate": 0.5}),
        ("org/name,fast=yes,mode=a b", "org/name", {"fast": True, "mode": "a b"}),
        ("a,b,steps=3", "a,b", {"steps": 3}),
        ("name, steps = 3 ", "name", {"steps": 3}),
        ("name,steps=1,steps=2", "name", {"steps": 2}),
        ("name,mode=x=y", "name", {"mode": "x=y"}),
        ("name,mode=", "name", {"mode": ""}),
        ("dir/a=b,steps=3", "dir/a=b", {"steps": 3}),
        ("steps=3,name", "steps=3,name", {}),
        ("name,", "name,", {}),
    ],
)
def test_split_spec(spec, argument, options):
    found = split_spec(spec, OPTIONS, what="thing")
    assert found == (argument, options)
    assert list(found[1]) == list(options)


@pytest.mark.parametrize(
    ("spec", "argument", "options"),
    [
        ("say a,b=c", "say a,b=c", {}),
        ("say a,b=c,fast=true", "say a,b=c", {"fast": True}),
        ("fast=true,b=c", "fast=true,b=c", {}),
        ("x = y,steps=3", "x = y", {"steps": 3}),
    ],
)
def test_a_free_text_keeps_what_is_no_option(spec, argument, options):
    assert split_spec(spec, OPTIONS, what="thing", free_text=True) == (argument, options)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("name,step=3", "thing has no option 'step'. Did you mean 'steps'? Known: fast, mode, rate, steps."),
        ("zzz=3", "thing has no option 'zzz'. Known: fast, mode, rate, steps."),
        ("name,steps=x", "thing: option steps='x' is not a whole number."),
        ("name,steps=1.5", "thing: option steps='1.5' is not a whole number."),
        ("name,rate=fast", "thing: option rate='fast' is not a number."),
        ("name,fast=maybe", "thing: option fast='maybe' is not true or false."),
        ("name,fast=", "thing: option fast='' is not true or false."),
    ],
)
def test_a_wrong_option(spec, message):
    assert mistake(split_spec, spec, OPTIONS, what="thing") == message


def test_a_thing_without_options_says_so():
    assert mistake(split_spec, "name,a=1", {}, what="thing") == "thing has no option 'a'. Known: none."


def test_a_free_text_still_refuses_a_wrong_value():
    assert (
        mistake(split_spec, "a,steps=x", OPTIONS, what="thing", free_text=True)
        == "thing: option steps='x' is not a whole number."
    )


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [
        ("steps", "-3", -3),
        ("rate", "1e-3", 0.001),
        ("rate", "2", 2.0),
        ("mode", "True", "True"),
        ("fast", "TRUE", True),
        ("fast", "0", False),
        ("fast", "No", False),
        ("fast", "1", True),
    ],
)
def test_typed(key, value, found):
    made = typed(key, value, OPTIONS, what="thing")
    assert (made, type(made)) == (found, type(found))


# ------------------------------------------------------------------------------------------------------------ errors


def test_nearest():
    assert nearest("shufled", ["shuffled", "image"]) == " Did you mean 'shuffled'?"
    assert nearest("zzz", ["shuffled", "image"]) == ""
    assert nearest("", []) == ""


def test_the_form_of_every_unknown_name():
    assert str(unknown("split", "tset", ["train", "test"], "task 'x'")) == (
        "Unknown split 'tset' in task 'x'. Did you mean 'test'? Known: test, train."
    )
    assert str(unknown("split", "zzz", ["test"])) == "Unknown split 'zzz'. Known: test."


def test_a_missing_extra_says_how_to_install_it():
    assert str(MissingExtraError("torch", "hf", "The model hf:x")) == (
        "The model hf:x needs the package 'torch', which is not installed. Install it with: pip install 'eyetest[hf]'"
    )
