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
  useMovement,
  useSameItem,
  useShownPlace,
  type ISteppedPlace
} from './shownPlace';

/** The policy that is shown first, where the kernel knows it. */
const FIRST_POLICY = 'sweagent.last_n';
const NO_PARTS: readonly InspectorPartName[] = [];

interface IInspectorProps {
  source: IInspectorSource;
  place?: IInspectorPlace;
  /** Is told of a place that is shown, and whether it is a step from the one before. */
  onPlace?: (place: IInspectorPlace, isStep: boolean) => void;
  /** Whether the browser's own back and forward go from step to step, as in a report. */
  isSteppedByPage?: boolean;
  /** The prices by which the source counts without a choice, where it was opened with some. */
  openedPrice?: string;
  /** Whether all views are shown below each other, for paper. */
  isPrinted?: boolean;
  /** A sentence about the place, such as that a link leads to another session. */
  remark?: string;
  /** Another session beside it. */
  compared?: IComparedView;
  /** How another session is put beside it; absent where there is no other one to choose. */
  comparing?: IComparing;
  /** The parts that are shown alone; none for all, in tabs. */
  parts?: readonly InspectorPartName[];
  /** The parts that are not shown until they are revealed. */
  hidden?: readonly InspectorPartName[];
}

/** Draws a session at `place`; `onPlace` is called when the shown place changes. */
export function Inspector(props: IInspectorProps) {
  const { words } = useHost();
  const shownPlace = useShownPlace(props);
  const { place, change } = shownPlace;
  const [isMissing, setMissing] = useState(false);
  const subagent = place.subagent ?? null;
  const setPlace = (next: IInspectorPlace) => {
    change(steps => stepsAfterLink(steps, next));
  };
  const opened = useMemo(
    () =>
      subagent === null ? props.source : subagentSource(props.source, subagent),
    [props.source, subagent]
  );
  if (opened === null && !isMissing) {
    setMissing(true);
  }
  // Not while it is drawn: a place from outside becomes a step only after that.
  useLayoutEffect(() => {
    if (opened === null) {
      change(steps => stepsAfterLink(steps, { ...NOWHERE }));
    }
  }, [opened, change]);
  const source = opened ?? props.source;
  const leaveSubagent = useWayBack(place, setPlace);
  // Another session is another inspector, though its place is in the same link.
  return (
    <InspectedView
      {...props}
      key={subagent}
      source={source}
      shownPlace={shownPlace}
      leaveSubagent={leaveSubagent}
      remark={[
        props.remark,
        isMissing &&
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
  useSameItem(view, shownPlace);
  if (view === null || view.requests.id.length === 0) {
    const waiting =
      props.source.waitSentence ?? words.__('Reading the session…');
    const empty = view?.own
      ? words.__('The session has no requests yet: ask something first.')
      : words.__('The session holds no request.');
    return (
      <div className="plm-Inspector">
        {leaveSubagent !== null && <WayBack onLeave={leaveSubagent} />}
        <p role="status">{error || (view === null ? waiting : empty)}</p>
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
  const goTo = useMovement(view, shownPlace);
  const policy = place.policy ?? firstPolicy(source, view);
  const track = usePolicyTrack(source, view, policy, price);
  const [tracks] = useState(() => new ShownTracks());
  const hiddenParts = useMemo(
    () => new Set(hiddenPartNames),
    [hiddenPartNames]
  );
  const [cardFocus] = useState(() => new CardFocus());
  const recordedTrack = useMemo(
    () => tracks.shownTrackOf(view, view.recorded, 'recorded', {}),
    [tracks, view]
  );
  const { range, brushedRange, chooseRange } = useRange(
    place.range ?? null,
    view.requests.id.length,
    goTo
  );
  const last = view.requests.id.length - 1;
  const request = Math.min(place.request ?? last, last);
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
      : Math.min(place.against ?? 0, last);
  const session = useMemo<IInspectedSession>(
    () => ({
      source,
      view,
      price,
      recordedTrack,
      whatIf: track.shownTrack,
      shownTrack: isWhatIf
        ? (track.shownTrack ?? recordedTrack)
        : recordedTrack,
      range,
      chooseRange,
      goTo,
      leaveSubagent,
      cardFocus,
      compared,
      hiddenParts
    }),
    [
      source,
      view,
      price,
      recordedTrack,
      track.shownTrack,
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
    () => ({ request, item, definition, against, brushedRange }),
    [request, item, definition, against, brushedRange]
  );
  const { filter = ALL_ITEMS, zoom = 0 } = place;
  const grid = useMemo<IGridChoice>(() => ({ filter, zoom }), [filter, zoom]);
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
  const steps = isSteppedByPage ? null : waysBackAndForward(shownPlace);
  const pressKey = useInspectorKeys({ session, cursor, steps, showKeys });
  useRegionName(root, words.__('Context of %1', view.title || view.session));
  const isAlone = parts.length > 0;
  const isExplained = place.explained ?? false;
  const shownPolicy = { policy, track, isExplained };
  return (
    <InspectedSessionProvider value={session}>
      <InspectorCursorProvider value={cursor}>
        <ReaderNotesProvider value={notes}>
          <div
            className="plm-Inspector"
            ref={root}
            role="region"
            onKeyDown={pressKey}
          >
            {leaveSubagent !== null && <WayBack onLeave={leaveSubagent} />}
            {!isAlone && <SkipLinks tab={tab} />}
            <InspectorHeader
              tab={tab}
              idPrefix={idPrefix}
              place={place}
              openedPrice={openedPrice}
              steps={steps}
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
              ref={panel}
              {...(isAlone
                ? {}
                : {
                    role: 'tabpanel',
                    id: `${idPrefix}-panel`,
                    'aria-labelledby': `${idPrefix}-${tab}`
                  })}
              tabIndex={-1}
            >
              <GridChoiceProvider value={grid}>
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
 * Returns the place's range of so many requests, as the tracks show it and as the views below them do, and how to
 * choose it: those follow when it is no longer being chosen, and then as soon as there is time.
 */
function useRange(
  range: IRequestRange | null,
  total: number,
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
    (chosen: IRequestRange | null, way: MoveWay | 'brush' = 'choice') => {
      setBrushedRange(chosen);
      if (way !== 'brush') {
        startTransition(() => {
          goTo({ range: chosen }, way);
        });
      }
    },
    [goTo]
  );
  // A recording that was written anew may have become shorter.
  return useMemo(
    () => ({
      range: rangeWithin(range, total),
      brushedRange: rangeWithin(brushedRange, total),
      chooseRange
    }),
    [range, brushedRange, total, chooseRange]
  );
}

/** Returns a remark where an older view, or another place than requested, is shown. */
function noticeOf(
  view: TimelineView,
  error: string,
  { request, item, range }: IInspectorPlace,
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
    (range?.first ?? 0) >= view.requests.id.length &&
      words.__(
        'There is no request %1: all are shown.',
        count((range?.first ?? 0) + 1)
      ),
    isUnknown && words.__('There is no item %1.', count((item ?? 0) + 1))
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
  const [opened, setOpened] = useState<readonly IInspectorPlace[]>([]);
  const [lastPlace, setLastPlace] = useState(place);
  const subagent = place.subagent ?? null;
  if (lastPlace !== place) {
    setLastPlace(place);
    if ((lastPlace.subagent ?? null) !== subagent) {
      const isBack = (opened.at(-1)?.subagent ?? null) === subagent;
      setOpened(
        subagent === null
          ? []
          : opened.length > 0 && isBack
            ? opened.slice(0, -1)
            : [...opened, lastPlace]
      );
    }
  }
  return subagent === null
    ? null
    : () => {
        // Another value, so that it is told as a move.
        setPlace({ ...(opened.at(-1) ?? NOWHERE) });
      };
}

function firstPolicy(source: IInspectorSource, view: TimelineView): string {
  const first = source.stops?.[0];
  if (first !== undefined) {
    return first.policy;
  }
  const given = view.given_policies > 0 ? view.policies[0] : undefined;
  if (given !== undefined) {
    return given.name;
  }
  return view.policies.some(option => option.name === FIRST_POLICY)
    ? FIRST_POLICY
    : '';
}
