"""A question about a picture as pure knowledge: the words that point at the picture give way to the name of what it shows.

Made for the templates of InfoSeek (Chen et al. 2023, arXiv 2302.11713). The paper that asks such questions (arXiv 2410.12329)
prints no rules; these are ours. The first that fits is used:

    in_image     the/this <class> in the image     How wide is the vehicle in the image?      How wide is Fiat 500?
    this_class   this/these <class>                What is this person's place of birth?      What is Mae West's place of birth?
    this_word    this/these <word>                 Where is this quark found?                 Where is Charm quark found?
    the_class    the <class>                       Who designed the bridge?                   Who designed Tower Bridge?
    appended     nothing points at the picture     What inflows lake?                         What inflows lake? (about Erie)

A class is one of `NOUNS`, with up to two words before it (`this small bird`) or a noun after it (`this mountain range`). The name
is put in as it stands, without an article. Where the result may be no sentence, or may still need the picture, it says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

_NOUNS = """animal mammal bird fish insect reptile amphibian spider snake butterfly dog cat horse
    plant tree flower fruit vegetable mushroom fungus crop food dish drink beverage dessert bread cheese sauce
    person man woman people player athlete actor politician artist
    place location area region city town village country state district island mountain hill volcano lake river sea ocean
    waterfall glacier desert forest valley beach bay cave water park garden
    building house church cathedral monastery abbey temple mosque castle palace museum library school university hospital hotel
    theatre theater stadium tower bridge road street station airport facility structure monument memorial statue landmark site
    dam tunnel lighthouse
    vehicle car aircraft airplane plane helicopter ship boat train locomotive motorcycle bicycle bus truck tank
    object item thing product device equipment machine tool instrument weapon material substance mineral rock stone clothing
    garment furniture toy organization organisation company brand band team club event sport game activity
    book film movie painting sculpture artwork series show breed species genus"""
_ATTRIBUTES = """person people man woman player athlete actor politician artist place location area region city town village
    country state district water site product material substance company organization organisation brand team club event activity
    species genus breed series show thing"""

NOUNS = frozenset(_NOUNS.split())
"""What InfoSeek's questions call the thing in the picture."""

ATTRIBUTES = frozenset(_ATTRIBUTES.split())
"""Classes that after `the` are more often what is asked for: "the area in square kilometre", "the place of birth"."""


@dataclass(frozen=True, slots=True)
class EntityQuestion:
    """A question about a named thing."""

    text: str
    """The question, answerable without the picture."""
    rule: str
    """How it was made: a name in the module's table."""
    doubts: tuple[str, ...] = ()
    """Why it may be no sentence or still need the picture: `plural`, `this_word`, `the_class`, `appended`, `still_points`."""


def _forms(nouns: Iterable[str]) -> str:
    """Singular and plural of each, longest first."""
    words = {form for noun in nouns for form in (noun, f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s", f"{noun}es")}
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


_NO_ADJECTIVE = (
    "a|an|the|of|in|on|at|to|from|for|by|with|and|or|that|which|who|"
    "is|are|was|were|be|been|do|does|did|has|have|had|can|could|may|will"
)
_KIND = r"(?:(?:type|kind|sort|species|breed|piece|body|work)s?\s+of\s+)?"
_HEAD = r"(?:\s+(?:range|species|breed|model|series|system|complex|team|club|station|park)(?![\w-]))?"
_ADJECTIVES = rf"(?:(?!(?:{_NO_ADJECTIVE})\s)[\w-]+\s+){{0,2}}?"
_CLASS = rf"{_KIND}(?:{_forms(NOUNS)})(?![\w-]){_HEAD}"
_IMAGE = (
    r"(?:(?:that is\s+)?(?:shown|seen|depicted|displayed|pictured)\s+)?in\s+(?:the|this)\s+(?:image|picture|photo(?:graph)?)\b"
)

_RULES = {
    "in_image": re.compile(rf"\b(?:the|this|these)\s+{_ADJECTIVES}{_CLASS},?\s+{_IMAGE}", re.I),
    "this_class": re.compile(rf"\b(?:this|these)\s+{_ADJECTIVES}{_CLASS}", re.I),
    "this_word": re.compile(rf"\b(?:this|these)\s+(?!(?:{_NO_ADJECTIVE})\s)[\w-]+", re.I),
    "the_class": re.compile(
        rf"\bthe\s+(?:{_forms(NOUNS - ATTRIBUTES)})(?![\w-])(?!\s+(?:of|that|which|who|whose|where|from)\b)", re.I
    ),
}
_POINTER = re.compile(rf"\A{_IMAGE},?\s*|,?\s+{_IMAGE}", re.I)
_STILL_POINTS = re.compile(r"\b(?:this|these)\b|\b(?:the|an?)\s+(?:image|picture|photo(?:graph)?)\b", re.I)
_PLACE = "\0"
_PLURAL = re.compile(r"\bthese\b", re.I)


def entity_question(question: str, entity: str) -> EntityQuestion:
    """`question` about `entity` instead of the picture. entity: its name, not blank."""
    open_question, rule, doubts = _opened(question)
    return EntityQuestion(open_question.replace(_PLACE, entity.strip()), rule, doubts)


@lru_cache(maxsize=4096)
def _opened(question: str) -> tuple[str, str, tuple[str, ...]]:
    """(the question with `_PLACE` where the name belongs, rule, doubts). InfoSeek asks a few templates thousands of times."""
    for rule, pattern in _RULES.items():
        found = pattern.search(question)
        if found is None:
            continue
        opened = _POINTER.sub("", pattern.sub(_PLACE, question))
        doubts = ["plural"] if _PLURAL.search(found[0]) else []
        doubts += [rule] if rule in ("this_word", "the_class") else []
        return opened, rule, (*doubts, *_left(opened))
    bare = _POINTER.sub("", question)
    return f"{bare.rstrip()} (about {_PLACE})", "appended", ("appended", *_left(bare))


def _left(opened: str) -> tuple[str, ...]:
    return ("still_points",) if _STILL_POINTS.search(opened) else ()
