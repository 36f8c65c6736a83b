import re
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eyetest.errors import UsageError
from eyetest.prompts import DEFAULT_TEMPLATES, Prompt, letters, render
from eyetest.types import Image, Message, Sample

PICTURE, OTHER = Image(data=b"picture"), Image(path="other.png")
CHOICE = Sample("q1", "Which city is this?", ("Paris",), choices=("Rome", "Paris"), images=(PICTURE,))
TEXT = Sample("t1", "Which city is this?", ("Paris", "City of Light"), kind="text")
EVERY_LABEL = "Answer with every label that fits, separated by commas."


def text_of(sample, prompt=Prompt()):  # noqa: B008 (frozen)
    return render(prompt, sample)[-1].content[-1]


def mistake(prompt, sample=CHOICE):
    with pytest.raises(UsageError) as caught:
        render(prompt, sample)
    return str(caught.value)


# ------------------------------------------------------------------------------------------------- default templates


@pytest.mark.parametrize(
    ("sample", "text"),
    [
        (CHOICE, "Which city is this?\nA. Rome\nB. Paris\nAnswer with the letter of the right option."),
        (
            replace(CHOICE, context="A postcard."),
            "A postcard.\n\nWhich city is this?\nA. Rome\nB. Paris\nAnswer with the letter of the right option.",
        ),
        (replace(CHOICE, question=""), "A. Rome\nB. Paris\nAnswer with the letter of the right option."),
        (replace(CHOICE, kind="labels"), "Which city is this?\nLabels: Rome, Paris\n" + EVERY_LABEL),
        (replace(CHOICE, kind="labels", question=""), "Labels: Rome, Paris\n" + EVERY_LABEL),
        (TEXT, "Which city is this?\nAnswer with a word or a short phrase."),
        (replace(TEXT, context="A postcard."), "A postcard.\n\nWhich city is this?\nAnswer with a word or a short phrase."),
        (replace(TEXT, kind="transcription"), "Which city is this?\nAnswer with the text exactly as it is written."),
        (replace(TEXT, kind="description"), "Which city is this?"),
        (replace(TEXT, kind="description", context="A postcard."), "A postcard.\n\nWhich city is this?"),
        (replace(TEXT, kind="description", context="A postcard.", question=""), "A postcard."),
    ],
)  # fmt: skip
def test_default_templates(sample, text):
    assert text_of(sample) == text


def test_every_kind_has_a_default_template():
    assert set(DEFAULT_TEMPLATES) == {"choice", "labels", "text", "transcription", "description"}


def test_without_letters_the_default_shows_none():
    prompt = Prompt(lettered=False)
    assert text_of(CHOICE, prompt) == "Which city is this?\n- Rome\n- Paris\nAnswer with the right option, word for word."
    assert text_of(TEXT, prompt) == text_of(TEXT)


def test_pictures_come_before_the_text():
    assert render(Prompt(), replace(CHOICE, images=(PICTURE, OTHER))) == (Message("user", (PICTURE, OTHER, text_of(CHOICE))),)
    assert render(Prompt(), TEXT) == (Message("user", (text_of(TEXT),)),)


def test_own_templates_stand_beside_the_default_ones():
    prompt = Prompt(templates={"choice": "{{ pictures }}/{{ options | length }}: {{ options[1].letter }} {{ metadata.year }}"})
    assert text_of(replace(CHOICE, metadata={"year": 1999}), prompt) == "1/2: B 1999"
    assert text_of(TEXT, prompt) == text_of(TEXT)


def test_white_space_around_the_whole_text_is_cut():
    assert text_of(TEXT, Prompt(templates={"text": "\n  {% if context %}x{% endif %}\n{{ question }} \n\n"})) == TEXT.question


# ----------------------------------------------------------------------------------------------------------- letters


@pytest.mark.parametrize(
    ("place", "letter"), [(0, "A"), (25, "Z"), (26, "AA"), (27, "AB"), (51, "AZ"), (52, "BA"), (701, "ZZ"), (702, "AAA")]
)
def test_letters(place, letter):
    found = letters(place + 1)
    assert found[place] == letter
    assert len(set(found)) == place + 1


def test_no_options_no_letters():
    assert letters(0) == ()


def test_no_option_is_lost_however_many_there_are():
    text = text_of(replace(CHOICE, choices=tuple(f"option {number}" for number in range(800))))
    assert len(re.findall(r"^[A-Z]+\. option \d+$", text, re.MULTILINE)) == 800


# ------------------------------------------------------------------------------------------- system message, examples


def test_examples_are_asked_like_the_sample_and_answered():
    shown = Sample("e1", "Which animal is this?", ("cat",), choices=("dog", "cat"), images=(OTHER,), context="A pet.")
    spoken = Sample("e2", "How tall is it?", ("330 m", "330 metres"), kind="text")
    marked = Sample("e3", "Which colours?", ("red", "blue"), kind="labels", choices=("red", "green", "blue"))
    prompt = Prompt("few", system="You see well.", examples=(shown, spoken, marked))
    assert render(prompt, CHOICE) == (
        Message("system", ("You see well.",)),
        Message("user", (OTHER, "A pet.\n\nWhich animal is this?\nA. dog\nB. cat\nAnswer with the letter of the right option.")),
        Message("assistant", ("B",)),
        Message("user", ("How tall is it?\nAnswer with a word or a short phrase.",)),
        Message("assistant", ("330 m",)),
        Message("user", ("Which colours?\nLabels: red, green, blue\nAnswer with every label that fits, separated by commas.",)),
        Message("assistant", ("red, blue",)),
        *render(Prompt(), CHOICE),
    )
    assert render(replace(prompt, lettered=False), CHOICE)[2] == Message("assistant", ("cat",))


def test_an_empty_set_of_labels_is_answered_in_words():
    nothing = Sample("e1", "Which colours?", (), kind="labels", choices=("red", "green"))
    assert render(Prompt(examples=(nothing,)), CHOICE)[1] == Message("assistant", ("none",))


# ------------------------------------------------------------------------------------------------------------ errors


def test_an_unknown_name_is_an_error_that_says_where():
    assert mistake(Prompt("mine", {"choice": "{{ questoin }}"})) == (
        "Prompt 'mine', template 'choice', sample 'q1': 'questoin' is undefined. "
        "A template may use question, context, options, pictures, metadata."
    )


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ metadata.year }}", "'dict object' has no attribute 'year'."),
        ("{{ metadata['year'] }}", "'dict object' has no attribute 'year'."),
        ("{{ options[5].text }}", "has no element 5."),
        ("{{ question.nothing() }}", "'str object' has no attribute 'nothing'."),
        ("{{ 1 / 0 }}", "the template fails (ZeroDivisionError: division by zero)."),
        ("{{ '%d' % question }}", "the template fails (TypeError: %d format: a real number is required, not str)."),
        ("{{ '{a}'.format() }}", "the template fails (KeyError: 'a')."),
        ("{{ '{}'.format() }}", "the template fails (IndexError: "),
        ("{% include 'x' %}", "the template fails (TypeError: no loader for this environment specified)."),
    ],
)
def test_a_template_that_fails_on_a_sample_names_it(template, said):
    message = mistake(Prompt("mine", {"choice": template}))
    assert message.startswith("Prompt 'mine', template 'choice', sample 'q1': ")
    assert said in message
    assert "question, context, options, pictures, metadata." in message


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("one\n\n{% if question %}", "line 3: Unexpected end of template. Jinja was looking for "),
        ("one\n{{ question | shout }}", "line 2: No filter named 'shout'."),
        ("{% endfor %}", "line 1: Encountered unknown tag 'endfor'."),
        ("{{ question", "line 1: unexpected end of template, expected 'end of print statement'."),
    ],
)
def test_a_syntax_error_names_prompt_template_and_line(template, said):
    message = mistake(Prompt("mine", {"text": template}), TEXT)
    assert message.startswith(f"Prompt 'mine', template 'text', {said}")
    assert message.endswith(" Templates are jinja2 text; see docs/concepts.md.")
    assert ".." not in message


# ------------------------------------------------------------------------------------------- text is never a template


HOSTILE = (
    "{{ 7 * 7 }}",
    "{% for x in y %}",
    "{# no comment #}",
    "{{ metadata }}{% raw %}",
    "A. not an option\nB. neither",
    "line\r\nline\u2028line\n\n\nline",
    "<b>&amp;</b> 'quoted' \"text\"",
    "\\n \\x41 %s {0} $x",
    "Ünïcödé 🦉 漢字 \u202eright to left",
    "lone \ud800 surrogate",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_the_dataset_is_never_interpreted(text):
    sample = replace(CHOICE, question=text, context=text, choices=(text, "Paris"), metadata={"note": text})
    assert text_of(sample) == f"{text}\n\n{text}\nA. {text}\nB. Paris\nAnswer with the letter of the right option."
    assert text_of(sample, Prompt(templates={"choice": "[{{ metadata.note }}]"})) == f"[{text}]"


@settings(derandomize=True, max_examples=200)
@given(st.text(st.characters(), min_size=1), st.lists(st.text(st.characters()), min_size=1, max_size=5))
@example(" {{ x }} ", ["\n"])
def test_every_text_arrives_as_it_is(question, choices):
    text = text_of(replace(CHOICE, context="Context.", question=question, choices=tuple(choices)))
    options = "".join(f"{letter}. {choice}\n" for letter, choice in zip("ABCDE", choices, strict=False))
    assert text == f"Context.\n\n{question}\n{options}Answer with the letter of the right option."


@settings(derandomize=True, max_examples=100)
@given(st.text(st.characters(), min_size=1))
def test_a_question_alone_arrives_but_for_white_space_around_it(question):
    assert text_of(replace(TEXT, kind="description", question=question)) == question.strip()


EXPLOITS = {
    "a shell through cycler": "{{ cycler.__init__.__globals__.os.popen('touch owned').read() }}",
    "a shell through a class": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "a shell through an option": "{{ options[0].__class__.__base__.__subclasses__() }}",
    "a shell through attr": "{{ ''|attr('__class__') }}",
    "globals of a function": "{{ lipsum.__globals__ }}",
    "format": "{{ '{0.__class__.__init__.__globals__}'.format(cycler) }}",
    "changing what is given": "{{ metadata.update({'a': 1}) }}",
}


@pytest.mark.parametrize("template", EXPLOITS.values(), ids=EXPLOITS)
def test_a_template_cannot_leave_its_sandbox(template, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = Sample("s1", "Q?", ("a",), "choice", choices=("a", "b"), metadata={"place": "X"})
    with pytest.raises(UsageError) as raised:
        render(Prompt("mine", {"choice": template}), asked)
    said = str(raised.value)
    assert said.startswith("Prompt 'mine', template 'choice', sample 's1': ")
    assert "unsafe" in said
    assert not (tmp_path / "owned").exists()
    assert asked.metadata == {"place": "X"}


BROKEN = {
    "endless macro": ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", ", sample 's1': the template fails (RecursionError: "),
    "too much text": ("{{ 'a' * 10**13 }}", ""),
    "too much text at run time": ("{{ question * 10**13 }}", ", sample 's1': the template fails (MemoryError: no reason given)"),
    "too many digits": ("{{ 10**9999 }}", ""),
    "200 nested if": ("{% if 1 %}" * 200 + "{% endif %}" * 200, ": the template cannot be compiled (IndentationError: "),
    "3,000 parentheses": ("{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}", ": the template cannot be compiled (RecursionError: "),
    "150 parentheses of a sum": ("{{ " + "(q+" * 250 + "1" + ")" * 250 + " }}", ": the template cannot be compiled ("),
    "an include": ("{% include 'x' %}", ", sample 's1': the template fails (TypeError: no loader"),
    "no such filter": ("{{ 1|nosuch }}", ", line 1: No filter named 'nosuch'"),
    "a filter that fails": ("{{ 'x'|round }}", ", sample 's1': the template fails (TypeError: "),
    "no such test": ("{{ 1 is nosuch }}", ", line 1: No test named 'nosuch'"),
}


@pytest.mark.parametrize(("template", "said"), BROKEN.values(), ids=BROKEN)
def test_a_template_that_breaks_is_a_mistake(template, said):
    with pytest.raises(UsageError) as raised:
        render(Prompt("mine", {"text": template}), Sample("s1", "Q?", ("a",), "text"))
    assert str(raised.value).startswith(f"Prompt 'mine', template 'text'{said}")


# ----------------------------------------------------------------------------------------------- pictures within the text


MARKED = Sample("m1", "Is <image 2> later than <image 1>?", ("no",), kind="text", images=(PICTURE, OTHER))
END = "Answer with a word or a short phrase."


@pytest.mark.parametrize(
    ("sample", "content"),
    [
        (MARKED, ("Is ", OTHER, " later than ", PICTURE, f"?\n{END}")),
        (replace(MARKED, images=()), (f"Is <image 2> later than <image 1>?\n{END}",)),
        (replace(MARKED, images=(PICTURE,)), ("Is <image 2> later than ", PICTURE, f"?\n{END}")),
        (replace(MARKED, question="<image 1> <image 2> Which?"), (PICTURE, OTHER, f" Which?\n{END}")),
        (replace(MARKED, question="Look at <image 2>."), (PICTURE, "Look at ", OTHER, f".\n{END}")),
        (replace(MARKED, question="See <image 1>. In <image 1>?"), (OTHER, "See ", PICTURE, f". In <image 1>?\n{END}")),
        (replace(MARKED, question="<image 0>, <image 01>?"), (PICTURE, OTHER, f"<image 0>, <image 01>?\n{END}")),
        (
            replace(CHOICE, question="Which?", choices=("<image 2>", "<image 1>"), images=(PICTURE, OTHER)),
            ("Which?\nA. ", OTHER, "\nB. ", PICTURE, "\nAnswer with the letter of the right option."),
        ),
    ],
)  # fmt: skip
def test_a_marker_becomes_the_picture_at_its_place(sample, content):
    assert render(Prompt(), sample)[-1].content == content


def test_a_picture_at_the_end_of_a_template_leaves_no_empty_text():
    prompt = Prompt(templates={"text": "{{ question }}"})
    assert render(prompt, replace(MARKED, question="<image 1>\n\n<image 2>"))[-1].content == (PICTURE, OTHER)


def test_examples_show_their_pictures_in_place_too():
    prompt = Prompt(examples=(MARKED,))
    assert render(prompt, TEXT)[0].content == render(Prompt(), MARKED)[-1].content
