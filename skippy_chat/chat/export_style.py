"""The style sheet of HTML exports.

Invariant: it names nothing outside the page: no font, no image, no import.
"""

STYLE = """\
:root {
  color-scheme: light dark;
  --ground: #fdfdfc; --ink: #1d1f21; --dim: #5d6368; --line: #d9dcdf; --card: #f3f4f4;
  --user: #1f6feb; --assistant: #2e7d4f; --tool: #8a5a00; --system: #7a4bb3; --add: #12652f; --cut: #a3241b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #16181a; --ink: #e4e6e8; --dim: #9aa1a7; --line: #363a3f; --card: #202327;
    --user: #79b0ff; --assistant: #7fce9d; --tool: #e0b25c; --system: #c6a3f2; --add: #7fce9d; --cut: #ff9d94;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 52rem;
  background: var(--ground); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere;
}
header h1 { margin: 0; font-size: 1.5rem; }
header p, small { color: var(--dim); font-weight: normal; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem; margin: 0 0 1rem; }
a { color: var(--user); }
main > h2 { margin: 2.5rem 0 1rem; padding-top: 1rem; border-top: 2px solid var(--line); font-size: 1.15rem; }
article { margin: 1.2rem 0; padding-left: .9rem; border-left: 3px solid var(--line); }
article > h3 { margin: 0 0 .3rem; font-size: .95rem; }
article.user { border-color: var(--user); }
article.assistant { border-color: var(--assistant); }
article.tool { border-color: var(--tool); }
article.system { border-color: var(--system); }
article.user > pre, article.system > pre { font: inherit; padding: 0; background: none; }
.text { unicode-bidi: isolate; }
.text > :first-child { margin-top: 0; }
.text > :last-child { margin-bottom: 0; }
.text :is(h1, h2, h3, h4, h5, h6) { margin: 1.1em 0 .4em; font-size: 1.05rem; }
.text table { display: block; overflow-x: auto; border-collapse: collapse; }
.text :is(th, td) { padding: .25rem .6rem; border: 1px solid var(--line); }
.text blockquote { margin-left: 0; padding-left: .9rem; border-left: 3px solid var(--line); color: var(--dim); }
pre, code { font: .875rem/1.5 ui-monospace, monospace; }
pre {
  margin: .4rem 0; padding: .6rem .8rem; border-radius: .4rem; background: var(--card);
  white-space: pre-wrap; unicode-bidi: plaintext;
}
:not(pre) > code { padding: .1em .3em; border-radius: .25rem; background: var(--card); }
details { margin: .4rem 0; padding: .35rem .7rem; border: 1px solid var(--line); border-radius: .4rem; }
summary { cursor: pointer; color: var(--dim); unicode-bidi: isolate; }
details.error > summary, details.denied > summary { color: var(--cut); }
.diff ins { color: var(--add); text-decoration: none; }
.diff del { color: var(--cut); text-decoration: none; }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; }
  details::details-content { content-visibility: visible; block-size: auto; }
  article > h3, summary { break-after: avoid; }
}
"""
