"""Turn the test questions of the package `easy-vqa` (pip install easy-vqa) into eyetest's JSONL.

python examples/convert_easy_vqa.py easy_vqa.jsonl    # then: eyetest run --data easy_vqa.jsonl ...
"""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

data = Path(find_spec("easy_vqa").submodule_search_locations[0]) / "data"
colours = ["red", "green", "blue", "yellow", "black", "gray", "teal", "brown"]
kinds = {"yes-no": ["yes", "no"], "shape": ["circle", "rectangle", "triangle"], "colour": colours}
with open(sys.argv[1], "w") as out:
    for number, (question, answer, picture) in enumerate(json.loads((data / "test/questions.json").read_text())):
        asks, choices = next((name, texts) for name, texts in kinds.items() if answer in texts)
        row = {"id": f"{number:05d}", "question": question, "choices": choices, "answer": answer, "asks": asks}
        row |= {"image": str(data / "test/images" / f"{picture}.png"), "cluster": f"picture-{picture}"}
        out.write(json.dumps(row) + "\n")
