/** The two requests that are ticked in the table of requests, and their boxes. */
import { useState } from 'react';
import { useHost } from '../../host';
import { useInspection } from '../controls/inspection';

interface IComparedRequests {
  /** The request, or both, that are ticked. */
  readonly tickedRequests: readonly number[];
  /** The request whose page the table shows: the one ticked last, else the cursor's. */
  readonly requestInView: number;
  readonly sentence: string;
  readonly toggle: (request: number) => void;
}

interface ITickedRow {
  readonly request: number;
  readonly cursorRequests: readonly number[];
}

/** Returns the ticked requests: the two that are compared, or one that waits for another. */
export function useComparedRequests(): IComparedRequests {
  const { words } = useHost();
  const { request, against, goTo } = useInspection();
  const [singleTicked, setSingleTicked] = useState<number | null>(null);
  // The row ticked last stays in sight until the cursor moves on from where the tick put it.
  const [lastTicked, setLastTicked] = useState<ITickedRow | null>(null);
  if (lastTicked !== null && !lastTicked.cursorRequests.includes(request)) {
    setLastTicked(null);
  }
  const isPair = against !== null && against !== request;
  const [wasPair, setWasPair] = useState(isPair);
  if (wasPair !== isPair) {
    setWasPair(isPair);
    if (isPair) {
      setSingleTicked(null);
    }
  }
  const tickedRequests = isPair
    ? [against, request]
    : singleTicked === null
      ? []
      : [singleTicked];
  const [first = 0, second = 0] = tickedRequests;
  const toggle = (toggledRequest: number) => {
    const others = tickedRequests.filter(other => other !== toggledRequest);
    const isTicked = others.length < tickedRequests.length;
    // A third takes the place of the earlier one.
    const other = others.at(-1);
    const isNewPair = !isTicked && other !== undefined;
    const cursorRequest = isNewPair ? Math.max(other, toggledRequest) : request;
    setLastTicked({
      request: toggledRequest,
      cursorRequests: [request, cursorRequest]
    });
    if (isNewPair) {
      goTo({
        request: cursorRequest,
        against: Math.min(other, toggledRequest)
      });
      return;
    }
    setSingleTicked(isTicked ? (other ?? null) : toggledRequest);
    if (isPair) {
      goTo({ against: null });
    }
  };
  return {
    tickedRequests,
    requestInView: lastTicked?.request ?? request,
    sentence: isPair
      ? words.__(
          'Requests %1 and %2 are compared in “Difference”.',
          Math.min(first, second) + 1,
          Math.max(first, second) + 1
        )
      : singleTicked === null
        ? words.__('Tick two requests to compare them.')
        : words.__(
            'Tick another to compare it with request %1.',
            singleTicked + 1
          ),
    toggle
  };
}

/** Draws the box of one request. */
export function CompareBox(props: {
  request: number;
  comparedRequests: IComparedRequests;
}) {
  const { request, comparedRequests } = props;
  const { words } = useHost();
  return (
    <input
      type="checkbox"
      className="plm-CompareBox"
      aria-label={words.__('Compare request %1', request + 1)}
      checked={comparedRequests.tickedRequests.includes(request)}
      onChange={() => {
        comparedRequests.toggle(request);
      }}
    />
  );
}
