/** The usage of the context window as one stacked bar, always in the same order and colours. */
import { shortCount } from '../../state/text/numberFormat';
import { useHost } from '../host';

/** The kinds of content, in the order in which they are drawn. */
export const KINDS = [
  'system',
  'tools',
  'instructions',
  'summary',
  'user',
  'notebook',
  'assistant',
  'reasoning',
  'output'
] as const;

export type Kind = (typeof KINDS)[number];

interface IGaugeProps {
  /** Tokens of the request. */
  used: number;
  /** Tokens; 0 if the model has no limit, and then there is no bar. */
  window: number;
  /** Tokens by kind, if known; otherwise the bar has one colour. */
  kinds?: Partial<Record<Kind, number>>;
  /** The text beside the bar; by default the usage. */
  label?: string;
  /** Tokens kept free for the answer, drawn at the bar's end. */
  reserve?: number;
  /** Whether the bar is decorative, since the surrounding text has its numbers. */
  isDecorative?: boolean;
  /** Whether the text beside the bar leaves the window's size out. */
  isBrief?: boolean;
}

/** Draws the bar and its number; without a limit only the number. */
export function Gauge({
  used,
  window,
  kinds,
  label,
  reserve = 0,
  isDecorative: isDecorative = false,
  isBrief: isBrief = false
}: IGaugeProps) {
  const { words } = useHost();
  if (window <= 0) {
    return (
      <span className="plm-Gauge">
        <span>{label ?? words.__('%1 tokens', shortCount(used))}</span>
      </span>
    );
  }
  const share = Math.min(1, used / window);
  const percent = Math.round(share * 100);
  const slices = KINDS.flatMap(kind => {
    const tokens = kinds?.[kind] ?? 0;
    return tokens > 0 ? [{ kind, tokens }] : [];
  });
  return (
    <span className="plm-Gauge">
      <span
        className="plm-Gauge-bar"
        {...(isDecorative
          ? { 'aria-hidden': true }
          : {
              role: 'meter',
              'aria-label': words.__('Context window'),
              'aria-valuemin': 0,
              'aria-valuemax': window,
              'aria-valuenow': Math.min(used, window),
              'aria-valuetext': words.__(
                '%1 of %2 tokens',
                shortCount(used),
                shortCount(window)
              )
            })}
      >
        {slices.length === 0 ? (
          <span data-kind="all" style={{ width: `${share * 100}%` }} />
        ) : (
          slices.map(({ kind, tokens }) => (
            <span
              key={kind}
              data-kind={kind}
              style={{ width: `${(tokens / window) * 100}%` }}
            />
          ))
        )}
        {reserve > 0 && (
          <span
            data-kind="reserve"
            style={{ width: `${(reserve / window) * 100}%` }}
          />
        )}
      </span>
      <span>
        {label ??
          (isBrief
            ? words.__('%1%', percent)
            : words.__('%1% of %2', percent, shortCount(window)))}
      </span>
    </span>
  );
}
