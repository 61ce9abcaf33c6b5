"""Load a model, make its context, work out its identity, and open the store that belongs to it."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from blake3 import blake3

from skippy_chat.checkpoints.model_note import ModelNote
from skippy_chat.checkpoints.placement import GRID_TOKENS
from skippy_chat.checkpoints.store import CheckpointStore
from skippy_chat.checkpoints.types import Identity
from skippy_chat.engine.engine import Engine
from skippy_chat.engine.protocol import LoadReply, LoadRequest
from skippy_chat.engine.rendering import Renderer
from skippy_chat.engine.selftest import Subject, Verdict, Verdicts, find_verdict, self_test
from skippy_chat.errors import CheckpointError
from skippy_chat.events import MissReason
from skippy_chat.models.digest import DigestCache
from skippy_chat.models.inspect import inspect_model
from skippy_chat.native.chat import ChatTemplate
from skippy_chat.native.context import Context, ContextOptions, MemoryClass
from skippy_chat.native.library import Library, load
from skippy_chat.native.model import Model

OnProgress = Callable[[str, int, int], None]

_KINDS = {
    MemoryClass.DENSE: "dense",
    MemoryClass.ISWA: "swa",
    MemoryClass.HYBRID: "hybrid",
    MemoryClass.HYBRID_ISWA: "hybrid",
    MemoryClass.RECURRENT: "recurrent",
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A running engine and what was found on the way."""

    engine: Engine
    reply: LoadReply


def load_engine(request: LoadRequest, on_progress: OnProgress) -> Loaded:
    """Load everything a worker needs.

    Raises:
        ModelFileError: the file is no model that this build can load.
        NativeError: the library is missing or stock, or the context cannot be made.
    """
    library = load()
    path = Path(request.model)
    found = inspect_model(path)
    digests = DigestCache(Path(request.digests), progress=on_progress)
    weights = digests.blake3(path)
    model = Model(
        library,
        path,
        gpu_layers=request.gpu_layers,
        on_progress=lambda part: on_progress("loading the model", int(part * 100), 100),
    )
    trained = model.trained_context
    context = Context(
        model,
        ContextOptions(
            n_ctx=min(request.context, trained) if trained > 0 else request.context,
            n_batch=GRID_TOKENS,
            n_ubatch=GRID_TOKENS,
            threads=request.threads,
            kv_type=request.kv_type,
            # On CPU "auto" means on; settled here, so that both words share one store.
            flash_attention="on" if request.flash_attention == "auto" else request.flash_attention,
        ),
    )
    identity = _identity(library, model, context, weights)
    subject = Subject(
        name=found.name or path.stem,
        architecture=found.architecture,
        memory=context.memory_class.name.lower(),
        flash_attention=context.options.flash_attention,
        kv_type=context.options.kv_type,
    )
    verdict = _verdict(request, identity, subject, context, on_progress)
    store, notice, why = _open_store(request, identity, verdict)
    template = ChatTemplate(model)
    engine = Engine(model, context, Renderer(model, template), store, no_store=why)
    reply = LoadReply(
        name=subject.name,
        sha256=digests.sha256(path),
        identity=identity.digest,
        architecture=subject.architecture,
        model_kind=_KINDS.get(context.memory_class, "unknown"),
        memory=subject.memory,
        context_size=context.n_ctx,
        cache_notice=notice,
        proof=None if verdict is None else verdict.text,
        proof_seconds=0.0 if verdict is None else verdict.seconds,
        trained_context=max(0, trained),
        thinks=template.thinks(),
    )
    if store is not None:
        store.describe(_note(reply, context))
    return Loaded(engine, reply)


def _note(reply: LoadReply, context: Context) -> ModelNote:
    options = context.options
    words = f"{reply.context_size} tokens, {options.kv_type} cache, flash attention {options.flash_attention}"
    if context.model.gpu_layers:
        words += f", {context.model.gpu_layers} layers on the GPU"
    return ModelNote(reply.name, reply.architecture, reply.model_kind, words, time.time())


def _verdict(
    request: LoadRequest, identity: Identity, subject: Subject, context: Context, on_progress: OnProgress
) -> Verdict | None:
    """Return whether this identity's state comes back exactly; None when nobody asked."""
    if not (request.cache or request.prove_afresh):
        return None

    def test() -> Verdict:
        on_progress("proving that its state comes back exactly", 0, 1)
        return self_test(context, clock=time.monotonic)

    verdicts = Verdicts(Path(request.proofs)) if request.proofs else None
    return find_verdict(verdicts, identity.digest, subject, test, afresh=request.prove_afresh)


def _open_store(
    request: LoadRequest, identity: Identity, verdict: Verdict | None
) -> tuple[CheckpointStore | None, str, MissReason]:
    if not request.cache or verdict is None:
        return None, "", MissReason("off")
    if verdict.method == "off":
        why = MissReason("not_proven", detail=verdict.fault)
        return None, f"Checkpoints are off for this model: {verdict.fault}.", why
    try:
        store = CheckpointStore.open(
            Path(request.checkpoints), identity, budget_bytes=request.disk_budget, now=time.time
        )
    except CheckpointError as error:
        return None, f"Checkpoints are off: {error}", MissReason("off", detail=error.message)
    return store, store.notice or "", MissReason("off")


def _identity(library: Library, model: Model, context: Context, weights: str) -> Identity:
    """Everything that the bits of a state depend on, and nothing else: no path, name, time or context size."""
    options = context.options
    return Identity.of(
        weights=weights,
        native=_native_digest(library.folder),
        machine=platform.machine(),
        flash_attention=options.flash_attention,
        type_k=options.kv_type,
        type_v=options.kv_type,
        n_ubatch=options.n_ubatch,
        n_rs_seq=0,
        swa_full=False,
        gpu_layers=model.gpu_layers,
        rope=_rope(model, context.n_ctx),
    )


def _rope(model: Model, n_ctx: int) -> str:
    """Models with two sets of rope factors choose by context size, and cached keys are already rotated."""
    architecture = model.metadata("general.architecture")
    original = model.metadata(f"{architecture}.rope.scaling.original_context_length")
    return "long" if original and n_ctx > int(original) else "short"


def _native_digest(folder: Path) -> str:
    """Digest of the built libraries: sources, options, compiler and CPU features all show in their bytes."""
    hasher = blake3()
    seen = set()
    for path in sorted(folder.glob("*")):
        real = path.resolve()
        if real in seen or not real.is_file() or "chat" in real.name or "common" in real.name:
            continue  # rendering changes ids, which are compared; only what computes counts
        seen.add(real)
        hasher.update(real.name.split(".")[0].encode() + b"\0")
        hasher.update(real.read_bytes())
    return hasher.hexdigest()
