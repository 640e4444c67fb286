/** Where two sessions part: what each did then, with the way to that request. */
import type { IComparedView } from '../../../state/inspector/source';
import { count } from '../../../state/text/numberFormat';
import { LinkButton } from '../../controls/buttons';
import { useHost } from '../../host';
import { COMPARED_SIDES, ComparedSideName } from './comparedSide';

/** Draws the sentence, and both actions below each other. */
export function PartingCard({ comparedView }: { comparedView: IComparedView }) {
  const { words } = useHost();
  const { comparison, open } = comparedView;
  const { shared, first, second } = comparison;
  const isSame =
    (first.parting ?? null) === null && (second.parting ?? null) === null;
  const heading = isSame
    ? words._n(
        'Both do the same in their 1 step',
        'Both do the same in all of their %2 steps',
        shared,
        count(shared)
      )
    : shared === 0
      ? words.__('They part at once')
      : words._n(
          'They do the same in 1 step, and then part',
          'They do the same in %2 steps, and then part',
          shared,
          count(shared)
        );
  return (
    <section role="group" aria-label={words.__('Where they part')}>
      <h3>{heading}</h3>
      <dl className="plm-Compared-parting">
        {COMPARED_SIDES.map(side => {
          const session = comparison[side];
          const parting = session.parting ?? null;
          const request = parting?.request ?? null;
          return (
            <div key={side}>
              <dt>
                <ComparedSideName side={side} session={session} />
              </dt>
              <dd>
                {parting === null ? (
                  <span className="plm-Muted">
                    {isSame
                      ? words.__('does nothing else')
                      : words.__('has ended there')}
                  </span>
                ) : (
                  <bdi className="plm-Compared-action">{parting.words}</bdi>
                )}{' '}
                <LinkButton
                  onClick={() => {
                    open(side, { request, tab: 'timeline' });
                  }}
                >
                  {request === null
                    ? side === 'first'
                      ? words.__('inspect the first')
                      : words.__('inspect the second')
                    : side === 'first'
                      ? words.__(
                          'inspect request %1 of the first',
                          count(request + 1)
                        )
                      : words.__(
                          'inspect request %1 of the second',
                          count(request + 1)
                        )}
                </LinkButton>
              </dd>
            </div>
          );
        })}
      </dl>
      <p className="plm-Muted">
        {words.__(
          'A step is an answer: its tool calls with their inputs, or its text where it calls nothing. Answers that were stopped do not count.'
        )}
      </p>
    </section>
  );
}
