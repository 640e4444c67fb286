/** The second track: what a policy would have shown, asked of a kernel or taken from a report's stops. */
import { useMemo, useState } from 'react';
import type { TimelineView, TrackView } from '../../../protocol/generated';
import { ItemStates } from '../../../state/inspector/figures/itemStates';
import { kindSeries } from '../../../state/inspector/figures/kindSeries';
import { parsePolicy, policyNames } from '../../../state/inspector/labels';
import type { IInspectorSource } from '../../../state/inspector/source';
import { nearestStop } from '../../../state/inspector/stops';
import { useAnswer } from './answers';
import type { IShownTrack } from './inspection';

/** The pause between the last change of a policy's numbers and the question for its track. */
const TRACK_PAUSE_MS = 60;

export interface IPolicyTrack {
  readonly shownTrack: IShownTrack | null;
  readonly isWaiting: boolean;
  /** Milliseconds that the kernel took; null for a precomputed track. */
  readonly milliseconds: number | null;
  readonly error: string;
}

/**
 * Makes tracks with their states and series, one after the other.
 *
 * Responsibilities: keep the newest one, from which the next goes on as far as both are alike. What it returns
 * does not depend on what it keeps.
 */
export class ShownTracks {
  private _newest: IShownTrack | null = null;

  shownTrackOf(
    view: TimelineView,
    track: TrackView,
    policy: string,
    numbers: Record<string, number>
  ): IShownTrack {
    const states = new ItemStates(view, track);
    const series = kindSeries(states, this._newest);
    this._newest = { track, states, series, policy, numbers };
    return this._newest;
  }
}

/** Returns a view as it was when it had so many requests: a track that was asked for then says nothing of later ones. */
function viewUpTo(view: TimelineView, count: number): TimelineView {
  const { requests } = view;
  return count >= requests.id.length
    ? view
    : {
        ...view,
        requests: {
          ...requests,
          id: requests.id.slice(0, count),
          items: requests.items.slice(0, count)
        }
      };
}

/** Returns the track of a policy, with numbers behind its name; the name '' stands for no policy. */
export function usePolicyTrack(
  source: IInspectorSource,
  view: TimelineView | null,
  policy: string,
  price: string | null
): IPolicyTrack {
  const knownPolicies = view === null ? [] : policyNames(view);
  const { name, numbers } = parsePolicy(policy, knownPolicies);
  const stop =
    source.stops === undefined
      ? null
      : nearestStop(source.stops, name, numbers);
  const isAsked = view !== null && name !== '' && source.stops === undefined;
  const { answer, isWaiting, milliseconds } = useAnswer(
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
    TRACK_PAUSE_MS,
    view?.seq
  );
  const track = stop?.track ?? answer?.track ?? null;
  const key = stop === null ? policy : JSON.stringify(stop.numbers);
  const [tracks] = useState(() => new ShownTracks());
  const shownTrack = useMemo(() => {
    if (view === null || track === null || policy === '') {
      return null;
    }
    const parsed = parsePolicy(policy, policyNames(view));
    return tracks.shownTrackOf(
      viewUpTo(view, track.total.length),
      track,
      parsed.name,
      stop?.numbers ?? parsed.numbers
    );
    // The numbers of a stop are those of its key.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [tracks, view, track, policy, key]);
  const missingTrackError =
    source.stops !== undefined && name !== '' && stop === null
      ? 'This file holds no track of that policy.'
      : '';
  return {
    shownTrack,
    isWaiting: isAsked && isWaiting,
    milliseconds: stop === null ? milliseconds : null,
    error: missingTrackError || (answer?.error ?? '')
  };
}
