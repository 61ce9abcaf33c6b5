"""Check a model by loading it: does it load, and does its state come back exactly?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from skippy_chat.agent.opening import ConversationOptions, load_request
from skippy_chat.config import Settings
from skippy_chat.engine.client import EngineClient
from skippy_chat.engine.protocol import LoadReply
from skippy_chat.engine.watch import DEFAULT_LIMITS
from skippy_chat.models.inspect import inspect_model
from skippy_chat.models.resolve import resolve_model
from skippy_chat.paths import Paths, make_private


def check_model(
    paths: Paths, settings: Settings, *, on_progress: Callable[[str, int, int], None]
) -> LoadReply:
    """Load the model that ``settings`` name in a worker of its own and try the self-test afresh.

    Raises:
        ModelFileError: no such model, or not one this build can load.
        SkippyError: as the worker said; EngineDied when it died of it.
    """
    model = resolve_model(settings.model, cache_dir=paths.cache_dir, progress=on_progress)
    inspect_model(model)
    make_private(paths.data_dir)
    log = make_private(paths.logs_dir) / "worker.log"
    options = ConversationOptions(paths=paths, settings=settings, folder=Path())
    request = replace(load_request(model, options), cache=False, prove_afresh=True)
    client = EngineClient(log, limits=DEFAULT_LIMITS.times(settings.patience))
    try:
        return client.load(request, on_progress)
    finally:
        client.close()
