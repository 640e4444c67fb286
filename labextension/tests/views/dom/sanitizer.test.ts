// @vitest-environment jsdom
/** Elements and attributes that untrusted text may have in the page. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isPlainDiagram } from '../../../src/notebook/rendering/mermaidDiagram';
import { sanitizeInPlace } from '../../../src/views/dom/inPlaceSanitizer';
import {
  isAllowed,
  sanitize,
  sanitizeText,
  disallowedAttributes,
  type ISanitizeOptions
} from '../../../src/views/dom/sanitizer';
import { drawMarkdown } from '../../../src/widget/markdown';

interface IPayload {
  name: string;
  text: string;
}

const { payloads } = JSON.parse(
  readFileSync('../tests/fixtures/payloads.json', 'utf-8')
) as { payloads: IPayload[] };
const NAMED = payloads.map(({ name, text }): [string, string] => [
  name,
  text
    .replaceAll('RUN', 'top.ran=1')
    .replaceAll('LEAK', 'http://127.0.0.1:9/leak')
]);

function html(dirty: string, place?: ISanitizeOptions): string {
  const made = document.createElement('div');
  made.append(sanitize(dirty, place));
  return made.innerHTML;
}

/** Returns the elements and attributes that are not on the list. */
function foreign(root: ParentNode, place?: ISanitizeOptions): string[] {
  return [...root.querySelectorAll('*')]
    .filter(element => element.closest('math') === null)
    .flatMap(element => [
      ...(isAllowed(element) ? [] : [element.localName]),
      ...disallowedAttributes(element, place).map(
        name => `${element.localName} ${name}`
      )
    ]);
}

describe('the sanitizer', () => {
  it('is tried with many payloads', () => {
    expect(payloads.length).toBeGreaterThan(200);
    expect(new Set(payloads.map(({ name }) => name)).size).toBe(
      payloads.length
    );
  });

  it.each(NAMED)('leaves nothing of %s but what is allowed', (_, text) => {
    expect(foreign(sanitize(text))).toEqual([]);
  });

  it.each(NAMED)('writes %s so that it parses as it was written', (_, text) => {
    const once = sanitizeText(text, { allowsLocalLinks: true });
    const page = document.createElement('div');
    page.innerHTML = once;

    expect(page.innerHTML).toBe(once);
    expect(foreign(page, { allowsLocalLinks: true })).toEqual([]);
  });

  it.each(NAMED)('lets %s as Markdown do nothing', (_, text) => {
    const page = document.createElement('div');
    page.append(drawMarkdown(text));

    expect(foreign(page)).toEqual([]);
    expect(page.querySelector('[data-mark]')).toBeNull();
    for (const element of page.querySelectorAll('math *, math')) {
      expect(element.getAttribute('style') ?? '').not.toMatch(
        /position\s*:\s*[^rs]|url/
      );
      expect(element.getAttribute('href') ?? '#').toMatch(/^(https?:|#)/);
      expect(element.className).not.toMatch(/\b(jp|lm|plm)-/);
    }
  });

  it('names a picture from elsewhere instead of loading it', () => {
    expect(
      html('<img src="https://example.org/p.png?q=secret" alt="plot">')
    ).toBe(
      '<a href="https://example.org/p.png?q=secret" target="_blank" rel="noopener noreferrer nofollow">plot</a>'
    );
    expect(html('<img src="/logout" alt="plot">')).toBe('plot');
    expect(
      html('<img src="out/p.png" alt="plot">', { allowsLocalLinks: true })
    ).toBe('<a href="out/p.png">plot</a>');
  });

  it('shows a picture that is in the text itself, unless it is a drawing', () => {
    const picture = '<img src="data:image/png;base64,AA==" alt="p">';

    expect(html(picture)).toBe(picture);
    expect(html('<img src="data:image/svg+xml,x" alt="p">')).toBe('p');
  });

  it('keeps what a text is made of', () => {
    const text =
      '<h2>Found</h2><p>It is <strong>so</strong>, <em>or</em> <del>not</del>: <code>x</code><br></p>' +
      '<table><thead><tr><th align="right">n</th></tr></thead><tbody><tr><td colspan="2">1</td></tr></tbody></table>' +
      '<ol start="3"><li>c</li></ol><ul><li><input type="checkbox" disabled="" checked=""> done</li></ul>' +
      '<blockquote><p>q</p></blockquote><details open=""><summary>s</summary>d</details><hr>' +
      '<pre><code class="language-python"><span class="hljs-keyword">def</span></code></pre>';

    expect(html(text)).toBe(text);
  });

  it('keeps the colours of code and no other class', () => {
    expect(
      html(
        '<span class="hljs-title function_ jp-Dialog">f</span><span class="ͼ1a">g</span><p class="Toastify__toast-container">t</p>'
      )
    ).toBe(
      '<span class="hljs-title function_">f</span><span class="ͼ1a">g</span><p>t</p>'
    );
  });

  it('lets links lead to the web, to mail and within the page, and to files where a host opens them', () => {
    const led = (to: string, place?: ISanitizeOptions) =>
      html(`<a href="${to}">x</a>`, place).includes('href');

    expect(
      ['https://e.org', 'HTTP://e.org', 'mailto:a@e.org', '#x'].map(to =>
        led(to)
      )
    ).toEqual([true, true, true, true]);
    expect(
      ['data/a.csv', '../a%20b.md', 'Übersicht.md'].map(to => [
        led(to),
        led(to, { allowsLocalLinks: true })
      ])
    ).toEqual([
      [false, true],
      [false, true],
      [false, true]
    ]);
    for (const to of [
      '/logout',
      '//e.org',
      '\\\\e.org',
      '%2e%2e/logout',
      'a/%2E%2e/x',
      'file:///etc',
      'javascript:x',
      'a\\b',
      '?reset'
    ]) {
      expect([to, led(to, { allowsLocalLinks: true })]).toEqual([to, false]);
    }
  });

  it('believes no mark but its own', () => {
    expect(html('<code data-mark="1-0">x</code>', { markPrefix: '7' })).toBe(
      '<code>x</code>'
    );
    expect(html('<code data-mark="7-0">x</code>', { markPrefix: '7' })).toBe(
      '<code data-mark="7-0">x</code>'
    );
  });
});

describe('a diagram', () => {
  it('is drawn when it is shapes, lines and words', () => {
    expect(
      isPlainDiagram(
        'flowchart LR\n  A[Read data] --> B{Is it odd?}\n  B -->|yes| C'
      )
    ).toBe(true);
    expect(
      isPlainDiagram('sequenceDiagram\n  Ada->>Bob: Guten Tag, wie geht es?')
    ).toBe(true);
    expect(
      isPlainDiagram(
        'classDiagram\n  Animal <|-- Duck\n  class Duck {\n    +swim()\n  }'
      )
    ).toBe(true);
  });

  it.each(NAMED.filter(([name]) => name.startsWith('mermaid')))(
    'stays code when it can do more: %s',
    (_, text) => {
      const inside = text
        .replace(/^.*(`{3,}|~{3,}).*$/gm, '')
        .replace(/^> |^ {2}/gm, '');

      expect(isPlainDiagram(inside)).toBe(false);
    }
  );
});

describe('a second look at the page', () => {
  const looked = (inside: string, place?: ISanitizeOptions) => {
    const page = document.createElement('div');
    page.innerHTML = inside;
    sanitizeInPlace(page, place);
    return page.innerHTML;
  };

  it.each([
    '<a data-commandlinker-command="rendermime:handle-local-link" data-commandlinker-args="{}" href="http://127.0.0.1/files/a" target="_self">a</a>',
    '<h2 data-jupyter-id="Found"><span class="numbering-entry">1 </span>Found<a target="_self" href="#Found" class="jp-InternalAnchorLink">¶</a></h2>',
    '<mjx-container class="MathJax" jax="CHTML" style="font-size: 119.5%; position: relative;" tabindex="0"><mjx-math><mjx-mi class="mjx-i"><mjx-c class="mjx-c1D465"></mjx-c></mjx-mi></mjx-math></mjx-container>',
    '<code class="language-python"><span class="ͼv">def</span></code>',
    '<div data-wide="table" data-scrolls="right" tabindex="0" role="group" aria-label="Table"><table></table></div>',
    '<pre data-scrolls="right" tabindex="0" role="group" aria-label="Code">total</pre>'
  ])('keeps what JupyterLab adds, and what we do: %s', added => {
    expect(looked(added)).toBe(added);
  });

  it('takes boxes of ours from words of others', () => {
    expect(
      html('<div data-wide="table" tabindex="0" role="group">a</div>')
    ).toBe('<div>a</div>');
  });

  it('keeps nothing else with a command, and no element that is not on the list', () => {
    expect(
      looked(
        '<a data-commandlinker-command="notebook:run-all-cells" href="#">a</a><button>b</button><a href="data:text/html,x">c</a>'
      )
    ).toBe('<a href="#">a</a>b<a>c</a>');
  });

  it('lets maths, however it was typeset, lead and look like nothing of the page', () => {
    expect(
      looked(
        '<mjx-container style="position: fixed"><a href="javascript:x"><mjx-mi class="jp-Dialog mjx-i" data-commandlinker-command="x" onclick="x">x</mjx-mi></a></mjx-container>'
      )
    ).toBe(
      '<mjx-container><a><mjx-mi class="mjx-i">x</mjx-mi></a></mjx-container>'
    );
  });
});
