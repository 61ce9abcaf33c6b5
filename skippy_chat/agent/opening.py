"""Open a conversation: the model is found and checked first, so that a mistake there leaves nothing behind."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from skippy_chat.agent.adjusting import kept_of
from skippy_chat.agent.agents_file import AgentsText, read_agents_file
from skippy_chat.agent.conversation import EngineConversation
from skippy_chat.agent.forgetting import forget_expired
from skippy_chat.agent.protocol import Conversation, Fork
from skippy_chat.agent.tooling import ToolPlan, plan_tools
from skippy_chat.agent.tools.protocol import Tool
from skippy_chat.chat.history import History
from skippy_chat.chat.locks import SessionLock
from skippy_chat.chat.messages import Session
from skippy_chat.chat.ulid import UlidSource
from skippy_chat.checkpoints.budget import disk_budget
from skippy_chat.config import Settings
from skippy_chat.engine.client import EngineClient
from skippy_chat.engine.protocol import LoadRequest
from skippy_chat.engine.seat import EngineSeat
from skippy_chat.engine.supervisor import Supervisor
from skippy_chat.engine.watch import DEFAULT_LIMITS, Limits
from skippy_chat.errors import SessionNotFound
from skippy_chat.events import Event, Notice
from skippy_chat.models.inspect import inspect_model
from skippy_chat.models.resolve import resolve_model
from skippy_chat.paths import Paths, make_private

OnProgress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class ConversationOptions:
    """Which session to open, where, and how.

    ``session`` is a name or id; ``fork`` is a session to begin as a copy of another; ``checkpoints`` is where the tree
    lives instead of in the cache folder. The tools that the settings choose, and ``functions`` beside them, work in
    ``folder``; commands get ``environment``, less what looks like a secret. ``can_ask``: somebody answers approvals.
    ``changes`` are those of the ``settings`` that the session keeps from now on, whatever it kept before.
    ``on_event`` is told of every event, in the thread that reads the turn. ``seat`` keeps the engine for the next
    conversation, and may have it from the one before.
    """

    paths: Paths
    settings: Settings
    folder: Path
    session: str | None = None
    continue_newest: bool = False
    new: bool = False
    fork: Fork | None = None
    checkpoints: Path | None = None
    functions: tuple[Tool, ...] = ()
    can_ask: bool = False
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    on_event: Callable[[Event], None] | None = None
    seat: EngineSeat | None = None
    changes: Mapping[str, object] = field(default_factory=dict)


def open_conversation(
    options: ConversationOptions,
    *,
    on_progress: OnProgress,
    start: Callable[[Path, Limits], EngineClient] = lambda log, limits: EngineClient(log, limits=limits),
) -> Conversation:
    """Start a worker, load the model, and open or make the session.

    ``start`` starts a worker process, now and whenever one has died; it is given where the native log goes, and the
    limits after which a silent worker counts as hung.

    Raises:
        ModelFileError: no such model, or not one this build can load.
        SessionLocked: another process writes the session.
        SessionNotFound: there is none to continue.
        ConfigError: tools or rules of approval that cannot be used.
        SkippyError: as the worker said.
    """
    paths, settings = options.paths, options.settings
    plan = plan_tools(
        settings,
        paths,
        options.folder,
        functions=options.functions,
        can_ask=options.can_ask,
        environment=options.environment,
        now=lambda: datetime.now().astimezone(),
    )
    model = resolve_model(settings.model, cache_dir=paths.cache_dir, progress=on_progress)
    inspect_model(model)
    make_private(paths.data_dir)
    log = make_private(paths.logs_dir) / "worker.log"
    history = History.open(paths.history_db, now=lambda: time.time_ns() // 1_000_000)
    forget_expired(history, paths, time.time_ns() // 1_000_000)
    limits = DEFAULT_LIMITS.times(settings.patience)
    make_engine = Supervisor if options.seat is None else options.seat.engine
    engine = make_engine(lambda: start(log, limits), load_request(model, options))
    lock: SessionLock | None = None
    agents: AgentsText | None = None
    try:
        session = _existing(history, options)
        made = session is None
        if session is not None:
            lock = SessionLock(paths.locks_dir, session.id)
        loaded = engine.open(on_progress)
        if session is None:
            if options.fork is None and _takes_agents_file(settings, plan):
                agents = read_agents_file(options.folder, loaded.context_size)
            # Only now, so that a model that does not load leaves no empty session behind.
            session = _new(history, options, {} if agents is None else agents.kept())
            lock = SessionLock(paths.locks_dir, session.id)
        notices = list(_notices(options, session, plan))
        if options.changes:
            session = history.keep_settings(session.id, kept_of(settings, options.changes))
        if not session.model or "model" in options.changes:
            session = history.update_session(session.id, model=settings.model or loaded.name)
        assert lock is not None
        toolbox = None if plan is None else plan.toolbox(session.id)
    except BaseException:
        engine.close()
        if lock is not None:
            lock.close()
        history.close()
        raise
    return EngineConversation(
        history,
        lock,
        engine,
        session,
        settings,
        keep_unused=not (made or _is_bare(history, session)) or bool(options.fork and options.fork.title),
        draw_seed=lambda: random.SystemRandom().getrandbits(32),
        new_id=UlidSource(lambda: time.time_ns() // 1_000_000, os.urandom),
        toolbox=toolbox,
        notices=[
            *notices,
            *([] if agents is None else [agents.notice]),
        ],
        on_event=options.on_event,
    )


def _is_bare(history: History, session: Session) -> bool:
    """Tell whether a session was kept for its draft alone."""
    return not session.title and not history.leaves(session.id)


def _takes_agents_file(settings: Settings, plan: ToolPlan | None) -> bool:
    """Tell whether AGENTS.md is wanted: it says how to work in the workspace, which is for those who do."""
    if settings.agents_file == "auto":
        return plan is not None and plan.reaches_files
    return settings.agents_file == "on"


def _notices(options: ConversationOptions, session: Session, plan: ToolPlan | None) -> Iterator[Notice]:
    """Yield what somebody should know of where this session is opened."""
    files = plan is not None and plan.reaches_files
    ignored = options.settings.ignored_file
    model = options.changes.get("model")
    if model is not None and session.model and model != session.model:
        yield Notice(
            text=f"The model is {model} from here on; it was {session.model}.",
            hint="What it has not read yet is read once, since what is kept for one model fits no other.",
        )
    if ignored is not None:
        yield Notice(
            text=f"{ignored} is not trusted, so it does not count.",
            hint="Read it, then: skippy-chat config trust",
        )
    for name, meant in plan.misspelt_rules.items() if plan is not None else ():
        yield Notice(
            level="warning",
            text=f"A rule of approval is for the tool {name}, and there is none, so it never counts.",
            hint=f"Did you mean {meant}? The rules are in {options.paths.approvals_file}.",
        )
    home = options.environment.get("HOME", "")
    if files and home and Path(home).resolve().is_relative_to(options.folder.resolve()):
        yield Notice(
            level="warning",
            text=f"The workspace is {options.folder}: tools may read all of your home folder, keys and passwords too.",
            hint="Start in a project's folder, or give --workspace.",
        )
    if files and session.folder != str(options.folder):
        yield Notice(
            level="warning",
            text=f"This session began in {session.folder}; its tools work in {options.folder} now.",
            hint=f"For the old folder: --workspace '{session.folder}'",
        )


def _existing(history: History, options: ConversationOptions) -> Session | None:
    if options.new or options.fork is not None:
        return None
    if options.session is not None:
        return history.find(options.session)
    if options.continue_newest:
        newest = history.newest(options.folder)
        if newest is None:
            raise SessionNotFound(f"No session belongs to {options.folder}.", "Start one with --new.")
        return newest
    return None


def _new(history: History, options: ConversationOptions, also: Mapping[str, Any]) -> Session:
    """Make the session; ``also`` is kept beside its settings."""
    if options.fork is not None:
        return history.fork(options.fork.session, options.fork.title, at=options.fork.message)
    kept = {**options.settings.for_session(), "pinned_time": int(time.time()), **also}
    name = options.settings.model or ""
    if options.session is not None and not options.new:
        return history.open_session(options.session, folder=options.folder, model=name, settings=kept)
    return history.create_session(
        folder=options.folder, title=options.session or "", model=name, settings=kept
    )


def load_request(model: Path, options: ConversationOptions) -> LoadRequest:
    """Return how to load ``model`` under these options."""
    paths, settings = options.paths, options.settings
    return LoadRequest(
        model=str(model),
        checkpoints=str(options.checkpoints or paths.checkpoints_dir),
        digests=str(paths.models_dir / "digests.json"),
        proofs=str(paths.proofs_dir),
        context=settings.ctx or (1 << 30),
        threads=settings.threads or default_threads(),
        flash_attention=settings.flash_attention,
        disk_budget=disk_budget(paths.cache_dir, settings.disk_budget),
        kv_type=settings.kv_type,
        gpu_layers=settings.gpu_layers or 0,
        cache=settings.cache and not settings.replay and settings.disk_budget != 0,
    )


def default_threads() -> int:
    """Return how many threads this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
