/** The legend of the kinds, with the tokens of each at the cursor. */
import { useId } from 'react';
import { count, shortCount } from '../../../state/text/numberFormat';
import { percent } from '../../../state/inspector/labels';
import { useHost } from '../../host';
import { useInspection } from '../controls/inspection';
import { KindPatterns, KindSwatch, kindWords } from './kinds';

/** Draws the kinds of the shown track, the topmost layer first. */
export function KindLegend() {
  const { words } = useHost();
  const { shownTrack, request } = useInspection();
  const idPrefix = useId().replaceAll(':', '');
  const { names, layers, totals: total } = shownTrack.series;
  const windowTokens = Math.max(total[request] ?? 0, 1);
  return (
    <div className="plm-Inspector-legend">
      <svg width="0" height="0" aria-hidden="true">
        <KindPatterns idPrefix={idPrefix} />
      </svg>
      <ul aria-label={words.__('Kinds at request %1', request + 1)}>
        {names
          .map((name, layer) => ({
            name,
            tokens: layers[layer]?.[request] ?? 0
          }))
          .reverse()
          .map(({ name, tokens }) => (
            <li key={name}>
              <KindSwatch kind={name} idPrefix={idPrefix} />
              <span>{kindWords(name, words)}</span>
              <span
                className="plm-Muted plm-Inspector-number"
                title={words.__('%1 tokens', count(tokens))}
              >
                {words.__(
                  '%1 · %2',
                  shortCount(tokens),
                  percent(tokens / windowTokens)
                )}
              </span>
            </li>
          ))}
      </ul>
    </div>
  );
}
