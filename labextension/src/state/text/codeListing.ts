/** Code fences in a model's Markdown. */
interface IListing {
  code: string;
  language: string;
}

/** Returns the code of a block that is a single, closed code fence; otherwise null. */
export function wholeListing(text: string): IListing | null {
  const match =
    /^(`{3,}|~{3,})[ \t]*([\w+#.-]*)[ \t]*\n(?:([^]*?)\n)?\1[ \t]*\s*$/.exec(
      text
    );
  if (match === null) {
    return null;
  }
  const [, fence = '', language = '', code = ''] = match;
  // A fence inside would have closed it earlier.
  const fenceInside = new RegExp(`^ {0,3}${fence}`, 'm');
  return fenceInside.test(code) ? null : { code, language };
}

/** A line that begins HTML or maths, whose parts must stay together. */
const HTML_OR_MATHS = /^ {0,3}(?:<[a-z!/?]|\$\$|\\\[|\\begin\{)/im;

/** Splits a block at its code fences, other than those inside a list, HTML or maths. */
export function splitAtListings(text: string): string[] {
  if (HTML_OR_MATHS.test(text)) {
    return [text];
  }
  const pieces: string[] = [''];
  let openFence = '';
  for (const line of text.split(/(?<=\n)/)) {
    const [, fenceSigns = '', lineRest = ''] =
      /^(`{3,}|~{3,})(.*)/.exec(line) ?? [];
    const isOpening =
      openFence === '' && fenceSigns !== '' && !lineRest.includes('`');
    const isClosing =
      openFence !== '' &&
      fenceSigns.startsWith(openFence) &&
      lineRest.trim() === '';
    if (isOpening) {
      openFence = fenceSigns;
      pieces.push('');
    }
    pieces.push((pieces.pop() ?? '') + line);
    if (isClosing) {
      openFence = '';
      pieces.push('');
    }
  }
  return pieces.filter(piece => piece.trim() !== '');
}

const FENCE_INSIDE =
  /^([ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(`{3,}|~{3,})[^\n`]*\n(?:([^]*?)\n)??[ \t]*\2[`~]*[ \t]*$/gm;

/** Returns the code of each closed fence of a block that is drawn whole, such as a list. */
export function listingsInside(text: string): string[] {
  return [...text.matchAll(FENCE_INSIDE)].map(([, indent = '', , code = '']) =>
    code.replace(new RegExp(`^[ \\t]{0,${indent.length}}`, 'gm'), '')
  );
}

/** Returns whether a fence's language is Python, or not named. */
export function mayBePython({ language }: IListing): boolean {
  return language === '' || isPython(language);
}

/** Returns whether a fence names Python. */
export function isPython(language: string): boolean {
  return /^(?:i?python[23]?|py[23]?)$/i.test(language);
}
