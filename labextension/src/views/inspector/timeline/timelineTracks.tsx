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
  markKindsByRequest,
  markWords,
  policyMarks,
  recordedMarks,
  unhiddenMarks
} from './trackMarks';
import { TextWithTerm } from '../glossary/term';

const RECORDED_PX = 96;
const WHAT_IF_PX = 80;
const SMALL_PX = 64;
/** In a lower window the tracks are lower, so that the grid below them has its rows. */
const LOW_WINDOW_PX = 960;
const LOWERED_PX = 12;
/** The height of the picture, as a multiple of its largest value. */
const TOP_ROOM = 1.04;
/** A limit at this multiple of the largest request lies above the picture. */
const FAR_LIMIT = 4;
/** Beyond this share of the picture a label stands at the left of its line. */
const LEFT_LABEL_SHARE = 0.55;
const LABEL_GAP_PX = 4;

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
  const loweredPx = useWindowHeight() < LOW_WINDOW_PX ? LOWERED_PX : 0;
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
        height={RECORDED_PX - loweredPx}
      />
      {whatIf !== null && (
        <Track
          {...sharedProps}
          drawnTrack={whatIf}
          height={WHAT_IF_PX - loweredPx}
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
  const [firstSentence, ...otherSentences] = view.proof?.sentences ?? [];
  return firstSentence === undefined ? null : (
    <p className="plm-Proof" data-doubtful={isDoubtful(view)}>
      <strong
        data-cut={!isExplained}
        title={isExplained ? undefined : firstSentence}
      >
        {firstSentence}
      </strong>
      {(isExplained || isDoubtful(view)) &&
        otherSentences.map(sentence => (
          <span
            key={sentence}
            className="plm-Proof-more"
            data-cut={!isExplained}
            title={isExplained ? undefined : sentence}
          >
            {` ${sentence}`}
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
  let largestTokens = 1;
  let largestRequest = 0;
  const include = (value: number | null, request: number) => {
    if ((value ?? 0) > largestTokens) {
      largestTokens = value ?? 0;
      largestRequest = request;
    }
  };
  for (const { series } of tracks) {
    series.totals.forEach(include);
  }
  reported.forEach(include);
  const limit = view.requests.window[largestRequest] ?? 0;
  return (
    (limit > 0 && limit < FAR_LIMIT * largestTokens
      ? Math.max(limit, largestTokens)
      : largestTokens) * TOP_ROOM
  );
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
  const {
    view,
    recordedTrack,
    hiddenParts,
    request: cursorRequest
  } = useInspection();
  const { notes } = useReaderNotes();
  const plotRef = useRef<HTMLDivElement>(null);
  const width = useElementWidth(plotRef);
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
  const request = Math.min(cursorRequest, requestCount - 1);
  const firstEstimate = drawnTrack.track.facts_until ?? null;
  const factsUntil = isRecorded ? null : firstEstimate;
  const trackName = isRecorded ? words.__('recorded') : drawnTrack.track.policy;
  const allMarks = isRecorded ? recordedTrackMarks : policyTrackMarks;
  const marks = useMemo(
    () => unhiddenMarks(allMarks, hiddenParts),
    [allMarks, hiddenParts]
  );
  const kindsByRequest = useMemo(() => markKindsByRequest(marks), [marks]);
  const hintAt = (hintedRequest: number) => {
    const tokens = count(drawnTrack.track.total[hintedRequest] ?? 0);
    const sizeText =
      factsUntil !== null && hintedRequest >= factsUntil
        ? words.__(
            'Request %1 of %2: about %3 tokens',
            hintedRequest + 1,
            requestCount,
            tokens
          )
        : words.__(
            'Request %1 of %2: %3 tokens',
            hintedRequest + 1,
            requestCount,
            tokens
          );
    const kinds = (kindsByRequest.get(hintedRequest) ?? []).map(value =>
      markWords(value, words)
    );
    return [sizeText, ...kinds].join(', ');
  };
  return (
    <figure
      className="plm-Track"
      data-small={isSmall}
      data-doubtful={!isRecorded && isDoubtful(view)}
    >
      <figcaption className="plm-Track-head">
        <strong>
          {isRecorded ? trackName : words.__('what if · %1', trackName)}
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
          name={words.__('Request, %1', trackName)}
          value={hintAt(request)}
          requestCount={requestCount}
          width={width}
          elementRef={plotRef}
          hintText={hintAt}
        >
          <StackedArea
            series={drawnTrack.series}
            topTokens={topTokens}
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
              data-left={factsUntil > requestCount * LEFT_LABEL_SHARE}
              style={
                factsUntil > requestCount * LEFT_LABEL_SHARE
                  ? {
                      right:
                        width -
                        (factsUntil * width) / requestCount +
                        LABEL_GAP_PX
                    }
                  : { left: (factsUntil * width) / requestCount + LABEL_GAP_PX }
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
  drawnTrack: IShownTrack,
  isRecorded: boolean,
  hiddenParts: IInspectedSession['hiddenParts'],
  words: IWords
): string {
  const { facts, figures } = drawnTrack.track;
  const trackFigures = isRecorded ? (facts ?? figures) : figures;
  if ((trackFigures ?? null) === null || trackFigures === undefined) {
    return '';
  }
  const isFact = isRecorded && (facts ?? null) !== null;
  const estimateMark = isFact ? '' : ESTIMATE_MARK;
  const cost = money(
    costWithRefetching(trackFigures),
    view.price.unit,
    isFact && trackFigures.cost_is_fact
  );
  // Without reported usage it is only known where a request begins otherwise than the one before.
  const breaks = isFact
    ? words._n('%1 cache break', '%1 cache breaks', trackFigures.breaks)
    : words._n(
        '%1 changed beginning',
        '%1 changed beginnings',
        trackFigures.breaks
      );
  const input = `${estimateMark}${shortCount(trackFigures.input)}`;
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
    words.__('peak %1', shortCount(trackFigures.peak)),
    ...(hiddenParts.has('breaks') ? [] : [breaks]),
    ...(isRecorded && !hiddenParts.has('cost') ? [cost] : [])
  ].join(' · ');
}

/** Returns a sentence that compares two estimates: the recorded cost is no measure, since it includes cache breaks outside any policy. */
function savingWords(
  view: TimelineView,
  policyFigures: PolicyFigures,
  words: IWords
): string {
  const { unit } = view.price;
  const estimate = view.recorded.figures ?? null;
  const recordedCost = estimate === null ? 0 : costWithRefetching(estimate);
  const cost = costWithRefetching(policyFigures);
  if (recordedCost <= 0) {
    return words.__('%1 with refetching', money(cost, unit, false));
  }
  const changePercent = Math.round(
    (100 * (cost - recordedCost)) / recordedCost
  );
  return words.__(
    'estimate of the recording %1 → %2 with refetching, %3 %',
    money(recordedCost, unit, false),
    money(cost, unit, false),
    `${changePercent < 0 ? '−' : changePercent > 0 ? '+' : '±'}${Math.abs(changePercent)}`
  );
}

/** Returns the cost of a track with its summaries and with fetching lost content again. */
function costWithRefetching(figures: PolicyFigures): number {
  return figures.cost + (figures.summaries ?? 0) + (figures.refetching ?? 0);
}

function trackSentence(
  view: TimelineView,
  drawnTrack: IShownTrack,
  isRecorded: boolean,
  hiddenParts: IInspectedSession['hiddenParts'],
  words: IWords
): string {
  const { total } = drawnTrack.track;
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
  const firstEstimate = drawnTrack.track.facts_until ?? null;
  const factsSentence =
    firstEstimate === null
      ? words.__('No request differs from the recording.')
      : words.__(
          'Facts end at request %1: from it on the actions are the recorded ones, and sizes are estimates.',
          firstEstimate + 1
        );
  const verdict = hiddenParts.has('totals')
    ? undefined
    : drawnTrack.track.figures?.verdict;
  return `${growthSentence} ${factsSentence} ${verdict ?? ''}`;
}

/** Returns the source of a limit that was not recorded, and a remark where it lies above the picture. */
function limitWords(
  view: TimelineView,
  topTokens: number,
  words: IWords
): string {
  const limit = Math.min(...view.requests.window.filter(value => value > 0));
  const limitSentence =
    Number.isFinite(limit) && limit > topTokens
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
