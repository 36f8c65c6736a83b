from __future__ import annotations

import json

import pytest

from evaluation.made import Asked, go, item, items, predictions
from eyetest.errors import StoreError
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
