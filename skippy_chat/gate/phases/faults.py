"""faults: what may happen to a cache, done to it on purpose; the answer stays right and the reason is told.

Each fault has a folder of its own. A conversation is recorded there, the fault is done, and the same prompt is asked
again: by a worker that must not die of it, with an answer that equals its replay from scratch to the bit, and with a
reason wherever something could not be reused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from skippy_chat.errors import EngineDied, SkippyError
from skippy_chat.gate.ground import Ground
from skippy_chat.gate.phases import damage, files, killing, sharing
from skippy_chat.gate.phases.replays import compare
from skippy_chat.gate.phases.tails import all_cached, same_answer
from skippy_chat.gate.stage import Stage, Turn
from skippy_chat.gate.talk import Talk, replay_request
from skippy_chat.gate.values import Sheet

SEED = 400


@dataclass(frozen=True, slots=True)
class Scene:
    """One fault's folder, the conversation recorded in it, and where its checks go."""

    name: str
    ground: Ground
    sheet: Sheet
    stage: Stage
    asked: Talk

    def record(self) -> Turn:
        """Have the conversation answered and recorded by a process that ends in peace."""
        turn = self.asked.ask(f"{self.name}: recorded")
        self.stage.stop()
        return turn

    def judge(self, turn: Turn, reference: Turn | None, *, whole: bool = False) -> None:
        """Check a turn after the fault.

        Args:
            turn: what the worker answered.
            reference: what was answered before, where the sums must be the same.
            whole: whether everything must still be cached; otherwise a reason must be told for what is not.
        """
        again = self.stage.run(replay_request(turn), f"replay of {turn.label}")
        compare(self.ground, self.sheet, turn, again)
        if reference is not None:
            same_answer(self.sheet, f"{turn.label}, as before the fault", reference, turn)
        if whole:
            all_cached(self.sheet, turn.label, turn)
            return
        loaded = self.stage.loaded
        reasons = [
            *turn.told,
            *([str(turn.miss)] if turn.miss else []),
            *([loaded.cache_notice] if loaded else []),
        ]
        told = next((reason for reason in reasons if reason), "")
        self.sheet.holds(
            f"{turn.label}: a reason for what was not reused",
            told or turn.cached == turn.prompt,
            expected="a reason",
            found=told or f"{turn.cached:,} of {turn.prompt:,} cached without a word",
        )

    def heal(self, reference: Turn, *, harmed: int = 0) -> None:
        """Check that what was lost is recorded anew, so that the next time nothing is read.

        Where files were ``harmed`` a visit may find the next one that is, but no more often than there are such files.
        """
        turn = self.asked.ask(f"{self.name}: once more")
        for visit in range(2, harmed + 1):
            if turn.cached == turn.prompt:
                break
            self.judge(turn, reference)
            turn = self.asked.ask(f"{self.name}: visit {visit} afterwards")
        all_cached(self.sheet, turn.label, turn)
        same_answer(self.sheet, turn.label, reference, turn)


Fault = Callable[[Scene], None]


def faults(ground: Ground, sheet: Sheet) -> None:
    """Do every fault, each in a folder of its own."""
    for name in FAULTS:
        do_fault(ground, sheet, name)
    failed = sum(check.state == "failed" for check in sheet.checks)
    sheet.summary = f"{len(FAULTS)} faults" + (f", {failed} checks failed" if failed else "")


def do_fault(ground: Ground, sheet: Sheet, name: str) -> None:
    """Do one fault; a worker that dies of it, or refuses the turn, is told and does not end the rest."""
    with ground.stage(f"fault-{name.replace(' ', '-')}") as stage:
        asked = ground.dialogue(stage, ground.sizes.head, seed=SEED)
        asked.add("user", ground.material.text(SEED + 2, ground.sizes.turn))
        try:
            FAULTS[name](Scene(name, ground, sheet, stage, asked))
        except EngineDied as death:
            sheet.holds(f"{name}: the worker lives", passed=False, expected="no crash", found=death.message)
            stage.kill()
        except SkippyError as error:
            sheet.holds(f"{name}: the turn goes on", passed=False, expected="an answer", found=str(error))
            stage.kill()


def kill_while_recording(scene: Scene) -> None:
    """End the worker as by kill -9: while it reads, while it answers, while a file is being written."""
    reference = scene.record()
    for moment in killing.MOMENTS:
        found = killing.kill_at(scene.stage, scene.asked, moment)
        scene.sheet.holds(
            f"{scene.name}: {moment}", found, expected="killed then", found=found or "it was too quick"
        )
        turn = scene.asked.ask(f"{scene.name}: after a death {moment}")
        scene.judge(turn, reference)
    scene.heal(reference)


def truncated_segment(scene: Scene) -> None:
    """Cut every segment file in half."""
    _damaged(scene, damage.truncate)


def flipped_segment_bits(scene: Scene) -> None:
    """Flip single bits in every segment file."""
    _damaged(scene, damage.flip_eighths)


def flipped_index_bits(scene: Scene) -> None:
    """Flip a bit in every page of the index."""
    _damaged(scene, damage.flip_pages, of="index.db")


def overwritten_index(scene: Scene) -> None:
    """Write garbage over the beginning of the index."""
    _damaged(scene, damage.overwrite_start, of="index.db")


def _damaged(scene: Scene, harm: damage.Harm, of: str = "*.seg") -> None:
    reference = scene.record()
    harmed = damage.harm_all(scene.stage.folder, of, harm)
    scene.sheet.holds(f"{scene.name}: files harmed", harmed, expected="some", found=str(harmed))
    turn = scene.asked.ask(f"{scene.name}: afterwards")
    scene.sheet.holds(
        f"{scene.name}: harmed bytes are not used",
        turn.cached < turn.prompt or of != "*.seg",
        expected=f"less than {turn.prompt:,} cached",
        found=f"{turn.cached:,}",
    )
    scene.judge(turn, reference)
    scene.heal(reference, harmed=harmed)


def other_weights(scene: Scene) -> None:
    """Change one byte of one tensor under the same name, and back."""
    why = files.no_room_for_copy(scene.ground.options.model, scene.ground.work)
    if why:
        scene.sheet.skip(scene.name, why)
        return
    copy = files.copy_model(scene.ground.options.model, scene.ground.work / "copy")
    try:
        scene.stage.start(model=str(copy))
        reference = scene.record()
        files.change_tensor_byte(copy)
        scene.stage.start(model=str(copy))
        turn = scene.asked.ask(f"{scene.name}: changed")
        scene.sheet.equal(f"{scene.name}: cached of other weights' {turn.prompt:,}", 0, turn.cached)
        scene.judge(turn, None)
        scene.stage.stop()
        files.change_tensor_byte(copy)
        scene.stage.start(model=str(copy))
        scene.judge(scene.asked.ask(f"{scene.name}: and back"), reference, whole=True)
        scene.stage.stop()
    finally:
        files.remove_copy(copy)


def other_kv_type(scene: Scene) -> None:
    """Load the same model with another type of KV cache, and back."""
    reference = scene.record()
    other = "f16" if scene.stage.load.kv_type == "f32" else "f32"
    scene.stage.start(kv_type=other)
    turn = scene.asked.ask(f"{scene.name}: {other}")
    scene.sheet.equal(f"{scene.name}: cached of {other}'s {turn.prompt:,}", 0, turn.cached)
    scene.judge(turn, None)
    scene.stage.stop()
    scene.judge(scene.asked.ask(f"{scene.name}: and back"), reference, whole=True)


def full_disk(scene: Scene) -> None:
    """No file may grow beyond a size, as on a full disk: first no segment can be written, then not even an index."""
    if not killing.can_cramp():
        scene.sheet.skip(scene.name, "this system has no limit on file sizes")
        return
    reference = scene.record()
    segment = damage.largest(scene.stage.folder, "*.seg")
    limits = {"no index fits": damage.NOTHING_FITS}
    if segment > damage.largest(scene.stage.folder, "index.db*"):
        limits = {"no segment fits": segment - 1, **limits}
    else:
        scene.sheet.skip(
            f"{scene.name}: no segment fits", "this model's segments are smaller than their index"
        )
    for what, size in limits.items():
        damage.forget(scene.stage.folder)
        scene.stage.start(command=killing.cramped_command(size))
        turn = scene.asked.ask(f"{scene.name}: {what}")
        scene.judge(turn, reference)
        loaded = scene.stage.loaded
        told = [*turn.told, *([loaded.cache_notice] if loaded and loaded.cache_notice else [])]
        scene.sheet.holds(
            f"{scene.name}: {what}, and it is told",
            told,
            expected="a reason",
            found=told[0] if told else "not a word",
        )
        scene.stage.stop()
    turn = scene.asked.ask(f"{scene.name}: with room again")
    scene.judge(turn, reference)
    scene.heal(reference)


def no_room_in_the_budget(scene: Scene) -> None:
    """A budget that not even one turn fits into."""
    scene.stage.start(disk_budget=damage.NOTHING_FITS)
    turn = scene.asked.ask(f"{scene.name}: recording stops")
    scene.sheet.holds(
        f"{scene.name}: it is told",
        turn.told,
        expected="a reason",
        found=turn.told[0] if turn.told else "not a word",
    )
    scene.judge(turn, None)


def second_process(scene: Scene) -> None:
    """Two processes on one folder: by turns and at the same moment."""
    with sharing.second_stage(scene.ground, scene.stage) as second:
        sharing.share(scene.sheet, scene.asked, second, scene.ground)


FAULTS: dict[str, Fault] = {
    "kill -9": kill_while_recording,
    "truncated segment": truncated_segment,
    "flipped bits in the segments": flipped_segment_bits,
    "flipped bits in the index": flipped_index_bits,
    "overwritten index": overwritten_index,
    "other weights": other_weights,
    "other KV type": other_kv_type,
    "full disk": full_disk,
    "full budget": no_room_in_the_budget,
    "second process": second_process,
}
