"""Texts turned into vectors by a sentence-transformers model that lies on this disk. Refuses the network: a model that is not here is said, not fetched.

Nothing of kb needs this; the extra `semantic` brings the packages. torch is imported when the first text is encoded, so finding out that
nothing must be encoded costs nothing.
"""

import hashlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from kb import KbError, store

if TYPE_CHECKING:
    import numpy as np

_INSTALL = "vectors need the extra `semantic`: in kb's checkout, pip install -e '.[semantic]'; without it, search goes by words"

# How texts are made ready below; another way makes other vectors, so it is a part of the model's key.
_RECIPE = b"2"

# Tokens of a window: models that take more are not asked for more, since a vector of a long text says little of each of its parts.
_LONGEST = 512

# Tokens left free in a window for marks that the model adds, a prompt of its own, and words that a cut splits otherwise.
_SLACK = 24

# Texts encoded together on an accelerator. On a processor it is one: padding costs more than it saves there, and a text alone
# gives the same bits whatever else is encoded with it.
_TOGETHER = 64

_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


@dataclass(frozen=True, slots=True)
class Model:
    """A model on this disk. `key` tells its weights and settings apart from all others, and is the same wherever its folder stands."""

    key: str
    folder: Path


def model_at(layout: store.Layout) -> Model:
    """The model that kb.toml names: a folder relative to the root, else a name that was fetched from the hub before. Raises KbError with what to do."""
    if importlib.util.find_spec("sentence_transformers") is None:
        raise KbError(_INSTALL)
    name = layout.config.semantic_model
    if not name:
        raise KbError(
            'kb.toml names no model: write semantic_model = "FOLDER or NAME" below [search]; sentence-transformers/all-MiniLM-L6-v2 is a small one'
        )
    folder = layout.root / Path(name).expanduser()
    if not folder.is_dir():
        folder = _fetched(name)
    if not (folder / "modules.json").is_file():
        raise KbError(
            f"kb.toml: [search] semantic_model: {folder} holds no sentence-transformers model (no modules.json)"
        )
    try:
        key = _key_of(folder)
    except OSError as error:
        raise KbError(
            f"kb.toml: [search] semantic_model: {folder} cannot be read: {error.strerror or error}"
        ) from error
    return Model(key, folder)


def _fetched(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    full = name if "/" in name else f"sentence-transformers/{name}"
    try:
        return Path(snapshot_download(full, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise KbError(
            f"kb.toml: [search] semantic_model: '{name}' is no folder here and was not fetched to this disk; "
            f"fetch it once with `hf download {full}`, or name a folder that holds it"
        ) from error


def _key_of(folder: Path) -> str:
    """Digest of what decides a vector: the weights and every setting beside them, and the recipe of this module."""
    weights = next((files for glob in _WEIGHTS if (files := sorted(folder.rglob(glob)))), [])
    if not weights:
        raise KbError(
            f"kb.toml: [search] semantic_model: {folder} holds no weights (*.safetensors or pytorch_model.bin)"
        )
    sha = hashlib.sha256(_RECIPE)
    # READMEs and lists of training data differ between copies of one model.
    for file in (
        *sorted(f for f in folder.rglob("*.json") if f.name != "data_config.json"),
        *weights,
    ):
        with open(file, "rb") as data:
            sha.update(
                file.relative_to(folder).as_posix().encode()
                + hashlib.file_digest(data, "sha256").digest()
            )
    return sha.hexdigest()[:16]


class Encoder:
    """A model, loaded when first used and open from then on."""

    def __init__(self, model: Model):
        self.model = model

    @cached_property
    def _loaded(self):
        try:
            from safetensors import SafetensorError
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise KbError(
                f"sentence-transformers is here but cannot be loaded: {error}; install the extra again: in kb's checkout, pip install -e '.[semantic]'"
            ) from error
        try:
            loaded = SentenceTransformer(str(self.model.folder), local_files_only=True)
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            raise KbError(
                f"{self.model.folder}: the model cannot be loaded: {' '.join(str(error).split())[:300]}; fetch it again"
            ) from error
        if not loaded.tokenizer.is_fast:
            raise KbError(
                f"{self.model.folder}: its tokenizer does not say where tokens stand; choose a model with a tokenizer.json"
            )
        return loaded

    def question(self, text: str) -> "np.ndarray":
        """Vector of a question, length 1, float32. A question longer than the model's window is read up to there."""
        return self._loaded.encode_query(
            [text], normalize_embeddings=True, show_progress_bar=False
        )[0]

    def passages(self, texts: Sequence[tuple[str, str]]) -> "np.ndarray":
        """A row for every (head, body), length 1, float16: the middle of its parts, each of which is read under the head."""
        import numpy as np

        parts = [self._parts(head, body) for head, body in texts]
        flat = [part for some in parts for part in some]
        together = 1 if self._loaded.device.type == "cpu" else _TOGETHER
        rows = self._loaded.encode_document(
            flat, batch_size=together, normalize_embeddings=True, show_progress_bar=False
        )
        starts = [0, *accumulate(map(len, parts[:-1]))]
        sums = np.add.reduceat(np.asarray(rows), starts)
        return (sums / np.linalg.norm(sums, axis=1, keepdims=True)).astype("float16")

    def _parts(self, head: str, body: str) -> list[str]:
        """A text cut to the model's window, by its own tokens, in parts of nearly the same size."""
        window = min(self._loaded.max_seq_length or _LONGEST, _LONGEST) - _SLACK
        named = self._places(head)
        if len(named) > window // 3:
            head, named = head[: named[window // 3][0]], named[: window // 3]
        places = self._places(body)
        room = max(1, window - len(named))
        count = max(1, -(-len(places) // room))
        cuts = [places[len(places) * i // count][0] for i in range(1, count)]
        return [
            f"{head}\n{body[start:end]}"
            for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)
        ]

    def _places(self, text: str) -> list[tuple[int, int]]:
        return self._loaded.tokenizer(
            text,
            add_special_tokens=False,
            return_offsets_mapping=True,
            truncation=False,
            verbose=False,
        )["offset_mapping"]
