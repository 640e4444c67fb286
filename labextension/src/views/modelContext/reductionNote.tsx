/**
 * A note on how a part was reduced for the model: what was done, why, and by which rule.
 *
 * The text comes from the kernel (render/content/decision_reasons.py) with the decision, so that cell,
 * panel, HTML and plain text say the same. Notebooks of an older version lack it: then the page states
 * what was done, and by which rule.
 */
import type { Decision } from '../../protocol/generated';
import { unknownKind } from '../../protocol/unknownKind';
import { count } from '../../state/text/numberFormat';
import { useHost, type IWords } from '../host';

/** Draws the strip under an output. */
export function ReductionNote({ decision }: { decision: Decision }) {
  const { words } = useHost();
  return (
    <p className="plm-Reduced plm-Reduced-line" title={decision.rule}>
      {decisionText(decision, words)}
    </p>
  );
}

/** Returns the text about a decision. */
export function decisionText(decision: Decision, words: IWords): string {
  return decision.words ?? decisionTextOfOldLog(decision, words);
}

function decisionTextOfOldLog(decision: Decision, words: IWords): string {
  const { action, rule } = decision;
  const tokensBefore = count(decision.tokens_before);
  const tokensAfter = count(decision.tokens_after);
  switch (action) {
    case 'truncate':
      return words.__(
        'Truncated for the model: %1 → %2 tokens, by rule %3; the whole text is kept',
        tokensBefore,
        tokensAfter,
        rule
      );
    case 'clear':
      return words.__(
        'Cleared for the model: %1 → %2 tokens, by rule %3; the whole text is kept',
        tokensBefore,
        tokensAfter,
        rule
      );
    case 'pin':
      return words.__('Pinned: kept in every request');
    case 'drop':
      return rule === 'user/exclude'
        ? words.__('Excluded from every request, as asked; it is kept here')
        : words.__('Left out for the model; it is kept here.');
    case 'keep':
    case 'repair':
    case 'restore':
    case 'summarise':
    case 'wrap':
      return '';
    default:
      return unknownKind(action, '');
  }
}

/** Returns the label in a call's row which says that the model does not see its whole output. */
export function reductionLabel(decision: Decision, words: IWords): string {
  return decision.action === 'clear'
    ? words.__('cleared')
    : words.__('shortened');
}
