"""What is kept on disk: request keys, the journal of a run, the response cache, records as JSON lines.

The journal is one appended line per answer, written with a single `write`, so that a killed process loses nothing it
was told. The cache is one SQLite file that several runs may share; it may lose its last moments, the journal not.
"""

from eyetest.store.cache import Cache
from eyetest.store.checks import checked_response, expected
from eyetest.store.files import check_regular, full, write_whole
from eyetest.store.journal import Journal
from eyetest.store.json_text import from_json, to_json
from eyetest.store.keys import answer_key, content_key
from eyetest.store.records import (
    BY_DIGEST,
    decode_prediction,
    decode_response,
    encode_prediction,
    encode_response,
    read_predictions,
)

__all__ = [
    "BY_DIGEST",
    "Cache",
    "Journal",
    "answer_key",
    "check_regular",
    "checked_response",
    "content_key",
    "decode_prediction",
    "decode_response",
    "encode_prediction",
    "encode_response",
    "expected",
    "from_json",
    "full",
    "read_predictions",
    "to_json",
    "write_whole",
]
