/** What all views of an inspector share: the session, the shown track, and one cursor. */
import { createContext, useContext } from 'react';
import type { TimelineView, TrackView } from '../../../protocol/generated';
import type { ItemStates } from '../../../state/inspector/itemStates';
import type { IKindSeries } from '../../../state/inspector/kindSeries';
import type {
  IInspectorPlace,
  IInspectorSource
} from '../../../state/inspector/source';

/** A track with what is computed from it once. */
export interface IShownTrack {
  readonly track: TrackView;
  readonly states: ItemStates;
  readonly series: IKindSeries;
  /** The policy and its numbers, as a question names them. */
  readonly policy: string;
  readonly numbers: Record<string, number>;
}

export interface IInspection {
  readonly source: IInspectorSource;
  readonly view: TimelineView;
  readonly recorded: IShownTrack;
  readonly whatIf: IShownTrack | null;
  /** The one of the two that grid, window, difference and request show. */
  readonly shown: IShownTrack;
  readonly showWhatIf: (isWanted: boolean) => void;
  readonly request: number;
  readonly item: number | null;
  readonly against: number | null;
  readonly go: (place: Partial<IInspectorPlace>) => void;
  readonly openLink: ((link: string) => void) | null;
}

const InspectionContext = createContext<IInspection | null>(null);

export const InspectionProvider = InspectionContext.Provider;

/** Returns what the views share. */
export function useInspection(): IInspection {
  const inspection = useContext(InspectionContext);
  if (inspection === null) {
    throw new Error('A view of the inspector was drawn outside of it.');
  }
  return inspection;
}
