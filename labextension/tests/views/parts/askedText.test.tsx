// @vitest-environment jsdom
/** What a question is about is shown whole, and can be allowed once its end was on the screen. */
import { act, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Ask } from '../../../src/protocol/generated';
import { AnswerActionsProvider } from '../../../src/views/actions/answers';
import { HostProvider } from '../../../src/views/host';
import { buttonOfKey } from '../../../src/views/parts/answerKeys';
import { ToolCall } from '../../../src/views/parts/toolCall';
import * as build from '../../builders';
import { HOST } from '../../plainHost';

/** The heights of all texts: jsdom lays nothing out. */
let heights = { scrollHeight: 0, clientHeight: 0 };
let observed: { element: Element; tell: IntersectionObserverCallback }[] = [];

class Observer {
  constructor(private readonly _tell: IntersectionObserverCallback) {}
  observe(element: Element) {
    observed.push({ element, tell: this._tell });
  }
  disconnect() {
    observed = [];
  }
}

beforeEach(() => {
  heights = { scrollHeight: 900, clientHeight: 300 };
  observed = [];
  for (const name of ['scrollHeight', 'clientHeight'] as const) {
    vi.spyOn(HTMLElement.prototype, name, 'get').mockImplementation(function (
      this: HTMLElement
    ) {
      return this.hasAttribute('data-asked-text') ? heights[name] : 0;
    });
  }
  Element.prototype.scrollIntoView = vi.fn();
  vi.stubGlobal('IntersectionObserver', Observer);
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const CODE = 'x = 1\n'.repeat(60) + 'harm()';

function draw(more: Partial<Ask> = {}, given: Record<string, unknown> = {}) {
  const reply = vi.fn();
  const part = build.tool('python', {
    status: 'running',
    input: { code: CODE, ...given },
    metadata: {},
    time: { start: 0 }
  });
  const ask: Ask = {
    id: 'per_1',
    permission: 'python',
    patterns: [CODE],
    always: ['*'],
    title: 'x = 1',
    input: part.state.input,
    tool: 'python',
    call_id: part.call_id,
    ...more
  };
  const { container } = render(
    <HostProvider value={HOST}>
      <AnswerActionsProvider value={{ reply, answer: vi.fn() }}>
        <ToolCall part={part} ask={ask} isOver={false} isNewest={true} isLive />
      </AnswerActionsProvider>
    </HostProvider>
  );
  return { container, reply };
}

/** The names of the answers that can be given. */
const open = () =>
  [
    ...document.querySelectorAll<HTMLElement>('button[data-answer]:enabled')
  ].map(({ dataset }) => dataset.answer);

/** Has the end of each text, or of those that match, come onto the screen. */
function comes(matching = '*') {
  act(() => {
    for (const { element, tell } of [...observed]) {
      if (element.closest(matching) !== null) {
        tell(
          [{ isIntersecting: true, target: element } as unknown as never],
          undefined as never
        );
      }
    }
  });
}

describe('what a question is about', () => {
  it('is open at once where it fits', () => {
    heights = { scrollHeight: 300, clientHeight: 300 };
    draw();

    expect(open()).toEqual(['once', 'always', 'reject', 'project']);
    expect(screen.queryByText(/Scroll to the end/)).toBeNull();
  });

  it('is closed to buttons and keys until its end was on the screen', () => {
    const { container, reply } = draw();
    expect(open()).toEqual(['reject']);
    expect(screen.getByText(/Scroll to the end to allow it/)).toBeTruthy();
    const reject = screen.getByRole('button', { name: 'Reject…' });
    for (const key of ['1', '2', '4']) {
      fireEvent.keyDown(reject, { key });
      buttonOfKey(
        { key, ctrlKey: false, metaKey: false, altKey: false },
        container
      )?.click();
    }
    expect(reply).not.toHaveBeenCalled();

    comes();

    expect(open()).toEqual(['once', 'always', 'reject', 'project']);
    expect(screen.queryByText(/Scroll to the end/)).toBeNull();
    fireEvent.keyDown(reject, { key: '1' });
    expect(reply).toHaveBeenCalledOnce();
  });

  it('is closed also where it needs no scrolling but is taller than the window', () => {
    heights = { scrollHeight: 5000, clientHeight: 5000 };
    draw();
    expect(open()).toEqual(['reject']);

    comes();
    expect(open()).toContain('once');
  });

  it('is opened by a keyboard: its end is shown, and has the focus', () => {
    draw();
    const region = screen.getByRole('group', { name: 'Input' });
    expect(region.tabIndex).toBe(0);

    fireEvent.click(screen.getByRole('button', { name: 'Show the end' }));

    expect(document.activeElement).toBe(region);
    expect(region.scrollTop).toBe(900);
    comes();
    expect(open()).toContain('once');
  });

  it('wants the end of the code and that of the difference', () => {
    draw({ diff: '--- a/x\n+++ b/x\n(2 lines more)' });
    comes('.plm-AskInput');
    expect(open()).toEqual(['reject']);

    comes('.plm-Diff');
    expect(open()).toContain('once');
  });

  it('is open where nothing observes, once it was scrolled to its end', () => {
    vi.stubGlobal('IntersectionObserver', undefined);
    draw();
    const region = screen.getByRole('group', { name: 'Input' });
    expect(open()).toEqual(['reject']);

    region.scrollTop = 300;
    fireEvent.scroll(region);
    expect(open()).toEqual(['reject']);
    region.scrollTop = 600;
    fireEvent.scroll(region);
    expect(open()).toContain('once');
  });

  it('never lets a key answer the question behind the one that is closed', () => {
    const first = draw();
    heights = { scrollHeight: 1, clientHeight: 1 };
    const second = draw({ id: 'per_2' });
    const key = { key: '1', ctrlKey: false, metaKey: false, altKey: false };

    expect(buttonOfKey(key, document.body)).toBeNull();
    expect(first.reply).not.toHaveBeenCalled();
    expect(second.reply).not.toHaveBeenCalled();
  });

  it('is the input of the question, whole, also where a hook changed it', () => {
    draw({ input: { code: 'os.remove("a")', timeout: 9 } });

    const shown = screen.getByRole('group', { name: 'Input' }).textContent;
    expect(shown).toContain('os.remove("a")');
    expect(shown).toContain('"timeout": 9');
    expect(shown).not.toContain('harm()');
  });

  it.each([
    ['erases', 'a\u001b[2K\u001b[1Ab', 'a⟨U+001B⟩[2K⟨U+001B⟩[1Ab'],
    ['returns', 'a\rb', 'a⟨U+000D⟩b'],
    ['reorders', 'a\u202eb\u2066c', 'a⟨U+202E⟩b⟨U+2066⟩c'],
    [
      'hides',
      'a\u200bb\u{e0041}\ufeff\u3164',
      'a⟨U+200B⟩b⟨U+E0041⟩⟨U+FEFF⟩⟨U+3164⟩'
    ],
    ['joins', 'a\u200db\ufe0f', 'a⟨U+200D⟩b⟨U+FE0F⟩'],
    ['is a half character', 'a\ud800b', 'a⟨U+D800⟩b'],
    ['is an emoji', '⚠️ 👩‍💻', '⚠️ 👩‍💻'],
    ['is a letter', 'é 日本 עברית\tx', 'é 日本 עברית\tx']
  ])('shows what %s', (_what, code, shown) => {
    draw({ input: { code } });

    expect(screen.getByRole('group', { name: 'Input' }).textContent).toBe(
      shown
    );
  });

  it('shows them in the difference, too', () => {
    draw({ diff: '--- a/x\n+++ b/x\n@@ -1 +1 @@\n+a\u202eb' });

    expect(document.querySelector('.plm-Diff')?.textContent).toContain(
      '+a⟨U+202E⟩b'
    );
  });
});
