/** Text of a session on one line, in the order of its characters, and at most so long. */

/** Characters that break a line, or turn the order of what follows. */
const HIDDEN_CHARACTERS =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Returns a text as one line, with a sign in the place of each character that is not to be seen. */
export function oneLine(text: string): string {
  return text.replace(HIDDEN_CHARACTERS, '·');
}

/** Returns the beginning of a text, with a sign where the rest is left out. */
export function beginningOf(text: string, maxChars: number): string {
  const letters = Array.from(text);
  return letters.length <= maxChars
    ? text
    : `${letters.slice(0, maxChars - 1).join('')}…`;
}
