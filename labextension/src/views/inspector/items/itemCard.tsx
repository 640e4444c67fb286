/** Why the chosen item is, or is not, in the request, what it holds, and the way back. */
import { useState } from 'react';
import { count } from '../../../state/display/numberFormat';
import { itemLabel } from '../../../state/inspector/labels';
import type { EditAction } from '../../../state/inspector/source';
import { usesOf, why } from '../../../state/inspector/why';
import { Disclosure } from '../../controls/disclosure';
import { useHost } from '../../host';
import { useAnswer } from '../controls/answers';
import { useInspection } from '../controls/inspection';
import { ItemLink, RequestLink } from '../controls/placeLinks';

const MOST_USES = 8;

/** Draws the card of the chosen item; without one it says how to choose. */
export function ItemCard() {
  const { words } = useHost();
  const { item } = useInspection();
  return (
    <section className="plm-ItemCard" aria-label={words.__('The chosen item')}>
      {item === null ? (
        <p className="plm-Muted">
          {words.__('Choose a square to read why it is, or is not, there.')}
        </p>
      ) : (
        <Chosen key={item} item={item} />
      )}
    </section>
  );
}

function Chosen({ item }: { item: number }) {
  const { words } = useHost();
  const { view, shown, request, go } = useInspection();
  const { states } = shown;
  const next = states.nextChange(item, request);
  const previous = states.previousChange(item, request);
  const partner = view.items.partner[item] ?? -1;
  const uses = usesOf(view, item);
  return (
    <>
      <h4 className="plm-Inspector-name" title={itemLabel(view, item)}>
        <bdi>{itemLabel(view, item)}</bdi>
      </h4>
      <p aria-live="polite" className="plm-ItemCard-why">
        <bdi>{why(states, item, request)}</bdi>
      </p>
      <div className="plm-Inspector-buttons">
        <button
          type="button"
          className="plm-Button plm-Button-small"
          disabled={previous === null}
          onClick={() => {
            go({ request: previous, against: null });
          }}
        >
          {words.__('◂ Change before')}
        </button>
        <button
          type="button"
          className="plm-Button plm-Button-small"
          disabled={next === null}
          onClick={() => {
            go({ request: next, against: null });
          }}
        >
          {words.__('Next change ▸')}
        </button>
        <EditButtons item={item} />
      </div>
      {partner >= 0 && (
        <p>
          {view.kinds[view.items.kind[item] ?? 0] === 'output'
            ? words.__('The result of')
            : words.__('Answered by')}{' '}
          <ItemLink item={partner} />
        </p>
      )}
      {uses.length > 0 && (
        <p className="plm-Inspector-links">
          {words.__('Answers that used a name in it:')}{' '}
          {uses.slice(0, MOST_USES).map(one => (
            <RequestLink key={one} request={one} text={String(one + 1)} />
          ))}
          {uses.length > MOST_USES &&
            words.__('and %1 more', uses.length - MOST_USES)}
        </p>
      )}
      <Disclosure
        className="plm-ItemCard-text"
        head={words.__('Look underneath')}
      >
        <ItemTexts item={item} />
      </Disclosure>
    </>
  );
}

/** What a person can change of an item in a session of ours. */
function EditButtons({ item }: { item: number }) {
  const { words } = useHost();
  const { view, source } = useInspection();
  const [told, setTold] = useState('');
  const part = view.items.id[item]?.split('/')[1] ?? '';
  if (!view.own || source.edit === undefined || part === '') {
    return null;
  }
  const isPinned = view.items.pinned.includes(item);
  const actions: [EditAction, string][] = [
    isPinned ? ['unpin', words.__('Unpin')] : ['pin', words.__('Pin')],
    ['restore', words.__('Restore')],
    ['exclude', words.__('Leave out')]
  ];
  return (
    <>
      {actions.map(([action, name]) => (
        <button
          key={action}
          type="button"
          className="plm-Button plm-Button-small"
          onClick={() => {
            void source.edit?.(action, part).then(problem => {
              setTold(
                problem === ''
                  ? words.__('It holds from the next request on.')
                  : problem
              );
            });
          }}
        >
          {name}
        </button>
      ))}
      <span role="status">{told}</span>
    </>
  );
}

/** The whole text, and what stands in its place at the request. */
function ItemTexts({ item }: { item: number }) {
  const { words } = useHost();
  const { source, shown, request } = useInspection();
  const [offset, setOffset] = useState(0);
  const { answer, isWaiting } = useAnswer(source, {
    ask: 'item',
    item,
    request,
    policy: shown.policy,
    numbers: shown.numbers,
    offset
  });
  const text = answer?.item ?? null;
  if (text === null) {
    return (
      <p className="plm-Muted" role="status">
        {answer?.error || words.__('Reading…')}
      </p>
    );
  }
  const end = text.offset + text.text.length;
  const stands = text.shown ?? null;
  return (
    <div aria-busy={isWaiting}>
      {stands !== null && (
        <>
          <p className="plm-Muted">{words.__('The request shows instead:')}</p>
          <Piece text={stands} label={words.__('What is shown instead')} />
          <p className="plm-Muted">{words.__('The whole text:')}</p>
        </>
      )}
      {text.chars === 0 ? (
        <p className="plm-Muted">{words.__('No text of it was kept here.')}</p>
      ) : (
        <Piece text={text.text} label={words.__('The whole text')} />
      )}
      {(text.offset > 0 || end < text.chars) && (
        <div className="plm-Inspector-pages">
          <button
            type="button"
            className="plm-Button plm-Button-small"
            disabled={end >= text.chars}
            onClick={() => {
              setOffset(end);
            }}
          >
            {words.__('Next piece')}
          </button>
          <button
            type="button"
            className="plm-Button plm-Button-small"
            disabled={text.offset === 0}
            onClick={() => {
              setOffset(0);
            }}
          >
            {words.__('From the beginning')}
          </button>
          <span className="plm-Muted">
            {words.__(
              'characters %1 to %2 of %3',
              count(text.offset + 1),
              count(end),
              count(text.chars)
            )}
          </span>
        </div>
      )}
    </div>
  );
}

function Piece({ text, label }: { text: string; label: string }) {
  return (
    <pre
      className="plm-Inspector-text"
      dir="auto"
      role="group"
      aria-label={label}
      tabIndex={0}
    >
      {text}
    </pre>
  );
}
