"""A report opens from the disk, asks nothing of anything, and is moved through by keyboard and sliders."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.e2e.leak_monitor import PAYLOADS, watching
from tests.e2e.test_panel import AXE, VIOLATIONS
from tests.recordings.formats.sample_files import sample
from tests.review.comparison.one_task import REWRITTEN, write_both, write_session
from tests.sample_size import sample_size
from tests.waiting import eventually

from palimpsest import open_recording
from palimpsest.frontends.static_files import STATIC_FOLDER
from palimpsest.review.timeline_view.view_answers import ViewAnswers
from palimpsest.review.timeline_view.view_queries import AskItem, AskRequest

pytestmark = pytest.mark.slow

MAX_BYTES = 1_000_000
"""Of the large pi session with previews, in the soak with three policies."""
POLICIES = ["sweagent.last_n", "opencode.prune", "anthropic.clear_tool_uses"][: sample_size(1, 3)]
"""Those of the report; each has the session replayed, which takes seconds."""


@pytest.fixture(scope="module")
def path(front_end: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001  # built
    """The report of the large pi session, with previews."""
    assert (STATIC_FOLDER / "report.js").is_file(), (
        "The front end is not built; make front builds it."
    )
    folder = tmp_path_factory.mktemp("report")
    with open_recording(sample("pi_large_session.jsonl", folder)) as recording:
        return recording[0].report(folder / "pi.html", policies=POLICIES)


@pytest.fixture
def quiet(browser: Browser) -> Iterator[Page]:
    """A page without network that must ask for nothing but its file, and must not complain."""
    context = browser.new_context(offline=True, viewport={"width": 1200, "height": 900})
    opened = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("websocket", lambda socket: asked.append(socket.url))
    yield opened
    # Connections that are only opened ahead of a request are no requests, and no policy forbids them.
    ahead = opened.locator("link, base, iframe, frame, object, embed").count()
    context.close()
    assert ahead == 0
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_it_is_small_and_moves_by_keyboard_and_slider_without_network(
    quiet: Page, path: Path
) -> None:
    quiet.goto(path.as_uri())
    inspector = quiet.locator(".plm-Inspector")
    expect(inspector).to_be_visible()
    expect(quiet.locator("#saved")).to_be_hidden()

    sliders = quiet.get_by_role("slider")
    names = [str(slider.get_attribute("aria-label")) for slider in sliders.all()]
    (number,) = [slider for slider in sliders.all() if _is_number(slider)][:1]
    before = inspector.inner_text()
    number.focus()
    quiet.keyboard.press("Home")
    expect(inspector).not_to_have_text(before, use_inner_text=True)
    assert path.stat().st_size < MAX_BYTES
    assert names
    quiet.goto(f"{path.as_uri()}#palimpsest:{_session(path)}/40")
    quiet.reload()
    expect(inspector).to_contain_text("40 of 453")


def test_its_address_keeps_the_place_and_the_browser_steps_back_and_forward(
    quiet: Page, path: Path
) -> None:
    session = _session(path)
    quiet.goto(f"{path.as_uri()}#palimpsest:{session}/40?tab=requests&policy={POLICIES[0]}")
    place = quiet.locator(".plm-Inspector-place")
    expect(place).to_have_text("40 of 453")
    tabs = {name: quiet.get_by_role("tab", name=name) for name in ("Items", "Requests")}
    expect(tabs["Requests"]).to_have_attribute("aria-selected", "true")

    tabs["Items"].click()
    find = quiet.get_by_role("searchbox", name="Find items")
    find.fill("bash")
    cursor = quiet.get_by_role("slider", name="Request, recorded")
    cursor.press("ArrowRight")
    cursor.press("ArrowRight")
    expect(place).to_have_text("42 of 453")
    assert quiet.url.partition("#")[2] == (
        f"palimpsest:{session}/42?tab=items&policy={POLICIES[0]}&find=bash"
    )
    quiet.go_back()
    expect(place).to_have_text("40 of 453")
    expect(find).to_have_value("bash")
    quiet.go_back()
    expect(find).to_have_value("")
    quiet.go_back()
    expect(tabs["Requests"]).to_have_attribute("aria-selected", "true")
    for _ in range(3):
        quiet.go_forward()
    expect(place).to_have_text("42 of 453")
    expect(find).to_have_value("bash")

    tabs["Requests"].click()
    words = quiet.get_by_role("searchbox", name="Find in all requests")
    words.fill("theme.md")
    search = quiet.get_by_role("group", name="Find in all requests")
    expect(search.get_by_role("status")).to_contain_text("items hold it")
    words.press("Enter")
    expect(search.get_by_role("status")).to_contain_text("Item 1 of")
    expect(search).to_contain_text(re.compile(r"came with request \d+, whole to the end"))

    notice = quiet.locator(".plm-Inspector-notice")
    quiet.goto(f"{path.as_uri()}#palimpsest:{session}/40?tab=newer")
    expect(notice).to_contain_text("“tab=newer” is not known here")
    quiet.goto(f"{path.as_uri()}#palimpsest:ses_other/40")
    expect(notice).to_contain_text("ses_other, which is not in this file")
    quiet.goto(f"{path.as_uri()}#palimpsest:{session}/999")
    expect(notice).to_have_text("There is no request 999: the last one is shown.")


def test_a_call_opens_its_subagent_which_the_file_holds_too(quiet: Page, tmp_path: Path) -> None:
    with open_recording(sample("gemini_cli_subagent", tmp_path)) as recording:
        parent = next(review for review in recording if review.subagents)
        path = parent.report(tmp_path / "report.html", policies=["raw"])
        (run,) = parent.subagents
    quiet.goto(f"{path.as_uri()}#{parent.link(request=2, item=3)}")
    views = quiet.locator(".plm-Inspector")
    title = views.get_by_role("heading", level=2).first
    own_title = title.inner_text()

    views.get_by_role("button", name="Open its inspector").click()

    expect(title).to_have_text(run.name)
    expect(views).to_contain_text(f"{run.totals.requests} requests")
    expect(views.get_by_text("A subagent, with a window of its own.")).to_be_visible()
    assert f"subagent={run.timeline.session}" in quiet.url
    quiet.reload()
    expect(title).to_have_text(run.name)
    quiet.go_back()
    expect(title).to_have_text(own_title)
    quiet.goto(f"{path.as_uri()}#{parent.link()}?subagent=ses_other")
    expect(quiet.locator(".plm-Inspector-notice")).to_contain_text(
        "The link leads to a subagent, which is not in this report."
    )


def test_a_tool_definition_has_the_texts_that_a_kernel_answers(quiet: Page, tmp_path: Path) -> None:
    with open_recording(sample("captured_http/claude_tap.jsonl", tmp_path)) as recording:
        review = next(review for review in recording if len(review.timeline.requests) == 3)
        path = review.report(tmp_path / "report.html", policies=["raw"], texts="all")
        item = next(item.index for item in review.timeline.items if item.kind == "tools")
        answers = ViewAnswers(review)
        sent = answers.answer(AskRequest(policy="recorded", request=0)).request
        assert sent is not None
        blocks = [block for block in sent.blocks if block.kind == "tools"]
        asked = AskItem(policy="recorded", request=0, item=item)
        texts = [
            answers.answer(asked.model_copy(update={"definition": number})).item
            for number in range(len(blocks))
        ]
    assert len(blocks) > 5

    for number in (0, len(blocks) - 1):
        place = review.link(request=1, item=item + 1, definition=number + 1)
        quiet.goto(f"{path.as_uri()}#{place}")
        card = quiet.get_by_role("group", name="The chosen item")
        expect(card.get_by_role("heading")).to_contain_text(blocks[number].name)
        if number == 0:  # it stays open
            card.get_by_text("Look underneath").click()
        text = texts[number]
        assert text is not None
        expect(card.locator("pre").first).to_have_text(text.text)
    quiet.goto(f"{path.as_uri()}#{review.link(request=1, tab='requests')}")
    shown = quiet.get_by_role("list", name="Blocks of the request").get_by_role("listitem")
    in_order = [number for number, block in enumerate(sent.blocks) if block.kind == "tools"]
    for number, block in zip(in_order, blocks, strict=True):
        about = shown.nth(number).locator(".plm-RequestViewer-about")
        expect(about).to_contain_text(block.name)
        # A report divides the item's tokens by whole shares, a kernel by length.
        tokens = re.search(r"([\d,]+) tokens$", about.text_content() or "")
        assert tokens is not None
        assert abs(int(tokens[1].replace(",", "")) - block.tokens) <= 1
        pre = shown.nth(number).locator("pre")
        expect(pre).to_have_text(block.text + ("…" if len(block.text) < block.chars else ""))


def test_a_drag_chooses_a_range_which_is_what_grid_tables_and_paper_show(
    quiet: Page, path: Path
) -> None:
    quiet.goto(f"{path.as_uri()}#palimpsest:{_session(path)}/300")
    track = quiet.get_by_role("slider", name="Request, recorded")
    box = track.bounding_box()
    assert box is not None
    column, y = box["width"] / 453, box["y"] + 40
    quiet.mouse.move(box["x"] + 181.5 * column, y)
    quiet.mouse.down()
    quiet.mouse.move(box["x"] + 226.5 * column, y, steps=3)
    quiet.mouse.up()
    chosen = quiet.get_by_role("group", name="The chosen range")
    expect(chosen).to_contain_text("5.24 USD, 10 breaks, 4,729,113 tokens in 44 of 46 requests.")
    expect(track).to_have_attribute("aria-valuenow", "227")

    quiet.emulate_media(media="print")
    printed = quiet.locator(".plm-Inspector-printed")
    breaks = printed.get_by_role("group", name="Cache breaks")
    expect(breaks.locator("tbody tr")).to_have_count(10)
    expect(chosen).to_be_visible()
    expect(chosen.get_by_role("button", include_hidden=True)).to_be_hidden()
    quiet.emulate_media(media="screen")
    expect(printed).to_have_count(0)
    track.press("Escape")
    expect(chosen).to_have_count(0)


def test_keys_and_the_wheel_lead_to_the_grid_and_zoom_it_alone(quiet: Page, path: Path) -> None:
    quiet.goto(f"{path.as_uri()}#palimpsest:{_session(path)}/300")
    grid = quiet.get_by_role("grid")
    expect(grid).to_be_visible()
    quiet.keyboard.press("Tab")
    expect(quiet.get_by_role("button", name="Skip to the grid")).to_be_focused()
    quiet.keyboard.press("Enter")
    expect(grid).to_be_focused()

    def width() -> int:
        return int(grid.evaluate("one => one.scrollWidth"))

    fitting, ratio = width(), quiet.evaluate("devicePixelRatio")
    quiet.keyboard.press("+")
    eventually(lambda: width() > fitting)
    quiet.keyboard.press("0")
    eventually(lambda: width() == fitting)
    grid.hover()
    quiet.keyboard.down("Control")
    quiet.mouse.wheel(0, -120)
    quiet.keyboard.up("Control")
    eventually(lambda: width() > fitting)
    assert quiet.evaluate("devicePixelRatio") == ratio

    quiet.keyboard.press("?")
    keys = quiet.get_by_role("dialog", name="Keys")
    expect(keys.get_by_role("button")).to_be_focused()
    quiet.keyboard.press("Escape")
    expect(keys).to_have_count(0)
    expect(grid).to_be_focused()


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.soak), "dark"])
def test_on_paper_every_view_is_shown_in_a_light_theme(
    quiet: Page, path: Path, scheme: Any
) -> None:
    quiet.emulate_media(color_scheme=scheme)
    quiet.goto(f"{path.as_uri()}#palimpsest:{_session(path)}/208")
    theme = quiet.locator("#inspector")
    expect(quiet.get_by_role("tab", name="Cost")).to_be_visible()
    expect(theme).to_have_attribute("data-jp-theme-light", str(scheme == "light").lower())

    quiet.get_by_role("grid").press("ArrowDown")
    quiet.emulate_media(media="print", color_scheme=scheme)

    printed = quiet.locator(".plm-Inspector-printed")
    for name in ("Cache breaks", "Figures", "Largest wastes", "Compactions"):
        expect(printed.get_by_role("heading", name=name, exact=True)).to_be_visible()
    breaks = printed.get_by_role("group", name="Cache breaks")
    expect(breaks.locator("tbody tr")).to_have_count(37)
    expect(quiet.get_by_role("tab", name="Cost")).to_be_hidden()
    expect(theme).to_have_attribute("data-jp-theme-light", "true")
    assert quiet.evaluate("document.documentElement.scrollWidth") <= 1200
    focused = quiet.locator(".plm-Inspector :focus")
    expect(focused).to_have_css("outline-style", "none")

    quiet.emulate_media(media="screen", color_scheme=scheme)
    expect(printed).to_have_count(0)
    expect(quiet.get_by_role("tab", name="Cost")).to_be_visible()
    expect(theme).to_have_attribute("data-jp-theme-light", str(scheme == "light").lower())
    assert quiet.pdf(format="A4").startswith(b"%PDF")


TRIES = """url => {
  const add = (name, values, to = document.body) => {
    const one = Object.assign(document.createElement(name), values);
    to.append(one);
    return one;
  };
  const quiet = () => undefined;
  const ways = {
    fetch: at => { fetch(at, { mode: 'no-cors' }).catch(quiet); },
    xhr: at => {
      const asks = new XMLHttpRequest();
      asks.open('GET', at);
      asks.send();
    },
    socket: at => { new WebSocket(at.replace('http:', 'ws:')); },
    events: at => { new EventSource(at); },
    beacon: at => { navigator.sendBeacon(at, 'x'); },
    image: at => { new Image().src = at; },
    sources: at => { add('img', { srcset: `${at} 1x` }); },
    background: at => { add('p', { textContent: 'x' }).style.backgroundImage = `url(${at})`; },
    imported: at => { add('style', { textContent: `@import url(${at});` }, document.head); },
    font: at => { new FontFace('other', `url(${at})`).load().catch(quiet); },
    sheet: at => { add('link', { rel: 'stylesheet', href: at }, document.head); },
    prefetch: at => { add('link', { rel: 'prefetch', href: at }, document.head); },
    preload: at => { add('link', { rel: 'preload', as: 'image', href: at }, document.head); },
    script: at => { add('script', { src: at }); },
    module: at => { import(at).catch(quiet); },
    frame: at => { add('iframe', { src: at }); },
    object: at => { add('object', { data: at }); },
    embed: at => { add('embed', { src: at }); },
    video: at => { add('video', { src: at, preload: 'auto' }); },
    poster: at => { add('video', { poster: at }); },
    form: at => {
      add('iframe', { name: 'result' });
      add('form', { action: at, target: 'result' }).submit();
    }
  };
  window.refused = [];
  document.addEventListener('securitypolicyviolation', event => {
    window.refused.push([event.effectiveDirective, event.blockedURI]);
  });
  for (const [name, way] of Object.entries(ways)) {
    try { way(`${url}/${name}`); } catch { /* It was refused at once. */ }
  }
  return Object.keys(ways);
}"""
"""Tries every way in which a page sends a request; returns their names, which end the addresses."""


REFUSED = """ways => {
  // Of what it embeds, a page is told only the origin.
  const told = { frame: 'frame-src', object: 'object-src', embed: 'object-src', form: 'form-action' };
  return ways.every(way =>
    window.refused.some(([directive, uri]) =>
      way in told ? directive === told[way] : uri.endsWith(`/${way}`)
    )
  );
}"""


@pytest.mark.parametrize("bypassed", [False, True])
def test_the_page_can_send_no_request_whatever_runs_in_it(
    browser: Browser,
    path: Path,
    bypassed: bool,  # noqa: FBT001
) -> None:
    context = browser.new_context(bypass_csp=bypassed)
    page = context.new_page()
    with watching() as watch:
        page.goto(path.as_uri())
        expect(page.locator(".plm-Inspector")).to_be_visible()
        ways = page.evaluate(TRIES, f"http://127.0.0.1:{watch.port}/leak")

        def heard() -> set[str]:
            return {one.rpartition("/")[2].rstrip("?") for one in watch.asked}

        if bypassed:  # so it is the policy that forbids them
            eventually(lambda: heard() == {*ways})
        else:
            page.wait_for_function(REFUSED, arg=ways)
            assert heard() == set()
        context.close()


def test_without_scripts_picture_and_tables_are_read(browser: Browser, path: Path) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(path.as_uri())

    expect(page.get_by_role("img").first).to_be_visible()
    expect(page.get_by_text("The largest items")).to_be_visible()
    expect(page.locator("#inspector")).to_be_hidden()
    context.close()


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.soak), "dark"])
def test_the_fallback_has_landmarks_and_contrast(browser: Browser, path: Path, scheme: Any) -> None:
    context = browser.new_context(bypass_csp=True, color_scheme=scheme)
    page = context.new_page()
    page.goto(path.as_uri())
    expect(page.locator(".plm-Inspector")).to_be_visible()
    page.evaluate("document.getElementById('inspector').remove(); saved.hidden = false")
    page.add_script_tag(path=AXE)

    assert page.evaluate(VIOLATIONS, "html") == []
    for role in ("banner", "main", "contentinfo"):
        expect(page.get_by_role(role)).to_have_count(1)  # type: ignore[arg-type]
    context.close()


def test_payloads_as_title_labels_and_texts_stay_words(
    quiet: Page,
    front_end: Path,  # noqa: ARG001  # built
    tmp_path: Path,
) -> None:
    said = [
        payload["text"].replace("RUN", "top.ran=1")
        for payload in json.loads(PAYLOADS.read_text())["payloads"]
    ]
    said += [
        "</script><script>top.ran=1</script>",
        "<!--<script>",
        "]]></svg><img src=x onerror=top.ran=1>",
    ]
    (tmp_path / "session.jsonl").write_text(_pi_session(said), encoding="utf-8")
    with open_recording(tmp_path / "session.jsonl") as recording:
        page = recording[0].report(tmp_path / "x.html", policies=["raw"], texts="all")

    quiet.goto(page.as_uri())
    expect(quiet.locator(".plm-Inspector")).to_be_visible()
    for tab in ("Items", "Requests", "Cost", "Wastes"):
        quiet.get_by_role("tab", name=tab).or_(quiet.get_by_role("button", name=tab)).first.click()
        quiet.wait_for_function("() => document.querySelectorAll('main *').length > 20")
        assert quiet.evaluate("top.ran") is None
    quiet.evaluate("document.getElementById('inspector').hidden = true; saved.hidden = false")
    assert quiet.evaluate("top.ran") is None
    assert quiet.locator("#saved :is(script, iframe, a, form, style, object)").count() == 0
    assert quiet.locator("#inspector :is(script, iframe, form, object, img, style)").count() == 0


def test_of_two_sessions_each_opens_where_it_parts_from_the_other(
    quiet: Page,
    front_end: Path,  # noqa: ARG001  # built
    tmp_path: Path,
) -> None:
    hostile = "</script><img src=x onerror=top.ran=1>"
    first, second = write_both(tmp_path)
    step = (hostile, "bash", {"command": hostile}, hostile)
    second = write_session(second, (*REWRITTEN[:2], step, *REWRITTEN[3:]))
    with open_recording(first) as recording:
        page = recording[0].report(tmp_path / "x.html", policies=["raw"], beside=second)

    quiet.goto(page.as_uri())
    parting = quiet.get_by_role("group", name="Where they part")
    expect(parting).to_contain_text("They do the same in 2 steps, and then part")
    expect(parting).to_contain_text(f"calls bash: {hostile}")
    quiet.get_by_role("button", name="over time").click()
    expect(quiet.get_by_text("1 min 10 s").first).to_be_visible()
    quiet.get_by_role("button", name="inspect request 3 of the second").press("Enter")

    expect(quiet.locator(".plm-Inspector")).to_contain_text("the second of two")
    expect(quiet.locator(".plm-Inspector-place")).to_have_text("3 of 6")
    expect(quiet.get_by_role("tabpanel")).to_be_focused()
    assert "/3" in quiet.url
    quiet.reload()
    expect(quiet.locator(".plm-Inspector")).to_contain_text("the second of two")
    assert quiet.evaluate("top.ran") is None
    assert quiet.locator("img").count() == 0


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.soak), "dark"])
@pytest.mark.parametrize("width", [320, 1440])
def test_two_sessions_have_contrast_and_fit_in_any_width(
    browser: Browser,
    front_end: Path,  # noqa: ARG001  # built
    tmp_path: Path,
    scheme: Any,
    width: int,
) -> None:
    first, second = write_both(tmp_path)
    with open_recording(first) as recording:
        path = recording[0].report(tmp_path / "x.html", policies=["raw"], beside=second)
    context = browser.new_context(
        bypass_csp=True, color_scheme=scheme, viewport={"width": width, "height": 900}
    )
    page = context.new_page()
    page.goto(path.as_uri())
    expect(page.get_by_role("table", name="Files of both sessions")).to_be_visible()
    page.add_script_tag(path=AXE)

    assert page.evaluate(VIOLATIONS, "html") == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    context.close()


def _is_number(slider: Any) -> bool:
    """Whether a slider is one of a policy's numbers, and no cursor over requests."""
    return bool(slider.evaluate("one => one.matches('input[type=range]') && +one.max < 20"))


def _session(path: Path) -> str:
    match = re.search(r"from session (ses_\w+)", path.read_text(encoding="utf-8"))
    assert match is not None
    return match[1]


def _pi_session(said: list[str]) -> str:
    """Return a recording of pi in which a person says, and a tool prints, each of the words."""
    when = "2026-01-01T00:00:00.000Z"
    lines: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": "s", "timestamp": when, "cwd": "/x"}
    ]
    above: str | None = None
    for number, words in enumerate(said):
        usage = {"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 15}
        call = {
            "type": "toolCall",
            "id": f"c{number}",
            "name": words,
            "arguments": {"command": words},
        }
        answer = {"role": "assistant", "content": [{"type": "text", "text": words}, call],
                  "provider": "p", "model": "m", "usage": usage, "stopReason": "toolUse"}  # fmt: skip
        result = {"role": "toolResult", "toolCallId": f"c{number}", "toolName": words,
                  "content": [{"type": "text", "text": words}], "isError": False}  # fmt: skip
        prompt = {"role": "user", "content": [{"type": "text", "text": words}]}
        for place, message in enumerate((prompt, answer, result)):
            one = f"{number}-{place}"
            lines.append(
                {
                    "type": "message",
                    "id": one,
                    "parentId": above,
                    "timestamp": when,
                    "message": message,
                }
            )
            above = one
    return "".join(f"{json.dumps(line)}\n" for line in lines)
