/**
 * A request that step mode holds: its size and cost, what is new in it, what would be decided, and the
 * buttons that let it go, stop it, or change it first.
 */
import { useId, useState, type KeyboardEvent } from 'react';
import type { ProposedRequest, RequestItem } from '../../protocol/generated';
import { count } from '../../state/text/numberFormat';
import { useContextEditor } from '../actions/contextEdits';
import {
  useHeldRequestActions,
  type IHeldRequestActions
} from '../actions/heldRequests';
import { useTurnActionsIfOffered } from '../actions/turn';
import { LinkButton, OutlinedButton } from '../controls/buttons';
import { Disclosure } from '../controls/disclosure';
import { ProblemText } from '../controls/problemText';
import { useHost, type IWords } from '../host';
import { HeldRequestCost } from './heldRequestCost';
import { HeldRequestFields } from './heldRequestFields';
import { NewSummary, OlderSummary } from './newSummary';

/** Draws a held request; in a read-only view it says where to let it go. */
export function HeldRequest({ request }: { request: ProposedRequest }) {
  const { words } = useHost();
  const actions = useHeldRequestActions();
  const titleId = useId();
  const newItems = request.items.filter(item => item.new);
  return (
    <div
      className="plm-Question plm-HeldRequest"
      role="group"
      aria-labelledby={titleId}
      data-ask={request.id}
    >
      <p className="plm-Question-title" id={titleId}>
        {heldTitle(request, words)}
      </p>
      <p className="plm-HeldRequest-cost">
        <HeldRequestCost request={request} />
      </p>
      <p className="plm-Muted">{differenceText(request, words)}</p>
      {furtherSentences(request, words).map(note => (
        <p key={note} className="plm-HeldRequest-note">
          {note}
        </p>
      ))}
      {request.new_summary !== undefined && (
        <NewSummary request={request} decision={request.new_summary} />
      )}
      {request.older_summary !== undefined && (
        <OlderSummary request={request} decision={request.older_summary} />
      )}
      {request.decisions.length > 0 && <Decisions request={request} />}
      {newItems.length > 0 && (
        <Items
          title={words.__('New in it: %1', count(newItems.length))}
          heldId={request.id}
          items={newItems}
        />
      )}
      {request.items.length > newItems.length && (
        <Items
          title={words.__('All it holds: %1', count(itemCount(request)))}
          heldId={request.id}
          items={request.items}
        />
      )}
      {actions === null ? (
        <p className="plm-Muted">
          {words.__('Let it go where the cell runs: 1 sends it, 3 stops.')}
        </p>
      ) : (
        <Controls request={request} actions={actions} />
      )}
    </div>
  );
}

/** Returns which request is held, and its size, in one sentence. */
function heldTitle(
  { agent, number, purpose, subagent, tokens }: ProposedRequest,
  words: IWords
): string {
  const size = count(tokens);
  if (subagent) {
    return words.__(
      'Request %1 of the subagent %2 is held: %3 tokens',
      number,
      agent,
      size
    );
  }
  return purpose === 'compaction'
    ? words.__('Request %1, for a summary, is held: %2 tokens', number, size)
    : words.__('Request %1 is held: %2 tokens', number, size);
}

function itemCount({ items, items_left_out }: ProposedRequest): number {
  return items.length + items_left_out;
}

function differenceText(request: ProposedRequest, words: IWords): string {
  const tokensBefore = request.tokens_before;
  if (tokensBefore === undefined) {
    return words.__('The first request to %1', request.model);
  }
  const change = request.tokens - tokensBefore;
  return change >= 0
    ? words.__('%1 tokens more than the request before', count(change))
    : words.__('%1 tokens fewer than the request before', count(-change));
}

/** Returns sentences about what else happens when the request is let go. */
function furtherSentences(request: ProposedRequest, words: IWords): string[] {
  const sentences: readonly [applies: boolean, sentence: string][] = [
    [
      request.summary_first,
      words.__('A summary is requested first; that request is held, too.')
    ],
    [
      !request.summary_first && !request.fits,
      words.__(
        'It does not fit: %1 tokens do, so it is not sent.',
        count(request.budget)
      )
    ],
    [
      request.again,
      words.__(
        'The provider refused the request before as too long, or no summary came of it: results are cut first.'
      )
    ],
    [request.policy_problem !== '', request.policy_problem],
    [request.last, words.__('The last step of its turn: no tool is offered.')],
    [
      request.hooked,
      words.__('A hook may change its messages when it is sent.')
    ],
    [request.beside, words.__('A title or turn summary is requested with it.')],
    [
      request.prunes_after,
      words.__(
        'Its policy prunes when the turn has ended; in step mode, with the next request that is let go.'
      )
    ]
  ];
  return sentences.flatMap(([applies, sentence]) =>
    applies ? [sentence] : []
  );
}

function Decisions({ request }: { request: ProposedRequest }) {
  const { words } = useHost();
  return (
    <Disclosure
      className="plm-HeldRequest-list"
      open
      head={words.__('Decided before it is sent: %1', request.decisions.length)}
    >
      <ul>
        {request.decisions.map(({ id, rule, words: reason }) => (
          <li key={id}>
            {reason === undefined || reason === '' ? rule : reason}
          </li>
        ))}
      </ul>
    </Disclosure>
  );
}

function Items(props: {
  heldId: string;
  title: string;
  items: readonly RequestItem[];
}) {
  const { heldId, title, items } = props;
  const { words } = useHost();
  const editor = useContextEditor();
  const [failure, setFailure] = useState('');
  const edit = (action: 'pin' | 'unpin' | 'exclude', partId: string) => {
    void editor?.edit(action, partId, heldId).then(setFailure);
  };
  return (
    <Disclosure className="plm-HeldRequest-list" head={title}>
      <ul>
        {items.map((item, index) => {
          const { kind, part_id: partId, pinned, state, tokens } = item;
          const label = `${item.name} ${item.words}`.trim();
          return (
            <li key={index} className="plm-HeldRequest-item" data-kind={kind}>
              <span className="plm-HeldRequest-tokens">{count(tokens)}</span>
              <span className="plm-HeldRequest-label">
                {label}{' '}
                <span className="plm-Muted">
                  {[kind, ...(state === 'whole' ? [] : [state])].join(', ')}
                </span>
              </span>
              {editor !== null && partId !== undefined && (
                <span className="plm-HeldRequest-edits">
                  <LinkButton
                    aria-label={
                      pinned
                        ? words.__('Unpin %1', label)
                        : words.__('Pin %1', label)
                    }
                    onClick={() => {
                      edit(pinned ? 'unpin' : 'pin', partId);
                    }}
                  >
                    {pinned ? words.__('Unpin') : words.__('Pin')}
                  </LinkButton>
                  <LinkButton
                    aria-label={words.__('Exclude %1', label)}
                    onClick={() => {
                      edit('exclude', partId);
                    }}
                  >
                    {words.__('Exclude')}
                  </LinkButton>
                </span>
              )}
            </li>
          );
        })}
      </ul>
      <ProblemText text={failure} />
    </Disclosure>
  );
}

function Controls(props: {
  request: ProposedRequest;
  actions: IHeldRequestActions;
}) {
  const { request, actions } = props;
  const { words } = useHost();
  const turn = useTurnActionsIfOffered();
  const [isDone, setDone] = useState(false);
  const actionOfKey = {
    '1': () => {
      setDone(true);
      actions.release(request.id);
    },
    '3': () => {
      setDone(true);
      turn?.stop();
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { altKey, ctrlKey, key, metaKey } = event;
    const isTyped = (event.target as HTMLElement).matches('input');
    if (
      (key === '1' || key === '3') &&
      !(altKey || ctrlKey || metaKey || isTyped || isDone)
    ) {
      event.preventDefault();
      event.stopPropagation();
      actionOfKey[key]();
    }
  };
  return (
    <div onKeyDown={onKeyDown}>
      <HeldRequestFields request={request} actions={actions} />
      <div className="plm-Answers">
        <OutlinedButton
          data-main
          data-answer="once"
          aria-keyshortcuts="1"
          disabled={isDone}
          onClick={actionOfKey['1']}
        >
          {words.__('Send')}
          <kbd aria-hidden="true">1</kbd>
        </OutlinedButton>
        <OutlinedButton
          data-answer="reject"
          aria-keyshortcuts="3"
          disabled={isDone || turn === null}
          onClick={actionOfKey['3']}
        >
          {words.__('Stop')}
          <kbd aria-hidden="true">3</kbd>
        </OutlinedButton>
        <LinkButton
          disabled={isDone}
          onClick={() => {
            setDone(true);
            actions.setStepMode(false);
          }}
        >
          {words.__('Send this and all that follow')}
        </LinkButton>
      </div>
    </div>
  );
}
