// @vitest-environment jsdom
/** The model's Markdown, block by block. */
import { act, render } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { HostProvider, type IHost } from '../../../src/views/host';
import { MarkdownText } from '../../../src/views/parts/markdownText';
import { HOST } from '../../plainHost';

const LISTED: IHost = {
  ...HOST,
  Code: ({ text, language }) => <pre data-language={language}>{text}</pre>
};

function draw(text: string) {
  return render(
    <HostProvider value={LISTED}>
      <MarkdownText text={text} isLive={false} />
    </HostProvider>
  ).container;
}

function listings(text: string) {
  return [...draw(text).querySelectorAll('pre[data-language]')].map(element => [
    element.getAttribute('data-language'),
    element.textContent
  ]);
}

describe('words of the model', () => {
  it('draws a block that is one listing as code, without writing HTML for it', () => {
    expect(listings('See:\n\n```python\na = 1\nb = 2\n```\n\nDone.')).toEqual([
      ['python', 'a = 1\nb = 2']
    ]);
    expect(listings('~~~\nplain\n~~~')).toEqual([['', 'plain']]);
    expect(listings('```\n```')).toEqual([['', '']]);
    expect(listings('So:\n```a\nx\n```\n```b\ny\n```\nDone.')).toEqual([
      ['a', 'x'],
      ['b', 'y']
    ]);
    // JupyterLab draws a diagram before anything is sanitized, so it stays code.
    expect(listings('```mermaid\ngraph TD\n```')).toEqual([
      ['mermaid', 'graph TD']
    ]);
  });

  it('leaves everything else to Markdown', () => {
    expect(listings('- one\n  ```\n  a\n  ```')).toEqual([]);
    expect(listings('```python\nnever closed')).toEqual([]);
  });

  it('folds what the rehearsal says of itself into one line that opens', () => {
    const notice =
      '*No language model is configured, so I follow `rules`. A key gives a real one.*';
    const container = draw(`${notice}\n\nIt is 42.`);
    const [head] = container.querySelectorAll('button');
    expect(head?.textContent).toContain('configured, so I follow rules. A key');
    expect(head?.getAttribute('aria-expanded')).toBe('false');
    expect(container.textContent).toContain('It is 42.');
    act(() => {
      head?.click();
    });
    expect(
      container.querySelector('.plm-Disclosure-body')?.textContent
    ).toContain(notice);
    expect(draw('*No language model*').querySelector('button')).toBeNull();
  });

  it('lays a huge paragraph out in parts that read as one', () => {
    const container = draw('many words and '.repeat(1_400));
    const parts = [...container.querySelectorAll('.plm-Block')];

    expect(parts.length).toBeGreaterThan(3);
    expect(
      parts.map(element => element.getAttribute('data-continues'))
    ).toEqual([
      'false',
      ...Array.from({ length: parts.length - 1 }, () => 'true')
    ]);
    expect(container.textContent).toBe('many words and '.repeat(1_400));
  });
});
