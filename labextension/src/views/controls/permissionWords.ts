/** Names of permission modes, and who refused a call and why. */
import type { ICallOutcome } from '../../state/lines/callOutcomes';
import type { IWords } from '../host';

/** Returns who refused a call and why; the kernel's `reply_text` says the same in saved notebooks. */
export function refusalText(
  refusal: ICallOutcome['refusal'],
  words: IWords
): string {
  const { by: refuser = 'person', feedback = '' } = refusal ?? {};
  switch (refuser) {
    case 'headless':
      return words.__('refused: nobody was there to ask');
    case 'rule':
      return feedback === ''
        ? words.__('refused by a rule')
        : words.__('refused by a rule: %1', feedback);
    case 'person':
    case 'cancel':
    case 'engine':
      return feedback === ''
        ? words.__('refused')
        : words.__('refused: %1', feedback);
    default:
      return feedback === ''
        ? words.__('refused by %1', refuser)
        : words.__('refused by %1: %2', refuser, feedback);
  }
}

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
