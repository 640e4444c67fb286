/** The card of the chosen item: why it is, or is not, in the request, and its text. */
import { memo, useState } from 'react';
import { count } from '../../../state/text/numberFormat';
import { oneLine } from '../../../state/text/oneLine';
import {
  definitionOfRow,
  rowOf
} from '../../../state/inspector/definitionRows';
import { itemLabel } from '../../../state/inspector/labels';
import type { EditAction } from '../../../state/inspector/source';
import {
  stateWords,
  requestsUsing,
  whyText
} from '../../../state/inspector/why';
import { SmallButton } from '../../controls/buttons';
import { Disclosure } from '../../controls/disclosure';
import { useHost } from '../../host';
import { useAnswer, useText } from '../controls/answers';
import { useInspection } from '../controls/inspection';
import { ItemLink, RequestLink } from '../controls/placeLinks';
import { StepButton } from '../controls/stepButton';
import { BoxedText, MissingText } from '../controls/sessionTexts';
import { MarksOfItem } from './cacheMarks';
import { DefinitionList, DefinitionSentence } from './definitionCard';
import { StartedSubagents } from './startedSubagents';
import { ReductionSentence } from './reductionSentence';

const MAX_USES = 8;

/** Draws the card of the chosen item beside what it was chosen from, in a narrow place as a sheet over it. */
export const ChosenItemCard = memo(function ChosenItemCard() {
  const { words } = useHost();
  const { item, goTo, cardFocus } = useInspection();
  return item === null ? null : (
    <div className="plm-Inspector-card plm-ItemSheet">
      <SmallButton
        className="plm-ItemSheet-close"
        aria-label={words.__('Close the card of the item')}
        onClick={() => {
          cardFocus.moveBack();
          goTo({ item: null });
        }}
      >
        ✕
      </SmallButton>
      <ItemCard item={item} />
    </div>
  );
});

/** Draws the card of an item. Escape leads back to where it was chosen. */
export const ItemCard = memo(function ItemCard({ item }: { item: number }) {
  const { words } = useHost();
  const { cardFocus } = useInspection();
  return (
    <section
      role="group"
      className="plm-ItemCard"
      aria-label={words.__('The chosen item')}
      ref={element => {
        cardFocus.setCard(element);
      }}
      tabIndex={-1}
      onKeyDown={event => {
        if (event.key === 'Escape' && cardFocus.moveBack()) {
          event.preventDefault();
        }
      }}
    >
      <ChosenItem key={item} item={item} />
    </section>
  );
});

function ChosenItem({ item }: { item: number }) {
  const { words } = useHost();
  const { view, shownTrack, request, goTo, definition } = useInspection();
  const { states } = shownTrack;
  const next = states.nextChange(item, request);
  const previous = states.previousChange(item, request);
  const partner = view.items.partner[item] ?? -1;
  const uses = requestsUsing(view, item);
  const name =
    definition === null
      ? itemLabel(view, item)
      : definitionOfRow(view, rowOf(view, item, definition)).name;
  return (
    <>
      <h4 className="plm-Inspector-name" title={name}>
        <bdi>{name}</bdi>
      </h4>
      <p className="plm-ItemCard-why">
        <bdi>{whyText(states, item, request)}</bdi>
      </p>
      {definition === null ? (
        <DefinitionList item={item} />
      ) : (
        <DefinitionSentence item={item} definition={definition} />
      )}
      <StartedSubagents item={item} />
      <MarksOfItem item={item} />
      <ReductionSentence item={item} />
      <NextState item={item} />
      <div className="plm-Inspector-buttons">
        <StepButton
          label={words.__('Change before')}
          isAtEnd={previous === null}
          onStep={() => {
            goTo({ request: previous, against: null });
          }}
        >
          {words.__('◂ Change before')}
        </StepButton>
        <StepButton
          label={words.__('Next change')}
          isAtEnd={next === null}
          onStep={() => {
            goTo({ request: next, against: null });
          }}
        >
          {words.__('Next change ▸')}
        </StepButton>
        <EditButtons item={item} />
      </div>
      {partner >= 0 && (
        <p>
          {view.kinds[view.items.kind[item] ?? 0] === 'output'
            ? words.__('The call:')
            : words.__('Its result:')}{' '}
          <ItemLink item={partner} />
        </p>
      )}
      {uses.length > 0 && <Uses item={item} uses={uses} />}
      <Disclosure
        className="plm-ItemCard-text"
        head={words.__('Look underneath')}
      >
        <ItemTexts key={definition} item={item} />
      </Disclosure>
    </>
  );
}

/** Draws the answers that used names of the item, from the cursor on where there are such, and the names. */
function Uses({ item, uses }: { item: number; uses: readonly number[] }) {
  const { words } = useHost();
  const { source, view, request } = useInspection();
  const later = uses.filter(useRequest => useRequest >= request);
  const listed = (later.length > 0 ? later : uses).slice(0, MAX_USES);
  const { answer } = useAnswer(
    source,
    { ask: 'uses', item, request: listed[0] ?? 0 },
    undefined,
    view.seq
  );
  const namesAt = new Map(
    (answer?.uses ?? []).map(use => [use.request, use] as const)
  );
  const others = uses.length - listed.length;
  return (
    <div className="plm-Inspector-links plm-ItemCard-uses">
      {words.__('Answers that used a name in it:')}{' '}
      <ul>
        {listed.map(useRequest => {
          const used = namesAt.get(useRequest);
          const more = (used?.total ?? 0) - (used?.names.length ?? 0);
          return (
            <li key={useRequest}>
              <RequestLink request={useRequest} text={String(useRequest + 1)} />
              {used !== undefined && (
                <span>
                  <bdi className="plm-Muted">
                    {oneLine(used.names.join(', '))}
                  </bdi>
                  {more > 0 && ` ${words.__('and %1 more', more)}`}
                </span>
              )}
            </li>
          );
        })}
      </ul>
      {others > 0 && words.__('and %1 more', others)}
    </div>
  );
}

/** Draws the item's state in the next request, where that is already decided. */
function NextState({ item }: { item: number }) {
  const { words } = useHost();
  const { view, shownTrack, recordedTrack } = useInspection();
  const index = view.coming.item.indexOf(item);
  const state = view.coming.state[index];
  return state === undefined || shownTrack !== recordedTrack ? null : (
    <p className="plm-Muted">
      {words.__('The next request shows it %1.', stateWords(state))}
    </p>
  );
}

/** Draws the buttons that edit an item's context in a session of ours. */
function EditButtons({ item }: { item: number }) {
  const { words } = useHost();
  const { view, source } = useInspection();
  // What holds from the next request on is no news any more once that was sent.
  const sent = view.requests.id.length;
  const [outcome, setOutcome] = useState({ words: '', sent });
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
        <SmallButton
          key={action}
          onClick={() => {
            void source.edit?.(action, part).then(problem => {
              setOutcome({
                words:
                  problem === ''
                    ? words.__('It holds from the next request on.')
                    : problem,
                sent
              });
            });
          }}
        >
          {name}
        </SmallButton>
      ))}
      <span role="status">{outcome.sent === sent ? outcome.words : ''}</span>
    </>
  );
}

/** Draws the item's whole text, and the text that the request shows instead. */
function ItemTexts({ item }: { item: number }) {
  const { words } = useHost();
  const { source, shownTrack, request, definition } = useInspection();
  const [offset, setOffset] = useState(0);
  const { answer, isWaiting } = useText(source, {
    ask: 'item',
    item,
    ...(definition === null ? {} : { definition }),
    request,
    policy: shownTrack.policy,
    numbers: shownTrack.numbers,
    offset
  });
  const text = answer?.item ?? null;
  if (text === null) {
    return <MissingText answer={answer} />;
  }
  const end = text.offset + text.text.length;
  const replacement = text.shown ?? null;
  return (
    <div aria-busy={isWaiting}>
      {replacement !== null && (
        <>
          <p className="plm-Muted">{words.__('The request shows instead:')}</p>
          <BoxedText label={words.__('What is shown instead')}>
            {replacement}
          </BoxedText>
          <p className="plm-Muted">{words.__('The whole text:')}</p>
        </>
      )}
      {text.chars === 0 ? (
        <p className="plm-Muted">{words.__('No text of it was kept here.')}</p>
      ) : (
        <BoxedText label={words.__('The whole text')}>{text.text}</BoxedText>
      )}
      {(text.offset > 0 || end < text.chars) && (
        <div className="plm-Inspector-pages">
          <StepButton
            isAtEnd={end >= text.chars}
            onStep={() => {
              setOffset(end);
            }}
          >
            {words.__('Next piece')}
          </StepButton>
          <StepButton
            isAtEnd={text.offset === 0}
            onStep={() => {
              setOffset(0);
            }}
          >
            {words.__('From the beginning')}
          </StepButton>
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
