/** The inspector: a session's context over all its requests, and what other policies would have sent. */
import {
  startTransition,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState
} from 'react';
import type { TimelineView } from '../../protocol/generated';
import {
  rangeWithin,
  type IRequestRange
} from '../../state/inspector/figures/rangeFigures';
import { definitionsOf } from '../../state/inspector/definitionRows';
import { ALL_ITEMS } from '../../state/inspector/itemRows';
import { subagentSource } from '../../state/inspector/subagents';
import {
  NOWHERE,
  type IComparedView,
  type IInspectorPlace,
  type IInspectorSource,
  type InspectorPartName
} from '../../state/inspector/source';
import { stepsAfterLink, type MoveWay } from '../../state/inspector/placeSteps';
import { count } from '../../state/text/numberFormat';
import { useRegionName } from '../dom/regionName';
import { useHost, type IWords } from '../host';
import { CardFocus } from './controls/cardFocus';
import { CursorNews } from './timeline/cursorNews';
import {
  GridChoiceProvider,
  InspectedSessionProvider,
  InspectorCursorProvider,
  type IGridChoice,
  type IInspectedSession,
  type IInspectorCursor
} from './controls/inspection';
import { useKeptFocus } from './controls/keptFocus';
import { ShownTracks, usePolicyTrack } from './controls/policyTrack';
import {
  InspectorHeader,
  tabsOf,
  type IComparing,
  type TabName
} from './inspectorHeader';
import { PartsAlone } from './inspectorParts';
import { useUnhiddenNotes } from './notes/hiddenNotes';
import { ReaderNotesProvider, useNotesOf } from './notes/readerNotes';
import { useInspectorKeys } from './inspectorKeys';
import { KeyList } from './keyList';
import { PrintedSections } from './printedSections';
import { SkipLinks } from './skipLinks';
import { WayBack } from './wayBack';
import { TabContent } from './tabContent';
import { useView } from './sessionView';
import {
  waysBackAndForward,
  useGoTo,
  useRenumberedItem,
  useShownPlace,
  type ISteppedPlace
} from './shownPlace';

/** The policy that is shown first, where the kernel knows it. */
const FIRST_POLICY = 'sweagent.last_n';
const NO_PARTS: readonly InspectorPartName[] = [];

interface IInspectorProps {
  source: IInspectorSource;
  place?: IInspectorPlace;
  /** Called with a newly shown place, and whether it is a step from the one before. */
  onPlace?: (place: IInspectorPlace, isStep: boolean) => void;
  /** Whether the browser's own back and forward go from step to step, as in a report. */
  isSteppedByPage?: boolean;
  /** The prices by which the source counts without a choice, where it was opened with some. */
  openedPrice?: string;
  /** Whether all views are shown below each other, for paper. */
  isPrinted?: boolean;
  /** A sentence about the place, such as that a link leads to another session. */
  remark?: string;
  /** The comparison with another session; absent where one is inspected alone. */
  compared?: IComparedView;
  /** How another session is chosen for a comparison; absent where there is none to choose. */
  comparing?: IComparing;
  /** The parts that are shown alone; none for all, in tabs. */
  parts?: readonly InspectorPartName[];
  /** The parts that are hidden until they are revealed. */
  hidden?: readonly InspectorPartName[];
}

/** Draws a session at `place`; `onPlace` is called when the shown place changes. */
export function Inspector(props: IInspectorProps) {
  const { words } = useHost();
  const shownPlace = useShownPlace(props);
  const { place, updateSteps } = shownPlace;
  const [isSubagentMissing, setSubagentMissing] = useState(false);
  const subagent = place.subagent ?? null;
  const setPlace = (newPlace: IInspectorPlace) => {
    updateSteps(steps => stepsAfterLink(steps, newPlace));
  };
  const shownSource = useMemo(
    () =>
      subagent === null ? props.source : subagentSource(props.source, subagent),
    [props.source, subagent]
  );
  if (shownSource === null && !isSubagentMissing) {
    setSubagentMissing(true);
  }
  // Not during rendering: a place from outside becomes a step only after it.
  useLayoutEffect(() => {
    if (shownSource === null) {
      updateSteps(steps => stepsAfterLink(steps, { ...NOWHERE }));
    }
  }, [shownSource, updateSteps]);
  const source = shownSource ?? props.source;
  const leaveSubagent = useWayBack(place, setPlace);
  // With the key another session is drawn as another inspector, though its place is in the same link.
  return (
    <InspectedView
      {...props}
      key={subagent}
      source={source}
      shownPlace={shownPlace}
      leaveSubagent={leaveSubagent}
      remark={[
        props.remark,
        isSubagentMissing &&
          words.__('The link leads to a subagent, which is not in this report.')
      ]
        .filter(Boolean)
        .join(' ')}
    />
  );
}

interface IInspectedViewProps extends IInspectorProps {
  shownPlace: ISteppedPlace;
  leaveSubagent: (() => void) | null;
}

/** Draws the session, or the subagent, of a source. */
function InspectedView(props: IInspectedViewProps) {
  const { shownPlace, leaveSubagent } = props;
  const { place } = shownPlace;
  const { words } = useHost();
  const { view, error } = useView(props.source, place.price ?? null);
  useRenumberedItem(view, shownPlace);
  if (view === null || view.requests.id.length === 0) {
    const waitingSentence =
      props.source.waitSentence ?? words.__('Reading the session…');
    const emptySentence = view?.own
      ? words.__('The session has no requests yet: ask something first.')
      : words.__('The session holds no request.');
    return (
      <div className="plm-Inspector">
        {leaveSubagent !== null && <WayBack onLeave={leaveSubagent} />}
        <p role="status">
          {error || (view === null ? waitingSentence : emptySentence)}
        </p>
      </div>
    );
  }
  return <Session {...props} key={view.session} view={view} error={error} />;
}

interface ISessionProps extends IInspectedViewProps {
  view: TimelineView;
  /** Why no newer view could be read; '' where the view is the newest. */
  error: string;
}

function Session(props: ISessionProps) {
  const { source, view, error, shownPlace, leaveSubagent } = props;
  const { place } = shownPlace;
  const { isPrinted = false, remark = '', compared = null } = props;
  const { isSteppedByPage = false, openedPrice = '', comparing = null } = props;
  const { parts = NO_PARTS, hidden: hiddenPartNames = NO_PARTS } = props;
  const { what_if: isWhatIf = false, price = null } = place;
  const { words } = useHost();
  const idPrefix = useId();
  const goTo = useGoTo(view, shownPlace);
  const policy = place.policy ?? firstPolicy(source, view);
  const policyTrack = usePolicyTrack(source, view, policy, price);
  const [shownTracks] = useState(() => new ShownTracks());
  const hiddenParts = useMemo(
    () => new Set(hiddenPartNames),
    [hiddenPartNames]
  );
  const [cardFocus] = useState(() => new CardFocus());
  const recordedTrack = useMemo(
    () => shownTracks.shownTrackOf(view, view.recorded, 'recorded', {}),
    [shownTracks, view]
  );
  const { range, brushedRange, chooseRange } = useRange(
    place.range ?? null,
    view.requests.id.length,
    goTo
  );
  const lastRequest = view.requests.id.length - 1;
  const request = Math.min(place.request ?? lastRequest, lastRequest);
  const item =
    place.item !== null && place.item < view.items.id.length
      ? place.item
      : null;
  const definition =
    item !== null && (place.definition ?? 0) < definitionsOf(view, item).count
      ? (place.definition ?? null)
      : null;
  const against =
    (place.against ?? null) === null
      ? null
      : Math.min(place.against ?? 0, lastRequest);
  const session = useMemo<IInspectedSession>(
    () => ({
      source,
      view,
      price,
      recordedTrack,
      whatIf: policyTrack.shownTrack,
      shownTrack: isWhatIf
        ? (policyTrack.shownTrack ?? recordedTrack)
        : recordedTrack,
      range,
      chooseRange,
      goTo,
      leaveSubagent,
      cardFocus,
      comparedView: compared,
      hiddenParts
    }),
    [
      source,
      view,
      price,
      recordedTrack,
      policyTrack.shownTrack,
      isWhatIf,
      range,
      chooseRange,
      goTo,
      leaveSubagent,
      cardFocus,
      compared,
      hiddenParts
    ]
  );
  const notes = useUnhiddenNotes(useNotesOf(source, view.seq), hiddenParts);
  const cursor = useMemo<IInspectorCursor>(
    () => ({
      request,
      item,
      definition,
      comparedRequest: against,
      brushedRange
    }),
    [request, item, definition, against, brushedRange]
  );
  const { filter = ALL_ITEMS, zoom = 0 } = place;
  const gridChoice = useMemo<IGridChoice>(
    () => ({ filter, zoom }),
    [filter, zoom]
  );
  const rootRef = useRef<HTMLDivElement>(null);
  const panelRef = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (compared?.takesFocus === true) {
      panelRef.current?.focus();
    }
    // Only the first drawing takes the focus.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, []);
  useKeptFocus(rootRef);
  const notice = [noticeOf(view, error, place, words), remark]
    .filter(Boolean)
    .join(' ');
  const tab: TabName =
    tabsOf(compared).find(name => name === place.tab) ?? 'timeline';
  const [isKeyListOpen, setKeyListOpen] = useState(false);
  const showKeys = useCallback(() => {
    setKeyListOpen(true);
  }, []);
  // The page's own buttons and keys go back and forward.
  const ways = isSteppedByPage ? null : waysBackAndForward(shownPlace);
  const handleKey = useInspectorKeys({ session, cursor, ways, showKeys });
  useRegionName(rootRef, words.__('Context of %1', view.title || view.session));
  const isAlone = parts.length > 0;
  const isExplained = place.explained ?? false;
  const shownPolicy = { policy, policyTrack, isExplained };
  return (
    <InspectedSessionProvider value={session}>
      <InspectorCursorProvider value={cursor}>
        <ReaderNotesProvider value={notes}>
          <div
            className="plm-Inspector"
            ref={rootRef}
            role="region"
            onKeyDown={handleKey}
          >
            {leaveSubagent !== null && <WayBack onLeave={leaveSubagent} />}
            {!isAlone && <SkipLinks tab={tab} />}
            <InspectorHeader
              tab={tab}
              idPrefix={idPrefix}
              place={place}
              openedPrice={openedPrice}
              ways={ways}
              showKeys={showKeys}
              isAlone={isAlone}
              comparing={comparing}
            />
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
              ref={panelRef}
              {...(isAlone
                ? {}
                : {
                    role: 'tabpanel',
                    id: `${idPrefix}-panel`,
                    'aria-labelledby': `${idPrefix}-${tab}`
                  })}
              tabIndex={-1}
            >
              <GridChoiceProvider value={gridChoice}>
                {isAlone ? (
                  <PartsAlone parts={parts} {...shownPolicy} />
                ) : isPrinted ? (
                  <PrintedSections />
                ) : (
                  <TabContent tab={tab} {...shownPolicy} />
                )}
              </GridChoiceProvider>
            </div>
            {isKeyListOpen && (
              <KeyList
                onClose={() => {
                  setKeyListOpen(false);
                }}
              />
            )}
          </div>
        </ReaderNotesProvider>
      </InspectorCursorProvider>
    </InspectedSessionProvider>
  );
}

/**
 * Returns the chosen range as the views below the tracks show it, the range as the tracks show it, and the function that
 * chooses it: the views below follow once it is no longer being brushed, and then as soon as there is time.
 */
function useRange(
  range: IRequestRange | null,
  requestCount: number,
  goTo: IInspectedSession['goTo']
): {
  range: IRequestRange | null;
  brushedRange: IRequestRange | null;
  chooseRange: IInspectedSession['chooseRange'];
} {
  const [brushedRange, setBrushedRange] = useState(range);
  const [lastRange, setLastRange] = useState(range);
  if (lastRange !== range) {
    setLastRange(range);
    setBrushedRange(range);
  }
  const chooseRange = useCallback(
    (newRange: IRequestRange | null, way: MoveWay | 'brush' = 'choice') => {
      setBrushedRange(newRange);
      if (way !== 'brush') {
        startTransition(() => {
          goTo({ range: newRange }, way);
        });
      }
    },
    [goTo]
  );
  // A recording that was written anew may have become shorter.
  return useMemo(
    () => ({
      range: rangeWithin(range, requestCount),
      brushedRange: rangeWithin(brushedRange, requestCount),
      chooseRange
    }),
    [range, brushedRange, requestCount, chooseRange]
  );
}

/** Returns a remark where an older view, or another place than requested, is shown. */
function noticeOf(
  view: TimelineView,
  error: string,
  { request, item, range }: IInspectorPlace,
  words: IWords
): string {
  const isRequestMissing = (request ?? 0) >= view.requests.id.length;
  const isItemMissing = (item ?? 0) >= view.items.id.length;
  return [
    error && words.__('%1 What is shown was read before.', error),
    view.is_picture &&
      words.__(
        'Wastes, used items and estimated figures are still being computed…'
      ),
    isRequestMissing &&
      words.__(
        'There is no request %1: the last one is shown.',
        count((request ?? 0) + 1)
      ),
    (range?.first ?? 0) >= view.requests.id.length &&
      words.__(
        'There is no request %1: all are shown.',
        count((range?.first ?? 0) + 1)
      ),
    isItemMissing && words.__('There is no item %1.', count((item ?? 0) + 1))
  ]
    .filter(Boolean)
    .join(' ');
}

/**
 * Returns how a shown subagent is left: back to the place where it was opened, or, where a link opened it, to the
 * session that the link names; null where no subagent is shown.
 */
function useWayBack(
  place: IInspectorPlace,
  setPlace: (place: IInspectorPlace) => void
): (() => void) | null {
  const [returnPlaces, setReturnPlaces] = useState<readonly IInspectorPlace[]>(
    []
  );
  const [lastPlace, setLastPlace] = useState(place);
  const subagent = place.subagent ?? null;
  if (lastPlace !== place) {
    setLastPlace(place);
    if ((lastPlace.subagent ?? null) !== subagent) {
      const isBack = (returnPlaces.at(-1)?.subagent ?? null) === subagent;
      setReturnPlaces(
        subagent === null
          ? []
          : returnPlaces.length > 0 && isBack
            ? returnPlaces.slice(0, -1)
            : [...returnPlaces, lastPlace]
      );
    }
  }
  return subagent === null
    ? null
    : () => {
        // A new object, so that it counts as a move.
        setPlace({ ...(returnPlaces.at(-1) ?? NOWHERE) });
      };
}

function firstPolicy(source: IInspectorSource, view: TimelineView): string {
  const firstStop = source.stops?.[0];
  if (firstStop !== undefined) {
    return firstStop.policy;
  }
  const givenPolicy = view.given_policies > 0 ? view.policies[0] : undefined;
  if (givenPolicy !== undefined) {
    return givenPolicy.name;
  }
  return view.policies.some(option => option.name === FIRST_POLICY)
    ? FIRST_POLICY
    : '';
}
