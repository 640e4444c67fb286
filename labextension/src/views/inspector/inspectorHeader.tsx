/** The head of an inspector: its session, the recording agent, and the tabs. */
import { useState } from 'react';
import { count } from '../../state/text/numberFormat';
import { oneLine } from '../../state/text/oneLine';
import { INSPECTOR_TABS } from '../../protocol/generated';
import { linkTo } from '../../state/inspector/placeLink';
import { withPrices } from '../../state/inspector/priceWords';
import type {
  IComparedView,
  IInspectorPlace
} from '../../state/inspector/source';
import { LinkButton } from '../controls/buttons';
import { useHost } from '../host';
import { useInspection } from './controls/inspection';
import {
  STOP_ATTRIBUTE,
  TOOLBAR_KEYS,
  useListFocus,
  type IListFocus
} from './controls/listFocus';
import { requestAfterKey } from './controls/requestKeys';
import { StepButton } from './controls/stepButton';
import { useReaderNotes } from './notes/readerNotes';
import type { IWaysBackAndForward } from './shownPlace';

export type TabName = (typeof INSPECTOR_TABS)[number];

/** Returns the tabs in their order; of two sessions, what compares them comes first. */
export function tabsOf(compared: IComparedView | null): readonly TabName[] {
  return INSPECTOR_TABS.filter(
    name => name !== 'compared' || compared !== null
  );
}

/** Returns whether a key moves along a row of tabs; other keys scroll. */
function movesAlongTabs(key: string): boolean {
  return ['ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(key);
}

/** How another session is put beside the inspected one. */
export interface IComparing {
  /** Asks which one. */
  readonly choose: () => void;
  /** Shows the first alone again; absent where it is. */
  readonly end?: () => void;
}

interface IInspectorHeaderProps {
  tab: TabName;
  /** The id of the tabs and of what they show. */
  idPrefix: string;
  /** What the link names. */
  place: IInspectorPlace;
  /** The prices with which the inspector opened, which a link carries, too; '' for none. */
  openedPrice: string;
  /** Null where the page's own buttons go back and forward. */
  steps: IWaysBackAndForward | null;
  /** Opens the list of keys. */
  showKeys: () => void;
  /** Whether some parts are shown alone, without tabs. */
  isAlone: boolean;
  comparing: IComparing | null;
}

/** Draws title, origin, tabs and the place of the cursor. */
export function InspectorHeader({
  tab,
  idPrefix,
  place,
  openedPrice,
  steps,
  showKeys,
  isAlone,
  comparing
}: IInspectorHeaderProps) {
  const { words, copy } = useHost();
  const { view, request, item, goTo, compared } = useInspection();
  const { notes, hiddenCount, writeNote } = useReaderNotes();
  const [copied, setCopied] = useState('');
  const names: Record<TabName, string> = {
    compared: words.__('Two sessions'),
    timeline: words.__('Timeline'),
    items: words.__('Items'),
    requests: words.__('Requests'),
    cost: words.__('Cost'),
    wastes: words.__('Wastes'),
    notes:
      notes.length === 0
        ? words.__('Notes')
        : words.__('Notes (%1)', notes.length)
  };
  // Where nobody wrote one and nobody can, there is nothing to show.
  const tabs = tabsOf(compared).filter(
    name =>
      name !== 'notes' ||
      name === tab ||
      notes.length + hiddenCount > 0 ||
      writeNote !== null
  );
  const total = view.requests.id.length;
  const price = withPrices(openedPrice, place.price ?? '');
  const shownPlace = { ...place, price, request, item };
  // A subagent's place is one in the session that was asked for it.
  const link =
    compared?.besideName === undefined
      ? linkTo(view.within || view.session, shownPlace)
      : linkTo(compared.comparison.first.session, {
          ...shownPlace,
          beside: compared.besideName,
          ...(compared.side === 'second' ? { side: compared.side } : {})
        });
  const tools = [
    ...(steps === null ? [] : ['back', 'forward']),
    ...(copy === undefined ? [] : ['copy']),
    ...(comparing === null ? [] : ['compare']),
    ...(comparing?.end === undefined ? [] : ['end']),
    'keys'
  ];
  const toolbar = useListFocus(tools.length, TOOLBAR_KEYS);
  const stop = (tool: string) => ({
    tabIndex: toolbar.tabIndexOf(tools.indexOf(tool)),
    ...STOP_ATTRIBUTE
  });
  return (
    <div
      className="plm-Inspector-header"
      data-compared={compared === null ? undefined : 'true'}
    >
      <h2 className="plm-Inspector-title" title={oneLine(view.title)}>
        <bdi>{oneLine(view.title) || view.session}</bdi>
      </h2>
      <p className="plm-Inspector-origin plm-Muted">
        {[
          ...(compared === null
            ? []
            : compared.side === 'first'
              ? [words.__('the first of two')]
              : [words.__('the second of two')]),
          oneLine(view.origin),
          total === 1
            ? words.__('1 request')
            : words.__('%1 requests', count(total)),
          words.__('%1 items', count(view.items.id.length)),
          view.own ? words.__('can be edited') : words.__('read-only')
        ].join(' · ')}
      </p>
      {!isAlone && (
        <div
          className="plm-Inspector-tabs"
          role="tablist"
          aria-label={words.__('Views')}
          onKeyDown={event => {
            const next = movesAlongTabs(event.key)
              ? requestAfterKey(event, tabs.indexOf(tab), tabs.length)
              : null;
            if (next !== null) {
              event.preventDefault();
              goTo({ tab: tabs[next] }, 'walk');
              document
                .getElementById(`${idPrefix}-${tabs[next] ?? ''}`)
                ?.focus();
            }
          }}
        >
          {tabs.map(name => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`${idPrefix}-${name}`}
              aria-selected={name === tab}
              aria-controls={`${idPrefix}-panel`}
              tabIndex={name === tab ? 0 : -1}
              onClick={() => {
                goTo({ tab: name });
              }}
            >
              {names[name]}
            </button>
          ))}
        </div>
      )}
      <div
        className="plm-Inspector-tools"
        role="toolbar"
        aria-label={words.__('Place and link')}
        {...toolbar.handlers}
      >
        {steps !== null && <StepButtons steps={steps} toolbar={toolbar} />}
        <span className="plm-Inspector-place">
          {words.__('%1 of %2', count(request + 1), count(total))}
        </span>
        {copy !== undefined && (
          <LinkButton
            className="plm-Inspector-link"
            title={link}
            {...stop('copy')}
            onClick={() => {
              void copy(link).then(
                () => {
                  setCopied(words.__('copied'));
                },
                () => {
                  setCopied(link);
                }
              );
            }}
          >
            {words.__('Copy link')}
          </LinkButton>
        )}
        {comparing !== null && (
          <LinkButton
            className="plm-Inspector-link"
            aria-haspopup="dialog"
            title={words.__(
              'Show another session beside this one: where they part, and what each cost'
            )}
            {...stop('compare')}
            onClick={comparing.choose}
          >
            {words.__('Compare with…')}
          </LinkButton>
        )}
        {comparing?.end !== undefined && (
          <LinkButton
            className="plm-Inspector-link"
            title={words.__('Show the first session alone again')}
            {...stop('end')}
            onClick={comparing.end}
          >
            {words.__('End comparison')}
          </LinkButton>
        )}
        <LinkButton
          className="plm-Inspector-link"
          aria-haspopup="dialog"
          title={words.__('The keys of the inspector (?)')}
          {...stop('keys')}
          onClick={showKeys}
        >
          {words.__('Keys')}
        </LinkButton>
      </div>
      <span role="status" className="plm-Muted">
        {copied}
      </span>
      {/* Of the request a sentence is read aloud when the cursor has moved. */}
      <span role="status" className="plm-Hidden">
        {steps?.isReturned === true && !isAlone ? names[tab] : ''}
      </span>
    </div>
  );
}

/** Draws the buttons for the place before and the one after. */
function StepButtons(props: {
  steps: IWaysBackAndForward;
  toolbar: IListFocus;
}) {
  const { steps, toolbar } = props;
  const { words } = useHost();
  const { back, forward } = steps;
  return (
    <span
      className="plm-Inspector-steps"
      role="group"
      aria-label={words.__('Places that were looked at')}
    >
      <StepButton
        isAtEnd={back === null}
        onStep={() => back?.()}
        label={words.__('Back')}
        title={words.__('Back to the place before (Alt ←)')}
        tabIndex={toolbar.tabIndexOf(0)}
      >
        <span aria-hidden="true">←</span>
      </StepButton>
      <StepButton
        isAtEnd={forward === null}
        onStep={() => forward?.()}
        label={words.__('Forward')}
        title={words.__('Forward again (Alt →)')}
        tabIndex={toolbar.tabIndexOf(1)}
      >
        <span aria-hidden="true">→</span>
      </StepButton>
    </span>
  );
}
