/** Display names of permission modes. */
import type { IWords } from '../host';

/** Returns the display name of a mode. */
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
