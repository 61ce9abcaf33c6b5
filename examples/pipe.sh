#!/bin/sh
# Text from a pipe, one JSON object out. The second question goes on in the same session and reads only what is new.
set -eu

skippy=${SKIPPY_CHAT:-skippy-chat}
session="pipe-$$"
handbook="$(dirname "$0")/island.md"

ask() {
    "$skippy" run --session "$session" --max-tokens 40 --json "$@"
}

counts() {
    python3 -c '
import json, sys
usage = json.load(sys.stdin)["usage"]
print("{cached_tokens} cached + {prefilled_tokens} new = {prompt_tokens}".format(**usage))'
}

ask "Say in one sentence what this is about." <"$handbook" | counts
ask "And when is the restaurant closed?" </dev/null | counts
