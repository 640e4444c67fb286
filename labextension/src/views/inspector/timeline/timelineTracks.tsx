/** The recorded track and the one of a policy, one above the other, under one cursor. */
import { useId, useMemo, useRef, type PointerEvent } from 'react';
import type { TimelineView } from '../../../protocol/generated';
import { count, short } from '../../../state/display/numberFormat';
import { money } from '../../../state/inspector/labels';
import { useHost, type IWords } from '../../host';
import { useElementWidth } from '../controls/elementWidth';
import { useInspection, type IShownTrack } from '../controls/inspection';
import { KindLegend } from './kindLegend';
import { StackedArea, TrackScale, type ITrackMark } from './stackedArea';
import { requestStep } from '../controls/requestKeys';

/** Draws both tracks; `isSmall` leaves a strip of the recorded one, to move the cursor by. */
export function TimelineTracks({ isSmall = false }: { isSmall?: boolean }) {
  const { view, recorded, whatIf, shown } = useInspection();
  const most = useMemo(
    () => largest(view, [recorded, ...(whatIf === null ? [] : [whatIf])]),
    [view, recorded, whatIf]
  );
  if (isSmall) {
    return <Track shown={shown} most={most} height={64} isSmall />;
  }
  return (
    <div className="plm-Tracks">
      <Track shown={recorded} most={most} height={150} />
      {whatIf !== null && <Track shown={whatIf} most={most} height={124} />}
      <KindLegend />
    </div>
  );
}

/** Returns what fits all: the largest request, and the limit where that is not far above. */
function largest(view: TimelineView, tracks: readonly IShownTrack[]): number {
  const { reported, window } = view.requests;
  let most = 1;
  for (const { series } of tracks) {
    for (const one of series.total) {
      most = Math.max(most, one);
    }
  }
  for (const one of reported) {
    most = Math.max(most, one ?? 0);
  }
  const limit = window.reduce((one, other) => Math.max(one, other), 0);
  return (limit > 0 && limit < 4 * most ? Math.max(limit, most) : most) * 1.04;
}

interface ITrackProps {
  shown: IShownTrack;
  most: number;
  height: number;
  isSmall?: boolean;
}

function Track({ shown, most, height, isSmall = false }: ITrackProps) {
  const { words } = useHost();
  const { view, recorded, request, go } = useInspection();
  const plot = useRef<HTMLDivElement>(null);
  const width = useElementWidth(plot);
  const mark = useId().replaceAll(':', '');
  const isRecorded = shown === recorded;
  const marks = useMemo(
    () => (isRecorded ? recordedMarks(view, words) : firedMarks(shown, words)),
    [view, shown, isRecorded, words]
  );
  const total = shown.series.total.length;
  const until = shown.track.facts_until ?? null;
  const factsUntil = isRecorded ? null : until;
  const isEstimate = factsUntil !== null && request >= factsUntil;
  const tokens = count(shown.track.total[request] ?? 0);
  const name = isRecorded ? words.__('recorded') : shown.track.policy;
  const pick = (event: PointerEvent<HTMLDivElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    if (box.width > 0) {
      const at = Math.floor(((event.clientX - box.left) / box.width) * total);
      go({ request: Math.min(Math.max(at, 0), total - 1), against: null });
    }
  };
  return (
    <figure className="plm-Track" data-small={isSmall}>
      <figcaption className="plm-Track-head">
        <strong>{isRecorded ? name : words.__('what if · %1', name)}</strong>
        <span className="plm-Track-figures">
          {headline(view, shown, isRecorded, words)}
        </span>
      </figcaption>
      <div className="plm-Track-body">
        {!isSmall && <TrackScale most={most} height={height} />}
        <div
          className="plm-Track-plot"
          ref={plot}
          role="slider"
          tabIndex={0}
          aria-label={words.__('Request, %1', name)}
          aria-valuemin={1}
          aria-valuemax={total}
          aria-valuenow={request + 1}
          aria-valuetext={
            isEstimate
              ? words.__(
                  'Request %1 of %2: about %3 tokens',
                  request + 1,
                  total,
                  tokens
                )
              : words.__(
                  'Request %1 of %2: %3 tokens',
                  request + 1,
                  total,
                  tokens
                )
          }
          onPointerDown={event => {
            if (event.button === 0) {
              event.currentTarget.setPointerCapture(event.pointerId);
              pick(event);
            }
          }}
          onPointerMove={event => {
            if (event.buttons === 1) {
              pick(event);
            }
          }}
          onKeyDown={event => {
            const next = requestStep(event, request, total);
            if (next !== null) {
              event.preventDefault();
              go({ request: next, against: null });
            }
          }}
        >
          <StackedArea
            series={shown.series}
            most={most}
            width={width}
            height={height}
            mark={mark}
            reported={isRecorded ? view.requests.reported : null}
            limits={view.requests.window}
            reserves={view.requests.reserve}
            marks={marks}
            factsUntil={factsUntil}
          />
          {factsUntil !== null && !isSmall && (
            <span
              className="plm-Track-facts-words"
              data-left={factsUntil > total * 0.55}
              style={
                factsUntil > total * 0.55
                  ? { right: width - (factsUntil * width) / total + 4 }
                  : { left: (factsUntil * width) / total + 4 }
              }
            >
              {words.__('facts end here')}
            </span>
          )}
          <span
            className="plm-Inspector-cursor"
            style={{
              transform: `translateX(${(((request + 0.5) * width) / total).toFixed(1)}px)`
            }}
          />
        </div>
      </div>
      <p className={isSmall ? 'plm-Hidden' : 'plm-Track-sentence'}>
        {sentence(view, shown, isRecorded, words)}
      </p>
    </figure>
  );
}

function headline(
  view: TimelineView,
  shown: IShownTrack,
  isRecorded: boolean,
  words: IWords
): string {
  const { facts, figures } = shown.track;
  const told = isRecorded ? (facts ?? figures) : figures;
  if ((told ?? null) === null || told === undefined) {
    return '';
  }
  const about = isRecorded && (facts ?? null) !== null ? '' : '≈ ';
  const cost =
    (told.cost ?? null) === null
      ? words.__('cost unknown')
      : `${about}${money((told.cost ?? 0) + (told.repair ?? 0), view.price.unit)}`;
  const breaks = isRecorded
    ? words._n('%1 cache break', '%1 cache breaks', told.breaks, told.breaks)
    : words._n('%1 rewrite', '%1 rewrites', told.breaks, told.breaks);
  return [
    words.__('%1 tokens in', `${about}${short(told.input)}`),
    words.__('peak %1', short(told.peak)),
    breaks,
    isRecorded ? cost : words.__('%1 with repair', cost)
  ].join(' · ');
}

function sentence(
  view: TimelineView,
  shown: IShownTrack,
  isRecorded: boolean,
  words: IWords
): string {
  const { total } = shown.track;
  let peak = 0;
  total.forEach((tokens, request) => {
    peak = tokens > (total[peak] ?? 0) ? request : peak;
  });
  const grown = words.__(
    'The window grows from %1 tokens at request 1 to %2 at request %3.',
    count(total[0] ?? 0),
    count(total[peak] ?? 0),
    peak + 1
  );
  if (isRecorded) {
    const line = view.requests.reported.some(one => one !== null)
      ? words.__(
          'The dark line is what the provider reported, a fact; the areas are counted: %1',
          view.ruler.words
        )
      : words.__(
          'Nothing was reported; the areas are counted: %1',
          view.ruler.words
        );
    return `${grown} ${line}`;
  }
  const until = shown.track.facts_until ?? null;
  const facts =
    until === null
      ? words.__('No request differs from the recording.')
      : words.__(
          'Facts end at request %1: after it the actions are the recorded ones, and sizes are estimates.',
          until + 1
        );
  return `${grown} ${facts} ${shown.track.figures?.verdict ?? ''}`;
}

function recordedMarks(view: TimelineView, words: IWords): ITrackMark[] {
  return [
    ...view.events.map(({ request, kind, cause }) => ({
      request,
      kind,
      title: words.__('Request %1: %2 %3', request + 1, kind, cause)
    })),
    ...view.breaks.map(({ request, words: told }) => ({
      request,
      kind: 'break',
      title: words.__('Request %1: the cache breaks, %2', request + 1, told)
    }))
  ];
}

function firedMarks({ track }: IShownTrack, words: IWords): ITrackMark[] {
  return track.fired.map(request => ({
    request,
    kind: 'fired',
    title: words.__('Request %1: the rule acted', request + 1)
  }));
}
