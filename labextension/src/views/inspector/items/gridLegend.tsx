/** The legend of the grid: the colours of the kinds, and the signs of reduced items. */
import { memo, useMemo } from 'react';
import { stateWords } from '../../../state/inspector/why';
import { useHost } from '../../host';
import { useInspectedSession } from '../controls/inspection';
import { kindWords } from '../timeline/kinds';

/** Draws the kinds that the session has, unless they are told beside it, and the states that the tracks have. */
export const GridLegend = memo(function GridLegend({
  hasKinds = true
}: {
  hasKinds?: boolean;
}) {
  const { words } = useHost();
  const { view, recorded, whatIf } = useInspectedSession();
  const kinds = useMemo(() => {
    const usedKinds = new Set(view.items.kind);
    return view.kinds.filter((_, index) => usedKinds.has(index)).reverse();
  }, [view]);
  const states = useMemo(
    () =>
      [
        ...new Set([
          ...recorded.track.transitions.state,
          ...(whatIf?.track.transitions.state ?? [])
        ])
      ].filter(state => state !== 'whole'),
    [recorded.track, whatIf?.track]
  );
  return states.length === 0 && !hasKinds ? null : (
    <ul
      className="plm-GridLegend plm-Muted"
      aria-label={words.__('What the squares mean')}
    >
      {(hasKinds ? kinds : []).map(kind => (
        <li key={kind}>
          <span className="plm-Inspector-square plm-Kind" data-kind={kind} />
          {kindWords(kind, words)}
        </li>
      ))}
      {states.map(state => (
        <li key={state}>
          <span className="plm-Inspector-square" data-state={state} />
          {stateWords(state)}
        </li>
      ))}
    </ul>
  );
});
