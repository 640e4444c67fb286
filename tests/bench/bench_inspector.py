"""Measure the inspector in a browser: its first picture of a large session, moving its cursor, and a slider of a policy.

The page is the inspector alone, built from ``labextension/tests/inspector/page``; the session is generated.
Times are CPU time of the page's thread.
"""

import gc
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import fmean, median
from typing import Any, cast

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright
from tests.bench.bench_review import repeat_recording
from tests.bench.figure import Figure
from tests.bench.generate_session import generate
from tests.bench.reporting_session import TURN_BYTES, ReportingAuthor
from tests.e2e.jupyterlab import FLAGS, ROOT, browser_path
from tests.recordings.formats.sample_files import sample
from tests.review.timeline_view.cut_store import CutStore
from tests.review.timeline_view.patched_view import patched

from palimpsest.recordings.formats.built_in import REGISTRY
from palimpsest.review.recorded_sessions.session_answers import LogState, SessionAnswers
from palimpsest.review.timeline_view.view_queries import AskTrack, AskView
from palimpsest.review.timeline_view.view_values import TimelineView
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder

REQUESTS = 2_000
ITEMS = 5_000
TRANSITIONS = 20_000
STEPS = 150
MIN_TASK_MICROSECONDS = 1_000
PATCHES = 8
SLIDES = 8
"""Stops of a slider, after the first."""
SLID = "made.clearing"
FOLLOWED = 12
"""Messages at the end of a session that are followed."""
OWN = "ses_reporting"
TURNS = 500
"""Of that session: four requests each."""
GROWING = ("total", "prefix", "read", "output", "cost")
"""The lists of a track that have a value for each request."""
EXTENSION = ROOT / "labextension"
PAINTED = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))"
KINDS = ("system", "tools", "summary", "user", "assistant", "reasoning", "call", "output")
PAGE = """<!doctype html><html lang="en"><head><title>Inspector</title><style>{css}</style></head>
<body class="plm-Alone" data-jp-theme-light="true"></body></html>"""


def measure() -> list[Figure]:
    """Return the CPU time of the first picture, of moving the cursor, and the size of the code."""
    with tempfile.TemporaryDirectory() as folder:
        built = build(Path(folder))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=browser_path(), args=[*FLAGS])
            page = browser.new_page(viewport={"width": 1440, "height": 960})
            first, tasks = times(browser, page, built)
            patches = patch_tasks(browser, page)
            drawn = slider_times(page)
            browser.close()
    counted, told = slider_answers()
    return [
        Figure("inspector, first picture of 2,000 requests", first, "s", 1),
        Figure("inspector, a task while the cursor moves, median", median(tasks), "ms", 16),
        Figure("inspector, a task while the cursor moves, longest", max(tasks), "ms", 50),
        Figure("inspector, a task while a request more is drawn, longest", max(patches), "ms", 50),
        Figure("inspector, a stop of a slider, CPU in the page", fmean(drawn), "ms"),
        Figure("inspector, a stop of a slider, CPU in the kernel", fmean(counted), "ms", note=told),
        Figure(
            "inspector, a stop of a slider, page and kernel",
            fmean(drawn) + fmean(counted),
            "ms",
            200,
        ),
        *kernel_figures(),
    ]


def slider_times(page: Page) -> list[float]:
    """Return the page's CPU milliseconds from each press of a slider's key until its track is drawn.

    What is drawn behind it may be done with the next press, so that the mean counts.
    """
    view = large_view()
    stops = list(range(1, SLIDES + 2))
    option = {"name": SLID, "what": "Clears.", "source": "made, 1", "sliders": [
        {"name": "n", "stops": stops, "default": 1}
    ]}  # fmt: skip
    tracks = [
        {**large_view(seed=7 + stop)["recorded"], "policy": f"{SLID} n={stop}"} for stop in stops
    ]
    session = page.context.new_cdp_session(page)
    session.send("Performance.setTimeDomain", {"timeDomain": "threadTicks"})
    session.send("Performance.enable")
    page.evaluate(
        "([view, tracks, place]) => window.inspect(view, [view.recorded, ...tracks], place)",
        [
            {**view, "policies": [option]},
            tracks,
            {"request": 1000, "item": 40, "policy": f"{SLID} n=1"},
        ],
    )
    slider = page.locator(".plm-PolicyControls-slider input")
    drawn = page.locator(".plm-Track-head strong")
    drawn.get_by_text("n=1", exact=False).wait_for()
    slider.focus()
    taken = []
    for stop in stops[1:]:
        page.evaluate(PAINTED)
        began = cpu(session)
        page.keyboard.press("ArrowRight")
        drawn.get_by_text(f"n={stop}", exact=False).wait_for()
        page.evaluate(PAINTED)
        taken.append(1000 * (cpu(session) - began))
    return taken


def slider_answers() -> tuple[list[float], str]:
    """Return the kernel's CPU milliseconds of the answer to each stop of a slider, and of how large a session."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        large = root / "large.jsonl"
        repeat_recording(
            sample("pi_large_session.jsonl", root), large, lambda _size, n: n >= REQUESTS
        )
        store = JsonlStore(open_project_folder(root))
        recorded = REGISTRY.import_from(store, large, lambda: 1).sessions[0].id
        answers = SessionAnswers(cast("Any", store), recorded, lambda _model: None)
        view = answers.answer(AskView()).view
        assert view is not None
        taken = []
        for stop in range(SLIDES + 1):
            gc.collect()
            gc.disable()
            began = time.process_time()
            query = AskTrack(policy="sweagent.last_n", numbers={"n": 5 + stop, "polling": 1})
            answer = answers.answer(query)
            answer.model_dump_json(exclude_none=True)
            taken.append(1000 * (time.process_time() - began))
            gc.enable()
            assert answer.track is not None
            assert answer.error == ""
        # The first answer makes what the others share.
        return taken[1:], f"{len(view.requests.id):,} requests, {len(view.items.id):,} items"


def patch_tasks(browser: Browser, page: Page) -> list[float]:
    """Return the milliseconds of the tasks in which requests more are applied to the view and drawn."""
    view = large_view()
    browser.start_tracing(
        page=page, categories=["toplevel", "disabled-by-default-devtools.timeline"]
    )
    for _ in range(PATCHES):
        patch = one_more(view)
        page.evaluate("patch => window.follow(patch)", patch)
        more = len(view["requests"]["id"]) + 1
        page.wait_for_selector(f".plm-Track-plot[aria-valuemax='{more}']")
        page.evaluate(PAINTED)
        view = grown(view, patch)
    return main_tasks(json.loads(browser.stop_tracing())["traceEvents"])


def one_more(view: dict[str, Any]) -> dict[str, Any]:
    """Return the patch of a view by a request that shows two new items, and clears one."""
    request, item = len(view["requests"]["id"]), len(view["items"]["id"])
    new: dict[str, list[Any]] = {
        **{f"items.{name}": values[-2:] for name, values in view["items"].items() if values},
        **{f"requests.{name}": values[-1:] for name, values in view["requests"].items()},
        **{f"recorded.{name}": view["recorded"][name][-1:] for name in GROWING},
        "items.id": [f"msg_{item}/prt_{item}", f"msg_{item + 1}/prt_{item + 1}"],
        "items.entered": [request, request],
        "requests.id": [f"req_{request}"],
        "requests.items": [item + 2],
        "recorded.transitions.item": [request],
        "recorded.transitions.request": [request],
        "recorded.transitions.state": ["cleared"],
        "recorded.transitions.tokens": [12],
        "recorded.transitions.words": [0],
    }
    kept: dict[str, list[int]] = {}

    def left_out(value: dict[str, Any], path: str) -> dict[str, Any]:
        missing: dict[str, Any] = {}
        for name, one in value.items():
            if isinstance(one, dict):
                missing[name] = left_out(one, f"{path}{name}.")
            elif isinstance(one, list):
                kept[path + name] = [len(one), 0]
                missing[name] = new.get(path + name, [])
            else:
                missing[name] = one
        return missing

    newer = {**left_out(view, ""), "seq": view["seq"] + 1}
    return {"after": view["seq"], "kept": kept, "view": newer}


def grown(view: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Return the newer view."""

    def put(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        return {
            name: put(before[name], one)
            if isinstance(one, dict)
            else [*before[name], *one]
            if isinstance(one, list)
            else one
            for name, one in after.items()
        }

    return put(view, patch["view"])


def without_usage(recording: Path) -> None:
    """Take out what was reported: the same usage for ever more messages would say nothing."""
    lines = [json.loads(line) for line in recording.read_text("utf-8").splitlines()]
    for line in lines:
        if isinstance(line.get("message"), dict):
            line["message"].pop("usage", None)
    recording.write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")


def kernel_figures() -> list[Figure]:
    """Return what a request more costs the kernel in sessions of about 2,000, and the bytes that tell it."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        large = root / "large.jsonl"
        repeat_recording(
            sample("pi_large_session.jsonl", root), large, lambda _size, n: n >= REQUESTS
        )
        without_usage(large)
        store = JsonlStore(open_project_folder(root))
        recorded = REGISTRY.import_from(store, large, lambda: 1).sessions[0].id
        author = ReportingAuthor(OWN, random.Random(7), TURNS, turn_bytes=TURN_BYTES)
        generate(store, OWN, turns=TURNS, author=author)
        return [
            *follow(store, recorded, "a recording"),
            *follow(store, OWN, "a session with usage and prunes"),
        ]


def follow(store: JsonlStore, session: str, name: str) -> list[Figure]:
    """Return what the last answers of a session cost who follows it."""
    until = [one.seq for one in store.read(session, only=frozenset({"message.updated"}))]
    cut = CutStore(store, session)
    answers = SessionAnswers(
        cast("Any", cut), session, lambda _model: None, lambda: LogState(cut.until)
    )
    first, *later = until[-1 - FOLLOWED :]
    cut.until = first
    view = answers.answer(AskView()).view
    assert view is not None
    taken, sizes = [], []
    for seq in later:
        cut.until = seq
        gc.collect()
        # As the queue of answers does it: the search for circles of objects comes after.
        gc.disable()
        began = time.process_time()
        answer = answers.answer(AskView(after=view.seq, epoch=view.epoch))
        told = answer.model_dump_json(exclude_none=True)
        taken.append(1000 * (time.process_time() - began))
        gc.enable()
        assert answer.patch is not None
        view = patched(view, answer.patch)
        sizes.append(len(told) / 1000)
    note = (
        f"{len(view.requests.id):,} requests, {len(view.items.id):,} items, "
        f"{len(view.recorded.transitions.item):,} transitions"
    )
    return [
        Figure(f"inspector, kernel CPU of a patch, {name}", median(taken), "ms", 30, note=note),
        Figure(f"inspector, a patch, {name}", median(sizes), "kB", note=note),
    ]


def build(folder: Path) -> Path:
    """Build the page into a folder, and return it."""
    node = str(Path(sys.executable).parent / "node")
    vite = EXTENSION / "node_modules" / "vite" / "bin" / "vite.js"
    command = [node, str(vite), "build", "--logLevel", "error", "--emptyOutDir"]
    options = ["--config", "vite.inspector.config.mts", "--outDir", str(folder)]
    subprocess.run([*command, *options], cwd=EXTENSION, check=True)
    return folder


def times(browser: Browser, page: Page, built: Path) -> tuple[float, list[float]]:
    """Return the seconds of the first picture, and the milliseconds of tasks while the cursor and a range move."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.setTimeDomain", {"timeDomain": "threadTicks"})
    session.send("Performance.enable")
    page.set_content(PAGE.format(css=(built / "inspector.css").read_text(encoding="utf-8")))
    page.add_script_tag(content=(built / "inspector.js").read_text(encoding="utf-8"), type="module")
    page.wait_for_function("() => window.inspect !== undefined")
    view = large_view()
    page.evaluate("view => { window.view = view; }", view)
    began = cpu(session)
    page.evaluate("() => window.inspect(window.view, [window.view.recorded], PLACE)".replace(
        "PLACE", "{ request: 1000, item: 40, policy: 'recorded' }"
    ))  # fmt: skip
    page.wait_for_selector(".plm-Track-picture")
    page.evaluate(PAINTED)
    first = cpu(session) - began
    page.wait_for_timeout(500)
    box = page.locator(".plm-Track-plot").first.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 5, y)
    page.mouse.down()
    browser.start_tracing(
        page=page, categories=["toplevel", "disabled-by-default-devtools.timeline"]
    )
    for step in range(STEPS):
        page.mouse.move(box["x"] + 5 + step * (box["width"] - 10) / STEPS, y)
        page.evaluate(PAINTED)
    # The drag has chosen a range as well, which the views below follow when it ends.
    page.mouse.up()
    page.evaluate(PAINTED)
    trace = json.loads(browser.stop_tracing())
    page.keyboard.press("Escape")
    page.wait_for_selector(".plm-Track-veil", state="detached")
    return first, main_tasks(trace["traceEvents"])


def main_tasks(events: list[dict[str, Any]]) -> list[float]:
    """Return the CPU milliseconds of the tasks of the page's main thread, without those below one."""
    tasks: dict[tuple[int, int], list[float]] = {}
    mains = {
        (one["pid"], one["tid"])
        for one in events
        if one.get("name") == "thread_name" and one["args"]["name"] == "CrRendererMain"
    }
    for event in events:
        thread = (event["pid"], event["tid"])
        if (
            event["name"].endswith("RunTask")
            and thread in mains
            and event.get("tdur", 0) >= MIN_TASK_MICROSECONDS
        ):
            tasks.setdefault(thread, []).append(event["tdur"] / 1000)
    return max(tasks.values(), key=sum)


def cpu(session: CDPSession) -> float:
    """Return the CPU seconds of the page's tasks until now."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))


def large_view(seed: int = 7) -> dict[str, Any]:
    """Return a view of a session with many requests, items and transitions, the same for the same ``seed``, which varies what is shown."""
    chance = random.Random(7)
    changing = random.Random(seed)
    entered = sorted(chance.randrange(REQUESTS) for _ in range(ITEMS))
    entered[:8] = [0] * 8
    tokens = [chance.randrange(20, 900) for _ in range(ITEMS)]
    changes = sorted(
        (changing.randrange(entered[item], REQUESTS), item, changing.choice(("cleared", "truncated", "whole")))
        for item in (changing.randrange(ITEMS) for _ in range(TRANSITIONS))
    )  # fmt: skip
    held = [0] * REQUESTS
    for one in entered:
        held[one] += 1
    for request in range(1, REQUESTS):
        held[request] += held[request - 1]
    total = [200 * one for one in held]
    track = {
        "policy": "recorded", "words": ["by the rule clear, ~400 tokens before and ~12 since"],
        "transitions": {
            "item": [item for _, item, _ in changes], "request": [at for at, _, _ in changes],
            "state": [state for _, _, state in changes], "tokens": [12] * TRANSITIONS,
            "words": [0] * TRANSITIONS,
        },
        "total": total, "prefix": total, "read": total, "output": [80] * REQUESTS,
        "cost": [0.01] * REQUESTS, "fired": list(range(0, REQUESTS, 40)),
    }  # fmt: skip
    told = {
        "version": 1, "session": "ses_large", "title": "A large session", "origin": "generated",
        "own": False, "seq": 1, "epoch": "one", "coming": {"item": [], "state": []}, "kinds": list(KINDS), "models": ["a/model"],
        "items": {
            "id": [f"msg_{n}/prt_{n}" for n in range(ITEMS)],
            "kind": [n % len(KINDS) for n in range(ITEMS)],
            "label": [f"packages/folder/file-{n}.ts" for n in range(ITEMS)],
            "tool": ["read" if n % len(KINDS) > 5 else "" for n in range(ITEMS)],
            "turn": [n // 50 for n in range(ITEMS)], "entered": entered, "tokens": tokens,
            "block": [n // 2 for n in range(ITEMS)], "partner": [-1] * ITEMS,
            "errors": [], "pinned": [], "order": [],
        },
        "requests": {
            "id": [f"req_{n}" for n in range(REQUESTS)], "turn": [n // 20 for n in range(REQUESTS)],
            "items": held, "started": [None] * REQUESTS, "ended": [None] * REQUESTS,
            "model": [0] * REQUESTS, "effort": [""] * REQUESTS, "window": [1_200_000] * REQUESTS,
            "reserve": [32_000] * REQUESTS, "status": ["ok"] * REQUESTS, "seen": ["exact"] * REQUESTS,
            "reported": [one + 300 for one in total], "read": total, "written": [0] * REQUESTS,
            "output": [80] * REQUESTS, "cost": [0.01] * REQUESTS,
        },
        "ruler": {"estimator": "chars/4", "unseen": 500, "factor": 1.1, "measured": True, "words": "Counted."},
        "price": {"name": "a/model", "unit": "USD", "input": 5, "output": 25, "read": 0.5, "write": 6.25},
        "recorded": track, "events": [], "break_notes": [], "wastes": [],
        "breaks": [
            {"request": at, "turn": 1, "cause": "idle", "words": "time passed", "expected": 900, "read": 0,
             "loss": 900, "cost": 0.01, "avoided_by": ""} for at in range(5, REQUESTS, 50)
        ],
        "used": [], "subagents": [], "totals": [], "gaps": [], "policies": [],
    }  # fmt: skip
    # With all fields, as a kernel tells it.
    view: dict[str, Any] = TimelineView.model_validate(told).model_dump(mode="json")
    return view
