"""What the phases of one run stand on: the model, the texts, the folders, and what was measured so far.

Invariant: all that a run keeps lies in two folders of its own, one for work and one for evidence; the user's
checkpoints are never opened.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from skippy_chat.dialogues.texts import Ids, Material, Words
from skippy_chat.engine.protocol import LoadReply, LoadRequest
from skippy_chat.errors import ContextFull, EngineDied, ModelFileError, NativeError
from skippy_chat.gate.evidence import Evidence
from skippy_chat.gate.sizes import Sizes
from skippy_chat.gate.stage import OnProgress, Stage, StartWorker, Turn
from skippy_chat.gate.talk import Manner, Talk
from skippy_chat.gate.tree import Tree
from skippy_chat.models.inspect import inspect_model

BY_IDS = Manner(by_ids=True, thinking=True)
_FEW, _MANY = 20, 220
_LEAST_RATE = 0.2


@dataclass(frozen=True, slots=True)
class GateOptions:
    """What to run, and how to load the model.

    ``prefix`` is in tokens; ``by_ids`` None lets the model's template decide; ``disk_budget`` is in bytes.
    """

    model: Path
    phases: tuple[str, ...]
    threads: int
    prefix: int = 4000
    by_ids: bool | None = None
    thinking: bool = True
    strict: bool = False
    flash_attention: str = "auto"
    kv_type: str = "f16"
    gpu_layers: int = 0
    disk_budget: int = 10 << 30


@dataclass
class Ground:
    """Everything that phases share; ``measured`` holds the turns that are to be replayed."""

    options: GateOptions
    work: Path
    evidence: Evidence
    start_worker: StartWorker
    clock: Callable[[], float]
    on_progress: OnProgress
    measured: list[Turn] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    material: Material = field(default_factory=Ids)
    manner: Manner = BY_IDS
    systems: bool = True
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stages: dict[str, Stage] = field(default_factory=dict)
    _loaded: LoadReply | None = None
    _sizes: Sizes | None = None

    @property
    def loaded(self) -> LoadReply:
        """What the first worker loaded."""
        assert self._loaded is not None, "prepared before it is used"
        return self._loaded

    @property
    def sizes(self) -> Sizes:
        """How long each part is, in tokens."""
        assert self._sizes is not None, "prepared before it is used"
        return self._sizes

    @property
    def partial(self) -> bool:
        """Whether the model has state that belongs to one position, so that not every cut can be returned to."""
        return self.loaded.model_kind != "dense"

    @property
    def logs(self) -> Path:
        """Where the workers' native logs go."""
        return self.work / "logs"

    def stage(self, name: str, **changed: object) -> Stage:
        """Return the stage of that name; a new one has a checkpoint folder of its own, and may load differently."""
        if name not in self._stages:
            request = replace(self._request(name), **changed)  # type: ignore[arg-type]
            self._stages[name] = Stage(
                name, request, self.start_worker, self.logs, self.on_progress, self._on_turn
            )
        return self._stages[name]

    def prepare(self) -> None:
        """Load the model once, and find out how to talk to it.

        Raises:
            SkippyError: it cannot be loaded.
        """
        with self.stage("probe") as stage:
            stage.start()
            assert stage.loaded is not None
            self._loaded = stage.loaded
            self._sizes = Sizes.fitting(self.options.prefix, stage.loaded.context_size)
            if self.sizes.prefix < self.options.prefix:
                self.notes.append(
                    f"The context holds {stage.loaded.context_size:,} tokens, so the prefix has {self.sizes.prefix:,}."
                )
            if not self._by_ids():
                self._try_words(stage)

    def dialogue(self, stage: Stage, head: int, *, seed: int = 1) -> Talk:
        """Return a conversation that begins with a system prompt of ``head`` tokens."""
        talk = Talk(stage, self.manner)
        text = self.material.text(seed, head)
        if self.systems:
            talk.add("system", text)
        else:
            talk.add("user", text)
            talk.add("assistant", self.material.text(seed + 1, 4))
        return talk

    def rest(self) -> None:
        """Let every worker that runs finish and end; stages go on with new ones when they are used again."""
        for stage in self._stages.values():
            stage.stop()

    def close(self) -> None:
        """End every worker that still runs, at once."""
        for stage in self._stages.values():
            stage.kill()

    def _on_turn(self, turn: Turn, stage: str) -> None:
        with self._lock:  # two stages may be at it at the same moment
            self.turns.append(turn)
            self.evidence.turn(turn, stage)

    def _request(self, name: str) -> LoadRequest:
        options = self.options
        return LoadRequest(
            model=str(options.model),
            checkpoints=str(self.work / name / "checkpoints"),
            digests=str(self.work / "digests.json"),
            proofs=str(self.work / "proofs"),
            context=-(-(options.prefix + options.prefix // 8 + 2048) // 256) * 256,
            threads=options.threads,
            flash_attention=options.flash_attention,
            disk_budget=options.disk_budget,
            kv_type=options.kv_type,
            gpu_layers=options.gpu_layers,
        )

    def _by_ids(self) -> bool:
        if self.options.by_ids is not None:
            return self.options.by_ids
        try:
            if inspect_model(self.options.model).chat_template:
                return False
        except ModelFileError:  # a file that a test double stands for
            return True
        self.notes.append("The model has no chat template, so it is run on token ids.")
        return True

    def _try_words(self, stage: Stage) -> None:
        """Talk by the template if it takes words; else by ids, and say why."""
        self.manner = Manner(by_ids=False, thinking=self.options.thinking)
        why = ""
        rate = 0.0
        for self.systems in (True, False):
            self.material = Words()
            try:
                few, many = self._probe(stage, _FEW, 1), self._probe(stage, _MANY, 1)
                other = self._probe(stage, _FEW, 2)
            except EngineDied:
                raise
            except (NativeError, ContextFull) as error:
                why = error.message
                continue
            rate = (many.prompt - few.prompt) / (_MANY - _FEW)
            if few.reply.ids == other.reply.ids or rate < _LEAST_RATE:
                why = "The chat template does not show what is said."
            elif self._borders(few, other, rate) or not self.systems:
                break
        else:
            if self.options.by_ids is False:
                raise ModelFileError(why, "Run it on token ids: leave --text out, or give --ids.")
            self.notes.append(f"{why} So it is run on token ids.")
            self.manner, self.material, self.systems = BY_IDS, Ids(), True
            return
        self.material = Words(rate)
        if not self.systems:
            self.notes.append(
                "The template takes no system prompt, or puts it into what the user says; "
                "so the prefix is a first user message with an answer."
            )

    @staticmethod
    def _borders(first: Turn, second: Turn, rate: float) -> bool:
        """Whether a cut stands behind the prefix that two prompts share, so that it can be reused as a whole."""
        tree = Tree()
        tree.add(first.reply)
        return tree.reach(second.reply).deepest >= _FEW * rate

    def _probe(self, stage: Stage, words: int, seed: int) -> Turn:
        talk = self.dialogue(stage, words)
        talk.add("user", self.material.text(50 + seed, 3))
        return talk.ask(f"{words} words", max_tokens=1, cache=False)
