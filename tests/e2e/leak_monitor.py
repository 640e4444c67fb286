"""Check that untrusted text cannot act in a page: payloads, a server that counts requests, and the checks."""

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Request
from tests.e2e.jupyterlab import wait_until_drawn
from tests.sample_size import SOAKING

PAYLOADS = Path(__file__).parent.parent / "fixtures" / "payloads.json"
RUN = "top.ran=1"

OPEN_FOLDS = """where => {
  for (let round = 0; round < 4; round += 1) {
    for (const place of document.querySelectorAll(where)) {
      place.querySelectorAll("button[aria-expanded='false']").forEach(one => {
        if (!one.matches('.plm-Panel-sessions, .plm-Picker button')) { one.click(); }
      });
      place.querySelectorAll('details').forEach(one => { one.open = true; });
    }
  }
}"""
"""Opens all disclosures in these elements."""

AT_REST = """async () => {
  let last = performance.now();
  const seen = new MutationObserver(() => { last = performance.now(); });
  seen.observe(document.body, { subtree: true, childList: true, attributes: true });
  const end = last + 60000;
  while (performance.now() < end && performance.now() - last < 1000) {
    await new Promise(resolve => setTimeout(resolve, 100));
  }
  seen.disconnect();
}"""
"""Resolves when the page has not changed for a second."""

FOUND = r"""([where, content]) => {
  const LABS = 'rendermime:handle-local-link';
  // What JupyterLab and we add to content, exactly by name.
  const own = one =>
    one.closest('mjx-container') !== null ||
    one.matches('.todo li > span[role="img"], .page :is(pre, div.wide)[tabindex="0"]') ||
    one.matches('[data-scrolls][tabindex="0"][role="group"]') ||
    one.matches('a.jp-InternalAnchorLink, a[data-commandlinker-command="' + LABS + '"]');
  const bad = [];
  const say = (why, one) => bad.push(why + ': ' + one.outerHTML.slice(0, 200));
  const places = [...document.querySelectorAll(where)];
  if (places.length === 0) { bad.push('nothing is drawn at ' + where); }
  const said = places.flatMap(place =>
    content === '' ? [place] : [...place.querySelectorAll(content)]
  );
  for (const root of said) {
    const rule = getComputedStyle(root);
    for (const one of root.querySelectorAll('*')) {
      const tag = one.localName;
      if (/^(script|style|link|meta|base|title|iframe|frame|frameset|object|embed|applet|form|button|select|textarea|option|audio|video|source|track|picture|template|dialog|portal|marquee|animate|set|use|foreignobject|image|slot|map|area|canvas|annotation-xml|maction|mglyph)$/i.test(tag)
          && !(tag === 'maction' && own(one))) {
        say('an element', one);
      }
      if (tag === 'svg' || tag.includes('-') && !/^mjx-/.test(tag)) { say('an element', one); }
      if (tag === 'input' && !(one.type === 'checkbox' && one.disabled)) { say('a field', one); }
      for (const { name, value } of one.attributes) {
        if (/^on|^style$|^form|srcset|^ping$|^popover|^command|^slot$|^is$|^autofocus$|^accesskey$|^contenteditable$|^poster$|^background$|^name$|^srcdoc$|^usemap$|^nonce$|^xlink|^tabindex$|^role$|^aria-/.test(name)
            && !(own(one) && /^(style|tabindex|role|aria-.*)$/.test(name))
            && !(name === 'style' && value === '')
            && !(/^(style|form)$/.test(name) && one.closest('math') !== null)) {
          say('an attribute ' + name, one);
        }
        if (/^data-commandlinker/.test(name) && one.dataset.commandlinkerCommand !== LABS) { say('a command', one); }
        if (name === 'id' && !/^(user-content-|mjx-)/.test(value)) { say('an id', one); }
        if (name === 'href' && !/^(https?:|mailto:|#)/.test(value)
            && !(one.dataset.commandlinkerCommand === LABS)) {
          say('a link', one);
        }
        if (name === 'src' && !/^data:image\/(png|jpeg|gif|webp)[;,]/.test(value)) { say('a source', one); }
      }
      for (const name of one.classList) {
        if (/^(jp-|lm-|p-|plm-|bp\d|toastify)/i.test(name) && !(own(one) && name === 'jp-InternalAnchorLink')) {
          say('a class ' + name, one);
        }
      }
      const style = getComputedStyle(one);
      if (/fixed|sticky/.test(style.position) || style.position === 'absolute' && !own(one)) { say('floating', one); }
      if (/url\(/.test(style.backgroundImage + style.listStyleImage + style.cursor + style.maskImage + style.borderImageSource)) { say('a picture by style', one); }
    }
  }
  // Nothing of the content is seen outside of its box.
  for (const root of said) {
    const box = root.getBoundingClientRect();
    const clip = (rect, from) => {
      let [left, top, right, bottom] = [rect.left, rect.top, rect.right, rect.bottom];
      for (let at = from.parentElement; at !== null; at = at.parentElement) {
        const style = getComputedStyle(at);
        const paints = /paint|content|strict/.test(style.contain);
        if (style.overflowX !== 'visible' || style.overflowY !== 'visible' || paints) {
          const edge = at.getBoundingClientRect();
          left = Math.max(left, edge.left); right = Math.min(right, edge.right);
          top = Math.max(top, edge.top); bottom = Math.min(bottom, edge.bottom);
        }
      }
      return { left, top, right, bottom };
    };
    for (const one of root.querySelectorAll('*')) {
      const rect = one.getBoundingClientRect();
      if (rect.width === 0 || rect.height === 0 || one.closest('mjx-assistive-mml')) { continue; }
      const seen = clip(rect, one);
      if (seen.right <= seen.left || seen.bottom <= seen.top) { continue; }
      if (seen.left < box.left - 8 || seen.right > box.right + 8 || seen.top < box.top - 8 || seen.bottom > box.bottom + 8) {
        say('outside of its box by ' + [seen.left - box.left, seen.top - box.top, seen.right - box.right, seen.bottom - box.bottom].map(Math.round), one);
      }
    }
  }
  return bad;
}"""
"""Returns what is wrong with the content of these elements; the second selector finds the content."""

CLICKS = r"""([where, content]) => {
  const done = [];
  const app = window.jupyterapp;
  const real = app?.commands.execute;
  if (app) { app.commands.execute = (name) => { done.push(name); return Promise.resolve(); }; }
  const stop = event => event.preventDefault();
  window.addEventListener('click', stop, true);
  window.addEventListener('submit', stop, true);
  for (const place of document.querySelectorAll(where)) {
    for (const root of content === '' ? [place] : place.querySelectorAll(content)) {
      for (const one of root.querySelectorAll('*')) {
        one.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, view: window }));
      }
    }
  }
  window.removeEventListener('click', stop, true);
  window.removeEventListener('submit', stop, true);
  if (app) { app.commands.execute = real; }
  return [...new Set(done)].filter(name => name !== 'rendermime:handle-local-link');
}"""
"""Clicks every element of the content; returns the JupyterLab commands that were executed."""


@dataclass
class LeakMonitor:
    """A server that must receive no request, and the requests that a page sent to any server."""

    port: int
    asked: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    ends: ExitStack = field(default_factory=ExitStack)
    """Callbacks that stop the recording."""

    def payloads(self) -> dict[str, str]:
        """Return the payloads by name, with this run's JavaScript statement and address filled in."""
        kept = json.loads(PAYLOADS.read_text(encoding="utf-8"))["payloads"]
        return {one["name"]: self.filled(one["text"]) for one in kept}

    def sixth(self, offset: int) -> dict[str, str]:
        """Return every sixth payload, from an offset; all of them in ``make soak``.

        For views that draw with what a view with all payloads draws with too, or with JupyterLab's own.
        """
        kept = list(self.payloads().items())
        return dict(kept if SOAKING else kept[offset % 6 :: 6])

    def filled(self, text: str) -> str:
        """Fill the JavaScript statement and the server's address into a payload."""
        address = f"http://127.0.0.1:{self.port}/leak"
        return text.replace("RUN", RUN).replace("LEAK", address).replace(":PORT/", f":{self.port}/")

    def follow(self, page: Page) -> None:
        """Record every request that a page sends from now on, as its network layer reports it."""
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.requestWillBeSent", self._on_request)
        # Requests of pages that it opens are recorded too.
        page.context.on("request", self._on_sent)
        self.ends.callback(page.context.remove_listener, "request", self._on_sent)
        self.ends.callback(session.detach)

    def _on_sent(self, request: Request) -> None:
        self.sent.append(request.url)

    def _on_request(self, event: dict[str, Any]) -> None:
        self.sent.append(event["request"]["url"])

    def leaks(self) -> list[str]:
        """Return the requests that should not have been sent."""
        local = [url for url in self.sent if "leak" in url and not url.startswith("data:")]
        return sorted({*self.asked, *local})


@contextmanager
def watching() -> Iterator[LeakMonitor]:
    """Run the server that must receive no request."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            watch.asked.append(f"{self.command} {self.path}")
            self.send_response(204)
            self.end_headers()

        do_POST = do_HEAD = do_OPTIONS = do_GET  # noqa: N815 - the same

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    watch = LeakMonitor(server.server_port)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        with watch.ends:
            yield watch
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def harmless(page: Page, watch: LeakMonitor, where: str, content: str) -> None:
    """Open and click everything; fail if anything ran, was requested, floats or issued a command."""
    page.evaluate(OPEN_FOLDS, where)
    page.evaluate(AT_REST)
    harmful = page.evaluate(FOUND, [where, content])
    commands = page.evaluate(CLICKS, [where, content])
    wait_until_drawn(page)
    report = {
        "drawn": harmful,
        "commands": commands,
        "ran": page.evaluate("window.ran ?? null"),
        "leaks": watch.leaks(),
    }
    assert report == {"drawn": [], "commands": [], "ran": None, "leaks": []}, json.dumps(
        report, indent=1, ensure_ascii=False
    )
