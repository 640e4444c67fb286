/**
 * The rows of a long transcript: those near the viewport are rendered, the others are plain text.
 *
 * A distant row is one element with one text, so that the browser can still find, copy and read it.
 * Rows are grouped into pages; a page that was never rendered is rendered when the browser is idle,
 * the newest first.
 */
import {
  createContext,
  memo,
  useContext,
  useEffect,
  useMemo,
  useState,
  type ReactNode,
  type RefObject
} from 'react';
import { turnHeight } from '../../state/display/rowHeights';
import type { ITurnPage } from '../../state/display/turnPages';
import {
  revertedExtent,
  type IRevertedMessages,
  type RevertedExtent
} from '../../state/session/reverts';
import type { ITranscript } from '../../state/store/transcript';
import type { ITurn } from '../../state/display/turns';
import { useHost } from '../host';
import { useIsShown } from '../controls/shownLine';
import { runWhenIdle } from '../dom/idleQueue';
import { turnText } from '../segment/lineText';
import { heightOfFar, useNearViewport } from '../dom/nearViewport';
import { Turn } from './turn';

/** The number of newest turns that are rendered at once. */
const NEWEST_TURNS = 3;

/** The gap between two turns, in pixels. */
const GAP_PX = 10;

interface ITurnList {
  transcript: ITranscript;
  /** The number of turns. */
  count: number;
}

const TurnListContext = createContext<ITurnList | null>(null);

/** Provides rendered turns with the session's data beside their messages. */
export function TurnListProvider({
  transcript,
  count,
  children
}: ITurnList & { children: ReactNode }) {
  const turnList = useMemo(() => ({ transcript, count }), [transcript, count]);
  return (
    <TurnListContext.Provider value={turnList}>
      {children}
    </TurnListContext.Provider>
  );
}

interface ITurnPageProps {
  page: ITurnPage;
  /** Whether nothing follows it. */
  newest: boolean;
  /** Whether its last turn runs. */
  live: boolean;
  /** Whether its last turn can be retried. */
  canRetry: boolean;
  reverted: IRevertedMessages | null;
}

/** Draws a page of turns; until it is rendered, an empty element of its height. */
export const TurnPage = memo(function Page(props: ITurnPageProps) {
  const {
    page: { firstIndex: first, turns },
    newest,
    live,
    canRetry,
    reverted
  } = props;
  const { elementRef, near } = useNearViewport<HTMLDivElement>(() => newest);
  const [wasRendered, setWasRendered] = useState(near);
  const isAskedFor = useIsShown(place =>
    turns.some(({ key }) => key === place.turnKey)
  );
  const isNear = near || isAskedFor;
  const shows = wasRendered || isNear;
  useEffect(
    () =>
      wasRendered
        ? undefined
        : runWhenIdle(first, () => {
            setWasRendered(true);
          }),
    [wasRendered, first]
  );
  const height = useMemo(
    () =>
      isNear
        ? 0
        : turns.reduce((sum, turn) => sum + turnHeight(turn) + GAP_PX, -GAP_PX),
    [turns, isNear]
  );
  return (
    <div
      className="plm-TurnPage"
      ref={elementRef}
      data-far={!isNear}
      style={
        !shows
          ? { height: `${height}px` }
          : isNear
            ? undefined
            : heightOfFar(height)
      }
    >
      {shows &&
        turns.map((turn, index) => (
          <TurnRow
            key={turn.key}
            turn={turn}
            place={first + index + 1}
            watched={near}
            newest={newest && index >= turns.length - NEWEST_TURNS}
            live={live && index === turns.length - 1}
            canRetry={canRetry && index === turns.length - 1}
            reverted={revertedExtent(
              reverted,
              turn.entries.map(({ id }) => id)
            )}
          />
        ))}
    </div>
  );
});

interface IRowProps {
  turn: ITurn;
  /** Its number, from 1. */
  place: number;
  /** Whether its page is near the viewport. */
  watched: boolean;
  newest: boolean;
  live: boolean;
  canRetry: boolean;
  reverted: RevertedExtent;
}

const TurnRow = memo(function Row(props: IRowProps) {
  const { turn, place: number, watched, newest, live, reverted } = props;
  const isAskedFor = useIsShown(place => place.turnKey === turn.key);
  const { elementRef, near } = useNearViewport<HTMLElement>(
    () => newest,
    live || isAskedFor,
    watched
  );
  return (
    <article
      className="plm-Turn"
      ref={elementRef}
      data-turn={turn.key}
      data-reverted={reverted}
      data-far={!near}
      dir={near ? undefined : 'auto'}
      aria-posinset={number}
      // The total changes with each new turn: only rendered rows are updated.
      aria-setsize={-1}
      style={near ? undefined : heightOfFar(turnHeight(turn))}
    >
      {near ? (
        <FullTurn {...props} row={elementRef} />
      ) : (
        <TurnWords turn={turn} />
      )}
    </article>
  );
});

/** Draws the text of a turn as one text node. */
function TurnWords({ turn }: { turn: ITurn }) {
  const { words } = useHost();
  return <>{useMemo(() => turnText(turn, words), [turn, words])}</>;
}

function FullTurn({
  turn,
  live,
  canRetry,
  reverted,
  row
}: IRowProps & { row: RefObject<HTMLElement> }) {
  const turnList = useContext(TurnListContext);
  const count = turnList?.count;
  useEffect(() => {
    row.current?.setAttribute('aria-setsize', String(count ?? -1));
  }, [row, count]);
  return turnList === null ? null : (
    <Turn
      turn={turn}
      live={live}
      canRetry={canRetry}
      reverted={reverted}
      transcript={turnList.transcript}
    />
  );
}
