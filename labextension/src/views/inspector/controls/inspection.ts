/** The state that all views of an inspector share: the session, the shown track, and one cursor. */
import { createContext, useContext, useMemo, type Context } from 'react';
import type {
  ItemFilter,
  TimelineView,
  TrackView
} from '../../../protocol/generated';
import {
  marksOfRequest,
  type ICacheMark
} from '../../../state/inspector/cacheMarks';
import { ALL_ITEMS } from '../../../state/inspector/itemRows';
import type { ItemStates } from '../../../state/inspector/figures/itemStates';
import type { IKindSeries } from '../../../state/inspector/figures/kindSeries';
import type { IRequestRange } from '../../../state/inspector/figures/rangeFigures';
import type {
  IComparedView,
  IInspectorPlace,
  IInspectorSource,
  InspectorPartName
} from '../../../state/inspector/source';
import type { MoveWay } from '../../../state/inspector/placeSteps';
import type { CardFocus } from './cardFocus';

/** A track with what is computed from it once. */
export interface IShownTrack {
  readonly track: TrackView;
  readonly states: ItemStates;
  readonly series: IKindSeries;
  /** The policy and its numbers, as a question names them. */
  readonly policy: string;
  readonly numbers: Record<string, number>;
}

/** The shared state that does not depend on the cursor. */
export interface IInspectedSession {
  readonly source: IInspectorSource;
  readonly view: TimelineView;
  /** The prices that were chosen; null for those of the recorded model. */
  readonly price: string | null;
  readonly recordedTrack: IShownTrack;
  readonly whatIf: IShownTrack | null;
  /** The track that grid, window, difference and request show. */
  readonly shownTrack: IShownTrack;
  /** The requests that grid and tables show; null for all. */
  readonly range: IRequestRange | null;
  /** Chooses requests, or all with null; while they are brushed grid and tables stay as they are. */
  readonly chooseRange: (
    range: IRequestRange | null,
    way?: MoveWay | 'brush'
  ) => void;
  /** Changes the place; by default it is a choice, which is a step to go back from. */
  readonly goTo: (place: Partial<IInspectorPlace>, way?: MoveWay) => void;
  /** Leads from a subagent back to where it was opened; null where no subagent is shown. */
  readonly leaveSubagent: (() => void) | null;
  readonly cardFocus: CardFocus;
  /** The session beside it; null where it is inspected alone. */
  readonly compared: IComparedView | null;
  /** The parts that are hidden until they are revealed; no other part tells what they hold. */
  readonly hiddenParts: ReadonlySet<InspectorPartName>;
}

export interface IInspectorCursor {
  readonly request: number;
  readonly item: number | null;
  /** The tool definition of that item, where one is chosen. */
  readonly definition: number | null;
  readonly against: number | null;
  /** The range as the tracks show it, also while it is being chosen. */
  readonly brushedRange: IRequestRange | null;
}

/** How the grid shows the items; it moves with nothing else. */
export interface IGridChoice {
  readonly filter: ItemFilter;
  /** How often its columns were widened. */
  readonly zoom: number;
}

export type IInspection = IInspectedSession & IInspectorCursor;

const SessionContext = createContext<IInspectedSession | null>(null);
const CursorContext = createContext<IInspectorCursor | null>(null);
const GridContext = createContext<IGridChoice>({ filter: ALL_ITEMS, zoom: 0 });

export const InspectedSessionProvider = SessionContext.Provider;
export const InspectorCursorProvider = CursorContext.Provider;
export const GridChoiceProvider = GridContext.Provider;

function useRequiredContext<T>(Context: Context<T | null>): T {
  const value = useContext(Context);
  if (value === null) {
    throw new Error('A view of the inspector was drawn outside of it.');
  }
  return value;
}

/** Returns the state that does not depend on the cursor, so that its users are not drawn again when it moves. */
export function useInspectedSession(): IInspectedSession {
  return useRequiredContext(SessionContext);
}

/** Returns the cursor. */
export function useInspectorCursor(): IInspectorCursor {
  return useRequiredContext(CursorContext);
}

/** Returns which items the grid shows, and how wide. */
export function useGridChoice(): IGridChoice {
  return useContext(GridContext);
}

/** Returns the shared state with the cursor. */
export function useInspection(): IInspection {
  return { ...useInspectedSession(), ...useInspectorCursor() };
}

/** Returns the cache marks of the request at the cursor; none where a policy is shown, which would set its own. */
export function useCacheMarks(): readonly ICacheMark[] {
  const { view, shownTrack, recordedTrack, request } = useInspection();
  return useMemo(
    () => (shownTrack === recordedTrack ? marksOfRequest(view, request) : []),
    [shownTrack, recordedTrack, view, request]
  );
}
