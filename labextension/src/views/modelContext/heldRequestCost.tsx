/** The cost of a held request's prompt, while the provider's cache expires. */
import { useState } from 'react';
import type { CacheForecast, ProposedRequest } from '../../protocol/generated';
import { count, dollarsText } from '../../state/text/numberFormat';
import { useNow } from '../controls/elapsedTime';
import { useHost } from '../host';

const SECOND_MS = 1000;

/** Draws the cost, and how long the provider keeps the prompt; it counts down. */
export function HeldRequestCost({ request }: { request: ProposedRequest }) {
  const { words } = useHost();
  const { cache, cost, cost_cold: coldCost, now: proposedAt } = request;
  const now = useNow(SECOND_MS);
  // The clocks of kernel and page may differ, so that the time since the proposal arrived is counted.
  const [arrival, setArrival] = useState({ proposedAt: proposedAt, at: now });
  if (arrival.proposedAt !== proposedAt) {
    setArrival({ proposedAt: proposedAt, at: now });
  }
  const price =
    cost === undefined ? words.__('price unknown') : dollarsText(cost);
  const kernelNow = proposedAt + now - arrival.at;
  const { cold_at: coldAt } = cache;
  if (cache.tokens === 0) {
    return <>{words.__('%1, nothing read from cache', price)}</>;
  }
  if (coldAt !== undefined && kernelNow >= coldAt) {
    const coldPrice = coldCost === undefined ? price : dollarsText(coldCost);
    return <>{words.__('%1: the cache is cold by now', coldPrice)}</>;
  }
  return (
    <>
      {words.__('%1: %2 tokens read from cache', price, count(cache.tokens))}
      <Cooling cache={cache} now={kernelNow} />
      {coldCost !== undefined &&
        coldCost !== cost &&
        ` ${words.__('(%1 without it)', dollarsText(coldCost))}`}
    </>
  );
}

/** Draws until when the provider keeps the prompt: for certain, at the most, or not known. */
function Cooling({ cache, now }: { cache: CacheForecast; now: number }) {
  const { words } = useHost();
  const { cools_at: coolsAt, cold_at: coldAt } = cache;
  if (coolsAt === undefined || coldAt === undefined) {
    return <>{`, ${words.__('whose lifetime is not known')}`}</>;
  }
  if (now >= coolsAt) {
    return (
      <>
        {`, ${words.__('which may be cold, and is in')} `}
        <Clock milliseconds={coldAt - now} />
      </>
    );
  }
  return (
    <>
      {`, ${words.__('which cools in')} `}
      <Clock milliseconds={coolsAt - now} />
      {coldAt > coolsAt && (
        <>
          {` ${words.__('to')} `}
          <Clock milliseconds={coldAt - now} />
        </>
      )}
    </>
  );
}

function Clock({ milliseconds }: { milliseconds: number }) {
  return (
    <span className="plm-HeldRequest-clock">{minutesText(milliseconds)}</span>
  );
}

/** Formats milliseconds as minutes and seconds: "3:12". */
function minutesText(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / SECOND_MS));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
