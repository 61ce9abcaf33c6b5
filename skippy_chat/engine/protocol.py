"""What the client and the worker say to each other: one JSON object per line, both ways.

Requests carry a ``kind``; the worker answers with frames ``event`` (the public event stream), ``progress``, and one
closing ``reply`` or ``error`` for each request. Token ids travel as base64 of little-endian int32.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from skippy_chat.events import FinishReason
from skippy_chat.sampling import Sampling

PROTOCOL = 1


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """Load a model and open its checkpoint store.

    ``proofs`` is the folder of verdicts on which models' state comes back exactly; ``prove_afresh`` tries it even where
    there is one.
    """

    kind: ClassVar[str] = "load"
    model: str
    checkpoints: str
    digests: str
    context: int
    threads: int
    flash_attention: str
    disk_budget: int
    kv_type: str = "f16"
    gpu_layers: int = 0
    cache: bool = True
    proofs: str = ""
    prove_afresh: bool = False


@dataclass(frozen=True, slots=True)
class LoadReply:
    """What was loaded; ``memory`` is the native memory class, ``model_kind`` the word for people.

    ``trained_context`` is the longest context that the model was trained for, in tokens; 0 where it does not say.
    ``proof`` says whether its state comes back exactly, None when that was not asked (no cache). ``thinks`` says
    whether its template knows reasoning.
    """

    name: str
    sha256: str
    identity: str
    architecture: str
    model_kind: str
    memory: str
    context_size: int
    cache_notice: str = ""
    proof: str | None = None
    proof_seconds: float = 0.0
    trained_context: int = 0
    thinks: bool = False


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """A past answer's ids, and how many of them were fed one by one."""

    ids: array[int]
    fed: int


@dataclass(frozen=True, slots=True)
class StepRequest:
    """Answer a conversation; ``answers`` maps message indices to what was fed for them.

    ``by_ids``: contents are token ids as text. ``digest_logits`` asks for a digest of every row that was sampled
    from. ``tools`` are OpenAI-style (``{"type": "function", "function": {…}}``), sorted by name; ``tool_choice`` is
    ``auto`` (the grammar begins with a call), ``required`` (the answer is a call) or ``none``. ``json_schema`` asks for
    an answer that is JSON by it; no tool is called then. Without ``record`` the step uses what is stored and adds
    nothing to it.
    """

    kind: ClassVar[str] = "step"
    session: str
    turn: str
    messages: list[dict[str, Any]]
    sampling: Sampling
    answers: Mapping[int, RecordedAnswer] = field(default_factory=dict)
    max_tokens: int = 0
    now: int = 0
    thinking: bool = True
    cache: bool = True
    replay: bool = False
    by_ids: bool = False
    digest_logits: bool = False
    tools: list[dict[str, Any]] = field(default_factory=list)
    tool_choice: str = "auto"
    parallel_tool_calls: bool = False
    json_schema: dict[str, Any] | None = None
    record: bool = True


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A call that an answer makes: ``arguments`` is the raw text the model wrote; the id is never empty."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """Compute a recorded answer again from scratch: ``schedule`` holds (tokens, single) runs.

    ``redrawn`` is that of the answer's reply: those tokens are drawn from what was recorded, all others freely.
    ``ended``: the answer came to an end by itself, so the row of logits behind its last token belongs to it.
    """

    kind: ClassVar[str] = "replay"
    session: str
    turn: str
    ids: array[int]
    prompt_tokens: int
    schedule: list[tuple[int, bool]]
    sampling: Sampling
    digest_logits: bool = False
    redrawn: Sequence[int] = ()
    ended: bool = False


@dataclass(frozen=True, slots=True)
class StepReply:
    """How a step ended, and its ledger: ids as fed from position 0, and (tokens, single) runs.

    ``text`` is the content, ``reasoning`` the thoughts, ``calls`` the calls that could be read whole. ``malformed``
    says what is wrong with an answer that began a call which cannot be read; its raw text is in ``text`` then, so that
    nothing is lost. ``logits_digest``: BLAKE3 of the rows sampled from, in order, when it was asked for; equal means
    equal to the bit. ``gave_way``: a side request was stopped because the conversation had one; it may be asked again.
    ``redrawn``: indices of the answer's tokens that were drawn a second time, because a grammar refused the first; a
    replay wants them.
    """

    text: str
    finish_reason: FinishReason
    ids: array[int]
    prompt_tokens: int
    schedule: list[tuple[int, bool]]
    logits_digest: str = ""
    reasoning: str = ""
    calls: tuple[AnsweredCall, ...] = ()
    malformed: str = ""
    gave_way: bool = False
    redrawn: tuple[int, ...] = ()

    def recorded(self) -> RecordedAnswer:
        """Return the answer as later prompts carry it; a step that was stopped in its prompt fed none of it."""
        fed = sum(tokens for tokens, _ in self.schedule) - self.prompt_tokens
        return RecordedAnswer(self.ids[self.prompt_tokens :], max(0, fed))


def encode_ids(ids: array[int]) -> str:
    """Return ids as text."""
    if sys.byteorder != "little":
        ids = array("i", ids)
        ids.byteswap()
    return base64.b64encode(ids.tobytes()).decode("ascii")


def decode_ids(text: str) -> array[int]:
    """Return the ids that ``encode_ids`` wrote."""
    ids = array("i")
    ids.frombytes(base64.b64decode(text))
    if sys.byteorder != "little":
        ids.byteswap()
    return ids


def to_line(frame: str, body: Any = None, **more: Any) -> bytes:
    """Return one frame as a line of JSON."""
    value = {"frame": frame, **more}
    if body is not None:
        value["body"] = _plain(body)
    return json.dumps(value, ensure_ascii=True).encode("ascii") + b"\n"


def request_line(request: LoadRequest | StepRequest | ReplayRequest) -> bytes:
    """Return a request as one line."""
    return to_line("request", request, kind=request.kind)


def parse_request(value: dict[str, Any]) -> LoadRequest | StepRequest | ReplayRequest:
    """Build a request from a frame.

    Raises:
        ValueError: not a request of this protocol.
    """
    body = dict(value.get("body") or {})
    try:
        if value.get("kind") == LoadRequest.kind:
            return LoadRequest(**body)
        body["sampling"] = Sampling(**body["sampling"])
        if value.get("kind") == StepRequest.kind:
            body["answers"] = {
                int(index): RecordedAnswer(decode_ids(answer["ids"]), answer["fed"])
                for index, answer in body["answers"].items()
            }
            return StepRequest(**body)
        if value.get("kind") == ReplayRequest.kind:
            body["ids"] = decode_ids(body["ids"])
            body["schedule"] = [(tokens, single) for tokens, single in body["schedule"]]
            body["redrawn"] = tuple(body.get("redrawn", ()))
            return ReplayRequest(**body)
    except (KeyError, TypeError) as error:
        raise ValueError(f"a malformed request: {error}") from error
    raise ValueError(f"an unknown request: {value.get('kind')!r}")


def parse_step_reply(body: dict[str, Any]) -> StepReply:
    """Build a step's reply from a frame's body."""
    schedule = [(tokens, single) for tokens, single in body["schedule"]]
    calls = tuple(AnsweredCall(**call) for call in body.get("calls", ()))
    redrawn = tuple(body.get("redrawn", ()))
    ids = decode_ids(body["ids"])
    return StepReply(**{**body, "ids": ids, "schedule": schedule, "calls": calls, "redrawn": redrawn})


def _plain(value: Any) -> Any:
    if isinstance(value, array):
        return encode_ids(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value
