"""CSS for a session as a separate page and as an excerpt in a notebook, with the look of the cell.

Border: constants only. Colours are variables, so that the surrounding page chooses light or dark; no file is loaded.
"""

LIGHT = """
  --page: #fff; --text: #1b1b1f; --muted: #63636b; --line: #dcdce1; --code: #f6f6f7;
  --accent: #5b49b4; --tint: #eae8f2; --good: #1d7f4e; --bad: #b3261e; --warm: #96590a;
  --warm-page: #fff7ea; --scraped: #1f7f72; --strokes: #1f7f7214;
  --system: #8c96ad; --tools: #64708b; --instructions: #aab4c8; --summary: #2f8f83;
  --user: #3c82c4; --notebook: #7a9c3a; --assistant: #5b4ab5; --reasoning: #a898e2; --output: #cf8b3c;
  --used: #5b49b4; --free: #ececef; --reserve: #c9c9d0;
"""

DARK = """
  --page: #111216; --text: #ececf0; --muted: #a0a1ab; --line: #33353d; --code: #1a1c21;
  --accent: #a596f2; --tint: #282736; --good: #58c08a; --bad: #f28b82; --warm: #f0b453;
  --warm-page: #2a2319; --scraped: #4fbfae; --strokes: #4fbfae1a;
  --system: #77829b; --tools: #93a0ba; --instructions: #5a6478; --summary: #48b5a6;
  --user: #5aa2e0; --notebook: #a3c662; --assistant: #8d7ce6; --reasoning: #64559f; --output: #dba057;
  --used: #a596f2; --free: #26282e; --reserve: #4a4c55;
"""

_PAGE_RULES = """
body { margin: 0; background: var(--page); color: var(--text);
  font: 14px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 860px; margin: 0 auto; padding: 24px 16px 64px; }
"""

RULES = """
* { box-sizing: border-box; }
h1 { font-size: 20px; margin: 0; }
h3, h4, h5, h6 { font-size: 14px; font-weight: 600; margin: 12px 0 4px; }
.title { margin: 0; }
.facts, .muted, .kept, .step { color: var(--muted); font-size: 12px; margin: 4px 0;
  font-variant-numeric: tabular-nums; }
.facts b { font-weight: 500; }
section { margin: 16px 0; display: flex; flex-direction: column; gap: 8px; }
section > * { margin: 0; }
.prompt { background: var(--tint); border-radius: 6px; padding: 8px 12px; margin-top: 24px; }
.answer { border-left: 2px solid var(--accent); padding-left: 16px; }
.answer + .answer { margin-top: -16px; padding-top: 8px; }
.said > :first-child { margin-top: 0; } .said > :last-child { margin-bottom: 0; }
.said p { margin: 8px 0; } .said p { white-space: pre-line; }
.said :is(p, li, h3, h4, h5, h6, th, td, blockquote) { unicode-bidi: plaintext; }
pre, code { direction: ltr; unicode-bidi: isolate; }
pre, code, .name, .subject { font-family: ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace;
  font-size: 12px; }
code { background: var(--code); padding: 1px 3px; border-radius: 3px; }
pre { background: var(--code); margin: 0; padding: 8px 12px; overflow-x: auto; border-radius: 6px; }
pre code { background: none; padding: 0; }
a { color: var(--accent); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.said table { display: block; max-width: 100%; overflow-x: auto; }
th, td { border-bottom: 1px solid var(--line); padding: 3px 10px; text-align: start; }
th.right, td.right { text-align: right; } th.middle, td.middle { text-align: center; }
blockquote { margin: 8px 0; padding-left: 12px; border-left: 2px solid var(--line);
  color: var(--muted); }
summary { cursor: pointer; list-style: none; min-height: 24px; }
summary::-webkit-details-marker { display: none; }
summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 6px; }
:is(.thought, .work) > summary { color: var(--muted); }
:is(.thought, .work) > summary::before { content: "\\25B8\\00A0"; }
:is(.thought, .work)[open] > summary::before { content: "\\25BE\\00A0"; }
.work > summary { padding-left: 11px; overflow-wrap: anywhere; } .work .name { color: var(--text); }
.work > :not(summary) { margin: 4px 0 4px 20px; }
.thought > .said { color: var(--muted); margin-top: 4px; font-size: 13px; }
.call { border: 1px solid transparent; border-radius: 6px; overflow: hidden; }
.call[open] { border-color: var(--line); }
.call.failed { background: color-mix(in srgb, var(--bad) 8%, var(--page)); }
:is(.call, .work) + :is(.call, .work) { margin-top: -6px; }
.row { display: flex; align-items: baseline; gap: 8px; padding: 4px 10px; min-width: 0; min-height: 28px; }
.row .subject { color: var(--muted); overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
  flex: 1 1 auto; min-width: 0; }
.row .reason { color: var(--bad); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-width: 0;
  flex: 0 1 auto; max-width: 60%; }
.row .remark, .row .time { color: var(--muted); font-size: 12px; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
details.call > .row .time::after { content: "\\00A0\\25B8"; }
details.call[open] > .row .time::after { content: "\\00A0\\25BE"; }
.sign { font-size: 12px; } .good { color: var(--good); } .bad { color: var(--bad); }
.warm { color: var(--warm); }
.call pre { border-radius: 0; border-top: 1px solid var(--line); }
.call pre.output { background: var(--page); border-top: 1px dashed var(--line); }
.call .kept { padding: 0 12px 6px; }
.call.waiting { border-color: var(--warm); background: var(--warm-page); }
.waiting .time { color: var(--warm); } .ask { margin: 0; padding: 0 12px 8px; font-weight: 500; }
.added { color: var(--good); } .removed { color: var(--bad); } .place { color: var(--muted); }
.strip { border: 1px dashed var(--scraped); border-radius: 6px; padding: 5px 12px; font-size: 13px;
  background: repeating-linear-gradient(135deg, transparent 0 7px, var(--strokes) 7px 8px); }
.notice { font-size: 13px; } .notice b { font-weight: 500; } .notice span { color: var(--muted); }
.notice.bad b, .notice.bad .sign { color: var(--bad); }
.notice.muted { color: var(--muted); }
.step { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 12px; }
.gauge { border-radius: 3px; }
figure { margin: 0; } figure img { max-width: 100%; background: #fff; border-radius: 6px; }
@media (max-width: 480px) { .row { flex-wrap: wrap; } .row .subject { flex-basis: 60%; } }
@media print { .call { break-inside: avoid; } }
"""

PAGE = (
    f":root {{{LIGHT}}}\n@media (prefers-color-scheme: dark) {{ :root {{{DARK}}} }}\n"
    f"{_PAGE_RULES}{RULES}"
)
"""The style sheet of a separate page."""

SAVED = ".plm-Saved > .plm-Saved-words"
"""The selector of a session's static HTML in a cell; see ``render/formats/html_fragment.py``."""

_NOTEBOOK_COLOURS = """
  --page: var(--jp-layout-color0, #fff); --text: var(--jp-content-font-color1, #1b1b1f);
  --line: var(--jp-border-color2, #dcdce1); --code: color-mix(in srgb, var(--text) 4%, var(--page));
  --muted: color-mix(in srgb, var(--text) 68%, var(--page)); --tint: color-mix(in srgb, var(--accent) 11%, var(--page));
"""

EXCERPT = (
    f"{SAVED} {{{LIGHT}{_NOTEBOOK_COLOURS}}}\n"
    f'[data-jp-theme-light="false"] {SAVED}, .vscode-dark {SAVED} {{{DARK}{_NOTEBOOK_COLOURS}}}\n'
    f"{SAVED} {{ color: var(--text); background: var(--page); font-size: 14px; line-height: 1.5;\n{RULES}\n}}\n"
)
"""The style sheet of an excerpt in a notebook: the notebook's colours, with no effect outside it."""

FILL_COLOURS = {
    "system": "#8c96ad",
    "tools": "#64708b",
    "instructions": "#aab4c8",
    "summary": "#2f8f83",
    "user": "#3c82c4",
    "notebook": "#7a9c3a",
    "assistant": "#5b4ab5",
    "reasoning": "#a898e2",
    "output": "#cf8b3c",
    "used": "#5b4ab5",
    "reserve": "#b4b6be",
    "free": "",
}
"""Colours of the parts of a context window, for an untrusted notebook, where no style sheet is allowed."""

_FILL_RULES = "\n".join(
    f".k-{kind} {{ background: var(--{kind}) !important; }}"
    for kind in FILL_COLOURS
    if kind not in {"free", "reserve"}
)

_WINDOW_RULES = f"""
{_FILL_RULES}
.k-free {{ background: none !important; }}
.k-reserve {{ background: repeating-linear-gradient(135deg, var(--reserve) 0 2px, transparent 2px 5px) !important; }}
container-type: inline-size; padding: 0 5px;
p:not(.facts) {{ margin: 0; }}
.bar {{ border-color: var(--line) !important; background: var(--code); margin: 10px 0 8px; }}
.fill + .fill:not(.k-free) {{ box-shadow: inset 1px 0 0 var(--page); }}
.swatch {{ vertical-align: -1px; }}
.swatch.k-free {{ box-shadow: inset 0 0 0 1px var(--line); }}
.swatch.k-reserve {{ box-shadow: inset 0 0 0 1px var(--reserve); }}
table {{ font-size: 13px; margin: 0 0 8px; }}
table, tr, th, td {{ background: none !important; }} tr {{ padding: 0; }}
th, td {{ padding: 3px 16px 3px 0; border: 0; vertical-align: baseline; font-weight: 400; }}
.number {{ font-variant-numeric: tabular-nums; white-space: nowrap; }}
td.words {{ color: var(--muted); overflow-wrap: anywhere; }}
.heading {{ margin: 14px 0 6px; }} .heading b {{ font-weight: 600; }}
.strip {{ border-color: var(--scraped) !important; }}
.strip .name {{ font-weight: 600; }}
.strip .subject, .strip .told {{ overflow-wrap: anywhere; }}
.did, .why {{ color: var(--muted); font-size: 12px; font-variant-numeric: tabular-nums; }}
.items {{ margin-top: 12px; }}
.items > summary {{ color: var(--muted); }}
.items > summary::before {{ content: "\\25B8\\00A0"; }}
.items[open] > summary::before {{ content: "\\25BE\\00A0"; }}
.remark {{ color: var(--scraped); font-style: normal; white-space: nowrap; }}
.entries td:nth-child(2) {{ white-space: nowrap; }}
@media (forced-colors: active) {{ .bar, .swatch {{ forced-color-adjust: none; }} }}
@container (max-width: 520px) {{
  .fills tr {{ display: grid; grid-template-columns: 1fr auto 64px; }}
  .fills th, .fills td {{ padding-right: 0; }}
  .fills td.words {{ grid-column: 1 / -1; padding: 0 0 4px 16px; font-size: 12px; }}
  .fills td.words:empty, .fills td.words:has(> bdi:empty) {{ display: none; }}
  .fills, .fills tbody {{ display: block; }}
  .entries td {{ padding-right: 8px; }} .entries td:nth-child(2) {{ white-space: normal; }}
}}
"""

WINDOW = f"{EXCERPT}.plm-Saved-window{SAVED} {{{_WINDOW_RULES}}}\n"
"""The style sheet of a context report in a notebook, which an excerpt in a later cell does not override."""
