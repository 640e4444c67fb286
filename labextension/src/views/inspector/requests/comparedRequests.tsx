/** The two requests that are ticked in the table of requests, and their boxes. */
import { useState } from 'react';
import { useHost } from '../../host';
import { useInspection } from '../controls/inspection';

interface IComparedRequests {
  /** The request, or both, that are ticked. */
  readonly ticked: readonly number[];
  /** The row whose page the table shows: the one ticked last, else the cursor's. */
  readonly around: number;
  readonly sentence: string;
  readonly tick: (request: number) => void;
}

interface ITouchedRow {
  readonly row: number;
  readonly cursors: readonly number[];
}

/** Returns what is ticked: the two that are compared, or one that waits for another. */
export function useComparedRequests(): IComparedRequests {
  const { words } = useHost();
  const { request, against, go } = useInspection();
  const [waiting, setWaiting] = useState<number | null>(null);
  // The row ticked last stays in sight until the cursor moves on from where the tick put it.
  const [touched, setTouched] = useState<ITouchedRow | null>(null);
  if (touched !== null && !touched.cursors.includes(request)) {
    setTouched(null);
  }
  const isPair = against !== null && against !== request;
  const [wasPair, setWasPair] = useState(isPair);
  if (wasPair !== isPair) {
    setWasPair(isPair);
    if (isPair) {
      setWaiting(null);
    }
  }
  const ticked = isPair
    ? [against, request]
    : waiting === null
      ? []
      : [waiting];
  const [first = 0, second = 0] = ticked;
  const toggle = (row: number) => {
    const others = ticked.filter(other => other !== row);
    const isTicked = others.length < ticked.length;
    // A third takes the place of the earlier one.
    const other = others.at(-1);
    const isNewPair = !isTicked && other !== undefined;
    const cursor = isNewPair ? Math.max(other, row) : request;
    setTouched({ row, cursors: [request, cursor] });
    if (isNewPair) {
      go({ request: cursor, against: Math.min(other, row) });
      return;
    }
    setWaiting(isTicked ? (other ?? null) : row);
    if (isPair) {
      go({ against: null });
    }
  };
  return {
    ticked,
    around: touched?.row ?? request,
    sentence: isPair
      ? words.__(
          'Requests %1 and %2 are compared in “Difference”.',
          Math.min(first, second) + 1,
          Math.max(first, second) + 1
        )
      : waiting === null
        ? words.__('Tick two requests to compare them.')
        : words.__('Tick another to compare it with request %1.', waiting + 1),
    tick: toggle
  };
}

/** Draws the box of one request. */
export function CompareBox(props: {
  request: number;
  compared: IComparedRequests;
}) {
  const { request, compared } = props;
  const { words } = useHost();
  return (
    <input
      type="checkbox"
      className="plm-CompareBox"
      aria-label={words.__('Compare request %1', request + 1)}
      checked={compared.ticked.includes(request)}
      onChange={() => {
        compared.tick(request);
      }}
    />
  );
}
