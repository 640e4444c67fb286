/** The announcement for screen readers after the cursor was moved. */
import { useEffect, useRef, useState } from 'react';
import { requestCost } from '../../../state/inspector/figures/requestCost';
import { whyText } from '../../../state/inspector/why';
import { useLatest } from '../../dom/effects';
import { useHost, type IWords } from '../../host';
import { costText, costWords } from './costWords';
import { rangeName, rangeEnding } from './rangeWords';
import { useInspection, type IInspection } from '../controls/inspection';

/** Longer than the pause between two presses of a key, so that the requests passed on the way are not read aloud. */
const REST_MS = 600;

/**
 * Draws one sentence, read aloud once a person has moved the cursor and rests: why the chosen item is in the request or
 * not, what the request cost, or the sums of the chosen range. A cursor that moves by itself, as a session grows, is not
 * read aloud.
 */
export function CursorNews() {
  const { words } = useHost();
  const inspection = useInspection();
  const { view, request, item, brushedRange } = inspection;
  const [announcement, setAnnouncement] = useState('');
  const elementRef = useRef<HTMLSpanElement>(null);
  const newestInspection = useLatest(inspection);
  const lastSeen = useRef({ view, request, item, brushedRange });
  /** Whether the range was chosen or changed since the last announcement. */
  const isRangeNews = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  useEffect(() => {
    const previous = lastSeen.current;
    lastSeen.current = { view, request, item, brushedRange };
    const isRangeChanged = previous.brushedRange !== brushedRange;
    const isMoved =
      isRangeChanged || previous.request !== request || previous.item !== item;
    const inspectorElement = elementRef.current?.closest('.plm-Inspector');
    if (
      !isMoved ||
      previous.view !== view ||
      // The cursor of another inspector may lead this one.
      inspectorElement?.contains(document.activeElement) !== true
    ) {
      return;
    }
    isRangeNews.current ||= isRangeChanged;
    setAnnouncement('');
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setAnnouncement(
        isRangeNews.current
          ? rangeAnnouncement(newestInspection.current, words)
          : cursorAnnouncement(newestInspection.current, words)
      );
      isRangeNews.current = false;
    }, REST_MS);
  }, [view, request, item, brushedRange, newestInspection, words]);
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
      {announcement}
    </span>
  );
}

function rangeAnnouncement(inspection: IInspection, words: IWords): string {
  return inspection.brushedRange === null
    ? words.__('All requests are shown.')
    : rangeName(inspection.brushedRange, words) +
        rangeEnding(inspection, inspection.brushedRange, words);
}

function cursorAnnouncement(
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
