"""Where a report's numbers come from: versions, seeds, data, models, signatures."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from eyetest.evaluation.results import Results
from eyetest.prices import dollars
from eyetest.reports.untrusted import NAME_LENGTH, Said, link, said

Fact = tuple[str, str | Said | Markup]
"""Name and value of a line of a definition list."""

MOST_PLACES = 5
"""Rows of a file named for each reason."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines under one heading."""

    heading: Said
    facts: tuple[Fact, ...]


def provenance(manifest: Mapping[str, Any], results: Results, *, redact: bool) -> tuple[Block, ...]:
    """All that the manifest tells. redact: without what quotes samples or names folders of the machine."""
    blocks = [Block(said("Run"), tuple(_run(manifest, results)))]
    for name, task in manifest["tasks"].items():
        blocks.append(Block(said(f"Data: {name}", NAME_LENGTH), tuple(_task(task, redact))))
    for name, model in manifest.get("models", {}).items():
        simulated = "yes: its answers are computed from the right answers" if model.get("simulated") else "no"
        facts: tuple[Fact, ...] = (("identity", said(str(model.get("identity", "")))), ("simulated", simulated))
        blocks.append(Block(said(f"Model: {name}", NAME_LENGTH), (*facts, *_cost(name, results), *_remarks(name, results))))
    blocks.append(Block(said("Signatures of the numbers"), tuple(signatures(results))))
    return tuple(blocks)


def _run(manifest: Mapping[str, Any], results: Results) -> Iterator[Fact]:
    spec = manifest["spec"]
    yield "eyetest", said(str(manifest.get("eyetest", "unknown")))
    yield "started", said(str(manifest.get("started", "unknown")))
    yield "Python", said(str(manifest.get("python", "unknown")))
    packages = manifest.get("packages", {})
    yield "packages", said(", ".join(f"{name} {version}" for name, version in packages.items()) or "none")
    yield "seed", said(str(spec.get("seed", "unknown")))
    for key in ("conditions", "prompts"):
        yield key, said(", ".join(map(str, spec.get(key, ()))))
    for key in ("generation", "repeats", "limit"):
        if spec.get(key) is not None:
            yield key, said(_flat(spec[key]))
    for key in ("answers", "asked", "resumed", "cached", "shared", "unparsed", "refused", "failed"):
        if key in results.counts:
            yield f"answers {key}" if key != "answers" else key, said(str(results.counts[key]))
    for item in results.counts.get("inapplicable", ()):
        yield "does not apply", said(f"{item['condition']} to {item['samples']} samples of {item['task']}")


def _cost(model: str, results: Results) -> Iterator[Fact]:
    """What a model behind an API cost; nothing for one that costs nothing."""
    account = _of_model("cost", model, results)
    if not isinstance(account, Mapping):
        return
    usd, price = account.get("usd"), account.get("price")
    if not isinstance(usd, int | float) or not isinstance(price, Mapping):
        yield "cost", "unknown: its price is in no table"
        return
    parts = [f"{dollars(usd)} for all calls of this run"]
    if account.get("batch"):
        parts.append(f"Batch API at {price.get('batch_factor', 1)} of the price")
    if account.get("without_usage"):
        parts.append(f"without {account['without_usage']} answers that came without a count of tokens")
    dated = f" of {price['as_of']}" if price.get("as_of") else ""
    source = f" ({price['source']})" if price.get("source") else ""
    parts.append(f"prices{dated}{source}: {price.get('input')} USD per million input tokens, {price.get('output')} output")
    yield "cost", said("; ".join(parts), 600)


def _remarks(model: str, results: Results) -> Iterator[Fact]:
    found = _of_model("remarks", model, results)
    for remark in found if isinstance(found, list | tuple) else ():
        yield "remark", said(str(remark), 600)


def _of_model(key: str, model: str, results: Results) -> Any:
    by_model = results.counts.get(key)
    return by_model.get(model) if isinstance(by_model, Mapping) else None


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {one}" for key, one in value.items())
    return str(value)


def _task(task: Mapping[str, Any], redact: bool) -> Iterator[Fact]:
    card = task.get("card", {})
    for key in ("title", "licence", "citation", "notes"):
        if card.get(key):
            yield key, said(str(card[key]))
    if card.get("url"):
        yield "source", link(str(card["url"]))
    yield "split", said(str(task.get("split", "unknown")))
    yield "samples", said(f"{task.get('samples')} asked of {task.get('samples_in_split')} in the split")
    yield "sha256 of the ids", said(str(task.get("ids_sha256", "unknown")))
    for path, digest in task.get("files_sha256", {}).items():
        shown = os.path.basename(path) if redact else path
        yield "file", said(f"{shown}, sha256 {digest or 'unknown'}", 600)
    yield from _load(task.get("load_report", {}), redact)


def _load(report: Mapping[str, Any], redact: bool) -> Iterator[Fact]:
    if "read" in report:
        yield "rows", said(f"{report['read']} read, {report.get('kept')} kept")
    for word, key in (("dropped", "dropped"), ("noticed", "warnings")):
        for reason, count in report.get(key, {}).items():
            places: Sequence[str] = () if redact else report.get("rows", {}).get(reason, ())
            where = f" ({'; '.join(places[:MOST_PLACES])}{'; …' if count > MOST_PLACES else ''})" if places else ""
            yield word, said(f"{count}: {reason}{where}", 600)


def signatures(results: Results) -> Iterator[Fact]:
    """Every distinct signature and how many numbers carry it."""
    counts: dict[str, int] = {}
    for made in (*(row.estimate for row in results.rows), *(pair.estimate for pair in results.pairs)):
        if made.signature:
            counts[made.signature] = counts.get(made.signature, 0) + 1
    for signature, count in counts.items():
        yield f"{count:,} ×", said(signature)
