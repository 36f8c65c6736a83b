"""Downloads: only when asked, only at a revision, and never here."""

import sys
import types
from pathlib import Path

import pytest

from eyetest.config import DataConfig, read_run_file
from eyetest.errors import DataError, MissingExtraError, UsageError
from eyetest.evaluation import setup
from eyetest.readers import hub

REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, object]]:
    """A hub that writes down what it is asked for."""
    calls: list[dict[str, object]] = []

    def snapshot_download(repository: str, **settings: object) -> str:
        calls.append({"repository": repository, **settings})
        if settings["revision"] == "f" * 40:
            raise OSError("no network  here")
        return str(tmp_path)

    module = types.ModuleType("huggingface_hub")
    module.snapshot_download = snapshot_download  # type: ignore[attr-defined]
    errors = types.ModuleType("huggingface_hub.errors")
    errors.HfHubHTTPError = type("HfHubHTTPError", (Exception,), {})  # type: ignore[attr-defined]
    errors.LocalEntryNotFoundError = type("LocalEntryNotFoundError", (Exception,), {})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    monkeypatch.setitem(sys.modules, "huggingface_hub.errors", errors)
    return calls


def test_the_pinned_revision_and_parquet_only(asked: list[dict[str, object]], tmp_path: Path) -> None:
    (dataset,) = setup.datasets([DataConfig(task="memotion_humor", dir="hub")])
    assert dataset.directory == tmp_path
    assert dataset.format == "parquet"
    assert asked == [
        {
            "repository": "Ahren09/MMSoc_Memotion",
            "repo_type": "dataset",
            "revision": "cdb15b61d84d56db73e0e59535dfea81ea3c22f4",
            "allow_patterns": ["*.parquet", "*.md"],
        }
    ]


def test_another_revision(asked: list[dict[str, object]]) -> None:
    setup.datasets([DataConfig(task="gossipcop", dir=f"hub@{REVISION}")])
    assert (asked[0]["repository"], asked[0]["revision"]) == ("Ahren09/MMSoc_GossipCop", REVISION)


@pytest.mark.parametrize(
    ("task", "directory", "message"),
    [
        ("gossipcop", "hub", "no revision of Ahren09/MMSoc_GossipCop is known to be right"),
        ("gossipcop", "hub@main", "'main' is no revision"),
        ("eyechart_words", "hub", "Task 'eyechart_words' has no copy on the hub that is known"),
    ],
)
def test_nothing_is_downloaded_without_a_revision(
    asked: list[dict[str, object]], task: str, directory: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        setup.datasets([DataConfig(task=task, dir=directory)])
    assert asked == []


def test_a_hub_that_does_not_answer(asked: list[dict[str, object]]) -> None:
    with pytest.raises(
        DataError, match=r"MMSoc_GossipCop at ffffffffffff cannot be downloaded: OSError: no network here\. Download it"
    ):
        setup.datasets([DataConfig(task="gossipcop", dir=f"hub@{'f' * 40}")])
    assert len(asked) == 1


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'eyetest\[hub\]'"):
        hub.download("gossipcop", "Ahren09/MMSoc_GossipCop", "", f"hub@{REVISION}")


def test_a_run_file_keeps_the_names(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text(
        '[[tasks]]\ntask = "a"\ndir = "hub@x"\n[[tasks]]\ntask = "b"\ndir = "embedded"\n[[tasks]]\ntask = "c"\ndir = "hubs"\n'
    )
    found = [task["dir"] for task in read_run_file(file)["tasks"]]
    assert found == ["hub@x", "embedded", str(tmp_path / "hubs")]
