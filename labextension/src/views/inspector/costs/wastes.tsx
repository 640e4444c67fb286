/** Sentences about tokens that were paid for without use, and on the session as a whole. */
import { memo } from 'react';
import { foreignPriceModel, money } from '../../../state/inspector/labels';
import { useHost } from '../../host';
import { useInspectedSession } from '../controls/inspection';
import { RequestLink } from '../controls/placeLinks';

/** Draws the cost of each kind of waste, and the dearest wastes; `isShort` leaves the latter out. */
export const Wastes = memo(function Wastes(props: { isShort?: boolean }) {
  const { isShort = false } = props;
  const { words } = useHost();
  const { view } = useInspectedSession();
  const { unit } = view.price;
  const priceModelName = foreignPriceModel(view);
  return (
    <section role="group" aria-label={words.__('Largest wastes')}>
      <h3>{words.__('Largest wastes')}</h3>
      {view.waste_kinds.length > 0 && priceModelName !== '' && (
        <p className="plm-Muted">
          <bdi>{words.__('By the price of %1.', priceModelName)}</bdi>
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
          {view.waste_kinds.map(wasteKind => (
            <li key={wasteKind.words}>
              <strong className="plm-Inspector-number">
                {money(wasteKind.cost, unit, wasteKind.cost_is_fact)}
              </strong>{' '}
              {wasteKind.words}
            </li>
          ))}
        </ul>
      )}
      {!isShort && view.wastes.length > 0 && (
        <>
          <h4>{words.__('The dearest of them')}</h4>
          <ul className="plm-Wastes">
            {view.wastes.map(waste => (
              <li key={waste.sentence}>
                <strong className="plm-Inspector-number">
                  {money(waste.cost, unit, waste.cost_is_fact)}
                </strong>{' '}
                <bdi>{waste.sentence}</bdi>{' '}
                <RequestLink
                  request={waste.request}
                  item={waste.item ?? null}
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
      view.break_notes.filter(breakNote => !view.totals.includes(breakNote))
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
                {sentences.map(sentence => (
                  <li key={sentence}>
                    <bdi>{sentence}</bdi>
                  </li>
                ))}
              </ul>
            </section>
          )
      )}
    </>
  );
});
