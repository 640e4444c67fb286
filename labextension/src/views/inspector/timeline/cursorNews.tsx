/** The announcement for screen readers after the cursor was moved. */
import { useEffect, useRef, useState } from 'react';
import { requestCost } from '../../../state/inspector/figures/requestCost';
import { whyText } from '../../../state/inspector/why';
import { useLatest } from '../../dom/effects';
import { useHost, type IWords } from '../../host';
import { costText, costWords } from './costWords';
import { rangeName, rangeRest } from './rangeWords';
import { useInspection, type IInspection } from '../controls/inspection';

/** Longer than the pause between two presses of a key, so that the requests passed on the way are not read aloud. */
const REST_MS = 600;

/**
 * Holds one sentence, read aloud once a person has moved the cursor and rests: why the chosen item is in the
 * request or not, what the request cost, or the sums of the chosen range. What moves by itself, as a session grows, is not read aloud.
 */
export function CursorNews() {
  const { words } = useHost();
  const inspection = useInspection();
  const { view, request, item, brushedRange } = inspection;
  const [announced, setAnnounced] = useState('');
  const elementRef = useRef<HTMLSpanElement>(null);
  const newest = useLatest(inspection);
  const lastSeen = useRef({ view, request, item, brushedRange });
  /** The range was chosen or changed since a sentence was last read. */
  const isRangeNews = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  useEffect(() => {
    const before = lastSeen.current;
    lastSeen.current = { view, request, item, brushedRange };
    const isBrushed = before.brushedRange !== brushedRange;
    const isMoved =
      isBrushed || before.request !== request || before.item !== item;
    const views = elementRef.current?.closest('.plm-Inspector');
    if (
      !isMoved ||
      before.view !== view ||
      // The cursor of another inspector may lead this one.
      views?.contains(document.activeElement) !== true
    ) {
      return;
    }
    isRangeNews.current ||= isBrushed;
    setAnnounced('');
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setAnnounced(
        isRangeNews.current
          ? rangeNews(newest.current, words)
          : cursorText(newest.current, words)
      );
      isRangeNews.current = false;
    }, REST_MS);
  }, [view, request, item, brushedRange, newest, words]);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
    },
    []
  );
  return (
    <span
      className="plm-Hidden plm-Inspector-news"
      role="status"
      ref={elementRef}
    >
      {announced}
    </span>
  );
}

function rangeNews(inspection: IInspection, words: IWords): string {
  return inspection.brushedRange === null
    ? words.__('All requests are shown.')
    : rangeName(inspection.brushedRange, words) +
        rangeRest(inspection, inspection.brushedRange, words);
}

function cursorText(
  { view, shownTrack, request, item, hiddenParts }: IInspection,
  words: IWords
): string {
  if (item !== null) {
    return whyText(shownTrack.states, item, request);
  }
  if (hiddenParts.has('sentence')) {
    return words.__('Request %1', request + 1);
  }
  const cost = requestCost(view, shownTrack.track, request);
  return words.__(
    'Request %1: %2',
    request + 1,
    costText(costWords(cost, view.price, words))
  );
}
