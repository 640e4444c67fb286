/**
 * Keeps the formulas of a text that grows, so that each is typeset once.
 *
 * A renderer draws its whole text again with every update; typesetting is the dearest part of that.
 */

/** Formulas that were typeset, by their source; a source can stand in a text several times. */
type FormulasBySource = Map<string, Element[]>;

/** What typesets the formulas in an element. */
type Typeset = (element: HTMLElement) => Promise<void> | void;

const formulasOf = new WeakMap<HTMLElement, FormulasBySource>();

/** Where a typesetter looks for no formulas. */
const VERBATIM = 'pre, code, mjx-container, math, script, style, textarea';

/** What may begin a formula or a reference to one. */
const SIGN = /\$|\\[([]|\\begin|\\(?:eq)?ref/;

/** Signs of formulas other than between two single dollars, and of definitions that change other formulas. */
const OTHER =
  /\$\$|\\[()[\]$]|\\(?:begin|end|def|let|label|ref|eqref|tag|require|re?newcommand|newenvironment)/;

/**
 * Typesets an element's formulas; those that it had when it was typeset last are put back as they were.
 *
 * `added` is called with every element in which something was typeset.
 */
export async function typesetAdded(
  drawn: HTMLElement,
  typeset: Typeset,
  added: (place: HTMLElement) => void
): Promise<void> {
  const earlier: FormulasBySource =
    formulasOf.get(drawn) ?? new Map<string, Element[]>();
  const present: FormulasBySource = new Map();
  formulasOf.set(drawn, present);
  const keep = (source: string, formula: Element) => {
    present.set(source, [...(present.get(source) ?? []), formula]);
  };
  const texts = textsWithSigns(drawn);
  if (texts.length === 0) {
    return;
  }
  if (texts.some(({ data }) => !isSimple(data))) {
    await typeset(drawn);
    added(drawn);
    return;
  }
  const places: [string, HTMLElement][] = [];
  for (const text of texts) {
    const pieces = text.data.split(/(\$[^$]+\$)/).map((piece, index) => {
      if (index % 2 === 0) {
        return piece;
      }
      const typesetBefore = earlier.get(piece)?.shift();
      if (typesetBefore !== undefined) {
        keep(piece, typesetBefore);
        return typesetBefore;
      }
      const place = document.createElement('span');
      place.textContent = piece;
      places.push([piece, place]);
      return place;
    });
    text.replaceWith(...pieces.filter(piece => piece !== ''));
  }
  if (places.length === 0) {
    return;
  }
  await typeset(drawn);
  for (const [source, place] of places) {
    added(place);
    const formula = place.firstElementChild;
    if (formula?.localName === 'mjx-container') {
      keep(source, formula);
    }
    place.replaceWith(...place.childNodes);
  }
}

/** Returns the texts of an element in which something may be a formula. */
function textsWithSigns(root: HTMLElement): Text[] {
  const texts: Text[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = node as Text;
    if (SIGN.test(text.data) && !text.parentElement?.closest(VERBATIM)) {
      texts.push(text);
    }
  }
  return texts;
}

/** Returns whether a text has nothing but formulas between two single dollars, each with balanced braces. */
function isSimple(text: string): boolean {
  if (OTHER.test(text)) {
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
