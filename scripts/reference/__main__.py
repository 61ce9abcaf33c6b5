"""Write what is made from the code, into the documentation and for Tab: python -m scripts.reference."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from scripts.reference import json_shapes, key_page, keys, settings, troubles, words
from skippy_chat.config_schema import config_schema

ROOT = Path(__file__).parents[2]
_PAGES: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "docs/configuration.md": {
        "settings": settings.settings_table,
        "project": settings.project_list,
        "themes": keys.theme_list,
        "keys": keys.keys_table,
    },
    "docs/json.md": {
        "turn": json_shapes.turn_tables,
        "turn example": json_shapes.turn_example,
        "replay": json_shapes.replay_table,
        "events": json_shapes.event_tables,
        "objects": json_shapes.nested_tables,
        "errors": json_shapes.error_table,
    },
    "docs/keys.md": {
        "commands": key_page.command_table,
        "places": key_page.place_table,
    },
    "docs/troubleshooting.md": {"misses": troubles.misses, "troubles": troubles.troubles},
}


def current() -> dict[str, str]:
    """Return every file as it should be, by its path from the project's root."""
    found = {}
    for name, parts in _PAGES.items():
        page = (ROOT / name).read_text("utf-8")
        for part, make in parts.items():
            page = _filled(page, part, make())
        found[name] = page
    for name, of_project in (("config", False), ("project", True)):
        found[f"docs/schema/{name}.json"] = json.dumps(config_schema(of_project=of_project), indent=2) + "\n"
    found["skippy_chat/cli/words.json"] = words.word_table()
    return found


def main() -> None:
    """Write them."""
    for name, text in current().items():
        (ROOT / name).write_text(text, "utf-8")
        print(name)


def _filled(page: str, part: str, text: str) -> str:
    begin, end = f"<!-- made from the code: {part} -->", "<!-- until here -->"
    filled, count = re.subn(
        f"{re.escape(begin)}.*?{re.escape(end)}",
        lambda _: f"{begin}\n\n{text}\n\n{end}",
        page,
        flags=re.DOTALL,
    )
    if count != 1:
        sys.exit(f"{begin} stands {count} times.")
    return filled


if __name__ == "__main__":
    main()
