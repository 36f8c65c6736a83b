"""eyetest: an eye test for multimodal LLMs."""

__version__ = "0.1.0"
