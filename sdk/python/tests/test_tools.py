"""What an author can rely on: how an attempt ends, and what comes back from a question."""

import io
import json
import tempfile
import unittest
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pausegate import (
    NOT_HAPPENED, UNKNOWN, Approval, Blob, Call, Failure, Json, Pause, Text, TextAnswer, ask_approval, ask_choice, ask_form, ask_other,
    ask_text, config, current, happened, http, kv, log, progress, save, state, want,
)  # fmt: skip
from pausegate import contract, testing
from pausegate.build import _reconciles
from pausegate.testing import call, call_with
from pausegate.tool import TOOLS, Tool, attempt


def tool(run, **options) -> Tool:
    """A tool of this test alone, unlike what `@tool` makes."""
    return Tool(run, options.get("name"), options.get("title"), options.get("description", "Is tested."), options.get("effects", "read-only"))


def giving(value: Any) -> Tool:
    def give():
        return value

    return tool(give)


def keeping(ask, answers: list[Any]):
    def keep() -> None:
        answers.append(ask())

    return keep


class Promises(unittest.TestCase):
    def setUp(self):
        self.stderr = io.StringIO()
        redirect = redirect_stderr(self.stderr)
        redirect.__enter__()
        self.addCleanup(redirect.__exit__, None, None, None)


class Questions(Promises):
    def test_a_yes_lets_the_call_go_on(self):
        def remove(path: str) -> str:
            ask_approval(f"Remove {path}")
            return f"removed {path}"

        first = call(tool(remove), path="/a")
        self.assertEqual((first.pause.reason, first.pause.ask.case), ("Remove /a", "approval"))
        self.assertEqual(first.answer(True).text, "removed /a")
        self.assertEqual(first.approved().text, "removed /a")

    def test_s01_a_question_that_was_swallowed_is_asked_all_the_same(self):
        def careless() -> str:
            try:
                ask_approval("Really?")
            except:  # noqa: E722
                pass
            try:
                ask_text("name", "What name?")
            except BaseException as first:
                assert isinstance(first, Pause)
            raise RuntimeError("not even that")

        self.assertEqual(call(tool(careless)).pause.reason, "Really?")

    def test_s01_a_question_is_no_exception_that_a_handler_for_exceptions_sees(self):
        def careful() -> str:
            try:
                ask_approval("Really?")
            except Exception:
                raise AssertionError("seen") from None
            return "approved"

        self.assertEqual(call(tool(careful)).pause.reason, "Really?")

    def test_s02_one_yes_answers_one_question(self):
        def both() -> str:
            ask_approval("First?")
            ask_approval("Second?")
            return "both"

        second = call(tool(both)).answer(True)
        self.assertEqual(second.pause.reason, "Second?")
        self.assertEqual(second.answer(True).text, "both")

    def test_s03_nothing_but_true_is_a_yes(self):
        def remove() -> str:
            ask_approval("Remove it")
            return "removed"

        for value in (False, None, {}, "true", 1, []):
            self.assertEqual(call(tool(remove)).answer(value).failure.kind, "invalid-input", value)

    def test_s10_an_answer_holds_for_its_own_question_only(self):
        options = ["a", "b"]

        def choose() -> str:
            return ask_choice("key", "Which?", options)

        first = call(tool(choose))
        options.append("c")
        self.assertEqual(len(first.answer("a").pause.ask.options), 3)

    def test_each_kind_of_question_has_its_answer(self):
        @dataclass
        class Address:
            street: str
            city: str | None = None

        kinds: list[tuple[Any, Any, Any]] = [
            (lambda: ask_choice("k", "?", [("r", "red"), ("g", "green")]), "g", "g"),
            (lambda: ask_text("k", "?"), "words", "words"),
            (lambda: ask_form("k", "?", Address), {"street": "S"}, Address("S")),
            (lambda: ask_other("k", "?", "mine:stars", {"type": "integer"}), 5, 5),
        ]
        for ask, value, expected in kinds:
            seen: list[Any] = []
            outcome = call(tool(keeping(ask, seen))).answer(value)
            self.assertEqual((seen, outcome.failure), ([expected], None))

    def test_an_answer_that_does_not_fit_is_a_failure_that_says_so(self):
        def choose() -> str:
            return ask_choice("k", "Which?", ["a"])

        self.assertEqual(call(tool(choose)).answer("z").failure.message, "the answer to `k` does not fit: 'z' is not among the choices")

    def test_state_goes_along_with_the_question(self):
        def trip() -> str:
            plan = state({"asked": 0})
            save({"asked": plan["asked"] + 1})
            ask_text(f"q{plan['asked']}", "What?")
            return str(state())

        second = call(tool(trip)).answer("x")
        self.assertEqual(json.loads(second.pause.state), {"asked": 2})

    def test_state_has_a_limit(self):
        def hoard(size: int) -> None:
            save("x" * size)

        self.assertIsNone(call(tool(hoard), size=64 * 1024 - 2).failure)
        self.assertEqual(call(tool(hoard), size=64 * 1024 - 1).failure.kind, "too-large")

    def test_a_pause_can_be_raised_by_hand(self):
        def branch() -> str:
            answer = current().answer("branch")
            if answer is None:
                raise Pause("Which branch?", key="branch", ask=TextAnswer(), context={"of": 2})
            return json.loads(answer.value)

        first = call(tool(branch))
        self.assertEqual((first.pause.key, first.pause.context), ("branch", '{"of": 2}'))
        self.assertEqual(first.answer("main").text, "main")

    def test_the_key_of_an_approval_is_the_same_in_every_language(self):
        self.assertEqual(Pause("x").pause.key, "approval-af63f54c86021707")
        self.assertEqual(Approval().asked().case, "approval")


class Failures(Promises):
    def failure(self, error: BaseException) -> contract.Failed:
        def fail() -> None:
            raise error

        return call(tool(fail)).failure

    def test_whatever_is_raised_is_a_failure(self):
        class Odd(BaseException):
            def __str__(self):
                raise RuntimeError("no words")

        for error, expected in [
            (KeyError("x"), ("failed", "KeyError: 'x'")),
            (ValueError(), ("failed", "ValueError")),
            (SystemExit(3), ("failed", "SystemExit: 3")),
            (KeyboardInterrupt(), ("failed", "KeyboardInterrupt")),
            (Odd(), ("failed", "Odd")),
            (FileNotFoundError(44, "No such file", "/a"), ("not-found", "No such file: /a")),
            (PermissionError(2, "Not permitted", "/a"), ("denied", "Not permitted: /a")),
            (TimeoutError("late"), ("timeout", "TimeoutError: late")),
        ]:
            failed = self.failure(error)
            self.assertEqual((failed.kind, failed.message), expected)

    def test_recursion_without_end_is_a_failure(self):
        def deeper(n: int) -> int:
            return deeper_(n + 1)

        deeper_ = deeper
        self.assertIn("RecursionError", call(tool(deeper), n=0).failure.message)

    def test_a_failure_has_a_kind_a_wait_and_an_effect(self):
        failed = self.failure(Failure("rate-limited", "too many", retry_after=1.5, effect="maybe"))
        self.assertEqual((failed.kind, failed.retry_after_ms, failed.effect), ("rate-limited", 1500, "maybe"))

    def test_a_failure_further_down_keeps_its_kind(self):
        def fail() -> None:
            try:
                raise Failure("not-found", "no such city")
            except Failure as failure:
                raise RuntimeError("looking it up") from failure

        failed = call(tool(fail)).failure
        self.assertEqual((failed.kind, failed.message), ("not-found", "RuntimeError: looking it up: no such city"))

    def test_a_made_up_kind_is_an_error_of_the_author(self):
        with self.assertRaises(ValueError):
            Failure("oops", "x")

    def test_what_cannot_be_written_is_a_failure(self):
        for value in (object(), float("nan"), b"bytes", {1: 2}):
            self.assertEqual(call(giving(value)).failure.kind, "failed", value)

    def test_an_unknown_tool_is_not_found(self):
        self.assertEqual(attempt(contract.Given("nothing"), {}).kind, "not-found")


class Results(Promises):
    def result(self, value: Any) -> list[Any]:
        return call(giving(value)).content

    def test_text_values_and_pieces(self):
        self.assertEqual(self.result(None), [])
        self.assertEqual(self.result("x"), [Text("x")])
        self.assertEqual(self.result({"a": [1]}), [Json({"a": [1]})])
        self.assertEqual(self.result([]), [Json([])])
        self.assertEqual(self.result([Text("x"), Blob("a/b", b"")]), [Text("x"), Blob("a/b", b"")])

    def test_a_call_knows_itself(self):
        def about(call: Call, more: int = 1) -> str:
            return f"{call.tool} {call.attempt} {call.approved} {call.time_left} {more}"

        self.assertEqual(call(tool(about)).text, "about 1 False 30.0 1")
        self.assertNotIn("call", tool(about).input_schema["properties"])

    def test_lines_and_progress_reach_standard_error(self):
        def talk() -> None:
            log.warn("careful")
            progress(1, 2, "half")

        call(tool(talk))
        self.assertEqual(self.stderr.getvalue(), "warn: careful\nprogress: 1.0 of 2.0: half\n")

    def test_requests_are_answered_by_the_test(self):
        def fetch() -> str:
            return http.get("http://x/").ok().text

        self.assertIn("send_with", call(tool(fetch)).failure.message)
        before = http.send_with(lambda request: http.Response(404, body=request.url.encode()))
        self.addCleanup(http.send_with, before)
        self.assertEqual(call(tool(fetch)).failure.kind, "not-found")

    def test_a_tool_stays_a_function(self):
        def double(n: int) -> int:
            """Doubles."""
            return 2 * n

        self.assertEqual(tool(double)(4), 8)


class Mistakes(Promises):
    def refuses(self, words: str, run, **options):
        with self.assertRaises((TypeError, ValueError)) as raised:
            tool(run, **options)
        self.assertIn(words, str(raised.exception))

    def test_w44_a_name_that_no_model_takes_is_refused_at_build(self):
        for name in ("a.b", "ns:pkg/i.f", "ä", "x" * 65, None):
            self.refuses("1 to 64 of", lambda: None, name=name)

    def test_w45_s18_a_second_tool_of_one_name_is_refused_at_build(self):
        from pausegate import tool as registered

        self.addCleanup(TOOLS.clear)

        @registered
        def same() -> None:
            """One."""

        with self.assertRaises(ValueError):
            registered(same.run)

    def test_what_a_schema_cannot_say_is_refused_at_build(self):
        def no_hint(x):
            pass

        def many(*x: int):
            pass

        def odd(x: bytes):
            pass

        async def later():
            pass

        self.refuses("`x` has no type hint", no_hint)
        self.refuses("no name of its own", many)
        self.refuses("`x`: `bytes` has no JSON Schema", odd)
        self.refuses("ordinary function", later)
        self.refuses("effects are one of", lambda: None, name="x", effects="none")
        self.refuses("a docstring says", lambda: None, name="x", description="")

    def test_s19_arguments_that_do_not_fit_name_the_place(self):
        def add(a: int, b: list[int]) -> int:
            return a

        for arguments, message in [
            ({}, "`a` is missing"),
            ({"a": "notint", "b": []}, '`a`: expected integer, got "notint"'),
            ({"a": True, "b": []}, "`a`: expected integer, got true"),
            ({"a": 1, "b": [1, None]}, "`b[1]`: expected integer, got null"),
            ({"a": 1, "b": [], "c": 1}, "`c` is not known; there are a, b"),
            ([], "`.`: expected object, got []"),
        ]:
            self.assertEqual(call_with(tool(add), arguments).failure.message, message)

    def test_wants_are_kept(self):
        self.addCleanup(want.WANTS.clear)
        want.fs("/build", "write", "removes files")
        self.assertEqual(json.loads(want.WANTS[0].scope), {"mount": "/build", "access": "write"})


class Values(Promises):
    def test_values_last_from_call_to_call(self):
        def visit() -> list[str]:
            visits = int(kv.get_text("visits") or 0) + 1
            kv.set("visits", str(visits))
            kv.set("gone", b"\x00")
            self.assertEqual(kv.get("gone"), b"\x00")
            kv.delete("gone")
            self.assertEqual((kv.exists("visits"), kv.exists("gone"), kv.get("gone")), (True, False, None))
            return [*kv.keys(), str(visits)]

        self.addCleanup(kv.keep_with, kv.keep_with(kv.Memory()))
        self.assertEqual(call(tool(visit)).structured, ["visits", "1"])
        self.assertEqual(call(tool(visit)).structured, ["visits", "2"])

    def test_more_keys_than_are_handed_out_are_too_large(self):
        class Endless(kv.Memory):
            def page(self, cursor):
                return ["k"] * 100, 1

        self.addCleanup(kv.keep_with, kv.keep_with(Endless()))
        self.assertEqual(call(tool(kv.keys)).failure.kind, "too-large")

    def test_settings_are_those_of_the_test(self):
        self.assertEqual((config.get("units"), config.get("units", "none"), config.all()), (None, "none", {}))
        self.addCleanup(config.read_from, config.read_from({"units": "metric"}))
        self.assertEqual((config.get("units"), config.all()), ("metric", {"units": "metric"}))


class Verdicts(Promises):
    def test_what_became_of_a_call_is_told_or_asked_of_a_person(self):
        def found(call: Call):
            self.assertEqual((call.tool, call.idempotency_key), ("post", "key_test"))
            match call.arguments["text"]:
                case "done":
                    return happened("posted")
                case "refused":
                    return happened(Failure("conflict", "it is there"))
                case "never":
                    return NOT_HAPPENED
                case "error":
                    raise OSError("no way to look")
                case "asks":
                    ask_approval("Did it?")
                case "true":
                    return True
            return UNKNOWN

        def told(text: str):
            return testing.reconcile(found, "post", text=text)

        self.assertEqual(told("done").result, contract.Done([Text("posted")]))
        self.assertEqual(told("refused").result, contract.Failed("conflict", "it is there"))
        self.assertEqual(told("never"), NOT_HAPPENED)
        for text in ("error", "asks", "true", ""):
            self.assertEqual(told(text), UNKNOWN, text)

    def test_the_world_is_settled_by_the_module_s_text(self):
        with tempfile.TemporaryDirectory() as folder:
            plugin = Path(folder, "plugin.py")
            for text, expected in {
                "@reconcile\ndef found(call): ...": True,
                "@pausegate.reconcile\ndef found(call): ...": True,
                "def reconcile(call): ...": False,
                "'@reconcile'": False,
                "@reconcile\ndef": False,
            }.items():
                plugin.write_text(text)
                self.assertEqual(_reconciles(plugin), expected, text)


if __name__ == "__main__":
    unittest.main()
