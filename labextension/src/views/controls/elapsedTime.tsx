/** Elapsed time that is updated while it is visible. */
import { useEffect, useState } from 'react';
import { durationText } from '../../state/text/numberFormat';

const TICK_MS = 200;

/** Returns the current time in milliseconds, at every tick; with null it is not updated. */
export function useNow(tickMs: number | null = TICK_MS): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (tickMs === null) {
      return;
    }
    const tick = () => {
      setNow(Date.now());
    };
    tick();
    const timer = setInterval(tick, tickMs);
    return () => {
      clearInterval(timer);
    };
  }, [tickMs]);
  return now;
}

/** Draws how long something has been running; the clocks of two machines may differ. */
export function ElapsedTime({ since }: { since: number }) {
  const now = useNow();
  return <>{durationText(Math.max(0, now - since) / 1000)}</>;
}
