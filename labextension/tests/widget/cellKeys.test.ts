// @vitest-environment jsdom
/** Plain keys in the views of a cell are not the notebook's. */
import { afterEach, describe, expect, it } from 'vitest';
import { keepPlainKeys, leaveByEscape } from '../../src/widget/cellKeys';

const OURS = 'data-lm-suppress-shortcuts';

afterEach(() => {
  document.body.replaceChildren();
});

/** Returns views in a cell, and whether a key in them is the notebook's. */
function drawn() {
  document.body.innerHTML =
    '<div class="jp-Cell" tabindex="-1"><div class="views"><button>x</button>' +
    '<input type="search"></div></div>';
  const views = document.querySelector<HTMLElement>('.views') as HTMLElement;
  const end = keepPlainKeys(views);
  const isNotebooks = (key: string, more: KeyboardEventInit = {}) => {
    let found = false;
    // As JupyterLab does it: a command is found at the element with the focus, or at one around it.
    const commands = ({ target }: Event) => {
      const at = target as Element;
      found = !at.hasAttribute(OURS);
    };
    document.addEventListener('keydown', commands, true);
    document.activeElement?.dispatchEvent(
      new KeyboardEvent('keydown', { key, bubbles: true, ...more })
    );
    document.removeEventListener('keydown', commands, true);
    return found;
  };
  return { views, end, isNotebooks };
}

describe('keys in the views of a cell', () => {
  it('stay there if they are plain', () => {
    const { views, isNotebooks } = drawn();
    views.querySelector('button')?.focus();

    expect(
      ['x', 'a', '1', 'Enter', 'ArrowDown'].map(key => isNotebooks(key))
    ).toEqual(Array.from({ length: 5 }, () => false));
    expect(isNotebooks('M', { shiftKey: true })).toBe(false);
    expect(isNotebooks('s', { ctrlKey: true })).toBe(true);
    expect(isNotebooks('Enter', { shiftKey: true })).toBe(true);
    expect(views.querySelectorAll(`[${OURS}]`).length).toBe(0);
  });

  it('are the notebook’s again when the focus has left', () => {
    const { views, end, isNotebooks } = drawn();
    views.querySelector('button')?.focus();
    isNotebooks('x');
    document.querySelector<HTMLElement>('.jp-Cell')?.focus();

    expect(isNotebooks('x')).toBe(true);
    views.querySelector('button')?.focus();
    end();
    expect(isNotebooks('x')).toBe(true);
  });

  it('lead out by Escape, unless it empties a field', () => {
    const { views } = drawn();
    const field = views.querySelector('input') as HTMLInputElement;
    const escape = {
      key: 'Escape',
      target: field,
      isDefaultPrevented: () => false
    };
    field.focus();
    field.value = 'words';
    leaveByEscape(escape);
    expect(document.activeElement).toBe(field);

    field.value = '';
    leaveByEscape({ ...escape, isDefaultPrevented: () => true });
    expect(document.activeElement).toBe(field);
    leaveByEscape(escape);
    expect(document.activeElement?.className).toBe('jp-Cell');
  });
});
