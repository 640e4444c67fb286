/**
 * Handles surrogate pairs: UTF-16 encodes an emoji as two code units, which a stream may deliver in
 * two pieces.
 *
 * The kernel has the same rule in transcript/strings/surrogates.py.
 */

/** A surrogate without its other half. */
const LONE = /\p{Surrogate}/gu;
const FIRST = /[\uD800-\uDBFF]$/;

/** Returns the text with lone surrogates replaced. */
export function withoutLoneSurrogates(text: string): string {
  return text.replace(LONE, '\uFFFD');
}

/** Returns the text without a final high surrogate, which the next piece may complete. */
export function withoutOpenSurrogate(text: string): string {
  return FIRST.test(text) ? text.slice(0, -1) : text;
}

/** Appends a piece to a text; only the seam and the piece are checked. */
export function appendText(text: string, piece: string): string {
  const before = withoutOpenSurrogate(text);
  const added = text.slice(before.length) + piece;
  const after = withoutOpenSurrogate(added);
  return before + withoutLoneSurrogates(after) + added.slice(after.length);
}
