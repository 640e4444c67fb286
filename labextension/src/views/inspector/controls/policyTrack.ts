/** The second track: what a policy would have shown, asked of a kernel or taken from a report's stops. */
import { useMemo } from 'react';
import type { TimelineView, TrackView } from '../../../protocol/generated';
import { ItemStates } from '../../../state/inspector/itemStates';
import { kindSeries } from '../../../state/inspector/kindSeries';
import { parsePolicy } from '../../../state/inspector/labels';
import type { IInspectorSource } from '../../../state/inspector/source';
import { nearestStop } from '../../../state/inspector/stops';
import { useAnswer } from './answers';
import type { IShownTrack } from './inspection';

export interface IPolicyTrack {
  readonly shown: IShownTrack | null;
  readonly isWaiting: boolean;
  /** How long the kernel took; null for what was computed beforehand. */
  readonly milliseconds: number | null;
  readonly error: string;
}

/** Returns a track with its states and series. */
export function shownTrack(
  view: TimelineView,
  track: TrackView,
  policy: string,
  numbers: Record<string, number>
): IShownTrack {
  return {
    track,
    states: new ItemStates(view, track),
    series: kindSeries(view, track),
    policy,
    numbers
  };
}

/** Returns the track of a policy, with numbers behind its name; '' has none. */
export function usePolicyTrack(
  source: IInspectorSource,
  view: TimelineView | null,
  policy: string,
  price: string | null
): IPolicyTrack {
  const { name, numbers } = parsePolicy(policy);
  const stop =
    source.stops === undefined
      ? null
      : nearestStop(source.stops, name, numbers);
  const isAsked = view !== null && name !== '' && source.stops === undefined;
  const { answer, isWaiting } = useAnswer(
    source,
    isAsked
      ? {
          ask: 'track',
          policy: name,
          numbers,
          window: 0,
          ...(price === null ? {} : { price })
        }
      : null,
    60
  );
  const track = stop?.track ?? answer?.track ?? null;
  const key = stop === null ? policy : JSON.stringify(stop.numbers);
  const shown = useMemo(() => {
    if (view === null || track === null || policy === '') {
      return null;
    }
    const named = parsePolicy(policy);
    return shownTrack(view, track, named.name, stop?.numbers ?? named.numbers);
    // The numbers of a stop are those of its key.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [view, track, policy, key]);
  const missing =
    source.stops !== undefined && name !== '' && stop === null
      ? 'This file holds no track of that policy.'
      : '';
  return {
    shown,
    isWaiting: isAsked && isWaiting,
    milliseconds: stop === null ? (answer?.milliseconds ?? null) : null,
    error: missing || (answer?.error ?? '')
  };
}
