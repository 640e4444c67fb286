/** The inspector: a session's context over all its requests, and what other policies would have sent. */
import { useEffect, useId, useMemo, useRef, useState } from 'react';
import type { TimelineView } from '../../protocol/generated';
import type {
  IComparedView,
  IInspectorPlace,
  IInspectorSource
} from '../../state/inspector/source';
import { count } from '../../state/text/numberFormat';
import { useHost, type IWords } from '../host';
import { CardFocus } from './controls/cardFocus';
import { CursorNews } from './timeline/cursorNews';
import {
  InspectedSessionProvider,
  InspectorCursorProvider,
  type IInspectedSession,
  type IInspectorCursor
} from './controls/inspection';
import { useKeptFocus } from './controls/keptFocus';
import { ShownTracks, usePolicyTrack } from './controls/policyTrack';
import { InspectorHeader, tabsOf, type TabName } from './inspectorHeader';
import { PrintedSections } from './printedSections';
import { TabContent } from './tabContent';
import { useView } from './sessionView';

/** The policy that is shown first, where the kernel knows it. */
const FIRST_POLICY = 'sweagent.last_n';
const NOWHERE: IInspectorPlace = { request: null, item: null };

interface IInspectorProps {
  source: IInspectorSource;
  place?: IInspectorPlace;
  onPlace?: (place: IInspectorPlace) => void;
  openLink?: (link: string) => void;
  /** All views are shown below each other, for paper. */
  isPrinted?: boolean;
  /** Another session beside it. */
  compared?: IComparedView;
}

/** Draws a session at `place`; `onPlace` is called when the shown place changes. */
export function Inspector(props: IInspectorProps) {
  const { words } = useHost();
  const [price, setPrice] = useState<string | null>(null);
  const { view, error } = useView(props.source, price);
  if (view === null) {
    return (
      <div className="plm-Inspector">
        <p role="status">
          {error || (props.source.waits ?? words.__('Reading the session…'))}
        </p>
      </div>
    );
  }
  if (view.requests.id.length === 0) {
    return (
      <div className="plm-Inspector">
        <p role="status">
          {error ||
            (view.own
              ? words.__(
                  'The session has no requests yet: ask something first.'
                )
              : words.__('The session holds no request.'))}
        </p>
      </div>
    );
  }
  return (
    <Session
      {...props}
      key={view.session}
      view={view}
      error={error}
      price={price}
      onPrice={setPrice}
    />
  );
}

interface ISessionProps extends IInspectorProps {
  view: TimelineView;
  /** Why no newer view could be read; '' where the view is the newest. */
  error: string;
  price: string | null;
  onPrice: (price: string | null) => void;
}

function Session(props: ISessionProps) {
  const { source, view, error, price, onPrice, openLink } = props;
  const { isPrinted = false, compared = null } = props;
  const { words } = useHost();
  const idPrefix = useId();
  const [place, go] = usePlace(props);
  const [isWhatIf, showWhatIf] = useState(false);
  const policy = place.policy ?? firstPolicy(source, view);
  const track = usePolicyTrack(source, view, policy, price);
  const [tracks] = useState(() => new ShownTracks());
  const [card] = useState(() => new CardFocus());
  const recorded = useMemo(
    () => tracks.of(view, view.recorded, 'recorded', {}),
    [tracks, view]
  );
  const last = view.requests.id.length - 1;
  const request = Math.min(place.request ?? last, last);
  const item =
    place.item !== null && place.item < view.items.id.length
      ? place.item
      : null;
  const against =
    (place.against ?? null) === null
      ? null
      : Math.min(place.against ?? 0, last);
  const session = useMemo<IInspectedSession>(
    () => ({
      source,
      view,
      price,
      recorded,
      whatIf: track.shown,
      shown: isWhatIf ? (track.shown ?? recorded) : recorded,
      showWhatIf,
      go,
      openLink: openLink ?? null,
      card,
      compared
    }),
    [
      source,
      view,
      price,
      recorded,
      track.shown,
      isWhatIf,
      go,
      openLink,
      card,
      compared
    ]
  );
  const cursor = useMemo<IInspectorCursor>(
    () => ({ request, item, against }),
    [request, item, against]
  );
  const root = useRef<HTMLDivElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (compared?.takesFocus === true) {
      panel.current?.focus();
    }
    // Only what is drawn first takes it.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, []);
  useKeptFocus(root);
  const notice = noticeOf(view, error, place, words);
  const tab: TabName =
    tabsOf(compared).find(name => name === place.tab) ?? 'timeline';
  return (
    <InspectedSessionProvider value={session}>
      <InspectorCursorProvider value={cursor}>
        <div
          className="plm-Inspector"
          ref={root}
          role="region"
          aria-label={words.__('Context of %1', view.title || view.session)}
        >
          <InspectorHeader tab={tab} idPrefix={idPrefix} />
          <p
            className="plm-Inspector-notice"
            role="status"
            hidden={notice === ''}
          >
            {notice}
          </p>
          <CursorNews />
          <div
            className="plm-Inspector-panel"
            ref={panel}
            role="tabpanel"
            id={`${idPrefix}-panel`}
            aria-labelledby={`${idPrefix}-${tab}`}
            tabIndex={-1}
          >
            {isPrinted ? (
              <PrintedSections />
            ) : (
              <TabContent
                tab={tab}
                policy={policy}
                track={track}
                onPrice={onPrice}
              />
            )}
          </div>
        </div>
      </InspectorCursorProvider>
    </InspectedSessionProvider>
  );
}

/** Returns a remark where an older view, or another place than requested, is shown. */
function noticeOf(
  view: TimelineView,
  error: string,
  { request, item }: IInspectorPlace,
  words: IWords
): string {
  const isPast = (request ?? 0) >= view.requests.id.length;
  const isUnknown = (item ?? 0) >= view.items.id.length;
  return [
    error && words.__('%1 What is shown was read before.', error),
    view.is_picture &&
      words.__(
        'Wastes, used items and estimated figures are still being computed…'
      ),
    isPast &&
      words.__(
        'There is no request %1: the last one is shown.',
        count((request ?? 0) + 1)
      ),
    isUnknown && words.__('There is no item %1.', count((item ?? 0) + 1))
  ]
    .filter(Boolean)
    .join(' ');
}

/**
 * Returns the place, and how to move; a place from outside replaces it.
 *
 * In a session that may grow the last request stands for the newest one, so that the cursor follows. An item
 * keeps its place by its id: the last few are numbered anew while an answer is written.
 */
function usePlace({
  place: given,
  onPlace,
  view
}: ISessionProps): [IInspectorPlace, IInspectedSession['go']] {
  const [place, setPlace] = useState(given ?? NOWHERE);
  const [lastGiven, setLastGiven] = useState(given);
  const [lastView, setLastView] = useState(view);
  if (lastGiven !== given) {
    setLastGiven(given);
    setPlace(given ?? NOWHERE);
  }
  if (lastView !== view) {
    setLastView(view);
    const item = sameItem(lastView, view, place.item);
    if (item !== place.item) {
      setPlace({ ...place, item });
    }
  }
  const last = view.requests.id.length - 1;
  const follows = view.own;
  const go = useMemo(
    () => (change: Partial<IInspectorPlace>) => {
      const isLast = follows && change.request === last;
      setPlace(before => ({
        ...before,
        ...change,
        ...(isLast ? { request: null } : {})
      }));
    },
    [follows, last]
  );
  useEffect(() => {
    if (place !== given && place !== NOWHERE) {
      onPlace?.(place);
    }
    // Only a change of the place is reported, not a new callback.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [place]);
  return [place, go];
}

/** Returns the number that an item of an older view has in a newer one; null where it is gone. */
function sameItem(
  before: TimelineView,
  after: TimelineView,
  item: number | null
): number | null {
  const id = item === null ? undefined : before.items.id[item];
  if (id === undefined || item === null || after.items.id[item] === id) {
    return item;
  }
  const index = after.items.id.indexOf(id);
  return index < 0 ? null : index;
}

function firstPolicy(source: IInspectorSource, view: TimelineView): string {
  const first = source.stops?.[0];
  if (first !== undefined) {
    return first.policy;
  }
  return view.policies.some(option => option.name === FIRST_POLICY)
    ? FIRST_POLICY
    : '';
}
