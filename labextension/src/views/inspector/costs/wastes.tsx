/** What was paid for without use, and other things worth knowing, as sentences. */
import { money } from '../../../state/inspector/labels';
import { useHost } from '../../host';
import { useInspection } from '../controls/inspection';
import { RequestLink } from '../controls/placeLinks';

/** Draws the wastes, dearest first; `most` of them. */
export function Wastes({ most = Infinity }: { most?: number }) {
  const { words } = useHost();
  const { view } = useInspection();
  const { unit } = view.price;
  return (
    <section aria-label={words.__('Largest wastes')}>
      <h3>{words.__('Largest wastes')}</h3>
      {view.wastes.length === 0 && (
        <p className="plm-Muted">
          {words.__('Nothing was found that was paid for without use.')}
        </p>
      )}
      <ul className="plm-Wastes">
        {view.wastes.slice(0, most).map(one => (
          <li key={one.sentence}>
            <strong className="plm-Inspector-number">
              {one.is_fact ? '' : '~'}
              {money(one.cost, unit)}
            </strong>{' '}
            <bdi>{one.sentence}</bdi>{' '}
            <RequestLink
              request={one.request}
              item={one.item ?? null}
              text={words.__('show')}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Draws totals, notes and gaps, and why the policy did or did not act. */
export function Notes() {
  const { words } = useHost();
  const { view, whatIf, recorded } = useInspection();
  const verdicts = [recorded, ...(whatIf === null ? [] : [whatIf])].flatMap(
    ({ track }) =>
      track.figures?.verdict === undefined
        ? []
        : [`${track.policy}: ${track.figures.verdict}`]
  );
  const lists: [string, readonly string[]][] = [
    [words.__('In all'), view.totals],
    [words.__('Why something was cleared, or nothing'), verdicts],
    [words.__('About the breaks'), view.break_notes],
    [words.__('What the recording lacks'), view.gaps]
  ];
  return (
    <>
      {lists.map(
        ([name, sentences]) =>
          sentences.length > 0 && (
            <section key={name} aria-label={name}>
              <h3>{name}</h3>
              <ul className="plm-Wastes">
                {sentences.map(one => (
                  <li key={one}>
                    <bdi>{one}</bdi>
                  </li>
                ))}
              </ul>
            </section>
          )
      )}
    </>
  );
}
