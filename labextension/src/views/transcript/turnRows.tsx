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
  isNewest: boolean;
  /** Whether its last turn runs. */
  isLive: boolean;
  /** Whether its last turn can be retried. */
  canRetry: boolean;
  reverted: IRevertedMessages | null;
}

/** Draws a page of turns; until it is rendered, an empty element of its height. */
export const TurnPage = memo(function Page(props: ITurnPageProps) {
  const {
    page: { firstIndex, turns },
    isNewest,
    isLive,
    canRetry,
    reverted
  } = props;
  const { elementRef, near } = useNearViewport<HTMLDivElement>(() => isNewest);
  const [wasRendered, setWasRendered] = useState(near);
  const isAskedFor = useIsShown(place =>
    turns.some(({ key }) => key === place.turnKey)
  );
  const isNear = near || isAskedFor;
  const isRendered = wasRendered || isNear;
  useEffect(
    () =>
      wasRendered
        ? undefined
        : runWhenIdle(firstIndex, () => {
            setWasRendered(true);
          }),
    [wasRendered, firstIndex]
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
        !isRendered
          ? { height: `${height}px` }
          : isNear
            ? undefined
            : heightOfFar(height)
      }
    >
      {isRendered &&
        turns.map((turn, index) => (
          <TurnRow
            key={turn.key}
            turn={turn}
            number={firstIndex + index + 1}
            isPageNear={near}
            isNewest={isNewest && index >= turns.length - NEWEST_TURNS}
            isLive={isLive && index === turns.length - 1}
            canRetry={canRetry && index === turns.length - 1}
            revertExtent={revertedExtent(
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
  number: number;
  /** Whether its page is near the viewport. */
  isPageNear: boolean;
  isNewest: boolean;
  isLive: boolean;
  canRetry: boolean;
  revertExtent: RevertedExtent;
}

const TurnRow = memo(function Row(props: IRowProps) {
  const { turn, number, isPageNear, isNewest, isLive, revertExtent } = props;
  const isAskedFor = useIsShown(place => place.turnKey === turn.key);
  const { elementRef, near } = useNearViewport<HTMLElement>(
    () => isNewest,
    isLive || isAskedFor,
    isPageNear
  );
  return (
    <article
      className="plm-Turn"
      ref={elementRef}
      data-turn={turn.key}
      data-reverted={revertExtent}
      data-far={!near}
      dir={near ? undefined : 'auto'}
      aria-posinset={number}
      // The total changes with each new turn: only rendered rows are updated.
      aria-setsize={-1}
      style={near ? undefined : heightOfFar(turnHeight(turn))}
    >
      {near ? (
        <FullTurn {...props} rowRef={elementRef} />
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
  isLive,
  canRetry,
  revertExtent,
  rowRef
}: IRowProps & { rowRef: RefObject<HTMLElement> }) {
  const turnList = useContext(TurnListContext);
  const count = turnList?.count;
  useEffect(() => {
    rowRef.current?.setAttribute('aria-setsize', String(count ?? -1));
  }, [rowRef, count]);
  return turnList === null ? null : (
    <Turn
      turn={turn}
      isLive={isLive}
      canRetry={canRetry}
      revertExtent={revertExtent}
      transcript={turnList.transcript}
    />
  );
}
