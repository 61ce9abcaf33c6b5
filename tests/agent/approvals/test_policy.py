"""Judging: rules, modes, doubts, and what is remembered."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path

import pytest

from skippy_chat.agent.approvals.policy import Policy, bound, without_terminal
from skippy_chat.agent.approvals.values import Approval, Ask, Decision, Deny, Judgement, Rule
from skippy_chat.agent.tools.protocol import Call, ToolContext, ToolResult
from skippy_chat.agent.tools.registry import Registry
from skippy_chat.config import Approve
from skippy_chat.errors import UsageError
from tests.agent.approvals.conftest import MakeCall


def word(judgement: Judgement) -> str:
    return type(judgement).__name__.lower()


def asked(judgement: Judgement) -> Approval:
    assert isinstance(judgement, Ask), judgement
    return judgement.approval


def allow(tool: str, pattern: str) -> Rule:
    return Rule(tool, pattern, "allow")


@pytest.mark.parametrize(
    ("mode", "judged"),
    [
        ("ask", ["allow", "allow", "ask", "ask", "ask", "ask", "ask", "ask"]),
        ("auto-read", ["allow", "allow", "allow", "allow", "ask", "ask", "ask", "ask"]),
        ("all", ["allow"] * 8),
        ("deny", ["allow", "allow", "deny", "deny", "deny", "deny", "deny", "deny"]),
    ],
)
def test_modes(mode: Approve, judged: list[str], context: ToolContext, make_call: MakeCall) -> None:
    policy = Policy(mode)
    calls = [
        make_call("calculator", expression="1"),
        make_call("current_time"),
        make_call("read_file", path="a.txt"),
        make_call("list_directory"),
        make_call("write_file", path="a.txt", content="b"),
        make_call("run_command", command="ls"),
        make_call("fetch_url", url="https://example.org/"),
        make_call("custom", text="x"),
    ]
    assert [word(policy.judge(each, context)) for each in calls] == judged
    assert [policy.usually(each.tool) for each in calls] == judged


def test_without_a_terminal_what_would_ask_is_denied(context: ToolContext, make_call: MakeCall) -> None:
    policy = Policy("auto-read")
    denied = without_terminal(policy.judge(make_call("run_command", command="ls"), context))
    assert isinstance(denied, Deny)
    assert "nobody can be asked" in denied.reason
    allowed = policy.judge(make_call("read_file", path="a.txt"), context)
    assert without_terminal(allowed) == allowed
    assert without_terminal(Deny("x")) == Deny("x")


def test_denying_beats_asking_beats_allowing(context: ToolContext, make_call: MakeCall) -> None:
    call = make_call("run_command", command="make test")
    everything = [
        allow("run_command", "make *"),
        Rule("run_command", "make test", "ask", "project"),
        Rule("*", "make *", "deny"),
    ]
    assert word(Policy("all", everything[:1]).judge(call, context)) == "allow"
    assert word(Policy("all", everything[:2]).judge(call, context)) == "ask"
    assert word(Policy("all", everything).judge(call, context)) == "deny"
    assert word(Policy("deny", everything[:1]).judge(call, context)) == "allow"


@pytest.mark.parametrize(
    ("line", "judged"),
    [
        ("git log -1", "allow"),
        ("git log -1 && git status", "allow"),
        ("env git log", "allow"),
        ("sh -c 'git log; git status'", "allow"),
        ("git log; rm x", "ask"),  # crush#3425: "git x; rm" passed as a prefix
        ("git log\nrm x", "ask"),
        ("git log | sh", "ask"),
        ("git log $(rm x)", "ask"),
        ("git log `rm x`", "ask"),
        ("git log > x", "ask"),
        ("git log & rm x", "ask"),
        ("git log *", "ask"),
        ("git logger", "ask"),
        ("./git log", "ask"),
        ("sudo git log", "ask"),
        ("xargs git log", "ask"),
        ("PATH=. git log", "ask"),
        ("env PATH=. git log", "ask"),
        ("git -c core.pager=x log", "ask"),
        ("git log --output=x", "ask"),
        ("sh -c 'git log; rm x'", "ask"),
        ("sh -c 'git log; $x'", "ask"),
    ],
)
def test_every_command_of_a_line_must_be_allowed(
    line: str, judged: str, context: ToolContext, make_call: MakeCall
) -> None:
    policy = Policy("ask", [allow("run_command", "git log *"), allow("run_command", "git status *")])
    assert word(policy.judge(make_call("run_command", command=line), context)) == judged


@pytest.mark.parametrize(
    "line",
    [
        "rm x",
        "/bin/rm x",
        "ls; rm x",
        "env rm x",
        "sh -c 'ls && rm x'",
        "nohup rm x",
        "busybox rm x",
        "\\rm x",
        "'rm' x",
    ],
)
def test_a_denied_command_is_denied_in_any_dress(
    line: str, context: ToolContext, make_call: MakeCall
) -> None:
    policy = Policy("all", [Rule("run_command", "rm *", "deny")])
    assert word(policy.judge(make_call("run_command", command=line), context)) == "deny"


@pytest.mark.parametrize("line", ["$(echo rm) x", "eval rm x", "xargs rm", "r''m x > y", "sudo rm x"])
def test_what_may_hide_a_denied_command_asks_even_where_all_is_allowed(
    line: str, context: ToolContext, make_call: MakeCall
) -> None:
    call = make_call("run_command", command=line)
    rule = Rule("run_command", "rm *", "deny")
    assert word(Policy("all", [rule]).judge(call, context)) == "ask"
    assert word(Policy("all").judge(call, context)) == "allow"
    assert word(Policy("deny", [rule]).judge(call, context)) == "deny"


def test_options_of_git_do_not_hide_its_command(context: ToolContext, make_call: MakeCall) -> None:
    policy = Policy("all", [Rule("run_command", "git push *", "deny")])
    for line, judged in (
        ("git --no-pager push x", "deny"),
        ("git -C . push x", "ask"),
        ("git --no-pager log", "allow"),
    ):
        assert word(policy.judge(make_call("run_command", command=line), context)) == judged


def test_a_wrapper_itself_can_be_denied(context: ToolContext, make_call: MakeCall) -> None:
    policy = Policy("all", [Rule("run_command", "sudo *", "deny")])
    assert word(policy.judge(make_call("run_command", command="sudo ls"), context)) == "deny"
    assert word(policy.judge(make_call("run_command", command="ls; /usr/bin/sudo ls"), context)) == "deny"


def test_paths_are_compared_where_they_really_lead(
    context: ToolContext, make_call: MakeCall, workspace: Path
) -> None:
    """thClaws#204: "output/../x" passed a pattern."""
    policy = Policy("ask", [allow("write_file", "src/**")])
    (workspace / "src" / "out").symlink_to("..")
    (workspace / "near").symlink_to("src")

    def judge(path: str) -> str:
        return word(policy.judge(make_call("write_file", path=path, content="x"), context))

    assert judge("src/new.py") == "allow"
    assert judge("src/new/deep.py") == "allow"
    assert judge("near/new.py") == "allow"
    assert judge("src/../a.txt") == "deny"
    assert judge("src/out/a.txt") == "ask"
    assert judge("a.txt") == "ask"
    assert judge("/etc/passwd") == "deny"


@pytest.mark.parametrize("mode", ["ask", "all"])
def test_what_was_judged_is_what_is_written(
    mode: Approve, context: ToolContext, make_call: MakeCall, workspace: Path
) -> None:
    """A link that appears between the answer and the call leads nowhere, even inside the workspace."""
    call = make_call("write_file", path="new.txt", content="x")
    judged = Policy(mode).judge(call, context)
    approved = judged.approval if isinstance(judged, Ask) else judged
    assert not isinstance(approved, Deny)
    (workspace / ".git").mkdir()
    (workspace / ".git" / "config").write_text("kept")
    (workspace / "new.txt").symlink_to(".git/config")
    registry = Registry([call.tool])
    assert "elsewhere" in registry.execute(call, bound(context, approved)).text
    assert (workspace / ".git" / "config").read_text() == "kept"
    (workspace / "new.txt").unlink()
    assert registry.execute(call, bound(context, approved)).status == "ok"


@pytest.mark.parametrize(
    ("pattern", "path", "judged"),
    [
        ("src/secret/**", ".", "ask"),
        ("src/secret/**", "src", "ask"),
        ("src/secret/**", "docs", "allow"),
        ("**/*.key", "docs", "ask"),
        ("src/**", "src", "deny"),
        ("a.txt", "src", "allow"),
        ("", "src", "deny"),
    ],
)
def test_a_search_does_not_get_round_a_rule(
    pattern: str, path: str, judged: str, context: ToolContext, make_call: MakeCall, workspace: Path
) -> None:
    (workspace / "docs").mkdir()
    policy = Policy("auto-read", [Rule("*", pattern, "deny")])
    assert word(policy.judge(make_call("search_files", pattern="x", path=path), context)) == judged


def test_what_git_runs_later_is_asked_about(
    context: ToolContext, make_call: MakeCall, workspace: Path
) -> None:
    (workspace / ".git" / "hooks").mkdir(parents=True)
    policy = Policy("ask", [allow("write_file", "**")])
    call = make_call("write_file", path=".git/hooks/pre-commit", content="rm x")
    assert word(policy.judge(call, context)) == "ask"


def test_reading_what_was_kept_needs_nobody(context: ToolContext, make_call: MakeCall) -> None:
    (context.output_folder / "1.txt").write_text("kept")
    call = make_call("read_file", path=str(context.output_folder / "1.txt"))
    assert word(Policy("ask").judge(call, context)) == "allow"


def test_a_call_that_would_fail_is_not_asked_about(context: ToolContext, make_call: MakeCall) -> None:
    judged = Policy("ask").judge(make_call("edit_file", path="a.txt", old_text="zzz", new_text=""), context)
    assert isinstance(judged, Deny)
    assert "old_text is not in a.txt" in judged.reason
    assert word(Policy("ask").judge(make_call("fetch_url", url="file:///x"), context)) == "deny"


# The question.


def test_the_whole_command_is_in_the_question(context: ToolContext, make_call: MakeCall) -> None:
    """gemini-cli#23333: the tail of a long command was hidden from the approver."""
    line = "echo " + "x" * 20_000 + " " * 500 + "; rm -rf \u202eevil\x1b[2K"
    approval = asked(Policy("ask").judge(make_call("run_command", command=line), context))
    assert "x" * 20_000 + "⟪500 spaces⟫; rm -rf ⟪U+202E⟫evil⟪U+001B⟫[2K" in approval.text
    assert str(context.workspace) in approval.text
    assert "not in a sandbox" in approval.text
    assert approval.tool == "run_command"
    assert approval.scopes == ("once",)
    sandboxed = dataclasses.replace(context, sandbox=True)
    assert (
        "in a sandbox without network"
        in asked(Policy("ask").judge(make_call("run_command", command="ls"), sandboxed)).text
    )


def test_what_is_written_is_in_the_question_as_a_diff(context: ToolContext, make_call: MakeCall) -> None:
    approval = asked(
        Policy("ask").judge(make_call("write_file", path="a.txt", content="a\nb\x1b\n"), context)
    )
    assert approval.diff.splitlines() == ["--- a/a.txt", "+++ b/a.txt", "@@ -1 +1,2 @@", " a", "+b⟪U+001B⟫"]
    assert "path: a.txt" in approval.text
    assert "writing files needs approval" in approval.why.lower()


def test_the_real_place_is_in_the_question(
    context: ToolContext, make_call: MakeCall, workspace: Path
) -> None:
    (workspace / "link").symlink_to("src/x.py")
    approval = asked(Policy("ask").judge(make_call("write_file", path="link", content=""), context))
    assert "path: link" in approval.text
    assert "really: src/x.py" in approval.text


def test_all_arguments_of_other_tools_are_in_the_question(context: ToolContext, make_call: MakeCall) -> None:
    approval = asked(Policy("ask").judge(make_call("custom", text="one\n\u200btwo"), context))
    assert "⟪U+200B⟫two" in approval.text
    assert approval.diff == ""


# What is remembered.


def test_once_is_for_once(context: ToolContext, make_call: MakeCall) -> None:
    policy = Policy("ask")
    call = make_call("run_command", command="ls -l")
    approval = asked(policy.judge(call, context))
    assert approval.scopes == ("once", "session")
    policy.remember(Decision(approval, allowed=True))
    assert word(policy.judge(call, context)) == "ask"


def test_session_is_for_this_session_and_this_call(context: ToolContext, make_call: MakeCall) -> None:
    policy = Policy("ask")
    call = make_call("run_command", command="ls -l && env cat 'a b'")
    approval = asked(policy.judge(call, context))
    assert [each.pattern for each in approval.rules] == ["ls -l", "cat 'a b'"]
    policy.remember(Decision(approval, allowed=True, scope="session"))
    assert word(policy.judge(call, context)) == "allow"
    assert word(policy.judge(make_call("run_command", command="ls -l"), context)) == "allow"
    for other in ("ls", "ls -la", "ls -l x", "cat a b"):
        assert word(policy.judge(make_call("run_command", command=other), context)) == "ask"
    assert word(Policy("ask").judge(call, context)) == "ask"


def test_a_no_can_be_remembered_too(context: ToolContext, make_call: MakeCall) -> None:
    policy = Policy("ask")
    call = make_call("write_file", path="a.txt", content="b")
    policy.remember(Decision(asked(policy.judge(call, context)), allowed=False, scope="session", reason="no"))
    assert word(policy.judge(call, context)) == "deny"
    assert word(policy.judge(make_call("write_file", path="b.txt", content="b"), context)) == "ask"


def test_always_is_in_the_persons_own_file(context: ToolContext, make_call: MakeCall, tmp_path: Path) -> None:
    from skippy_chat.agent.approvals.rules_file import load_rules  # noqa: PLC0415

    file = tmp_path / "config" / "approvals.toml"
    policy = Policy("ask", (), file)
    call = make_call("run_command", command="make test")
    approval = asked(policy.judge(call, context))
    assert approval.scopes == ("once", "session", "always")
    policy.remember(Decision(approval, allowed=True, scope="always"))
    assert word(policy.judge(call, context)) == "allow"
    assert word(Policy("ask", load_rules(file, "user"), file).judge(call, context)) == "allow"


def test_what_a_rule_asks_about_cannot_be_allowed_for_always(
    context: ToolContext, make_call: MakeCall, tmp_path: Path
) -> None:
    policy = Policy("all", [Rule("run_command", "git push *", "ask", "project")], tmp_path / "rules.toml")
    call = make_call("run_command", command="git push origin")
    approval = asked(policy.judge(call, context))
    assert approval.scopes == ("once", "session")
    with pytest.raises(UsageError):
        policy.remember(Decision(approval, allowed=True, scope="always"))
    policy.remember(Decision(approval, allowed=True, scope="session"))
    assert word(policy.judge(call, context)) == "allow"
    assert not (tmp_path / "rules.toml").exists()


def test_what_cannot_be_judged_is_never_remembered(
    context: ToolContext, make_call: MakeCall, tmp_path: Path
) -> None:
    policy = Policy("ask", (), tmp_path / "rules.toml")
    for line in ("ls > x", "sudo ls", "echo 'a*'"):
        assert asked(policy.judge(make_call("run_command", command=line), context)).scopes == ("once",)


def test_a_site_is_remembered_by_its_host(context: ToolContext, make_call: MakeCall) -> None:
    policy = Policy("ask")
    approval = asked(policy.judge(make_call("fetch_url", url="https://x.org/a"), context))
    policy.remember(Decision(approval, allowed=True, scope="session"))
    assert word(policy.judge(make_call("fetch_url", url="https://x.org/b"), context)) == "allow"
    assert word(policy.judge(make_call("fetch_url", url="https://x.org.evil.net/b"), context)) == "ask"


# Circles.


def give(policy: Policy, call: Call, text: str, times: int = 1) -> None:
    for _ in range(times):
        policy.record(call, ToolResult("ok", text))


def test_three_same_calls_with_same_results_ask(context: ToolContext, make_call: MakeCall) -> None:
    """pi#9637: 220 identical calls in a row."""
    policy = Policy("all")
    call = make_call("read_file", path="a.txt")
    give(policy, call, "a", 2)
    assert word(policy.judge(call, context)) == "allow"
    give(policy, call, "a")
    approval = asked(policy.judge(call, context))
    assert "same result 3 times" in approval.why
    assert approval.scopes == ("once",)
    assert word(without_terminal(policy.judge(call, context))) == "deny"
    assert word(policy.judge(make_call("read_file", path="src/x.py"), context)) == "allow"
    policy.remember(Decision(approval, allowed=True))
    assert word(policy.judge(call, context)) == "allow"


def test_other_results_and_changes_in_between_are_no_circle(
    context: ToolContext, make_call: MakeCall
) -> None:
    policy = Policy("all")
    call = make_call("run_command", command="make test")
    for text in ("1", "1", "2", "2"):
        give(policy, call, text)
    assert word(policy.judge(call, context)) == "allow"
    give(policy, make_call("write_file", path="a.txt", content="b"), "wrote")
    give(policy, call, "2", 2)
    assert word(policy.judge(call, context)) == "allow"
    give(policy, call, "2")
    assert word(policy.judge(call, context)) == "ask"


def test_two_calls_in_turn_are_a_circle(context: ToolContext, make_call: MakeCall) -> None:
    policy = Policy("all")
    one = make_call("edit_file", path="a.txt", old_text="a", new_text="b")
    other = make_call("edit_file", path="a.txt", old_text="b", new_text="a")
    for _ in range(5):
        give(policy, one, "edited")
        give(policy, other, "edited")
    assert word(policy.judge(one, context)) == "ask"


def test_judging_changes_nothing_and_is_quick(
    context: ToolContext, make_call: MakeCall, workspace: Path
) -> None:
    before = sorted(each.name for each in workspace.rglob("*"))
    call = make_call("write_file", path="new/deep/x", content="x" * 1_000_000)
    assert word(Policy("ask").judge(call, context)) == "ask"
    assert sorted(each.name for each in workspace.rglob("*")) == before
    assert threading.active_count() == 1


@pytest.mark.parametrize(
    ("rules", "mode", "expected"),
    [
        ([], "ask", "ask"),
        ([Rule("custom", "", "allow")], "ask", "allow"),
        ([Rule("cust*", "", "allow"), Rule("*", "", "ask")], "ask", "ask"),
        ([Rule("custom", "", "allow", "session"), Rule("*", "", "ask")], "ask", "allow"),
        ([Rule("custom", "", "allow", "session"), Rule("*", "", "deny")], "all", "deny"),
        ([Rule("custom", "", "ask")], "deny", "deny"),
        ([Rule("write_file", "", "allow")], "ask", "ask"),
    ],
)
def test_what_usually_becomes_of_a_tool_heeds_rules_for_all_its_calls(
    rules: list[Rule], mode: Approve, expected: str, context: ToolContext, make_call: MakeCall
) -> None:
    policy = Policy(mode, rules)
    call = make_call("custom", text="x")
    assert policy.usually(call.tool) == expected
    assert word(policy.judge(call, context)) == expected


def test_a_yes_for_the_session_shows_in_what_usually_becomes_of_a_tool(
    context: ToolContext, make_call: MakeCall
) -> None:
    policy = Policy("ask")
    call = make_call("custom", text="x")
    policy.remember(Decision(asked(policy.judge(call, context)), allowed=True, scope="session"))
    assert policy.usually(call.tool) == "allow"
