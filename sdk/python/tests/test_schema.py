"""Types to schemas and back, and docstrings to descriptions."""

import enum
import unittest
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict, Union

from pausegate import Failure, docs
from pausegate.schema import object_schema, read, schema_of, write
from pausegate.tool import Tool


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Tree:
    """A tree.

    Attributes:
        name: Its name.
    """

    name: str
    children: list["Tree"] = field(default_factory=list)


class Options(TypedDict):
    level: int
    label: NotRequired[str]


class Schemas(unittest.TestCase):
    def test_each_type_has_its_schema(self):
        for type_, schema in [
            (str, {"type": "string"}),
            (bool, {"type": "boolean"}),
            (Any, {}),
            (list[int], {"type": "array", "items": {"type": "integer"}}),
            (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
            (tuple[int, str], {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2}),
            (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
            (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
            (Literal["a", 1], {"enum": ["a", 1]}),
            (Colour, {"type": "string", "enum": ["red", "blue"]}),
            (Optional[int], {"type": ["integer", "null"]}),
            (Union[str, list[str]], {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
            (date, {"type": "string", "format": "date"}),
            (Annotated[int, "How many.", {"minimum": 1}], {"type": "integer", "description": "How many.", "minimum": 1}),
            (
                Options,
                {
                    "type": "object",
                    "properties": {"level": {"type": "integer"}, "label": {"type": "string"}},
                    "required": ["level"],
                    "additionalProperties": False,
                },
            ),
        ]:
            self.assertEqual(schema_of(type_), schema, type_)

    def test_a_class_that_holds_itself_is_a_reference(self):
        schema = schema_of(Tree)
        self.assertEqual(schema["$ref"], "#/$defs/Tree")
        tree = schema["$defs"]["Tree"]
        self.assertEqual(tree["description"], "A tree.")
        self.assertEqual(tree["properties"]["name"], {"type": "string", "description": "Its name."})
        self.assertEqual(tree["properties"]["children"], {"type": "array", "items": {"$ref": "#/$defs/Tree"}, "default": []})

    def test_an_object_without_keys_takes_none(self):
        self.assertEqual(object_schema([]), {"type": "object", "properties": {}, "additionalProperties": False})

    def test_values_come_back_as_their_types(self):
        for type_, value, expected in [
            (float, 2, 2.0),
            (Colour, "red", Colour.RED),
            (date, "2026-11-30", date(2026, 11, 30)),
            (set[int], [1, 1], {1}),
            (tuple[int, ...], [1], (1,)),
            (Optional[str], None, None),
            (Union[int, str], "x", "x"),
            (Tree, {"name": "a", "children": [{"name": "b"}]}, Tree("a", [Tree("b")])),
        ]:
            self.assertEqual(read(type_, value), expected)
            self.assertEqual(read(type_, write(expected)), expected)

    def test_what_does_not_fit_names_its_place(self):
        for type_, value, message in [
            (Tree, {"name": "a", "children": [{}]}, "`children[0].name` is missing"),
            (Colour, "green", "`.`: expected one of 'red', 'blue', got \"green\""),
            (Literal[1], True, "`.`: expected one of 1, got true"),
            (float, "1", '`.`: expected number, got "1"'),
            (date, "tomorrow", '`.`: expected date, got "tomorrow"'),
            (dict[str, int], {"a": None}, "`a`: expected integer, got null"),
        ]:
            with self.assertRaises(Failure) as raised:
                read(type_, value)
            self.assertEqual((raised.exception.kind, raised.exception.message), ("invalid-input", message))

    def test_the_return_type_is_the_output_schema(self):
        def value() -> list[int]:
            """Gives."""

        def text() -> str:
            """Gives."""

        self.assertEqual(Tool(value, None, None, None, "once").output_schema, {"type": "array", "items": {"type": "integer"}})
        self.assertIsNone(Tool(text, None, None, None, "once").output_schema)


class Docstrings(unittest.TestCase):
    EXPECTED = ("Moves a file.\n\nTakes care.", {"src": "Where it is, and more of it.", "dst": "Where to."})

    def test_google(self):
        self.assertEqual(
            docs.read("""Moves a file.

            Takes care.

            Args:
                src: Where it is,
                    and more of it.
                dst (str): Where to.

            Returns:
                Nothing: really.
            """),
            self.EXPECTED,
        )

    def test_numpy(self):
        self.assertEqual(
            docs.read("""Moves a file.

            Takes care.

            Parameters
            ----------
            src : str
                Where it is,
                and more of it.
            dst
                Where to.

            Returns
            -------
            str
            """),
            self.EXPECTED,
        )

    def test_rest(self):
        self.assertEqual(
            docs.read("""Moves a file.

            Takes care.

            :param src: Where it is,
                and more of it.
            :param str dst: Where to.
            :returns: nothing
            """),
            self.EXPECTED,
        )

    def test_a_docstring_without_sections_is_all_description(self):
        self.assertEqual(docs.read("Args are nice: yes.\n\nNote that x: y."), ("Args are nice: yes.\n\nNote that x: y.", {}))
        self.assertEqual(docs.read(None), ("", {}))


if __name__ == "__main__":
    unittest.main()
