/**
 * Halves of characters: UTF-16 writes an emoji as two, and what is cut between them is told in two
 * pieces. The kernel has the same rule in transcript/strings/surrogates.py.
 */

/** A half whose other half is missing. */
const LONE = /\p{Surrogate}/gu;
const FIRST = /[\uD800-\uDBFF]$/;

/** Returns a text in which each half without its other one is replaced. */
export function withoutLoneSurrogates(text: string): string {
  return text.replace(LONE, '\uFFFD');
}

/** Returns a text without the half it ends with, which the next piece may complete. */
export function withoutOpenSurrogate(text: string): string {
  return FIRST.test(text) ? text.slice(0, -1) : text;
}

/** Puts a piece behind a text; only the seam and the piece are looked at. */
export function appendText(text: string, piece: string): string {
  const before = withoutOpenSurrogate(text);
  const added = text.slice(before.length) + piece;
  const after = withoutOpenSurrogate(added);
  return before + withoutLoneSurrogates(after) + added.slice(after.length);
}
