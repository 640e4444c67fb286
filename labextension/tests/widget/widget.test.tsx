// @vitest-environment jsdom
/** `session.view()` in the page: it draws the received session in its saved HTML, and runs nothing. */
import { act, cleanup } from '@testing-library/react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { SessionStateNotice } from '../../src/protocol/generated';
import { BROWSER_HOST } from '../../src/widget/browserHost';
import view from '../../src/widget/index';
import { highlightedHtml, drawMarkdown } from '../../src/widget/markdown';
import type { IAnyWidgetModel } from '../../src/widget/anywidgetModel';
import { assistant, text, user, sessionHead } from '../builders';

type Heard = (content: unknown) => void;

/** A fake kernel side of the widget: records the page's messages, and sends the test's. */
class Kernel implements IAnyWidgetModel {
  sent: { kind: string; after?: number | null; id?: string }[] = [];
  closed = false;
  private readonly _heard = new Map<string, Set<Heard>>();

  get(name: 'key' | 'session'): string {
    return name === 'key' ? 'k1' : 'ses_1';
  }

  send(content: unknown): void {
    if (this.closed) {
      throw new Error('Cannot send');
    }
    this.sent.push(content as (typeof this.sent)[number]);
  }

  on(event: string, heard: Heard): void {
    const all = this._heard.get(event) ?? new Set();
    this._heard.set(event, all.add(heard));
  }

  off(event: string, heard: Heard): void {
    this._heard.get(event)?.delete(heard);
  }

  say(content: unknown, event = 'msg:custom'): void {
    act(() => {
      this._heard.get(event)?.forEach(heard => {
        heard(content);
      });
      vi.advanceTimersByTime(300);
    });
  }

  /** Answers a watch as the kernel does, and a resync with one message. */
  answer(words: string): void {
    this.say({ kind: 'current', session: head(3) });
    const asked = this.sent.findLast(({ kind }) => kind === 'resync');
    this.say(picture(words, asked?.id ?? ''));
  }

  get listeners(): number {
    return [...this._heard.values()].reduce((sum, all) => sum + all.size, 0);
  }
}

const head = (seq: number) => sessionHead({ title: 'Penguins', seq });

function picture(words: string, resync: string): SessionStateNotice {
  const messages = [user([text('How many?')]), assistant([text(words)])];
  return {
    kind: 'session-state',
    session: 'ses_1',
    resync,
    seq: 3,
    head: head(3),
    messages,
    todos: [],
    inbox: [],
    replies: {},
    decisions: [],
    last: true
  };
}

/** Adds a cell's saved HTML to the page. */
function cell(): HTMLElement {
  const page = document.createElement('div');
  page.className = 'plm-Saved plm-view-k1';
  page.innerHTML = '<div class="plm-Saved-words">as it was saved</div>';
  document.body.append(page);
  return page;
}

const settle = () =>
  act(async () => {
    await vi.advanceTimersByTimeAsync(20);
  });

describe('the view of a session', () => {
  const ends: (() => void)[] = [];

  async function begun(kernel: Kernel) {
    vi.useFakeTimers();
    vi.stubGlobal('matchMedia', () => ({
      matches: false,
      addEventListener: () => undefined,
      removeEventListener: () => undefined
    }));
    await act(async () => {
      ends.push(view.initialize({ model: kernel }));
      await vi.advanceTimersByTimeAsync(20);
    });
  }

  afterEach(() => {
    act(() => {
      ends.splice(0).forEach(end => {
        end();
      });
    });
    cleanup();
    document.body.replaceChildren();
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it('leaves the words of the cell until it was told the session', async () => {
    const page = cell();
    const kernel = new Kernel();
    await begun(kernel);

    expect(kernel.sent).toEqual([{ kind: 'watch' }]);
    expect(page.querySelector('.plm-View')).toBeNull();

    kernel.answer('There are **three**.');
    await settle();

    expect(page.querySelector('.plm-View')?.textContent).toContain('three');
    expect(page.querySelector('strong')?.textContent).toBe('three');
    expect(page.textContent).toContain('How many?');
    // The view is read-only: nothing in it changes the session.
    expect(page.querySelector('.plm-TurnPrompt button')).toBeNull();
  });

  it('asks sooner again while the kernel does not answer', async () => {
    cell();
    const kernel = new Kernel();
    await begun(kernel);

    await act(() => vi.advanceTimersByTimeAsync(2_100));

    expect(kernel.sent.map(({ kind }) => kind)).toEqual([
      'watch',
      'watch',
      'watch'
    ]);
  });

  it('moves into words that were written anew, and stays as it was left', async () => {
    const page = cell();
    const kernel = new Kernel();
    await begun(kernel);
    kernel.answer('There are three.');
    await settle();
    const drawn = page.querySelector<HTMLElement>('.plm-View') as HTMLElement;
    drawn.tabIndex = -1;
    drawn.focus();
    drawn.scrollTop = 40;
    drawn.dispatchEvent(new Event('scroll'));

    page.remove();
    drawn.scrollTop = 0; // as a browser does it, which jsdom is not
    expect(document.activeElement).toBe(document.body);
    const anew = cell();
    await settle();

    expect(anew.querySelector('.plm-View')).toBe(drawn);
    expect(document.activeElement).toBe(drawn);
    expect(drawn.scrollTop).toBe(40);
  });

  it('draws in every output that shows it', async () => {
    const [value, other] = [cell(), cell()];
    const kernel = new Kernel();
    await begun(kernel);
    kernel.answer('There are three.');
    await settle();

    expect(value.querySelector('.plm-View')).not.toBeNull();
    expect(other.querySelector('.plm-View')).not.toBeNull();
  });

  it('watches no more when nothing of it is in the page', async () => {
    const page = cell();
    const kernel = new Kernel();
    await begun(kernel);
    kernel.answer('There are three.');
    page.remove();
    await act(() => vi.advanceTimersByTimeAsync(2_000));
    kernel.sent = [];

    await act(() => vi.advanceTimersByTimeAsync(30_000));

    expect(kernel.sent).toEqual([]);
  });

  it('says that the kernel has ended, however it learns of it', async () => {
    const page = cell();
    const kernel = new Kernel();
    await begun(kernel);
    kernel.answer('There are three.');
    expect(page.textContent).not.toContain('kernel has ended');

    kernel.closed = true;
    await act(() => vi.advanceTimersByTimeAsync(10_100));

    expect(page.querySelector('.plm-View')?.textContent).toContain(
      'The kernel has ended'
    );
  });

  it('gives the words back and listens no more when its model goes', async () => {
    const page = cell();
    const kernel = new Kernel();
    await begun(kernel);
    kernel.answer('There are three.');
    await settle();

    act(() => {
      ends.splice(0).forEach(end => {
        end();
      });
    });

    expect(page.textContent).toBe('as it was saved');
    expect(kernel.listeners).toBe(0);
  });

  it('draws in a box of widgets too', async () => {
    const kernel = new Kernel();
    await begun(kernel);
    const place = document.createElement('div');
    document.body.append(place);
    await act(async () => {
      ends.push(view.render({ model: kernel, el: place }));
      await vi.advanceTimersByTimeAsync(20);
    });
    kernel.answer('There are three.');
    await settle();

    expect(place.querySelector('.plm-View')?.textContent).toContain('three');
  });

  it('takes nonsense for nothing', async () => {
    cell();
    const kernel = new Kernel();
    await begun(kernel);

    for (const nonsense of [null, 7, 'x', {}, { kind: 'nonsense' }]) {
      kernel.say(nonsense);
    }
    kernel.answer('There are three.');

    expect(document.body.textContent).toContain('There are three.');
  });
});

function html(words: string): string {
  const place = document.createElement('div');
  place.append(drawMarkdown(words));
  return place.innerHTML;
}

describe('its Markdown', () => {
  it.each([
    '<img src=x onerror=alert(1)>',
    '<script>alert(1)</script>',
    '<a href="javascript:alert(1)">x</a>',
    '[x](javascript:alert(1))',
    '[x](data:text/html;base64,PHNjcmlwdD4=)',
    '<svg onload=alert(1)></svg>',
    '<svg><animate onbegin=alert(1) attributeName=x /></svg>',
    '<iframe src=//e.example></iframe>',
    '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>',
    '<form><button formaction=javascript:alert(1)>x</button></form>',
    '$\\href{javascript:alert(1)}{x}$',
    '$$\\url{javascript:alert(1)}$$',
    '$\\class{plm-Question}{x}\\style{position:fixed}{y}$',
    '```<img src=x onerror=alert(1)>\ncode\n```',
    '<div class="plm-view-k1 plm-Question jp-Dialog">x</div>',
    '![x](http://e.example/pixel.png)'
  ])('lets %s do nothing', words => {
    const place = document.createElement('div');
    place.append(drawMarkdown(words));

    const elements = [...place.querySelectorAll('*')];
    for (const element of elements) {
      expect(element.localName).not.toMatch(
        /^(script|iframe|form|button|style|object|embed|animate)$/
      );
      for (const { name, value } of element.attributes) {
        expect(name).not.toMatch(/^on/);
        expect(value).not.toMatch(/javascript:|data:text/i);
      }
      expect(element.className).not.toMatch(/plm-|jp-/);
      expect(element.matches('img[src^="http"]')).toBe(false);
    }
  });

  it('typesets maths and leaves prices alone', () => {
    expect(html('The mean is $\\frac{1}{n}$.')).toContain('<mfrac>');
    expect(html('$$\nx^2\n$$')).toContain('display="block"');
    expect(html('\\(x^2\\) and \\[y^2\\]').match(/<math/g)).toHaveLength(2);
    expect(html('It costs $5, or $6 with tax.')).toBe(
      '<p>It costs $5, or $6 with tax.</p>\n'
    );
    expect(html('`$x^2$`')).toContain('<code>$x^2$</code>');
  });

  it('leaves maths that is none as it was written', () => {
    expect(html('$\\frac{1$')).toContain('\\frac{1');
  });

  it('colours code, and every sign of it stays a sign', () => {
    expect(html('```python\ndef f(): return "<b>"\n```')).toContain(
      '<span class="hljs-keyword">def</span>'
    );
    const place = document.createElement('div');
    place.innerHTML = highlightedHtml('x = "<img src=x>" & 1', 'python');
    expect(place.textContent).toBe('x = "<img src=x>" & 1');
    expect(place.querySelector('img')).toBeNull();
  });

  it('keeps a code of an unknown language, or a huge one, plain', () => {
    expect(highlightedHtml('a < b', 'nonsense')).toBe('a &#60; b');
    expect(highlightedHtml('x = 1\n'.repeat(20_000), 'python')).not.toContain(
      'span'
    );
  });
});

it('counts in words as the panel does', () => {
  expect(BROWSER_HOST.words._n('%1 file', '%1 files', 1)).toBe('1 file');
  expect(BROWSER_HOST.words._n('%1 file in %2', '%1 files in %2', 3, 'a')).toBe(
    '3 files in a'
  );
  expect(BROWSER_HOST.words.__('%1 of %2', 1, 2)).toBe('1 of 2');
});
