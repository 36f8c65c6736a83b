from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from evaluation.made import Asked, go, item, items, predictions
from eyetest.errors import StoreError, UsageError
from eyetest.evaluation.evaluate import default_cache, default_directory
from eyetest.evaluation.rescore import rescore
from eyetest.evaluation.rundir import RunDirectory, finished, read_counts, read_manifest


def refused(tmp_path, data, **values):
    with pytest.raises(StoreError) as caught:
        go(tmp_path, data, Asked(), **values)
    return str(caught.value)


def test_a_second_process_is_turned_away(tmp_path):
    with RunDirectory(tmp_path / "run"):
        assert refused(tmp_path / "run", items(3)) == (
            f"Run directory {tmp_path}/run is in use by another process. Wait for it to end, or choose another --out."
        )
    assert go(tmp_path / "run", items(3), Asked()).progress.done == 3


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"conditions": ["image", "no_image"]}, 'there conditions is ["image"], here ["image","no_image"]'),
        ({"generation": {"max_tokens": 9}}, "there generation.max_tokens is 256, here 9"),
        ({"seed": 1}, "there seed is 0, here 1"),
        ({"prompts": ["default"], "repeats": 2}, "there repeats is 1, here 2"),
        ({"models": [{"model": "other"}]}, 'there models[0].model is "made", here "other"'),
    ],
)
def test_a_directory_of_another_run_says_what_differs(tmp_path, values, said):
    go(tmp_path, items(3), Asked())
    assert refused(tmp_path, items(3), **values) == (
        f"Run directory {tmp_path} holds another run: {said}. "
        f"Choose another --out; answers that both runs need come from the cache."
    )
    assert len(predictions(tmp_path)) == 3


def test_a_directory_of_a_run_on_other_samples_says_so(tmp_path):
    go(tmp_path, items(3), Asked())
    said = "holds another run: it asks other samples (the ids in the data, limit, ids or seed differ)."
    assert said in refused(tmp_path, items(4))


def test_other_slices_another_cache_and_strictness_are_the_same_run(tmp_path):
    samples = [item(n, metadata={"topic": n % 2}) for n in range(4)]
    go(tmp_path / "run", samples, Asked())
    model = Asked()
    go(tmp_path / "run", samples, model, by=["metadata.topic"], strict=True, use_cache=True, cache=str(tmp_path / "c"))
    assert not model.seen


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b'{"spec": [], "tasks": {}}', b"\xff"])
def test_a_broken_manifest_is_named(tmp_path, content):
    go(tmp_path, items(3), Asked())
    (tmp_path / "run.json").write_bytes(content)
    said = refused(tmp_path, items(3))
    assert said.startswith(f"{tmp_path}/run.json: is not ")
    assert said.endswith("Restore it, or run again with another --out: what was answered comes from the cache.")
    with pytest.raises(StoreError, match=r"run.json: is not "):
        read_manifest(tmp_path)


def test_a_folder_that_is_no_run_and_a_run_that_did_not_end(tmp_path):
    with pytest.raises(StoreError, match=r"not a run directory \(run.json: No such file or directory\)"):
        finished(tmp_path)
    go(tmp_path, items(3), Asked())
    (tmp_path / "predictions.jsonl").unlink()
    with pytest.raises(StoreError, match=r"the run did not end. Run the same command again to go on where it stopped\.$"):
        finished(tmp_path)


def test_predictions_are_replaced_only_by_a_run_that_ended(tmp_path):
    go(tmp_path, items(3), Asked())
    before = (tmp_path / "predictions.jsonl").read_bytes()

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, items(3), Asked(), watch=stop)
    assert (tmp_path / "predictions.jsonl").read_bytes() == before


@pytest.mark.parametrize("content", [None, b"", b"[]", b'{"counts": 3}'])
def test_counts_that_are_gone_are_empty(tmp_path, content):
    if content is not None:
        (tmp_path / "results.json").write_bytes(content)
    assert read_counts(tmp_path) == {}


def test_counts_are_those_of_the_run(tmp_path):
    go(tmp_path, items(3), Asked())
    assert read_counts(tmp_path) == json.loads((tmp_path / "results.json").read_bytes())["counts"]
    assert read_counts(tmp_path)["asked"] == 3


# ------------------------------------------------------------------------------------------- what is not the run's is not touched


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_somebody_elses_folder_is_refused_and_left_as_it_is(tmp_path):
    for name in ("journal.txt", "predictions.jsonl", "results.json", "z.txt"):
        (tmp_path / name).write_bytes(b"not ours, no line end")
    before = contents(tmp_path)
    assert refused(tmp_path, items(3)) == (
        f"{tmp_path}: holds files (journal.txt, predictions.jsonl, results.json and 1 more) but no run.json, so it is not the "
        f"directory of a run. Choose a new or empty folder with --out."
    )
    assert contents(tmp_path) == before


def test_a_refused_run_leaves_a_torn_journal_line_to_its_own_run(tmp_path):
    go(tmp_path, items(3), Asked())
    with (tmp_path / "journal.txt").open("ab") as journal:
        journal.write(b"torn")
    before = contents(tmp_path)
    assert "holds another run" in refused(tmp_path, items(3), seed=1)
    assert contents(tmp_path) == before


def test_an_empty_folder_and_what_a_kill_before_the_manifest_left_will_do(tmp_path):
    (tmp_path / "lock").touch()
    (tmp_path / "run.json.partial").touch()
    assert go(tmp_path, items(3), Asked()).progress.done == 3


@pytest.mark.parametrize("name", ["../../up", "/abs", "..", "a\x1b[31mb/c", "x" * 500])
def test_a_default_directory_stays_in_runs(name):
    made = default_directory({"tasks": [{"name": name}]})
    assert made.parent == Path("runs")
    assert made.name.isprintable()
    assert not made.name.startswith(".")
    assert len(made.name) < 80


def test_a_key_that_only_one_specification_has_is_a_difference(tmp_path):
    go(tmp_path, items(3), Asked())
    manifest = json.loads((tmp_path / "run.json").read_bytes())
    del manifest["spec"]["limit"]
    (tmp_path / "run.json").write_text(json.dumps(manifest))
    assert f"Run directory {tmp_path} holds another run: there limit is not set, here null. " in refused(tmp_path, items(3))


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("by",), 5, "by is 5, not a list"),
        (("by",), [5], "a part of by is 5, not a text"),
        (("models",), [], "models is of type list, not an object"),
        (("models",), {"asked": 5}, "models.asked is 5, not an object"),
        (("tasks",), {"samples": 5}, "tasks.samples is 5, not an object"),
        (("tasks", "samples", "labels"), "yes", "tasks.samples.labels is 'yes', not a list"),
        (("tasks", "samples", "labels"), [None], "a part of tasks.samples.labels is None, not a text"),
        (("tasks", "samples", "scoring"), 5, "tasks.samples.scoring is 5, not an object"),
        (("spec", "seed"), "x", "spec.seed is 'x', not a whole number"),
        (("spec", "seed"), -1, "spec.seed is not a whole number from 0 to 9223372036854775807"),
        (("spec", "prompts"), None, "spec.prompts is None, not a list"),
        (("spec", "prompt"), {"mine": 5}, "spec.prompt.mine is 5, not an object"),
    ],
)
def test_a_manifest_with_a_wrong_value_says_which(tmp_path, place, value, said):
    go(tmp_path, items(3), Asked())
    manifest = json.loads((tmp_path / "run.json").read_bytes())
    inside = manifest
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    (tmp_path / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(StoreError) as caught:
        rescore(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}/run.json: is not the manifest of a run: {said}. "
        f"Restore it, or run again with another --out: what was answered comes from the cache."
    )


@pytest.mark.parametrize("name", ["run.json", "journal.txt"])
def test_a_named_pipe_in_place_of_a_file_does_not_wait(tmp_path, name):
    go(tmp_path, items(3), Asked())
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    said = f"{tmp_path}/{name}: is a named pipe, not a file. Move it away, or name another place."
    assert refused(tmp_path, items(3)) == said


def test_the_cache_of_a_user_without_a_home(monkeypatch):
    def homeless(path):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", homeless)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for named in (None, "~/x"):
        monkeypatch.setenv("EYETEST_CACHE", named) if named else monkeypatch.delenv("EYETEST_CACHE", raising=False)
        with pytest.raises(UsageError) as caught:
            default_cache()
        assert str(caught.value) == (
            "The response cache has no place: the home folder of this user is unknown. "
            "Name a file with --cache or EYETEST_CACHE, or run with --no-cache."
        )


def test_a_cache_named_below_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("EYETEST_CACHE", "~/c.sqlite")
    assert default_cache() == tmp_path / "c.sqlite"


def test_a_field_named_twice_is_one_slice(tmp_path):
    samples = [item(n, metadata={"topic": n % 2}) for n in range(4)]
    once = go(tmp_path / "1", samples, Asked(), by=["metadata.topic"])
    often = go(tmp_path / "2", samples, Asked(), by=["metadata.topic", "topic", "metadata.topic"])
    assert repr(often.results.table()) == repr(once.results.table())
    assert len(often.results.rows) > 8
