// @vitest-environment jsdom
/** A widget's sheet stands after the page's own rules and before those of the labextension. */
import { afterEach, expect, it } from 'vitest';
import {
  deferToExtensionStyles,
  INSPECTOR_SELECTOR
} from '../../src/widget/stylesheetOrder';

const PAGE = '.jp-RenderedHTMLCommon h3 { font-size: 2em; }';
const BASE = '.plm-Segment { color: var(--plm-text); }';
const HERE = ':root { --plm-extension: 1; }';
const WIDGET = `${INSPECTOR_SELECTOR} { color: var(--plm-text); }`;

afterEach(() => {
  document.head.replaceChildren();
});

function order(...sheets: string[]): (string | null)[] {
  for (const text of sheets) {
    const style = document.createElement('style');
    style.textContent = text;
    document.head.append(style);
  }
  deferToExtensionStyles(document, INSPECTOR_SELECTOR);
  return [...document.querySelectorAll('style')].map(
    element => element.textContent
  );
}

it('is put before the sheets of the labextension, and only once', () => {
  const found = order(PAGE, BASE, HERE, WIDGET);

  expect(found).toEqual([PAGE, WIDGET, BASE, HERE]);
  expect(order()).toEqual(found);
});

it('stays last where the labextension is not', () => {
  expect(order(PAGE, WIDGET)).toEqual([PAGE, WIDGET]);
});
