/** The legend of the grid: the colours of the kinds, and the signs of reduced items. */
import { memo, useMemo } from 'react';
import { stateWords } from '../../../state/inspector/why';
import { useHost } from '../../host';
import { useInspectedSession } from '../controls/inspection';
import { kindWords } from '../timeline/kinds';

/** Draws the kinds that the session has, and the states that the shown track has. */
export const GridLegend = memo(function GridLegend() {
  const { words } = useHost();
  const { view, shown } = useInspectedSession();
  const kinds = useMemo(() => {
    const usedKinds = new Set(view.items.kind);
    return view.kinds.filter((_, place) => usedKinds.has(place)).reverse();
  }, [view]);
  const states = useMemo(
    () =>
      [...new Set(shown.track.transitions.state)].filter(
        state => state !== 'whole'
      ),
    [shown.track]
  );
  return (
    <ul
      className="plm-GridLegend plm-Muted"
      aria-label={words.__('What the squares mean')}
    >
      {kinds.map(kind => (
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
