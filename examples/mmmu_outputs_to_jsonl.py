"""Turn MMMU's example outputs, one JSON object {id: response}, into the lines that `scripted:FILE.jsonl` reads.

python examples/mmmu_outputs_to_jsonl.py total_val_output.json answers.jsonl             # asked with the picture
python examples/mmmu_outputs_to_jsonl.py blind_output.json blind.jsonl no_image          # asked without it
"""

import json
import sys
from pathlib import Path

if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
source, condition = Path(sys.argv[1]), (sys.argv[3:] or ["image"])[0]
try:
    outputs = json.loads(source.read_text(encoding="utf-8"))
except (OSError, ValueError) as error:
    sys.exit(f"{source} cannot be read as JSON: {error}. Is it MMMU's total_val_output.json, and complete?")
if not isinstance(outputs, dict) or not outputs:
    sys.exit(f'{source}: expected one object {{"validation_Art_1": "B", ...}} as MMMU\'s total_val_output.json.')
if wrong := next((name for name, text in outputs.items() if not isinstance(text, str)), None):
    sys.exit(f"{source}: the response to {wrong!r} is {outputs[wrong]!r:.80}; expected a text.")
with Path(sys.argv[2]).open("w", encoding="utf-8") as out:
    for name, text in outputs.items():
        out.write(json.dumps({"id": name, "condition": condition, "completion": text}) + "\n")
