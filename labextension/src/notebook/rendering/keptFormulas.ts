/**
 * Keeps typeset formulas, so that each is typeset once in a page.
 *
 * An answer uses the same symbols again and again, in the cell and in the panel, and a renderer draws
 * its whole text again with every update; typesetting takes the longest of that, since it measures
 * the page. A formula that was typeset before is copied.
 */

/** How many typeset formulas a page keeps. */
const MAX_FORMULAS = 500;

/** Typeset formulas by their source; the one that was used last is at the end. */
const formulasBySource = new Map<string, Element>();

/** Typesets the formulas in an element. */
type Typeset = (element: HTMLElement) => Promise<void> | void;

/** Selects the elements in which a typesetter looks for no formulas. */
const VERBATIM_SELECTOR =
  'pre, code, mjx-container, math, script, style, textarea';

/** What may begin a formula or a reference to one. */
const FORMULA_SIGN = /\$|\\[([]|\\begin|\\(?:eq)?ref/;

/** Signs of formulas other than between two single dollars, and of definitions that change other formulas. */
const COMPLEX_SIGN =
  /\$\$|\\[()[\]$]|\\(?:begin|end|def|let|label|ref|eqref|tag|require|re?newcommand|newenvironment)/;

/** Commands after which a formula may look different. */
const DEFINITION = /\\(?:def|let|re?newcommand|newenvironment)/;

/**
 * Typesets an element's formulas; one that the page has typeset before is copied.
 *
 * `onTypeset` is called with every element in which something was typeset.
 */
export async function typesetAdded(
  root: HTMLElement,
  typeset: Typeset,
  onTypeset: (container: HTMLElement) => void
): Promise<void> {
  const texts = textsWithSigns(root);
  if (texts.length === 0) {
    return;
  }
  if (texts.some(({ data }) => !hasOnlySimpleFormulas(data))) {
    if (texts.some(({ data }) => DEFINITION.test(data))) {
      forgetFormulas();
    }
    await typeset(root);
    onTypeset(root);
    return;
  }
  const containersBySource = new Map<string, HTMLElement[]>();
  for (const text of texts) {
    const pieces = text.data.split(/(\$[^$]+\$)/).map((piece, index) => {
      const formula = index % 2 === 0 ? piece : keptFormula(piece);
      if (formula !== null) {
        return formula;
      }
      const container = document.createElement('span');
      const sameSource = containersBySource.get(piece);
      if (sameSource === undefined) {
        container.textContent = piece;
      }
      containersBySource.set(piece, [...(sameSource ?? []), container]);
      return container;
    });
    text.replaceWith(...pieces.filter(piece => piece !== ''));
  }
  if (containersBySource.size === 0) {
    return;
  }
  await typeset(root);
  for (const [source, [first, ...others]] of containersBySource) {
    if (first === undefined) {
      continue;
    }
    onTypeset(first);
    const formula = first.firstElementChild;
    if (formula?.localName === 'mjx-container') {
      keepFormula(source, formula.cloneNode(true) as Element);
    }
    for (const place of others) {
      place.replaceWith(...first.cloneNode(true).childNodes);
    }
    first.replaceWith(...first.childNodes);
  }
}

/** Forgets all formulas, so that each is typeset again. */
export function forgetFormulas(): void {
  formulasBySource.clear();
}

/** Returns a copy of a formula that was typeset before; null if there is none. */
function keptFormula(source: string): Node | null {
  const formula = formulasBySource.get(source);
  if (formula === undefined) {
    return null;
  }
  keepFormula(source, formula);
  return formula.cloneNode(true);
}

/** Keeps a formula as the one that was used last. */
function keepFormula(source: string, formula: Element): void {
  formulasBySource.delete(source);
  formulasBySource.set(source, formula);
  const [oldest] = formulasBySource.keys();
  if (formulasBySource.size > MAX_FORMULAS && oldest !== undefined) {
    formulasBySource.delete(oldest);
  }
}

/** Returns the texts of an element in which something may be a formula. */
function textsWithSigns(root: HTMLElement): Text[] {
  const texts: Text[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = node as Text;
    if (
      FORMULA_SIGN.test(text.data) &&
      !text.parentElement?.closest(VERBATIM_SELECTOR)
    ) {
      texts.push(text);
    }
  }
  return texts;
}

/** Returns whether a text has nothing but formulas between two single dollars, each with balanced braces. */
function hasOnlySimpleFormulas(text: string): boolean {
  if (COMPLEX_SIGN.test(text)) {
    return false;
  }
  const pieces = text.split('$');
  return (
    pieces.length % 2 === 1 &&
    pieces.every((piece, index) => index % 2 === 0 || isBalanced(piece))
  );
}

function isBalanced(formula: string): boolean {
  let depth = 0;
  for (const brace of formula.replace(/\\[^]/g, '').match(/[{}]/g) ?? []) {
    depth += brace === '{' ? 1 : -1;
    if (depth < 0) {
      return false;
    }
  }
  return depth === 0 && formula !== '';
}
