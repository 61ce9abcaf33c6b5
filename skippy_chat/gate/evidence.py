"""Files that let a failure be looked at and repeated: every request, ids, schedule, counts, and the native log.

    report.json               the whole report
    <phase>/turns.jsonl       one line per step: the request as the worker got it, the reply's ids and schedule,
                              counts, reasons, the digest of the logits
    <phase>/native.log        what native code wrote while the phase ran
    <phase>/checks.json       what was expected and found

Invariant: written as it happens, so that a run which is stopped or dies leaves what it had found.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from skippy_chat.engine.protocol import encode_ids, request_line
from skippy_chat.events import to_dict
from skippy_chat.gate.stage import Turn
from skippy_chat.gate.values import PhaseResult, Report
from skippy_chat.paths import make_private

NATIVE_LOG = "native.log"


class Evidence:
    """Writes below one folder, which it makes."""

    def __init__(self, folder: Path) -> None:
        """Make the folder.

        Raises:
            ConfigError: it cannot be made, or others can write to it.
        """
        self.folder = make_private(folder)
        self._phase = "start"

    def begin(self, phase: str) -> None:
        """Have what follows belong to ``phase``."""
        self._phase = phase

    def turn(self, turn: Turn, stage: str) -> None:
        """Keep one step."""
        line = {
            "label": turn.label,
            "stage": stage,
            **json.loads(request_line(turn.request)),
            "reply": {
                "text": turn.reply.text,
                "finish_reason": turn.reply.finish_reason,
                "ids": encode_ids(turn.reply.ids),
                "prompt_tokens": turn.reply.prompt_tokens,
                "schedule": turn.reply.schedule,
                "logits_digest": turn.reply.logits_digest,
            },
            "finished": to_dict(turn.finished),
            "deepest_shared_cut": turn.reach.deepest,
            "deepest_sure_cut": turn.reach.sure,
            "told": list(turn.told),
        }
        with (self._home() / "turns.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def native(self, text: bytes) -> None:
        """Keep what native code wrote in this phase."""
        (self._home() / NATIVE_LOG).write_bytes(text)

    def result(self, result: PhaseResult) -> None:
        """Keep a phase's checks."""
        checks = [check.to_json() for check in result.checks]
        self._write(self._home() / "checks.json", {"seconds": result.seconds, "checks": checks})

    def report(self, report: Report) -> None:
        """Keep the whole report."""
        self._write(self.folder / "report.json", report.to_json())

    def _home(self) -> Path:
        folder = self.folder / self._phase
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    @staticmethod
    def _write(path: Path, value: Any) -> None:
        path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
