/** The recorded track and the one of a policy, one above the other, under one cursor. */
import { memo, useId, useMemo, useRef } from 'react';
import type { TimelineView, PolicyFigures } from '../../../protocol/generated';
import { count, shortCount } from '../../../state/text/numberFormat';
import {
  DOUBT_MARK,
  ESTIMATE_MARK,
  isDoubtful,
  money
} from '../../../state/inspector/labels';
import { useHost, type IWords } from '../../host';
import { useElementWidth, useWindowHeight } from '../../dom/sizes';
import {
  useInspection,
  type IInspectedSession,
  type IShownTrack
} from '../controls/inspection';
import { useReaderNotes } from '../notes/readerNotes';
import { AxisNumbers } from '../controls/chartAxis';
import { RequestSlider } from '../controls/requestSlider';
import { MARKS_PX, StackedArea, trackLines } from './stackedArea';
import {
  MarkLegend,
  marksByRequest,
  markWords,
  policyMarks,
  recordedMarks,
  shownMarks
} from './trackMarks';
import { TextWithTerm } from '../glossary/term';

const RECORDED_PX = 96;
const WHAT_IF_PX = 80;
const SMALL_PX = 64;
/** In a lower window the tracks are lower, so that the grid below them has its rows. */
const LOW_WINDOW_PX = 960;
const LOWERED_PX = 12;

/**
 * Draws both tracks; `isSmall` leaves a strip of the shown one, to move the cursor by. `isExplained` adds what each
 * picture shows in sentences, and what the marks mean.
 */
export const TimelineTracks = memo(function TimelineTracks(props: {
  isSmall?: boolean;
  isExplained?: boolean;
}) {
  const { isSmall = false, isExplained = false } = props;
  const { view, recordedTrack, whatIf, shownTrack, hiddenParts } =
    useInspection();
  const topTokens = useMemo(
    () =>
      topTokensOf(view, [recordedTrack, ...(whatIf === null ? [] : [whatIf])]),
    [view, recordedTrack, whatIf]
  );
  const lowered = useWindowHeight() < LOW_WINDOW_PX ? LOWERED_PX : 0;
  if (isSmall) {
    return (
      <Track
        drawnTrack={shownTrack}
        topTokens={topTokens}
        height={SMALL_PX}
        isSmall
      />
    );
  }
  const sharedProps = { topTokens, isExplained };
  return (
    <div className="plm-Tracks">
      {!hiddenParts.has('totals') && (
        <ProofSentences view={view} isExplained={isExplained} />
      )}
      <Track
        {...sharedProps}
        drawnTrack={recordedTrack}
        height={RECORDED_PX - lowered}
      />
      {whatIf !== null && (
        <Track
          {...sharedProps}
          drawnTrack={whatIf}
          height={WHAT_IF_PX - lowered}
        />
      )}
      {isExplained && <MarkLegend />}
    </div>
  );
});

/**
 * Draws how well the recording itself is reproduced, on which every estimate rests; `isExplained` adds the details. A doubt
 * is always drawn, cut to one line where nothing is explained.
 */
function ProofSentences(props: { view: TimelineView; isExplained: boolean }) {
  const { view, isExplained } = props;
  const [first, ...others] = view.proof?.sentences ?? [];
  return first === undefined ? null : (
    <p className="plm-Proof" data-doubtful={isDoubtful(view)}>
      <strong data-cut={!isExplained} title={isExplained ? undefined : first}>
        {first}
      </strong>
      {(isExplained || isDoubtful(view)) &&
        others.map(value => (
          <span
            key={value}
            className="plm-Proof-more"
            data-cut={!isExplained}
            title={isExplained ? undefined : value}
          >
            {` ${value}`}
          </span>
        ))}
    </p>
  );
}

/** Returns the tokens at the top of the picture: the largest request, or its limit where that is not far above. */
function topTokensOf(
  view: TimelineView,
  tracks: readonly IShownTrack[]
): number {
  const { reported } = view.requests;
  let most = 1;
  let largestRequest = 0;
  const include = (value: number | null, request: number) => {
    if ((value ?? 0) > most) {
      most = value ?? 0;
      largestRequest = request;
    }
  };
  for (const { series } of tracks) {
    series.totals.forEach(include);
  }
  reported.forEach(include);
  const limit = view.requests.window[largestRequest] ?? 0;
  return (limit > 0 && limit < 4 * most ? Math.max(limit, most) : most) * 1.04;
}

interface ITrackProps {
  drawnTrack: IShownTrack;
  topTokens: number;
  height: number;
  isSmall?: boolean;
  isExplained?: boolean;
}

function Track(props: ITrackProps) {
  const {
    drawnTrack,
    topTokens,
    height,
    isSmall = false,
    isExplained = false
  } = props;
  const { words } = useHost();
  const { view, recordedTrack, hiddenParts, request: chosen } = useInspection();
  const { notes } = useReaderNotes();
  const plot = useRef<HTMLDivElement>(null);
  const width = useElementWidth(plot);
  const idPrefix = useId().replaceAll(':', '');
  const isRecorded = drawnTrack === recordedTrack;
  const requestCount = drawnTrack.series.totals.length;
  const { fired, taken } = drawnTrack.track;
  const recordedTrackMarks = useMemo(
    () => (isRecorded ? recordedMarks(view, words, notes) : []),
    [view, notes, isRecorded, words]
  );
  const policyTrackMarks = useMemo(
    () => (isRecorded ? [] : policyMarks(fired, taken, words)),
    [fired, taken, isRecorded, words]
  );
  const lines = useMemo(
    () =>
      trackLines(
        view.requests,
        requestCount,
        { width, height, most: topTokens },
        isRecorded
      ),
    [view, requestCount, width, height, topTokens, isRecorded]
  );
  // The track of a policy may end before a request that has just been sent.
  const request = Math.min(chosen, requestCount - 1);
  const until = drawnTrack.track.facts_until ?? null;
  const factsUntil = isRecorded ? null : until;
  const name = isRecorded ? words.__('recorded') : drawnTrack.track.policy;
  const allMarks = isRecorded ? recordedTrackMarks : policyTrackMarks;
  const marks = useMemo(
    () => shownMarks(allMarks, hiddenParts),
    [allMarks, hiddenParts]
  );
  const kindsAt = useMemo(() => marksByRequest(marks), [marks]);
  const hintAt = (at: number) => {
    const tokens = count(drawnTrack.track.total[at] ?? 0);
    const size =
      factsUntil !== null && at >= factsUntil
        ? words.__(
            'Request %1 of %2: about %3 tokens',
            at + 1,
            requestCount,
            tokens
          )
        : words.__('Request %1 of %2: %3 tokens', at + 1, requestCount, tokens);
    const kinds = (kindsAt.get(at) ?? []).map(value => markWords(value, words));
    return [size, ...kinds].join(', ');
  };
  return (
    <figure
      className="plm-Track"
      data-small={isSmall}
      data-doubtful={!isRecorded && isDoubtful(view)}
    >
      <figcaption className="plm-Track-head">
        <strong>
          {isRecorded ? name : words.__('what if · %1', name)}
          {!isRecorded && isDoubtful(view) && DOUBT_MARK}
        </strong>
        <span className="plm-Track-figures">
          {trackHeadline(view, drawnTrack, isRecorded, hiddenParts, words)}
          {!isRecorded &&
            !hiddenParts.has('cost') &&
            drawnTrack.track.figures && (
              <>
                {' · '}
                <TextWithTerm
                  term="estimate of the recording"
                  text={savingWords(view, drawnTrack.track.figures, words)}
                />
              </>
            )}
        </span>
      </figcaption>
      <div className="plm-Track-body">
        {!isSmall && (
          <AxisNumbers maxValue={topTokens} height={height - MARKS_PX} />
        )}
        <RequestSlider
          name={words.__('Request, %1', name)}
          value={hintAt(request)}
          total={requestCount}
          width={width}
          elementRef={plot}
          hintText={hintAt}
        >
          <StackedArea
            series={drawnTrack.series}
            most={topTokens}
            width={width}
            height={height}
            idPrefix={idPrefix}
            lines={lines}
            marks={marks}
            factsUntil={factsUntil}
          />
          {factsUntil !== null && !isSmall && (
            <span
              className="plm-Track-facts-words"
              data-left={factsUntil > requestCount * 0.55}
              style={
                factsUntil > requestCount * 0.55
                  ? { right: width - (factsUntil * width) / requestCount + 4 }
                  : { left: (factsUntil * width) / requestCount + 4 }
              }
            >
              {words.__('facts end here')}
            </span>
          )}
        </RequestSlider>
      </div>
      <p className={isExplained ? 'plm-Track-sentence' : 'plm-Hidden'}>
        {trackSentence(view, drawnTrack, isRecorded, hiddenParts, words)}
        {isRecorded && limitWords(view, topTokens, words)}
      </p>
    </figure>
  );
}

function trackHeadline(
  view: TimelineView,
  shown: IShownTrack,
  isRecorded: boolean,
  hidden: IInspectedSession['hiddenParts'],
  words: IWords
): string {
  const { facts, figures } = shown.track;
  const summary = isRecorded ? (facts ?? figures) : figures;
  if ((summary ?? null) === null || summary === undefined) {
    return '';
  }
  const isFact = isRecorded && (facts ?? null) !== null;
  const estimateMark = isFact ? '' : ESTIMATE_MARK;
  const cost = money(
    costWithRefetching(summary),
    view.price.unit,
    isFact && summary.cost_is_fact
  );
  // Without reported usage it is only known where a request begins otherwise than the one before.
  const breaks = isFact
    ? words._n('%1 cache break', '%1 cache breaks', summary.breaks)
    : words._n('%1 changed beginning', '%1 changed beginnings', summary.breaks);
  const input = `${estimateMark}${shortCount(summary.input)}`;
  const { reported } = view.requests;
  const reportedCount = reported.filter(value => value !== null).length;
  return [
    // The picture has all requests: where not all reported what they read, the sum is not all of it.
    isFact && reportedCount < reported.length
      ? words.__(
          '%1 tokens in %2 of %3 requests',
          input,
          reportedCount,
          reported.length
        )
      : words.__('%1 tokens in', input),
    words.__('peak %1', shortCount(summary.peak)),
    ...(hidden.has('breaks') ? [] : [breaks]),
    ...(isRecorded && !hidden.has('cost') ? [cost] : [])
  ].join(' · ');
}

/** Returns a sentence that compares two estimates: the recorded cost is no measure, since it includes cache breaks outside any policy. */
function savingWords(
  view: TimelineView,
  policy: PolicyFigures,
  words: IWords
): string {
  const { unit } = view.price;
  const estimate = view.recorded.figures ?? null;
  const recordedCost = estimate === null ? 0 : costWithRefetching(estimate);
  const cost = costWithRefetching(policy);
  if (recordedCost <= 0) {
    return words.__('%1 with refetching', money(cost, unit, false));
  }
  const change = Math.round((100 * (cost - recordedCost)) / recordedCost);
  return words.__(
    'estimate of the recording %1 → %2 with refetching, %3 %',
    money(recordedCost, unit, false),
    money(cost, unit, false),
    `${change < 0 ? '−' : change > 0 ? '+' : '±'}${Math.abs(change)}`
  );
}

/** Returns the cost of a track with its summaries and with fetching lost content again. */
function costWithRefetching(figures: PolicyFigures): number {
  return figures.cost + (figures.summaries ?? 0) + (figures.refetching ?? 0);
}

function trackSentence(
  view: TimelineView,
  shown: IShownTrack,
  isRecorded: boolean,
  hidden: IInspectedSession['hiddenParts'],
  words: IWords
): string {
  const { total } = shown.track;
  let largestRequest = 0;
  total.forEach((tokens, request) => {
    largestRequest =
      tokens > (total[largestRequest] ?? 0) ? request : largestRequest;
  });
  const growthSentence =
    largestRequest === 0
      ? words.__(
          'The window is largest at request 1, with ~%1 tokens.',
          count(total[0] ?? 0)
        )
      : words.__(
          'The window grows from ~%1 tokens at request 1 to ~%2 at request %3.',
          count(total[0] ?? 0),
          count(total[largestRequest] ?? 0),
          largestRequest + 1
        );
  if (isRecorded) {
    const sourceSentence = view.requests.reported.some(value => value !== null)
      ? words.__(
          'The line is what the provider reported, a fact; the areas are counted: %1',
          view.ruler.words
        )
      : words.__(
          'Nothing was reported; the areas are counted: %1',
          view.ruler.words
        );
    return `${growthSentence} ${sourceSentence}`;
  }
  const until = shown.track.facts_until ?? null;
  const factsSentence =
    until === null
      ? words.__('No request differs from the recording.')
      : words.__(
          'Facts end at request %1: from it on the actions are the recorded ones, and sizes are estimates.',
          until + 1
        );
  const verdict = hidden.has('totals')
    ? undefined
    : shown.track.figures?.verdict;
  return `${growthSentence} ${factsSentence} ${verdict ?? ''}`;
}

/** Returns the source of a limit that was not recorded, and a remark where it lies above the picture. */
function limitWords(view: TimelineView, most: number, words: IWords): string {
  const limit = Math.min(...view.requests.window.filter(value => value > 0));
  const limitSentence =
    Number.isFinite(limit) && limit > most
      ? words.__(
          'The limit of %1 tokens lies far above the picture.',
          count(limit)
        )
      : '';
  return [limitSentence, view.limit_words]
    .filter(value => value !== '')
    .map(value => ` ${value}`)
    .join('');
}
