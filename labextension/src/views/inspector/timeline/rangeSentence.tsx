/** The chosen range and its sums, with a button that lets it go. */
import { SmallButton } from '../../controls/buttons';
import { useHost } from '../../host';
import { useInspection } from '../controls/inspection';
import { rangeName, rangeRest } from './rangeWords';

/** Draws the sentence; nothing where all requests are shown. */
export function RangeSentence() {
  const { words } = useHost();
  const inspection = useInspection();
  const { brushedRange, chooseRange } = inspection;
  if (brushedRange === null) {
    return null;
  }
  const letGo = (from: HTMLElement) => {
    // The button goes with the range: the keys go on from the track.
    from
      .closest('.plm-Inspector')
      ?.querySelector<HTMLElement>('.plm-Track-plot')
      ?.focus({ preventScroll: true });
    chooseRange(null);
  };
  return (
    <section
      role="group"
      className="plm-RangeSentence"
      aria-label={words.__('The chosen range')}
      onKeyDown={event => {
        if (event.key === 'Escape') {
          event.preventDefault();
          letGo(event.currentTarget);
        }
      }}
    >
      <p>
        <strong>{rangeName(brushedRange, words)}</strong>
        {`${rangeRest(inspection, brushedRange, words)} `}
        <span className="plm-Muted">
          {words.__(
            'The grid and the tables of requests and breaks show just these.'
          )}
        </span>
      </p>
      <SmallButton
        aria-label={words.__('Show all again')}
        title={words.__('Show all again (Escape)')}
        onClick={event => {
          letGo(event.currentTarget);
        }}
      >
        ✕
      </SmallButton>
    </section>
  );
}
