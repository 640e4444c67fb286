"""Write a session's inspector as one file that loads nothing: its data and its script are inside.

Border: pure; the caller removes secrets, and passes the built script and style sheet. The page may run only two
scripts, which it allows by their hashes: a short one that unpacks the other, and that one. Where no script runs, the
page shows a picture and tables. Data and script are packed as base64, which cannot end an element.
"""

import base64
import gzip
import hashlib
import html
from collections.abc import Sequence
from dataclasses import dataclass

from palimpsest.render.reports.saved_inspector import sentence_list
from palimpsest.render.reports.table import ReportTable
from palimpsest.render.reports.timeline_picture import TimelinePicture, timeline_svg
from palimpsest.render.safety.escaping import line_in_html, one_line

REPORT_MARK = '<meta name="generator" content="Palimpsest inspector report">'
"""Marks the head of each report, so that a report replaces only an older report, and no other file."""

MAX_CLOSING_CHARS = 400
"""Maximum characters of a line at the end of the page."""
LOADER = """
const unpack = async id => {
  const packed = atob(document.getElementById(id).textContent.trim());
  const bytes = Uint8Array.from(packed, sign => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).text();
};
(async () => {
  if (document.getElementById('code') === null) return;
  const [code, data] = await Promise.all([unpack('code'), unpack('data')]);
  globalThis.palimpsestReport = JSON.parse(data);
  const script = document.createElement('script');
  script.textContent = code;
  document.head.append(script);
})();
"""

_RULES = """
:root { color-scheme: light dark; }
body { margin: 0; padding: 10px 16px 16px; font: 14px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif;
  background: #fff; color: #1b1b1f; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 14px; padding-bottom: 4px; }
h1 { font-size: 20px; margin: 0; overflow-wrap: anywhere; } header > p { margin: 0; }
#saved svg { max-width: 100%; height: auto; } #saved table { border-collapse: collapse; }
#saved :is(th, td) { padding: 3px 10px; border-bottom: 1px solid #8886; text-align: start; }
.about, footer { color: #63636b; font-size: 12px; max-width: 80ch; }
[hidden] { display: none; }
#inspector .plm-Inspector-title { position: absolute; width: 1px; height: 1px; clip-path: inset(50%); }
#inspector .plm-Inspector-origin { flex-basis: 200px; }
@media screen { #inspector { margin: 0 -16px; } }
@media screen and (max-width: 37em) { body { padding: 8px; } h1 { font-size: 17px; } #inspector { margin: 0 -8px; } }
@media screen and (prefers-color-scheme: dark) { body { background: #111216; color: #ececf0; }
  .about, footer { color: #a0a1ab; } }
"""


@dataclass(frozen=True, slots=True)
class InspectorReport:
    """The texts, picture and tables of a report, and its data."""

    title: str
    description: str
    """A description of the page, in a sentence or two."""
    picture: TimelinePicture
    tables: tuple[ReportTable, ...]
    sentences: tuple[str, ...]
    data: str
    """JSON."""
    closing_lines: Sequence[str] = ()


def inspector_report(report: InspectorReport, script: str, style: str) -> str:
    """Return the page; without a built script it holds the picture and the tables alone."""
    script_hashes = " ".join(f"'{_script_hash(text)}'" for text in (LOADER, script) if script)
    content_policy = (
        f"default-src 'none'; script-src {script_hashes or chr(39) + 'none' + chr(39)}; "
        "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    title = html.escape(one_line(report.title) or "Session")
    scripts = (
        f'<script type="text/plain" id="code">{_compressed_text(script)}</script>\n'
        f'<script type="text/plain" id="data">{_compressed_text(report.data)}</script>\n'
        f"<script>{LOADER}</script>\n"
    )
    tables = "\n".join(table.html for table in report.tables)
    closing_html = "".join(
        f"<p>{line_in_html(line, MAX_CLOSING_CHARS)}</p>" for line in report.closing_lines
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(content_policy, quote=False)}">\n'
        f"{REPORT_MARK}\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="robots" content="noindex">\n'
        f"<title>{title}</title>\n<style>{_safe_style(style)}{_RULES}</style>\n</head>\n<body>\n"
        f'<header><h1>{title}</h1><p class="about">{line_in_html(report.description)}</p></header>\n'
        f'<main>\n<div id="inspector" hidden></div>\n<div id="saved">\n{timeline_svg(report.picture)}\n'
        f"<p>{line_in_html(report.picture.sentence)}</p>\n"
        f"{sentence_list(report.sentences)}\n{tables}\n</div>\n</main>\n"
        f"<footer>{closing_html}</footer>\n{scripts if script else ''}</body>\n</html>\n"
    )


def _script_hash(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _compressed_text(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _safe_style(style: str) -> str:
    """Return a built style sheet for a ``style`` element, which it may not end."""
    return style.replace("</", "<\\/")
