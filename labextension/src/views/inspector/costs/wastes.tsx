/** Sentences about tokens that were paid for without use, and on the session as a whole. */
import { memo } from 'react';
import { foreignPriceModel, money } from '../../../state/inspector/labels';
import { useHost } from '../../host';
import { useInspectedSession } from '../controls/inspection';
import { RequestLink } from '../controls/placeLinks';

/** Draws what each kind of waste comes to, and the dearest ones; `isShort` leaves these out. */
export const Wastes = memo(function Wastes(props: { isShort?: boolean }) {
  const { isShort = false } = props;
  const { words } = useHost();
  const { view } = useInspectedSession();
  const { unit } = view.price;
  const price = foreignPriceModel(view);
  return (
    <section role="group" aria-label={words.__('Largest wastes')}>
      <h3>{words.__('Largest wastes')}</h3>
      {view.waste_kinds.length > 0 && price !== '' && (
        <p className="plm-Muted">
          <bdi>{words.__('By the price of %1.', price)}</bdi>
        </p>
      )}
      {view.waste_kinds.length === 0 && (
        <p className="plm-Muted">
          {view.is_picture
            ? words.__('Being computed…')
            : words.__('Nothing was found that was paid for without use.')}
        </p>
      )}
      {view.waste_kinds.length > 0 && (
        <ul className="plm-Wastes" aria-label={words.__('By kind')}>
          {view.waste_kinds.map(entry => (
            <li key={entry.words}>
              <strong className="plm-Inspector-number">
                {money(entry.cost, unit, entry.cost_is_fact)}
              </strong>{' '}
              {entry.words}
            </li>
          ))}
        </ul>
      )}
      {!isShort && view.wastes.length > 0 && (
        <>
          <h4>{words.__('The dearest of them')}</h4>
          <ul className="plm-Wastes">
            {view.wastes.map(entry => (
              <li key={entry.sentence}>
                <strong className="plm-Inspector-number">
                  {money(entry.cost, unit, entry.cost_is_fact)}
                </strong>{' '}
                <bdi>{entry.sentence}</bdi>{' '}
                <RequestLink
                  request={entry.request}
                  item={entry.item ?? null}
                  text={words.__('show')}
                />
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
});

/** Draws totals and gaps, and why the policy did or did not act. */
export const Totals = memo(function Totals() {
  const { words } = useHost();
  const { view, whatIf, recordedTrack } = useInspectedSession();
  const verdicts = [
    recordedTrack,
    ...(whatIf === null ? [] : [whatIf])
  ].flatMap(({ track }) =>
    track.figures?.verdict === undefined
      ? []
      : [`${track.policy}: ${track.figures.verdict}`]
  );
  const lists: [string, readonly string[]][] = [
    [words.__('In all'), view.totals],
    [words.__('Why something was cleared, or nothing'), verdicts],
    [
      words.__('About the breaks'),
      view.break_notes.filter(entry => !view.totals.includes(entry))
    ],
    [words.__('What the recording lacks'), view.gaps]
  ];
  return (
    <>
      {lists.map(
        ([name, sentences]) =>
          sentences.length > 0 && (
            <section role="group" key={name} aria-label={name}>
              <h3>{name}</h3>
              <ul className="plm-Wastes">
                {sentences.map(entry => (
                  <li key={entry}>
                    <bdi>{entry}</bdi>
                  </li>
                ))}
              </ul>
            </section>
          )
      )}
    </>
  );
});
