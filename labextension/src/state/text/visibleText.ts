/** Makes control characters, direction marks and other invisible characters of a text visible. */

/**
 * Control characters but tab and newline; characters that change the direction of text; and those that are
 * drawn with no width: soft hyphens, joiners, variation selectors (but those of an emoji), tags, blank
 * letters.
 */
const HIDDEN_CHARACTERS =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\ud800-\udfff]|(?<!\p{Extended_Pictographic}\ufe0f?)[\u200d\ufe0e\ufe0f]/gu;

/** Returns the text with a mark like `⟨U+202E⟩` for each character that hides itself or reorders others. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN_CHARACTERS, character => {
    const code = character.codePointAt(0) ?? 0;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}
