"""Pictures: encoded bytes and digests (`files`), pixels as a person sees them and the form an API is sent (`pixels`).

Nothing is decoded before `decode`, `check` or a `data_uri` that must re-encode.
"""

from eyetest.images.files import MAX_BYTES, digest, read_bytes
from eyetest.images.pixels import (
    JPEG_QUALITY,
    MAX_PIXELS,
    OPERATIONS,
    PNG_LIMIT,
    READABLE,
    api_form,
    check,
    data_uri,
    decode,
    size,
    with_operation,
)

__all__ = [
    "JPEG_QUALITY",
    "MAX_BYTES",
    "MAX_PIXELS",
    "OPERATIONS",
    "PNG_LIMIT",
    "READABLE",
    "api_form",
    "check",
    "data_uri",
    "decode",
    "digest",
    "read_bytes",
    "size",
    "with_operation",
]
