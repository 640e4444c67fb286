/** The kinds of the layers: names, swatches and the pattern of what stands in place of something cleared. */
import {
  PLACEHOLDER,
  UNSEEN
} from '../../../state/inspector/figures/kindSeries';
import type { IWords } from '../../host';

/** Returns the name of a kind. */
export function kindWords(kind: string, words: IWords): string {
  switch (kind) {
    case UNSEEN:
      return words.__('beside the messages');
    case PLACEHOLDER:
      return words.__('in place of cleared');
    case 'user':
      return words.__('you');
    case 'assistant':
      return words.__('agent');
    default:
      return kind;
  }
}

/** Kinds with a pattern, and its lines in a tile of 6 by 6. */
const PATTERN_LINES: Readonly<Record<string, string>> = {
  [PLACEHOLDER]: 'M-1 5l2 2M0 0l6 6M5-1l2 2'
};

/** Defines the patterns of a picture, with ids that begin with `idPrefix`. */
export function KindPatterns({ idPrefix }: { idPrefix: string }) {
  return (
    <defs>
      {Object.entries(PATTERN_LINES).map(([kind, lines]) => (
        <pattern
          key={kind}
          id={`${idPrefix}-${kind}`}
          width="6"
          height="6"
          patternUnits="userSpaceOnUse"
        >
          <path d={lines} className="plm-Inspector-pattern" />
        </pattern>
      ))}
    </defs>
  );
}

/** Returns the fill of a kind's pattern; null where it has none. */
export function patternFill(kind: string, idPrefix: string): string | null {
  return kind in PATTERN_LINES ? `url(#${idPrefix}-${kind})` : null;
}

/** Draws a kind's colour and pattern as a small square. */
export function KindSwatch(props: { kind: string; idPrefix: string }) {
  const { kind, idPrefix } = props;
  const pattern = patternFill(kind, idPrefix);
  return (
    <svg
      className="plm-Inspector-swatch"
      width="12"
      height="12"
      aria-hidden="true"
    >
      <rect
        width="12"
        height="12"
        rx="2"
        className="plm-Kind"
        data-kind={kind}
      />
      {pattern !== null && (
        <rect width="12" height="12" rx="2" fill={pattern} />
      )}
    </svg>
  );
}
