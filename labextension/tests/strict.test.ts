// @vitest-environment jsdom
/** What the words of a model may not do in the page. */
import { describe, expect, it } from 'vitest';
import { strict } from '../src/views/strict';

describe('the careful sanitiser', () => {
  it('names a picture from elsewhere instead of loading it', () => {
    const html = strict(
      '<img src="https://example.org/p.png?q=secret" alt="plot">'
    );

    expect(html).toBe(
      '<a href="https://example.org/p.png?q=secret" target="_blank" rel="noopener noreferrer nofollow">plot</a>'
    );
  });

  it.each(['//example.org/p.png', '\\\\example.org\\p.png', 'ftp://h/p.png'])(
    'loads nothing from %s',
    address => {
      expect(strict(`<img src="${address}">`)).not.toContain('<img');
    }
  );

  it('keeps a picture beside the notebook and one in the text itself', () => {
    expect(strict('<img src="out/p.png">')).toContain('src="out/p.png"');
    expect(strict('<img src="data:image/png;base64,AA==">')).toContain('<img');
  });

  it('keeps no button that runs a command of JupyterLab', () => {
    const html = strict(
      '<button data-commandlinker-command="notebook:delete-cell">ok</button>' +
        '<b data-commandlinker-command="x">b</b>'
    );

    expect(html).toBe('ok<b>b</b>');
  });

  it('keeps no form, frame, or media that loads', () => {
    const html = strict(
      '<form action="https://e.org"><input name="key"></form><iframe src="https://e.org"></iframe><video poster="https://e.org/p"></video>'
    );

    expect(html).toBe('');
  });

  it('keeps the switched-off box of a task list', () => {
    const list = '<ul><li><input type="checkbox" disabled=""> one</li></ul>';

    expect(strict(list)).toBe(list);
  });

  it('lets nothing dress up as a question of ours or float over the page', () => {
    const html = strict(
      '<div class="plm-Question jp-Dialog note" style="position:fixed">x</div>'
    );

    expect(html).toBe('<div class="note">x</div>');
  });

  it('takes the address from a link that would run something', () => {
    expect(strict('<a href="javascript:alert(1)">x</a>')).toBe('<a>x</a>');
    expect(strict('<a href="vbscript:x">x</a>')).toBe('<a>x</a>');
    expect(strict('<a href="notes.md">x</a>')).toBe('<a href="notes.md">x</a>');
  });
});
