/**
 * Modes of a session in words.
 */
import type { IWords } from '../host';

/** Says a mode as a person reads it. */
export function modeName(mode: string, words: IWords): string {
  switch (mode) {
    case 'ask':
      return words.__('ask');
    case 'plan':
      return words.__('plan');
    case 'accept-edits':
      return words.__('accept edits');
    case 'bypass':
      return words.__('bypass');
    default:
      return mode;
  }
}
